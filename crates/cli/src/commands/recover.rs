//! `jitterlab recover`: make a run file of what a killed measurement left.

use std::path::PathBuf;

use crate::exit::{Outcome, Status};
use crate::output;

/// Turn the journal of an interrupted run (FILE.part) into a run file
#[derive(clap::Args)]
pub struct Args {
    /// The journal, or the run file it belongs to
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Recovers each file.
pub fn execute(args: &Args) -> Outcome {
    for path in &args.files {
        let run = jitterlab_trace::recover(path)?;
        output::print(&format!(
            "{}: {} activations recovered, {} bytes\n",
            run.path.display(),
            run.rows,
            run.bytes
        ))?;
    }
    Ok(Status::Fine)
}
