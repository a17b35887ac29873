//! This machine as a bench: its facts and its tasks.

pub mod check;
pub mod child;
pub mod cpu_choice;
pub mod dma_latency;
mod error;
pub mod experiment;
pub mod facts;
mod groups;
pub mod isolate;
mod knob;
pub mod load;
pub mod measure;
mod prepare;
mod processes;
pub mod programs;
mod pulse;
mod record;
pub mod scratch;
pub mod trace_events;
pub mod watch;
pub mod why;

pub use dma_latency::DmaLatency;
pub use experiment::{
    Block, CompensationPlan, Experiment, KeptParts, Progress, TaskMeasurer, matrix, tune, wakeups,
};
pub use measure::{Finished, LimitExceeded, Measurement, Request, Sink};
pub use prepare::now_utc;
pub use record::{
    Recorded, RunInProgress, default_name, keep_by_default, record, record_to, record_watched, writer,
};
pub use why::CausesWanted;
