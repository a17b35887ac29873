#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod builder;
pub mod compensate;
pub mod counters;
pub mod error;
pub mod fake;
pub mod fitted;
mod linux;
mod overload_guard;
pub mod periodic;
pub mod probe;
pub mod record;
mod ring;
pub mod schedule;
pub mod setup;
pub mod spare_processor;
pub mod sys;
pub mod system;
pub mod task_thread;
pub mod task_wake_up;
pub mod wake;
pub mod workload;
pub mod xenomai;

pub use builder::Builder;
pub use counters::TaskCounters;
pub use error::{no_thread_error, thread_panic_error};
pub use jitterlab_model::Error;
pub use jitterlab_model::OwnWork;
pub use jitterlab_model::error::ErrorKind;
pub use linux::Linux;
pub use periodic::{LoopEnd, OpenActivation, PeriodicLoop, RunningActivation};
pub use probe::Probe;
pub use record::{Drain, Recorder};
pub use schedule::Schedule;
pub use setup::ThreadSetup;
pub use system::System;
pub use task_thread::{TaskEnd, TaskThread, ThreadOptions};
pub use wake::{Arrival, Wake, WakeUp};
pub use workload::Workload;
