//! This machine as a bench: its facts and its tasks.

pub mod blocks;
pub mod check;
pub mod dma_latency;
mod error;
pub mod facts;
pub mod isolate;
pub mod load;
pub mod measure;
mod prepare;
pub mod topology;

pub use blocks::{Block, Stage};
pub use dma_latency::DmaLatency;
pub use error::PrepareError;
pub use jitterlab_rt::Activity;
pub use measure::{Finished, Measurement, Progress, Request, Sink};
pub use prepare::now_utc;
