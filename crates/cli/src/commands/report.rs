//! `jitterlab report`: one page that answers everything.

use std::path::PathBuf;

use jitterlab_report::page::render;

use crate::exit::{CommandResult, Status};
use crate::inputs::{self, Inputs};
use crate::output;
use crate::run_args::RunArgs;

/// Make one HTML page of saved runs, to explore offline
#[derive(clap::Args)]
pub struct Args {
    /// Run files and outputs of other tools, shown side by side; the directory that `matrix` left; .json files of what
    /// `check`, `compensate`, `stepper` or `servo` print with --json
    #[arg(required = true, value_name = "RUN|RESULT")]
    files: Vec<PathBuf>,
    /// The page to write; replaced if it exists, unless it holds a measurement; - is standard output
    #[arg(short, long, default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    force: output::ForceArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Reads the runs and writes the page.
pub fn execute(args: &Args) -> CommandResult {
    output::check_not_input(&args.output, &args.files)?;
    let Inputs { runs, documents } = inputs::read(&args.files, &args.run)?;
    let html = render(&runs, &documents)?;
    let said = format!("{:.1} MB", html.len() as f64 / 1e6);
    output::write_result(&args.output, html.as_bytes(), args.force.force, &said)?;
    Ok(Status::Fine)
}
