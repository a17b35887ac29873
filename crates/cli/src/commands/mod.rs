//! One file per command.

pub mod analyze;
pub mod recover;
pub mod run;
