//! The activations of a task, wherever they are kept.

use std::ops::Range;

use jitterlab_model::Activation;
use jitterlab_runs::OneTask;

use crate::error::MotionError;

/// The activations of one task in order of time. They can be read any number of times, so that a run of any
/// length needs no more memory than a short one.
pub trait Record {
    /// Goes through all of them.
    ///
    /// # Errors
    /// They cannot be read.
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), MotionError>;

    /// Reads the activations with these numbers.
    ///
    /// # Errors
    /// They cannot be read.
    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, MotionError>;

    /// The smallest latency: how early an activation began; negative before its due time.
    fn least_latency_ns(&self) -> i64;
}

impl Record for [Activation] {
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), MotionError> {
        give(self);
        Ok(())
    }

    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, MotionError> {
        let place = |row: u64| usize::try_from(row).unwrap_or(usize::MAX).min(self.len());
        Ok(self.get(place(rows.start)..place(rows.end)).unwrap_or_default().to_vec())
    }

    fn least_latency_ns(&self) -> i64 {
        self.iter().map(Activation::latency_ns).min().unwrap_or(0)
    }
}

impl Record for OneTask {
    fn visit(&self, give: &mut dyn FnMut(&[Activation])) -> Result<(), MotionError> {
        Ok(self.visit(give)?)
    }

    fn rows(&self, rows: Range<u64>) -> Result<Vec<Activation>, MotionError> {
        Ok(self.activations(rows)?)
    }

    fn least_latency_ns(&self) -> i64 {
        self.stats.latency.min_ns().unwrap_or(0)
    }
}
