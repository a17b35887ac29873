//! Evidence of a run on a requirement: counts of values that break it.

use jitterlab_model::{Distribution, Gap, TaskResult, TaskRun, TimingStats};
use serde::Serialize;

use super::{Required, Requirement};

/// Number of values, and number that broke a requirement. The latter is a range if only a histogram is known
/// and the limit lies inside a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Values in all.
    pub values: u64,
    /// Values that certainly broke the requirement.
    pub broke: u64,
    /// Values that may have broken it.
    pub may_have_broken: u64,
}

impl Evidence {
    /// Counts a distribution: exact unless the limit lies inside an occupied bin. For the latency, pass
    /// [`TimingStats::corrected_latency`](jitterlab_model::TimingStats::corrected_latency).
    pub fn from_distribution(values: &Distribution, requirement: &Requirement) -> Self {
        let mut evidence = Evidence { values: values.count(), ..Evidence::default() };
        for bin in values.bins() {
            let breaks = |ns: i64| requirement.is_broken_by(ns);
            let low = bin.low_ns.max(values.min_ns().unwrap_or(bin.low_ns));
            let high = bin.high_ns.min(values.max_ns().unwrap_or(bin.high_ns));
            // The absolute value of a period error counts, and no bin has both signs.
            let (low, high) = match requirement.subject {
                Required::PeriodError if high < 0 => (high.saturating_abs(), low.saturating_abs()),
                _ => (low, high),
            };
            evidence.broke += if breaks(low) { bin.count } else { 0 };
            evidence.may_have_broken += if breaks(high) { bin.count } else { 0 };
        }
        if let Some(beyond) = values.values_beyond_bins() {
            let most = beyond.to_ns.unwrap_or(i64::MAX);
            // The absolute value of a period error counts: values between bounds of both signs may be as small as 0.
            let (low, high) = match requirement.subject {
                Required::PeriodError if beyond.from_ns < 0 => (0, most.max(beyond.from_ns.saturating_neg())),
                _ => (beyond.from_ns, most),
            };
            evidence.broke += if requirement.is_broken_by(low) { beyond.count } else { 0 };
            // If the source did not count them, there may be any number.
            let most = if beyond.count == 0 { evidence.values } else { beyond.count };
            evidence.may_have_broken += if requirement.is_broken_by(high) { most } else { 0 };
        }
        evidence
    }

    /// Counts from the histograms of a run. `None` for the response time, which has none. A latency counts
    /// once per due time, or once per wake-up if the source does not have the missed due times.
    pub fn new(timing: &TimingStats, requirement: &Requirement) -> Option<Self> {
        Some(match requirement.subject {
            Required::Latency => Self::from_distribution(
                timing.corrected_latency().as_ref().unwrap_or(&timing.latency),
                requirement,
            ),
            Required::PeriodError => Self::from_distribution(&timing.period_error, requirement),
            Required::Execution => Self::from_distribution(&timing.execution, requirement),
            Required::Missed => {
                let missed = timing.least_missed();
                let values = timing.executed() + missed;
                Evidence { values, broke: missed, may_have_broken: missed }
            }
            Required::Response => return None,
        })
    }

    /// Adds breaches that only the task's own counters have, and those that lost records may hide.
    #[must_use]
    pub fn with_counters(mut self, task: &TaskRun, requirement: &Requirement) -> Self {
        let Some(counters) = &task.result else { return self };
        // A lost record takes the intervals on both of its sides.
        let lost = match requirement.subject {
            Required::PeriodError => counters.dropped.saturating_mul(2),
            _ => counters.dropped,
        };
        match requirement.subject {
            Required::Missed => {
                let pending = counters.missed.saturating_sub(self.broke);
                self.merge(&Evidence { values: pending, broke: pending, may_have_broken: pending });
            }
            _ if is_met_by_all(requirement, task, counters) => {}
            Required::Latency if requirement.is_broken_by(counters.max_latency_ns) => {
                // Each lost record may have been as late as the latest of all.
                self.merge(&Evidence { values: lost, broke: 0, may_have_broken: lost });
                if self.broke > 0 {
                    return self;
                }
                let latest = u64::from(self.may_have_broken == 0);
                self = Evidence {
                    values: self.values + latest,
                    broke: 1,
                    may_have_broken: self.may_have_broken.max(1),
                };
            }
            _ => self.merge(&Evidence { values: lost, broke: 0, may_have_broken: lost }),
        }
        self
    }

    /// Adds the evidence of another part of the run.
    pub fn merge(&mut self, other: &Evidence) {
        self.values += other.values;
        self.broke += other.broke;
        self.may_have_broken += other.may_have_broken;
    }
}

/// True if the thread's own extremes leave no lost activation that could break a requirement.
fn is_met_by_all(requirement: &Requirement, task: &TaskRun, counters: &TaskResult) -> bool {
    let largest = match requirement.subject {
        Required::Latency => counters.max_latency_ns,
        // Without a miss, two starts are nowhere further off their period than the latest from the earliest.
        Required::PeriodError if counters.missed == 0 => {
            counters.max_latency_ns.saturating_sub(counters.min_latency_ns)
        }
        _ => return counters.dropped == 0,
    };
    (counters.dropped == 0 || task.knows(Gap::Unseen)) && !requirement.is_broken_by(largest)
}
