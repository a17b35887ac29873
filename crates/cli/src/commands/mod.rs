//! One file per command.

use crate::exit::{CommandResult, Status};
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

/// Prints the usual commands, for a call without one.
pub fn print_first_steps() -> CommandResult {
    let usual = || wrap::break_long_lines(jitterlab_report::usage_hints::USUAL_COMMANDS) + "\n";
    output::print(&wrap::with_columns(output::terminal_columns(), usual))?;
    Ok(Status::Fine)
}
