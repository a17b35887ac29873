//! What a run shows of a requirement: counts of values that break it.

use jitterlab_model::{Distribution, TaskResult, TimingStats};
use serde::{Deserialize, Serialize};

use super::{Required, Requirement};

/// How many values there were and how many broke a requirement. The latter is a range where only a histogram is known
/// and the limit lies inside a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Values in all.
    pub values: u64,
    /// Values that broke the requirement for certain.
    pub broke: u64,
    /// Values that may have broken it.
    pub may_have_broken: u64,
}

impl Evidence {
    /// From a distribution: exact unless the limit lies inside an occupied bin. For the latency that is
    /// [`TimingStats::corrected`](jitterlab_model::TimingStats::corrected).
    pub fn from_distribution(values: &Distribution, requirement: &Requirement) -> Self {
        let mut evidence = Evidence { values: values.count(), ..Evidence::default() };
        for bin in values.bins() {
            let breaks = |ns: i64| requirement.broken_by(ns);
            let low = bin.low_ns.max(values.min_ns().unwrap_or(bin.low_ns));
            let high = bin.high_ns.min(values.max_ns().unwrap_or(bin.high_ns));
            // Of a period error its size counts, and no bin holds both signs.
            let (low, high) = match requirement.subject {
                Required::PeriodError if high < 0 => (high.saturating_abs(), low.saturating_abs()),
                _ => (low, high),
            };
            evidence.broke += if breaks(low) { bin.count } else { 0 };
            evidence.may_have_broken += if breaks(high) { bin.count } else { 0 };
        }
        if let Some(beyond) = values.beyond() {
            let most = beyond.to_ns.unwrap_or(i64::MAX);
            // Of a period error its size counts: values between bounds of both signs may be as small as 0.
            let (low, high) = match requirement.subject {
                Required::PeriodError if beyond.from_ns < 0 => (0, most.max(beyond.from_ns.saturating_neg())),
                _ => (beyond.from_ns, most),
            };
            evidence.broke += if requirement.broken_by(low) { beyond.count } else { 0 };
            // Where nobody counted them, there may be any number.
            let most = if beyond.count == 0 { evidence.values } else { beyond.count };
            evidence.may_have_broken += if requirement.broken_by(high) { most } else { 0 };
        }
        evidence
    }

    /// What figures show, as far as their histograms tell. `None` for the response time, which they do not hold. Of latencies
    /// each due time counts, or each wake-up where the source does not tell which due times were missed.
    pub fn new(timing: &TimingStats, requirement: &Requirement) -> Option<Self> {
        Some(match requirement.subject {
            Required::Latency => {
                Self::from_distribution(timing.corrected().as_ref().unwrap_or(&timing.latency), requirement)
            }
            Required::PeriodError => Self::from_distribution(&timing.period_error, requirement),
            Required::Execution => Self::from_distribution(&timing.execution, requirement),
            Required::Missed => {
                let missed = timing.seen_missed();
                let values = timing.executed() + missed;
                Evidence { values, broke: missed, may_have_broken: missed }
            }
            Required::Response => return None,
        })
    }

    /// Adds what the task's own counters know beyond its records: due times pending at the end, and the largest latency even
    /// if its record was lost.
    #[must_use]
    pub fn with_counters(mut self, counters: &TaskResult, requirement: &Requirement) -> Self {
        match requirement.subject {
            Required::Missed => {
                let pending = counters.missed.saturating_sub(self.broke);
                self.merge(&Evidence { values: pending, broke: pending, may_have_broken: pending });
            }
            Required::Latency if requirement.broken_by(counters.max_latency_ns) => {
                // Each that was lost may have been as late as the latest of all.
                let dropped = counters.dropped;
                self.merge(&Evidence { values: dropped, broke: 0, may_have_broken: dropped });
                if self.broke > 0 {
                    return self;
                }
                let lost = u64::from(self.may_have_broken == 0);
                self = Evidence {
                    values: self.values + lost,
                    broke: 1,
                    may_have_broken: self.may_have_broken.max(1),
                };
            }
            _ => {}
        }
        self
    }

    /// Adds what another part of the run showed.
    pub fn merge(&mut self, other: &Evidence) {
        self.values += other.values;
        self.broke += other.broke;
        self.may_have_broken += other.may_have_broken;
    }
}
