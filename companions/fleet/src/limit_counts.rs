//! Exact counts of activations above limits.

use jitterlab_analysis::purposes::{Measure, PURPOSES};
use jitterlab_model::{Activation, Flags, Quantity, TimingStats};

/// Exact counts of activations above the limits of the purposes that a period tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitCounts {
    pub(crate) limits: Vec<(&'static str, Quantity, i64, u64)>,
    previous_start_ns: Option<i64>,
    period_ns: i64,
}

impl LimitCounts {
    /// Nothing counted yet, of a task of this period.
    pub fn new(period_ns: i64) -> Self {
        let mut limits = Vec::new();
        for purpose in PURPOSES.iter().filter(|purpose| purpose.is_tested_by(period_ns)) {
            for limit in purpose.limits {
                let quantity = match limit.measure {
                    Measure::Latency => Quantity::Latency,
                    Measure::Interval => Quantity::PeriodError,
                    Measure::PeriodDeviation | Measure::Missed => continue,
                };
                limits.push((purpose.name, quantity, limit.good, 0));
                if limit.limited > limit.good {
                    limits.push((purpose.name, quantity, limit.limited, 0));
                }
            }
        }
        LimitCounts { limits, previous_start_ns: None, period_ns }
    }

    /// Counts the next activation.
    pub fn push(&mut self, a: &Activation) {
        if a.flags.contains(Flags::AFTER_GAP) {
            self.previous_start_ns = None;
        }
        let error = self.previous_start_ns.map(|previous| (a.start_ns - previous - self.period_ns).abs());
        self.previous_start_ns = Some(a.start_ns);
        for (_, quantity, limit_ns, above) in &mut self.limits {
            let value = if *quantity == Quantity::Latency { Some(a.latency_ns()) } else { error };
            *above += u64::from(value.is_some_and(|value| value > *limit_ns));
        }
    }

    /// Hands out what was counted; the sequence of activations goes on.
    pub fn take(&mut self) -> LimitCounts {
        let taken = self.clone();
        self.limits.iter_mut().for_each(|limit| limit.3 = 0);
        taken
    }

    /// As much as histograms and extremes tell: exact where no value lies above the limit, or all do.
    pub(crate) fn above(stats: &TimingStats, quantity: Quantity, limit_ns: i64) -> Option<u64> {
        let values = stats.of(quantity);
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
                (values.bin_ns() == 0 && values.beyond().is_none()).then_some(above)
            }
        }
    }
}
