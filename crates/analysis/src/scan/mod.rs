//! One pass over a trace in bounded memory: what every later question is answered from.

mod blocks;
mod glance;
mod histograms;
mod peaks;
mod task;
mod windows;

pub use blocks::{Block, Blocks};
pub use glance::{FEW, Glance};
pub use histograms::{Part, PartHistograms};
pub(crate) use peaks::scattered;
pub use peaks::{Peak, Peaks};
pub use task::{PEAKS, TaskScan};
pub use windows::{WINDOW, Windows};
