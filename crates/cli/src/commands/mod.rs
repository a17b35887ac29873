//! One file per command.

use crate::exit::{Ending, Status};
use crate::output;
use jitterlab_report::wrap;

pub mod analyze;
pub mod check;
pub mod compare;
pub mod compare_wakeups;
pub mod compensate;
pub mod completions;
pub mod doctor;
pub mod export;
pub mod judge;
pub mod man;
pub mod matrix;
pub mod plot;
pub mod predict;
pub mod recover;
pub mod report;
pub mod restore;
pub mod run;
pub mod schema;
pub mod servo;
pub mod stepper;
pub mod tune;
pub mod watch;
pub mod why;

/// Without a command: the usual things to do.
pub fn usual() -> Ending {
    let usual = || wrap::broken(jitterlab_report::first_steps::USUAL) + "\n";
    output::print(&wrap::at(output::columns(), usual))?;
    Ok(Status::Fine)
}
