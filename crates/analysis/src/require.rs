//! Requirements that a run meets, breaks, or is too short to decide: `p99.99 < 80us`, `missed = 0`,
//! `p(latency > 100us) < 1e-6`. Decided by exact binomial reasoning, whatever the distribution is.

mod error;
mod evidence;

pub use error::RequirementError;
pub use evidence::{Evidence, EvidenceCounter};

use std::str::FromStr;

use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Gap, TaskRun};
use serde::{Deserialize, Serialize};

use crate::exact::{binomial_at_most, binomial_lower, binomial_upper};
use crate::predict::{CONFIDENCE, INDEPENDENT_INDEX};
use crate::scan::TaskScan;

/// What is measured of each due time or activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Required {
    /// Release latency of each due time; a missed one counts with its age.
    Latency,
    /// Size of the period error, |(w_k - w_{k-1}) - T|.
    PeriodError,
    /// Execution time.
    Execution,
    /// Response time, end - due.
    Response,
    /// Whether the due time was missed.
    Missed,
}

impl Required {
    const ALL: [(&'static str, Required); 5] = [
        ("latency", Required::Latency),
        ("period-error", Required::PeriodError),
        ("execution", Required::Execution),
        ("response", Required::Response),
        ("missed", Required::Missed),
    ];
}

/// At most a share of the values may lie above a limit.
///
/// ```
/// use jitterlab_analysis::require::{Evidence, Outcome, Requirement};
///
/// let required: Requirement = "p99.9 < 80us".parse()?;
/// // None of 2000 values broke it: too few to say that no more than one in a thousand does; of 3000 it is known.
/// let none_of = |values| required.judge(Evidence { values, ..Evidence::default() }, 1.0).outcome;
/// assert_eq!((none_of(2_000), none_of(3_000)), (Outcome::NotEnoughData, Outcome::Pass));
/// # Ok::<(), jitterlab_analysis::require::RequirementError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requirement {
    /// What it is about.
    pub subject: Required,
    /// The limit (0 for [`Required::Missed`]).
    pub limit_ns: i64,
    /// Whether a value equal to the limit breaks it (`<`) or not (`<=`).
    pub limit_breaks: bool,
    /// The share of values that may break it: below this; 0 for none at all.
    pub share: f64,
    /// As it was written.
    pub text: String,
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("p(").or_else(|| text.strip_prefix("P(")) {
            return probability(text, rest);
        }
        let (left, strict, right) = split(text).ok_or_else(|| RequirementError::NoComparison(text.into()))?;
        let words: Vec<&str> = left.split_whitespace().collect();
        if words == ["missed"] {
            let share = parse_share(text, right)?;
            return Ok(Requirement {
                subject: Required::Missed,
                limit_ns: 0,
                limit_breaks: false,
                share,
                text: text.into(),
            });
        }
        let (subject, statistic) = match words[..] {
            [statistic] => (Required::Latency, statistic),
            [name, statistic] => (subject(text, name)?, statistic),
            _ => return Err(RequirementError::NoComparison(text.into())),
        };
        let share = match statistic {
            "max" => 0.0,
            _ => match statistic.strip_prefix('p') {
                Some(percent) => {
                    share_above(percent).ok_or_else(|| RequirementError::BadQuantile(statistic.into()))?
                }
                None => return Err(unknown(text, statistic)),
            },
        };
        if subject == Required::Missed {
            return Err(unknown(text, "missed"));
        }
        Ok(Requirement {
            subject,
            limit_ns: limit(text, right)?,
            limit_breaks: strict,
            share,
            text: text.into(),
        })
    }
}

fn unknown(text: &str, what: &str) -> RequirementError {
    RequirementError::UnknownRequired { text: text.into(), what: what.into() }
}

fn subject(text: &str, name: &str) -> Result<Required, RequirementError> {
    Required::ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f).ok_or_else(|| unknown(text, name))
}

/// Splits `left < right` (also `<=` and `=`): what is compared, whether equality breaks it, the limit.
fn split(text: &str) -> Option<(&str, bool, &str)> {
    let at = text.find(['<', '='])?;
    let (left, rest) = text.split_at(at);
    let (strict, right) = match rest.strip_prefix("<=") {
        Some(right) => (false, right),
        None => (rest.starts_with('<'), &rest[1..]),
    };
    (!right.trim().is_empty() && !left.trim().is_empty()).then_some((left.trim(), strict, right.trim()))
}

/// `latency > 100us) < 1e-6`
fn probability(text: &str, rest: &str) -> Result<Requirement, RequirementError> {
    let none = || RequirementError::NoComparison(text.into());
    let (inner, outer) = rest.split_once(')').ok_or_else(none)?;
    let (name, value) = inner.split_once('>').ok_or_else(none)?;
    let (limit_breaks, value) = match value.strip_prefix('=') {
        Some(value) => (true, value),
        None => (false, value),
    };
    let share = outer.trim().strip_prefix('<').ok_or_else(none)?;
    let share = parse_share(text, share.strip_prefix('=').unwrap_or(share).trim())?;
    let subject = subject(text, name.trim())?;
    if subject == Required::Missed {
        return Err(unknown(text, "missed"));
    }
    Ok(Requirement { subject, limit_ns: limit(text, value.trim())?, limit_breaks, share, text: text.into() })
}

fn limit(text: &str, value: &str) -> Result<i64, RequirementError> {
    parse_duration_ns(value).map_err(|error| RequirementError::BadTime { text: text.into(), error })
}

/// The share above the quantile written in percent: `99.99` leaves 1e-4, in whole digits so that nothing is rounded.
fn share_above(percent: &str) -> Option<f64> {
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 12 {
        return None;
    }
    let scale = 10u64.pow(fraction.len() as u32);
    let all = 100 * scale;
    let below =
        whole.parse::<u64>().ok()?.checked_mul(scale)? + format!("0{fraction}").parse::<u64>().ok()?;
    (0 < below && below < all).then(|| (all - below) as f64 / all as f64)
}

fn parse_share(text: &str, share: &str) -> Result<f64, RequirementError> {
    let bad = || RequirementError::BadShare { text: text.into(), share: share.into() };
    let value = match share.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| bad())? / 100.0,
        None => share.parse().map_err(|_| bad())?,
    };
    if (0.0..1.0).contains(&value) { Ok(value) } else { Err(bad()) }
}

/// What a run says of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is met, with 95 % confidence.
    Pass,
    /// It is broken, with 95 % confidence.
    Fail,
    /// The run is too short to say.
    NotEnoughData,
    /// What is required is unknown of its source.
    Unknown,
}

/// The outcome of a requirement with the numbers it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// What was required.
    pub requirement: Requirement,
    /// The outcome.
    pub outcome: Outcome,
    /// What the source does not tell, where that is why nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Gap>,
    /// What it rests on.
    pub evidence: Evidence,
    /// Limits, each with 95 % confidence, of the share that breaks it.
    pub share_limits: [f64; 2],
}

impl Requirement {
    /// Whether a value breaks the limit.
    pub fn broken_by(&self, value_ns: i64) -> bool {
        if self.limit_breaks { value_ns >= self.limit_ns } else { value_ns > self.limit_ns }
    }

    /// How many breaches count for themselves, from a scan: 1 if each does, 1/n if n come together. Misses by their bursts,
    /// everything else as the largest latencies do.
    pub fn extremal_index(&self, scan: &TaskScan) -> f64 {
        let index = if self.subject == Required::Missed {
            scan.misses().and_then(|misses| {
                let bursts: u64 = misses.bursts.iter().map(|b| b.count).sum();
                (bursts > 0).then(|| bursts as f64 / misses.missed as f64)
            })
        } else {
            scan.tail().and_then(|tail| tail.extremal_index())
        };
        // Independent breaches stay above the limit that prediction has too.
        index.filter(|theta| *theta < INDEPENDENT_INDEX).unwrap_or(1.0)
    }

    /// What the source of a task would have to tell to decide it, and does not.
    pub fn gap(&self, task: &TaskRun) -> Option<Gap> {
        let needs: &[Gap] = match self.subject {
            Required::Latency => &[Gap::Latency, Gap::Phase],
            Required::PeriodError => &[Gap::DueTimes, Gap::Grid],
            Required::Execution | Required::Response => &[Gap::Execution],
            Required::Missed => &[Gap::Missed],
        };
        needs.iter().copied().find(|gap| !task.knows(*gap))
    }

    /// What is said where the source does not tell what it is about.
    pub fn unknown(&self, gap: Gap) -> Judgement {
        Judgement {
            requirement: self.clone(),
            outcome: Outcome::Unknown,
            unknown: Some(gap),
            evidence: Evidence::default(),
            share_limits: [0.0, 1.0],
        }
    }

    /// Decides it. `extremal_index` (0 to 1) says how many breaches count for themselves: where they come in clusters of
    /// 1 / theta, there is that much less to learn from them.
    ///
    /// A share of 0 cannot be proved by any run: it passes if nothing broke it, and the upper limit of the share says what that is worth.
    pub fn judge(&self, evidence: Evidence, extremal_index: f64) -> Judgement {
        let theta = extremal_index.clamp(1e-6, 1.0);
        let scaled = |count: u64| count as f64 * theta;
        let (n, at_least, at_most) =
            (scaled(evidence.values), scaled(evidence.broke), scaled(evidence.may_have_broken));
        let outcome = if self.share == 0.0 {
            match (evidence.broke, evidence.may_have_broken) {
                _ if evidence.values == 0 => Outcome::NotEnoughData,
                (0, 0) => Outcome::Pass,
                (0, _) => Outcome::NotEnoughData,
                _ => Outcome::Fail,
            }
        } else if evidence.values > 0 && binomial_at_most(at_most, n, self.share) <= 1.0 - CONFIDENCE {
            Outcome::Pass
        } else if at_least > 0.0 && binomial_at_most(at_least - 1.0, n, self.share) >= CONFIDENCE {
            Outcome::Fail
        } else {
            Outcome::NotEnoughData
        };
        let share_limits =
            [binomial_lower(at_least, n, CONFIDENCE), binomial_upper(at_most, n.max(1e-9), CONFIDENCE)];
        Judgement { requirement: self.clone(), outcome, unknown: None, evidence, share_limits }
    }

    /// How long to run to support it.
    pub fn plan(&self, evidence: Evidence, extremal_index: f64, period_ns: i64) -> Option<ClaimPlan> {
        if self.share <= 0.0 || period_ns <= 0 {
            return None;
        }
        let theta = extremal_index.clamp(1e-6, 1.0);
        let (n, broke) = (evidence.values as f64, evidence.may_have_broken as f64);
        let supported = |values: f64, broke: f64| {
            binomial_at_most(broke * theta, values * theta, self.share) <= 1.0 - CONFIDENCE
        };
        let least = |broke_at: &dyn Fn(f64) -> f64| {
            let mut high = (1.0 / self.share).max(1.0);
            while !supported(high, broke_at(high)) {
                high *= 2.0;
                if high > 1e18 {
                    return None;
                }
            }
            let mut low = 0.0;
            for _ in 0..200 {
                let middle = ((low + high) / 2.0f64).floor();
                if middle <= low || middle >= high {
                    break;
                }
                if supported(middle, broke_at(middle)) { high = middle } else { low = middle }
            }
            Some(high as u64)
        };
        let rate = if n > 0.0 { broke / n } else { 0.0 };
        let of = |values: u64| PlannedRun { values, length_ns: values as f64 * period_ns as f64 };
        Some(ClaimPlan {
            now: self.judge(evidence, extremal_index),
            if_none_breaks: of(least(&|_| 0.0)?),
            if_no_more_break: of(least(&|_| broke)?),
            at_this_rate: if rate < self.share { least(&|values| rate * values).map(of) } else { None },
        })
    }
}

/// A run that would support a claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedRun {
    /// Values it needs.
    pub values: u64,
    /// The time they take.
    pub length_ns: f64,
}

/// How long to run to support a claim with 95 % confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimPlan {
    /// The claim, and what the run says of it now.
    pub now: Judgement,
    /// A fresh run in which nothing breaks it.
    pub if_none_breaks: PlannedRun,
    /// This run made longer, if nothing more breaks it.
    pub if_no_more_break: PlannedRun,
    /// This run made longer, if it goes on as it did. `None` if it would never support the claim.
    pub at_this_rate: Option<PlannedRun>,
}

#[cfg(test)]
mod tests;
