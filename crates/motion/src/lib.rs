#![doc = include_str!("../README.md")]
//!
//! Lengths of time are integer nanoseconds where they come from a record and seconds (`_s`) inside the physics; every other
//! quantity is in SI units with the unit in its name.

pub mod catalog;
pub mod doctor;
pub mod error;
mod infinite;
pub mod judged_number;
mod judged_run;
pub mod quantity;
pub mod servo;
pub mod stepper;

pub(crate) use infinite::{Infinite, Infinites};
pub use judged_run::JudgedRun;
