//! `jitterlab restore`: put back what a crashed run left isolated, and end what it left recording.

use std::path::Path;

use jitterlab_host::facts::Root;
use jitterlab_host::isolate::restore;
use jitterlab_host::scratch::sweep_usual_places;
use jitterlab_host::trace_events::sweep;
use jitterlab_report::recovery;
use jitterlab_trace::place;

use crate::exit::{Ending, Status};
use crate::output;

/// Put back what killed commands left changed, recording or half written
///
/// Puts back what a killed run with --isolate changed, ends what one with --why left recording, and removes what killed
/// commands left half written here and where temporary files are.
#[derive(clap::Args)]
pub struct Args {}

/// Undoes what processes that are gone had changed.
pub fn execute(_: &Args) -> Ending {
    let restored = restore(&Root::system());
    let done = restored.iter().map(|crashed| (crashed.process, crashed.changes, crashed.problems.as_slice()));
    let mut left = sweep_usual_places();
    left.extend(place::sweep(Path::new(".")));
    output::print(&recovery::restored(done, sweep(), &left))?;
    let complete = restored.iter().all(|crashed| crashed.problems.is_empty());
    Ok(if complete { Status::Fine } else { Status::CouldNotMeasure })
}
