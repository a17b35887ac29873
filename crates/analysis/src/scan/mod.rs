//! One pass over a trace in bounded memory, from which all later questions are answered.

mod block_sketch;
mod histograms;
mod peaks;
pub mod series;
mod spans;
mod task;
mod ticks;
mod windows;

pub use block_sketch::{BlockSketch, FEW};
pub use histograms::{BinPosition, Part, PartHistograms};
pub(crate) use peaks::position_hash;
pub use peaks::{Peak, Peaks};
pub use spans::{Span, Spans};
pub(crate) use task::SPANS;
pub use task::{PEAKS, TaskScan};
pub use ticks::Ticks;
pub use windows::{WINDOW, Windows};
