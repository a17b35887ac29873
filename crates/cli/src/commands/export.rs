//! `jitterlab export`: a run as what other tools read.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_report::export;
use jitterlab_runs::export::{ExportError, Format};

use crate::error::CliError;
use crate::exit::{Ending, Status};
use crate::output;
use crate::run_args::RunArgs;

/// Write a run out as what other tools read: CSV, Arrow, cyclictest, HdrHistogram, OpenMetrics,
/// Markdown, Perfetto
///
/// Takes anything that holds a run. What the format cannot hold, or the run does not tell, is said.
#[derive(clap::Args)]
pub struct Args {
    /// A run file, a journal, or the output of another tool
    #[arg(value_name = "RUN")]
    file: PathBuf,
    /// What to write
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    format: Format,
    /// The file to write; replaced if it exists, unless it holds a measurement
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    force: output::ForceArgs,
    #[command(flatten)]
    run: RunArgs,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let each = Format::all().map(|format| PossibleValue::new(format.name()).help(export::about(format)));
    PossibleValuesParser::new(each).try_map(|word| word.parse::<Format>())
}

/// Opens the run and writes it out.
pub fn execute(args: &Args) -> Ending {
    let Args { format, output, .. } = args;
    if output::is_stdout(output) && output::is_terminal() && !format.is_text() {
        return Err(CliError::NotForTerminal(*format).into());
    }
    let run = args.run.open(&args.file)?;
    let tasks = run.tasks(args.run.task.as_deref())?;
    output::deliver_by(output, args.force.force, |out| {
        let (exported, warnings) = format.write(&run, &tasks, out)?.into_parts();
        Ok::<_, ExportError>(export::text(*format, &exported, &warnings))
    })?;
    Ok(Status::Fine)
}
