#![doc = include_str!("../README.md")]

mod align;
mod answers;
mod compare;
mod error;
pub mod export;
mod one_task;
mod outlook;
mod read;
mod run;
mod warned;

pub use align::align;
pub use compare::{CompareError, CompareOptions, compare};
pub use error::RunsError;
pub use jitterlab_trace::{CaptureHints, Column, Columns, Hints, PacketFilter, Slice, Threshold};
pub use one_task::OneTask;
pub use outlook::Ahead;
pub use read::Progress;
pub use run::Run;
pub use warned::Warned;
