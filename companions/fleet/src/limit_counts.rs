//! Limits of single starts, and exact counts of activations above them.

use jitterlab_analysis::purposes::{Measure, PURPOSES, Purpose};
use jitterlab_model::{Activation, Flags, Quantity, TimingStats};

/// A limit of a purpose for single starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimit {
    pub purpose: &'static str,
    /// The quantity.
    pub measure: Measure,
    /// Largest value within the limit: a time, or a number of missed due times.
    pub limit_ns: i64,
    /// True if the purpose is not served above it.
    pub breaks: bool,
}

/// A start that breaks a limit above which its purpose is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitBreach {
    /// Number of the activation on the task's grid.
    pub index: u64,
    pub due_ns: i64,
    /// Latency, or period error for a limit of intervals.
    pub late_ns: i64,
    /// Due times missed with it.
    pub missed: u32,
    pub limit: StartLimit,
}

/// Exact counts of activations above the limits of purposes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitCounts {
    limits: Vec<StartLimit>,
    counts: Vec<u64>,
    previous_start_ns: Option<i64>,
    period_ns: i64,
}

impl LimitCounts {
    /// Counts of nothing, for the limits of all purposes that this period tests.
    pub fn new(period_ns: i64) -> Self {
        Self::for_purposes(&[], period_ns)
    }

    /// Counts of nothing, for the limits of these purposes; of all that this period tests where none is given.
    pub fn for_purposes(asked: &[&'static Purpose], period_ns: i64) -> Self {
        let tested = || PURPOSES.iter().filter(|purpose| purpose.is_tested_by(period_ns)).collect();
        let purposes = if asked.is_empty() { tested() } else { asked.to_vec() };
        let mut limits: Vec<StartLimit> = Vec::new();
        for purpose in purposes {
            for limit in purpose.limits.iter().filter(|limit| limit.measure != Measure::PeriodDeviation) {
                for (limit_ns, breaks) in [(limit.good, limit.good == limit.limited), (limit.limited, true)] {
                    let new = StartLimit { purpose: purpose.name, measure: limit.measure, limit_ns, breaks };
                    if !limits.contains(&new) {
                        limits.push(new);
                    }
                }
            }
        }
        LimitCounts { counts: vec![0; limits.len()], limits, previous_start_ns: None, period_ns }
    }

    pub fn limits(&self) -> &[StartLimit] {
        &self.limits
    }

    /// Number of activations above each limit, or of missed due times for a limit of these.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts the next activation; returns the limit that it breaks by the most, `None` if it breaks none.
    pub fn push(&mut self, a: &Activation) -> Option<LimitBreach> {
        let previous_ns = self.previous_start_ns.filter(|_| !a.flags.contains(Flags::AFTER_GAP));
        let error_ns = previous_ns.map(|ns| a.start_ns.saturating_sub(ns).saturating_sub(self.period_ns));
        self.previous_start_ns = Some(a.start_ns);
        let mut worst: Option<LimitBreach> = None;
        for (limit, above) in self.limits.iter().zip(&mut self.counts) {
            let (value, late_ns, times) = match limit.measure {
                Measure::Latency => (a.latency_ns(), a.latency_ns(), 1),
                Measure::Missed => (i64::from(a.missed), a.latency_ns(), u64::from(a.missed)),
                Measure::Interval => match error_ns {
                    Some(error_ns) => (error_ns.saturating_abs(), error_ns, 1),
                    None => continue,
                },
                Measure::PeriodDeviation => continue,
            };
            if value <= limit.limit_ns {
                continue;
            }
            *above += times;
            // An early start after a late one is part of the same.
            let is_early = limit.measure == Measure::Interval && late_ns < 0;
            if limit.breaks && !is_early && worst.is_none_or(|worst| late_ns > worst.late_ns) {
                let Activation { index, due_ns, missed, .. } = *a;
                worst = Some(LimitBreach { index, due_ns, late_ns, missed, limit: *limit });
            }
        }
        worst
    }

    /// Returns the counts and begins anew at 0; the sequence of activations goes on.
    pub fn take_counts(&mut self) -> LimitCounts {
        let taken = self.clone();
        self.counts.fill(0);
        taken
    }

    /// Number of values above a limit by bins and extremes; `None` if the limit lies inside a bin.
    pub(crate) fn count_above_by_bins(stats: &TimingStats, quantity: Quantity, limit_ns: i64) -> Option<u64> {
        let values = stats.distribution(quantity);
        let (min_ns, max_ns) = (values.min_ns()?, values.max_ns()?);
        let both = quantity == Quantity::PeriodError;
        match max_ns <= limit_ns && (!both || min_ns >= -limit_ns) {
            true => Some(0),
            // A bin that the limit lies in, and what is above all bins, leaves it open.
            false => {
                let mut above = 0;
                for bin in values.bins() {
                    let (low, high) = (bin.low_ns.max(min_ns), bin.high_ns.min(max_ns));
                    let outside = low > limit_ns || (both && high < -limit_ns);
                    let inside = high <= limit_ns && (!both || low >= -limit_ns);
                    match (outside, inside) {
                        (true, _) => above += bin.count,
                        (_, true) => {}
                        _ => return None,
                    }
                }
                (values.bin_width_ns() == 0 && values.values_beyond_bins().is_none()).then_some(above)
            }
        }
    }
}
