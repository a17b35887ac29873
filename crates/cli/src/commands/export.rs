//! `jitterlab export`: a run in formats of other tools.
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_analysis::require::Requirement;
use jitterlab_model::Error;
use jitterlab_motion::catalog;
use jitterlab_motion::stepper::Drive;
use jitterlab_report::export::{self, ExportOptions, Format};

use crate::exit::{CommandResult, Status};
use crate::output;
use crate::purpose_args::PurposeArgs;
use crate::run_args::RunArgs;

/// Write a run in a format that other tools read
///
/// Takes anything that holds a run. What the format cannot hold, or the run does not tell, is said. With --require or --for
/// the exit status is that of predict and analyze: 0, 1 where one is broken or not served, 3 where that cannot be told.
#[derive(clap::Args)]
pub struct Args {
    /// A run file, a journal, or the output of another tool
    #[arg(value_name = "RUN")]
    file: PathBuf,
    /// What to write
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_parser())]
    format: Format,
    /// The file to write; replaced if it exists, unless it holds a measurement
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    force: output::ForceArgs,
    /// A requirement to decide, such as "p99.9 < 80us", for junit; may be given several times
    #[arg(long = "require", value_name = "REQUIREMENT")]
    requirements: Vec<Requirement>,
    /// Known of this machine: no more than so many values that break a requirement ever come together
    #[arg(long, value_name = "NUMBER", requires = "requirements", value_parser = clap::value_parser!(u64).range(1..))]
    burst_at_most: Option<u64>,
    #[command(flatten)]
    wanted: PurposeArgs,
    /// The drive's timing, for linuxcnc: a name from `jitterlab stepper --list`, or a TOML file [default: stepconf]
    #[arg(long, value_name = "NAME|FILE")]
    drive: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let each =
        Format::all().map(|format| PossibleValue::new(format.name()).help(export::format_help(format)));
    PossibleValuesParser::new(each).try_map(|word| word.parse::<Format>())
}

/// Writes the run to a file in another format, and prints what was written.
pub fn execute(args: &Args) -> CommandResult {
    let Args { format, output, .. } = args;
    output::check_not_input(output, std::slice::from_ref(&args.file))?;
    let asked = args.export_options()?;
    let run = args.run.open(&args.file)?;
    let tasks = run.task_numbers(args.run.task.as_deref())?;
    let mut worst_fitness = None;
    output::write_result_by(output, args.force.force, |out| {
        let (exported, warnings) = format.write(&run, &tasks, &asked, out)?.into_parts();
        worst_fitness = exported.worst_fitness;
        Ok::<_, Error>(export::summary_text(*format, &exported, &warnings))
    })?;
    Ok(Status::from_fitness(worst_fitness))
}

impl Args {
    /// Purpose, requirements and drive for the export; refuses those that its format does not take.
    fn export_options(&self) -> Result<ExportOptions, Error> {
        let decides = self.wanted.purpose.is_some() || !self.requirements.is_empty();
        for (option, given, taken) in [
            ("--require and --for", decides, self.format.has_verdicts()),
            ("--drive", self.drive.is_some(), self.format == Format::LinuxCnc),
        ] {
            if given && !taken {
                return Err(Error::bad_use(format!(
                    "--as {} takes no {option}: verdicts are of junit, drives of linuxcnc",
                    self.format
                )));
            }
        }
        Ok(ExportOptions {
            purpose: self.wanted.purpose,
            requirements: self.requirements.clone(),
            burst_at_most: self.burst_at_most,
            drive: self.drive.as_deref().map(catalog::known_device::<Drive>).transpose()?,
        })
    }
}
