//! What the program does in a guest to show the limit of what `kernel peers` can measure.

use std::path::PathBuf;

use jitterlab_console::exit::{Ending, Status};
use jitterlab_kernel::bare;
use jitterlab_kernel::peers::PeerTask;

/// Run a loop as bare as can be
#[derive(clap::Args)]
pub struct Args {
    period_ns: i64,
    priority: u8,
    cpu: u16,
    count: u64,
    file: PathBuf,
    beside: PathBuf,
}

/// Runs it.
pub fn execute(args: &Args) -> Ending {
    let Args { period_ns, priority, cpu, count, ref file, ref beside } = *args;
    bare::run(&PeerTask { period_ns, priority, cpu, count }, file, beside)?;
    Ok(Status::Fine)
}
