#![doc = include_str!("../README.md")]

mod error;
mod figures;
mod fitting;
mod loops;
mod probes;
mod recording;
mod shared;

pub use error::RecordingError;
pub use figures::{Figures, Timing};
pub use loops::{Begun, Loop};
pub use probes::Probed;
pub use recording::Recording;
