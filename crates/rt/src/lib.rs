//! Periodic real-time tasks on Linux: what a control program links, and what jitterlab measures with.
//!
//! [`PeriodicLoop`] runs a task on an absolute grid, [`ThreadSetup`] makes its thread a real-time one and says
//! what the system refused, [`record`] takes every activation to another thread, [`TaskThread`] does all of it
//! from a [`jitterlab_model::TaskSpec`].
//!
//! The measured path is: wait, read the clock, work, read the clock, push one fixed-size record. It allocates
//! nothing, takes no lock and makes no system call but the wait.

pub mod builder;
pub mod clock;
pub mod compensate;
pub mod counters;
pub mod fake;
pub mod fitted;
pub mod overload;
pub mod periodic;
pub mod polling;
pub mod record;
mod remedy;
pub mod schedule;
pub mod setup;
pub mod sys;
pub mod system;
pub mod task_thread;
pub mod wake;
pub mod workload;
pub mod xenomai;

pub use builder::{BuildError, Builder};
pub use clock::{Clock, Monotonic};
pub use counters::{Snapshot, TaskCounters};
pub use overload::Overload;
pub use periodic::{PeriodicLoop, Running};
pub use record::{Drain, Recorder};
pub use schedule::Schedule;
pub use setup::ThreadSetup;
pub use task_thread::{Outcome, Plan, TaskThread};
pub use wake::{Arrival, Wake, WakeUp};
pub use workload::{Activity, Workload};
