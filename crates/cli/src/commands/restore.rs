//! `jitterlab restore`: put back what a crashed run left isolated, and end what it left recording.

use jitterlab_bench::host::facts::Root;
use jitterlab_bench::host::isolate::restore;
use jitterlab_bench::host::trace_events::sweep;
use jitterlab_bench::scratch::sweep_usual_places;
use jitterlab_report::recovery;

use crate::exit::{Ending, Status};
use crate::output;

/// Put back what a killed run with --isolate changed, end what one with --why left recording, and remove the temporary
/// folders of killed commands
#[derive(clap::Args)]
pub struct Args {}

/// Undoes what processes that are gone had changed.
pub fn execute(_: &Args) -> Ending {
    let restored = restore(&Root::system());
    let done = restored.iter().map(|crashed| (crashed.process, crashed.changes, crashed.problems.as_slice()));
    output::print(&recovery::restored(done, sweep(), &sweep_usual_places()))?;
    let complete = restored.iter().all(|crashed| crashed.problems.is_empty());
    Ok(if complete { Status::Fine } else { Status::CouldNotMeasure })
}
