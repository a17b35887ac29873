//! `jitterlab compare`: runs side by side, and which differences are real.

use std::path::PathBuf;

use clap::ValueEnum;
use jitterlab_report::document::Content;
use jitterlab_runs::{CompareError, CompareOptions, Run, compare};

use crate::exit::{Ending, Failure, Status};
use crate::output::OutputArgs;
use crate::run_args::RunArgs;

/// Compare runs: figures with confidence intervals, and which differences are real
///
/// The first run is what the others are compared with.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A comparison as a source document makes it
    #[arg(long, value_enum)]
    preset: Option<Preset>,
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

/// Compares the runs, task by task.
pub fn execute(args: &Args) -> Ending {
    let runs: Vec<Run> = args.files.iter().map(|path| args.run.open(path)).collect::<Result<_, _>>()?;
    let options = CompareOptions {
        task: args.run.task.as_deref(),
        twente: args.preset == Some(Preset::Twente),
        anyway: args.anyway,
    };
    let compared = compare(&runs, options).map_err(|error| match error {
        CompareError::Runs(error) => Failure::from(error),
        misuse => Failure::bad_use(misuse),
    })?;
    args.output.show(Content::Comparison(compared))?;
    Ok(Status::Fine)
}
