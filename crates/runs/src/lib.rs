#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod align;
mod answers;
mod compare;
mod error;
mod one_task;
mod outlook;
mod read;
mod rtla_causes;
mod run;
mod source_fields;
mod warned;

pub use align::align;
pub use compare::{CompareOptions, compare};
pub use error::Missing;
pub use jitterlab_model::Error;
pub use jitterlab_trace::{CaptureHints, Column, Columns, Hints, PacketFilter, Slice, Threshold};
pub use one_task::OneTask;
pub use outlook::OutlookRequest;
pub use read::Progress;
pub use run::Run;
pub use source_fields::SourceFields;
pub use warned::Warned;
