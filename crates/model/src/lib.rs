#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod activation;
pub mod bounds;
pub mod causes;
pub mod check;
pub mod cpus;
pub mod distribution;
pub mod edge;
pub mod error;
pub mod facts;
pub mod firmware;
pub mod fitness;
pub mod histogram;
pub mod knob;
pub mod known;
pub mod load;
pub mod own_work;
pub mod pulse;
pub mod quantity;
pub mod run;
pub mod task;
mod text;
pub mod timing;
pub mod units;
pub mod varint;
pub mod wake;
pub mod warning;
pub mod watched;

pub use activation::{Activation, Flags};
pub use causes::RunCauses;
pub use check::{Check, CheckReport};
pub use cpus::CpuSet;
pub use distribution::Distribution;
pub use edge::EdgeKind;
pub use error::Error;
pub use facts::SystemFacts;
pub use fitness::Fitness;
pub use histogram::LogHistogram;
pub use knob::Knob;
pub use known::{Gap, Known};
pub use load::{Load, LoadRun, LoadSpec};
pub use own_work::OwnWork;
pub use pulse::{Pulse, PulseAt, PulsePin, SerialLine, Steps};
pub use quantity::Quantity;
pub use run::{
    Bench, ClockFit, CoreUse, Granted, Keep, MarginUsed, Overload, Refusal, RunInfo, StopReason, TaskResult,
    TaskRun,
};
pub use task::{Overrun, Policy, TaskSpec, Work};
pub use timing::TimingStats;
pub use wake::{Compensation, Probability, ReadClock, SleepClock, WakeMethod, WakeTraits};
pub use warning::Warning;
pub use watched::{ReturnTime, Watched};

/// The part of a value with an `id` that the JSON Schema promises: the `id`. Its other fields may change.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
pub struct Identified {
    /// Id of the value.
    pub id: String,
}
