//! This machine as a bench: its facts and its tasks.

pub mod blocks;
pub mod check;
pub mod child;
pub mod dma_latency;
mod error;
pub mod facts;
pub mod isolate;
mod knob;
pub mod load;
pub mod matrix;
pub mod measure;
mod prepare;
mod pulse;
mod record;
pub mod scratch;
pub mod session;
pub mod topology;
pub mod trace_events;
pub mod trial;
pub mod tune;
pub mod watch;
pub mod ways;
pub mod why;

pub use blocks::{Block, Stage};
pub use dma_latency::DmaLatency;
pub use error::{MatrixError, SessionError};
pub use measure::{Above, Finished, Measurement, Request, Sink};
pub use prepare::now_utc;
pub use record::{Underway, default_name, keep_by_default, record, record_to, record_watched, writer};
pub use session::{Session, SessionProgress};
pub use trial::TrialPlan;
