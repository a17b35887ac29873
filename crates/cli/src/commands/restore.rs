//! `jitterlab restore`: put back what a crashed run left isolated.

use jitterlab_bench::host::facts::Root;
use jitterlab_bench::host::isolate::restore;

use crate::exit::{Outcome, Status};
use crate::output;

/// Put back what a run with --isolate changed, if it was killed before it could do so itself
#[derive(clap::Args)]
pub struct Args {}

/// Undoes what processes that are gone had changed.
pub fn execute(_: &Args) -> Outcome {
    let restored = restore(&Root::system());
    if restored.is_empty() {
        output::print("nothing to restore\n")?;
        return Ok(Status::Fine);
    }
    let mut text = String::new();
    for crashed in &restored {
        text.push_str(&format!("process {}: {} changes undone\n", crashed.process, crashed.changes));
        for problem in &crashed.problems {
            text.push_str(&format!("  could not be restored: {problem}\n"));
        }
    }
    output::print(&text)?;
    let complete = restored.iter().all(|crashed| crashed.problems.is_empty());
    Ok(if complete { Status::Fine } else { Status::CouldNotMeasure })
}
