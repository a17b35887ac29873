//! One file per command.

pub mod analyze;
pub mod check;
pub mod matrix;
pub mod recover;
pub mod restore;
pub mod run;
