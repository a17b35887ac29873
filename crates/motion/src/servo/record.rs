//! The activations of a task, wherever they are kept.

use std::ops::Range;

use jitterlab_model::{Activation, Error};
use jitterlab_runs::OneTask;

/// The activations of one task in order of time. They can be read any number of times, so that a run of any
/// length needs no more memory than a short one.
pub trait Record {
    /// Calls `give` with all activations, some at a time.
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), Error>;

    /// Reads the activations with these numbers.
    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, Error>;

    /// The smallest latency: how early an activation began; negative before its due time.
    fn least_latency_ns(&self) -> i64;

    /// True if lost records may have held an earlier or a later activation than all of these.
    fn has_lost_extremes(&self) -> bool;
}

impl Record for [Activation] {
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), Error> {
        give(self);
        Ok(())
    }

    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, Error> {
        let place = |row: u64| usize::try_from(row).unwrap_or(usize::MAX).min(self.len());
        Ok(self.get(place(rows.start)..place(rows.end)).unwrap_or_default().to_vec())
    }

    fn least_latency_ns(&self) -> i64 {
        self.iter().map(Activation::latency_ns).min().unwrap_or(0)
    }

    fn has_lost_extremes(&self) -> bool {
        false
    }
}

impl Record for OneTask {
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), Error> {
        OneTask::visit(self, give)
    }

    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, Error> {
        self.activations(rows)
    }

    fn least_latency_ns(&self) -> i64 {
        self.stats.latency.min_ns().unwrap_or(0)
    }

    fn has_lost_extremes(&self) -> bool {
        OneTask::has_lost_extremes(self)
    }
}
