//! Input of a prediction: the tail of a run.

use jitterlab_model::Distribution;

use crate::scan::{Part, Peak};

/// Number of the largest latencies used for prediction.
pub const TAIL_SIZE: usize = 1_200;

/// The largest latencies of a run and the run's size.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// All latencies.
    pub latency: Distribution,
    /// The task's period, in ns.
    pub period_ns: f64,
    /// Position of the first activation on the grid.
    pub first: u64,
    /// Position of the last one.
    pub last: u64,
    /// The [`TAIL_SIZE`] largest latencies (all of a shorter run), the largest first. Fewer if only spikes
    /// were kept, none if only histograms are known.
    pub peaks: Vec<Peak>,
    /// The largest latency of each of many blocks of equal length, in order of time.
    pub block_maxima_ns: Vec<f64>,
    /// The histograms of equal parts of the run, in order of time; few if the order of latencies is unknown.
    pub parts: Vec<Part>,
    /// True if latencies have long memory or heavy-tailed regimes ([`crate::long_memory`]).
    pub has_long_memory: bool,
    /// Number of migrations of the task from one processor to another.
    pub migrations: u64,
}

impl Tail {
    /// Returns the number of activations that ran.
    pub fn count(&self) -> u64 {
        self.latency.count()
    }

    /// Returns the run's length in ns.
    pub fn run_ns(&self) -> f64 {
        (self.last - self.first + 1) as f64 * self.period_ns
    }
}
