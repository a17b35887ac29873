//! One file per command.

pub mod analyze;
pub mod check;
pub mod compare;
pub mod compare_wakeups;
pub mod compensate;
pub mod kernel;
pub mod matrix;
pub mod mcu;
pub mod plot;
pub mod predict;
pub mod recover;
pub mod report;
pub mod reproduce;
pub mod restore;
pub mod run;
pub mod schema;
pub mod servo;
pub mod stepper;
