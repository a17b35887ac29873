//! What prediction needs to know of a run.

use jitterlab_model::Distribution;

use crate::scan::{Part, Peak};

/// How many of the largest latencies prediction looks at.
pub const TAIL_SIZE: usize = 1_200;

/// The largest latencies of a run and the run's size.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// All latencies.
    pub latency: Distribution,
    /// The task's period.
    pub period_ns: f64,
    /// Place of the first activation on the grid.
    pub first: u64,
    /// Place of the last one.
    pub last: u64,
    /// The [`TAIL_SIZE`] largest latencies (all of a shorter run), the largest first. Fewer where only spikes were kept,
    /// none where only histograms are known.
    pub peaks: Vec<Peak>,
    /// The largest latency of each of many blocks of equal length, in order of time.
    pub block_maxima_ns: Vec<f64>,
    /// The histograms of equal parts of the run, in order of time; few where the order of latencies is not known.
    pub parts: Vec<Part>,
    /// Whether latencies have long memory or heavy-tailed regimes ([`crate::long_memory`]).
    pub has_long_memory: bool,
    /// How often the task moved from one processor to another.
    pub migrations: u64,
}

impl Tail {
    /// Activations that ran.
    pub fn count(&self) -> u64 {
        self.latency.count()
    }

    /// The run's length.
    pub fn run_ns(&self) -> f64 {
        (self.last - self.first + 1) as f64 * self.period_ns
    }
}
