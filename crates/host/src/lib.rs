//! This machine as a bench: its facts and its tasks.

pub mod cause_finder;
pub mod changes;
pub mod check;
pub mod child;
pub mod cpu_choice;
pub mod dma_latency;
mod error;
pub mod experiment;
pub mod facts;
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
mod task_groups;
pub mod trace_events;
pub mod watch;

pub use cause_finder::CauseRequest;
pub use dma_latency::DmaLatency;
pub use experiment::{
    Block, CompensationPlan, Experiment, KeptParts, Progress, TaskMeasurer, matrix, tune, wakeups,
};
pub use measure::{FinishedRun, LimitExceeded, Measurement, Request, Sink};
pub use prepare::now_utc;
pub use record::{
    RecordedRun, RunInProgress, create_run_file, default_file_name, default_keep, record, record_to,
    record_watched,
};
