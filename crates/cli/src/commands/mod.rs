//! One file per command.

pub mod analyze;
pub mod check;
pub mod recover;
pub mod run;
