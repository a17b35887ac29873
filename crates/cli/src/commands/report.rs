//! `jitterlab report`: one page that answers everything.

use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_report::page::render;

use crate::exit::{Failure, Outcome, Status};
use crate::{output, page_runs};

/// Make one HTML page of saved runs, with figures to explore, that opens without a network
#[derive(clap::Args)]
pub struct Args {
    /// Run files; several are shown side by side
    #[arg(required = true, value_name = "RUN")]
    files: Vec<PathBuf>,
    /// The page to write; replaced if it exists
    #[arg(short, long, default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
}

/// Reads the runs and writes the page.
pub fn execute(args: &Args) -> Outcome {
    if args.files.contains(&args.output) {
        let file = args.output.display();
        return Err(Failure::bad_use(anyhow!(
            "--output {file} is one of the run files: name another file for the page"
        )));
    }
    let runs = page_runs::read(&args.files)?;
    let html = render(&runs, &[])?;
    output::write_file(&args.output, html.as_bytes())?;
    output::print(&format!("{}: {:.1} MB\n", args.output.display(), html.len() as f64 / 1e6))?;
    Ok(Status::Fine)
}
