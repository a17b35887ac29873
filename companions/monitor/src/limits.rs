//! Limits in force: those of the purposes that a task serves.

use jitterlab_analysis::purposes::{Measure, PURPOSES, Purpose};
use jitterlab_model::{Activation, Flags};

/// A limit of a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InForce {
    /// The purpose.
    pub purpose: &'static str,
    /// The quantity.
    pub measure: Measure,
    /// Up to this much is within the limit.
    pub limit_ns: i64,
    /// Whether the purpose is not served above it.
    pub breaks: bool,
}

/// Purposes that a task of this period is judged for: those that were asked for, else all that it tests.
#[must_use]
pub fn purposes(asked: &[&'static Purpose], period_ns: i64) -> Vec<&'static Purpose> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    PURPOSES.iter().filter(|purpose| purpose.is_tested_by(period_ns)).collect()
}

/// Limits of single starts, of these purposes, each once.
#[must_use]
pub fn in_force(purposes: &[&'static Purpose]) -> Vec<InForce> {
    let mut all: Vec<InForce> = Vec::new();
    for purpose in purposes {
        for limit in purpose.limits.iter().filter(|limit| limit.measure != Measure::PeriodDeviation) {
            for (limit_ns, breaks) in [(limit.good, limit.good == limit.limited), (limit.limited, true)] {
                let new = InForce { purpose: purpose.name, measure: limit.measure, limit_ns, breaks };
                if !all.contains(&new) {
                    all.push(new);
                }
            }
        }
    }
    all
}

impl InForce {
    /// Whether an activation is above it; `previous_start_ns` is the start before it where nothing is missing between them.
    #[must_use]
    pub fn is_broken_by(&self, a: &Activation, period_ns: i64, previous_start_ns: Option<i64>) -> bool {
        match self.measure {
            Measure::Latency => a.latency_ns() > self.limit_ns,
            Measure::Interval => period_error(a, period_ns, previous_start_ns)
                .is_some_and(|error_ns| error_ns.saturating_abs() > self.limit_ns),
            Measure::Missed => i64::from(a.missed) > self.limit_ns,
            Measure::PeriodDeviation => false,
        }
    }
}

/// By how much the time since the start before exceeds the period.
#[must_use]
pub fn period_error(a: &Activation, period_ns: i64, previous_start_ns: Option<i64>) -> Option<i64> {
    let previous_ns = previous_start_ns.filter(|_| !a.flags.contains(Flags::AFTER_GAP))?;
    Some(a.start_ns.saturating_sub(previous_ns).saturating_sub(period_ns))
}
