//! What timing does to motors: stepper torque and step loss, software step generation, servo loops.
//!
//! Everything here turns the activations of a periodic task (measured by any bench, or assumed) into figures a
//! machine builder decides by. Lengths of time are integer nanoseconds where they come from a record and seconds
//! (`_s`) inside the physics; every other quantity is in SI units with the unit in its name.

pub mod catalog;
pub mod error;
mod infinite;
mod judged_run;
pub mod quantity;
pub mod servo;
pub mod stepper;

pub use error::MotionError;
pub use judged_run::JudgedRun;
