//! Experiments on this machine. The engine measures blocks in turns, keeps each when it is finished, and
//! continues after them when it was killed. A preset defines what to vary, to measure and to recommend.

pub mod block_measurement;
pub mod compensate;
mod engine;
pub mod matrix;
pub mod tune;
pub mod wakeups;

pub use block_measurement::{Block, TaskMeasurer};
pub use compensate::CompensationPlan;
pub use engine::{Experiment, KeptParts, Progress};
