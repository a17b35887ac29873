//! Experiments on this machine. The engine measures blocks in turns, keeps them as they are finished, and goes on behind them
//! after a kill; a preset says what is varied, what is measured and what is recommended.

pub mod bench;
pub mod compensate;
mod engine;
pub mod matrix;
pub mod tune;
pub mod wakeups;

pub use bench::{Block, TaskBench};
pub use compensate::CompensationPlan;
pub use engine::{Experiment, KeptParts, Progress};
