//! `jitterlab compare`: runs side by side, and which differences are real.

use std::path::PathBuf;

use clap::ValueEnum;
use jitterlab_model::Error;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_report::comparison;
use jitterlab_runs::{CompareOptions, Run, align, compare};

use crate::exit::{CommandResult, Status};
use crate::output::{self, OutputArgs};
use crate::run_args::RunArgs;
use crate::values;

/// Compare runs, or two settings: which differences are real
///
/// The first run is what the others are compared with. One run a side says that two runs differ, never that two settings
/// do: for that give several runs of either, measured in turns (A B A B), as in compare A1 A2 A3 --with B1 B2 B3.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Runs of another setting: compare the two settings, with the spread from run to run as the measure
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "preset")]
    with: Vec<PathBuf>,
    /// Hold a run against a capture of the pin that each of its activations moves: which pulse is of which activation, and
    /// how far the times of both differ, as in compare --align RUN CAPTURE
    #[arg(long, conflicts_with_all = ["with", "preset", "fail_if_worse", "fail_if_moved", "anyway", "markdown"])]
    align: bool,
    /// A comparison as a source document makes it
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// End with 1 where a figure is shown to be higher than in the first by more than this share, such as 10%, and with 3
    /// where that can be told of none
    #[arg(long, value_name = "SHARE", value_parser = values::parse_share, conflicts_with = "preset")]
    fail_if_worse: Option<f64>,
    /// End with 1 where a code path of the kernel that 1 % of the activations take appeared, vanished or moved by more than this,
    /// such as 100ns: of two runs in virtual time (`jitterlab kernel run`)
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, conflicts_with_all = ["with", "preset", "fail_if_worse"])]
    fail_if_moved: Option<i64>,
    /// Write the verdict of `--fail-if-worse` on each figure as JUnit's XML
    #[arg(long, value_name = "FILE", requires = "fail_if_worse")]
    junit: Option<PathBuf>,
    /// Print the conclusion and the tables in Markdown
    #[arg(long, conflicts_with_all = ["json", "brief", "details", "preset"])]
    markdown: bool,
    /// Compare even what is not comparable
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// University of Twente: loop durations plain, under two loads and in real time; mean, standard deviation, mean size
    /// and histogram of the period error
    Twente,
}

/// Compares the runs, task by task, and prints the result; writes it as JUnit on request.
pub fn execute(args: &Args) -> CommandResult {
    if args.align {
        return align_with_capture(args);
    }
    if let Some(file) = &args.junit {
        output::check_not_input(file, &[&args.files[..], &args.with].concat())?;
    }
    let open =
        |files: &[PathBuf]| files.iter().map(|path| args.run.open(path)).collect::<Result<Vec<Run>, _>>();
    let (runs, of_other_setting) = (open(&args.files)?, open(&args.with)?);
    let options = CompareOptions {
        task: args.run.task.as_deref(),
        twente: args.preset == Some(Preset::Twente),
        anyway: args.anyway,
        move_tolerance_ns: args.fail_if_moved,
    };
    let compared = compare(&runs, &of_other_setting, options)?;
    let compared = compared.with_tolerance(args.fail_if_worse);
    if let (Some(file), Some(judged)) = (&args.junit, &compared.tolerated) {
        output::write_file(file, comparison::junit(judged).as_bytes())?;
    }
    if args.markdown {
        output::print(&comparison::markdown(&compared))?;
        return Ok(Status::from_fitness(compared.tolerance_verdict()));
    }
    Ok(Status::from_fitness(args.output.show(&compared)?))
}

fn align_with_capture(args: &Args) -> CommandResult {
    let [run, witness] = args.files.as_slice() else {
        return Err(Error::bad_use(
            "--align takes two files: the run and the capture, as in jitterlab compare \
             --align RUN CAPTURE",
        ));
    };
    let (run, witness) = (args.run.open(run)?, args.run.open_edges(witness)?);
    let aligned = align(&run, args.run.task.as_deref(), &witness)?;
    Ok(Status::from_fitness(args.output.show(&aligned)?))
}
