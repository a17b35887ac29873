//! One pass over a trace in bounded memory: what every later question is answered from.

mod glance;
mod histograms;
mod peaks;
pub mod series;
mod spans;
mod task;
mod ticks;
mod windows;

pub use glance::{FEW, Glance};
pub use histograms::{Part, PartHistograms, Place};
pub(crate) use peaks::scattered;
pub use peaks::{Peak, Peaks};
pub use spans::{Span, Spans};
pub(crate) use task::SPANS;
pub use task::{PEAKS, TaskScan};
pub use ticks::Ticks;
pub use windows::{WINDOW, Windows};
