//! Length of a run that supports a claim.

use serde::Serialize;

use super::{Breaches, LimitBasis, Requirement, RequirementResult};
use crate::exact_binomial::poisson_upper;
use crate::predict::CONFIDENCE;

/// A run that would support a claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedRun {
    /// Number of values it needs.
    pub values: u64,
    /// The time they take, in ns.
    pub length_ns: f64,
}

/// Length of the run needed to support a claim with 95 % confidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimPlan {
    /// Judgement of the claim by the run so far.
    pub now: RequirementResult,
    /// Assumed number of breaches that come together: as observed, as known to the user, or 1 if nothing is known.
    pub together: f64,
    /// A new run without a breach.
    pub if_none_breaks: PlannedRun,
    /// This run extended, without another breach.
    pub if_no_more_break: PlannedRun,
    /// This run extended, with breaches at the same rate. `None` if it would never support the claim.
    pub at_this_rate: Option<PlannedRun>,
}

impl Requirement {
    /// Returns lengths of runs that would support the requirement; `None` for a share of 0, which no run supports.
    pub fn plan(&self, breaches: &Breaches, burst_at_most: Option<u64>, period_ns: i64) -> Option<ClaimPlan> {
        if self.share <= 0.0 || period_ns <= 0 {
            return None;
        }
        let now = self.judge(breaches, burst_at_most);
        let (n, broke) = (now.evidence.values as f64, now.evidence.may_have_broken as f64);
        let together = match now.basis {
            LimitBasis::Bursts { effective } => (broke / effective).max(1.0),
            LimitBasis::AtMost { together } => together.max(1) as f64,
            LimitBasis::Singly | LimitBasis::LongMemory => 1.0,
        };
        let upper = |broke: f64| together * poisson_upper(broke / together, CONFIDENCE);
        let of = |values: f64| PlannedRun {
            values: values.ceil() as u64,
            length_ns: values.ceil() * period_ns as f64,
        };
        // With breaches at the same rate, the limit approaches the rate.
        let rate = broke / n.max(1.0);
        let longer = || {
            let supported = |values: f64| upper(rate * values) < self.share * values;
            let (mut low, mut high) = (0.0, 1.0 / self.share);
            while !supported(high) {
                (low, high) = (high, 2.0 * high);
                if high > 1e18 {
                    return None;
                }
            }
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if supported(middle) { high = middle } else { low = middle }
            }
            Some(of(high))
        };
        Some(ClaimPlan {
            together,
            if_none_breaks: of(upper(0.0) / self.share),
            if_no_more_break: of(upper(broke) / self.share),
            at_this_rate: if rate < self.share { longer() } else { None },
            now,
        })
    }
}
