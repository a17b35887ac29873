//! Requirements on a run, with the outcomes met, broken and undecided: `p99.99 < 80us`, `missed = 0`, `p(latency
//! > 100us) < 1e-6`. Decided by counting, for any distribution, and with the clustering of the breaches.

mod breaches;
mod error;
mod evidence;
mod limits;
mod plan;

pub use breaches::{BreachCounter, Breaches};
pub use evidence::Evidence;
pub use limits::LimitBasis;
pub use plan::{ClaimPlan, PlannedRun};

use std::str::FromStr;

use jitterlab_model::activation::Ages;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Error, Gap, TaskRun};
use serde::Serialize;

use error::{not_a_requirement, unknown_word};
pub(crate) use limits::upper_share_limit;

use limits::Limits;

/// Quantity required of each due time or activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Required {
    /// Latency of each due time; a missed one counts with its age.
    Latency,
    /// Size of the period error, |(w_k - w_{k-1}) - T|.
    PeriodError,
    /// Execution time.
    Execution,
    /// Response time, end - due.
    Response,
    /// 1 for a missed due time, else 0.
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

/// Requirement that at most a share of the values lie above a limit.
///
/// ```
/// use jitterlab_analysis::require::{Breaches, Evidence, Outcome, Requirement};
///
/// let required: Requirement = "p99.9 < 80us".parse()?;
/// // None of 2000 values broke it, which come singly: too few to say that no more than one in a thousand does; of 3000 it is known.
/// let none_of = |values| {
///     required.judge(&Breaches::from_totals(Evidence { values, ..Evidence::default() }), Some(1)).outcome
/// };
/// assert_eq!((none_of(2_000), none_of(3_000)), (Outcome::NotEnoughData, Outcome::Pass));
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requirement {
    /// The quantity.
    pub subject: Required,
    /// The limit (0 for [`Required::Missed`]).
    pub limit_ns: i64,
    /// True if a value equal to the limit breaks it (`<`); false if it does not (`<=`).
    pub limit_breaks: bool,
    /// The share of values that break it must be below this; 0 allows none at all.
    pub share: f64,
    /// The requirement as written.
    pub text: String,
}

impl FromStr for Requirement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("p(").or_else(|| text.strip_prefix("P(")) {
            return parse_probability(text, rest);
        }
        let (left, strict, right) = split_comparison(text).ok_or_else(|| not_a_requirement(text))?;
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
            [name, statistic] => (parse_required(text, name)?, statistic),
            _ => {
                return Err(not_a_requirement(text));
            }
        };
        let share = match statistic {
            "max" => 0.0,
            _ => match statistic.strip_prefix('p') {
                Some(percent) => share_above(percent).ok_or_else(|| {
                    Error::bad_use(format!("{statistic:?} is not a quantile"))
                        .remedy("write p and a number above 0 and below 100, such as p99.99")
                })?,
                None => return Err(unknown_word(text, statistic)),
            },
        };
        if subject == Required::Missed {
            return Err(unknown_word(text, "missed"));
        }
        Ok(Requirement {
            subject,
            limit_ns: parse_limit(text, right)?,
            limit_breaks: strict,
            share,
            text: text.into(),
        })
    }
}

/// Reads the quantity of a requirement from its name; `text` is the whole requirement, for the message.
fn parse_required(text: &str, name: &str) -> Result<Required, Error> {
    Required::ALL.iter().find(|(n, _)| *n == name).map(|(_, f)| *f).ok_or_else(|| unknown_word(text, name))
}

/// Splits `left < right` (also `<=` and `=`), with whether equality breaks it; `None` if a part is missing.
fn split_comparison(text: &str) -> Option<(&str, bool, &str)> {
    let at = text.find(['<', '='])?;
    let (left, rest) = text.split_at(at);
    let (strict, right) = match rest.strip_prefix("<=") {
        Some(right) => (false, right),
        None => (rest.starts_with('<'), &rest[1..]),
    };
    (!right.trim().is_empty() && !left.trim().is_empty()).then_some((left.trim(), strict, right.trim()))
}

/// Reads the rest of a probability: `latency > 100us) < 1e-6`.
fn parse_probability(text: &str, rest: &str) -> Result<Requirement, Error> {
    let none = || not_a_requirement(text);
    let (inner, outer) = rest.split_once(')').ok_or_else(none)?;
    let (name, value) = inner.split_once('>').ok_or_else(none)?;
    let (limit_breaks, value) = match value.strip_prefix('=') {
        Some(value) => (true, value),
        None => (false, value),
    };
    let share = outer.trim().strip_prefix('<').ok_or_else(none)?;
    let share = parse_share(text, share.strip_prefix('=').unwrap_or(share).trim())?;
    let subject = parse_required(text, name.trim())?;
    if subject == Required::Missed {
        return Err(unknown_word(text, "missed"));
    }
    Ok(Requirement {
        subject,
        limit_ns: parse_limit(text, value.trim())?,
        limit_breaks,
        share,
        text: text.into(),
    })
}

fn parse_limit(text: &str, value: &str) -> Result<i64, Error> {
    parse_duration_ns(value).map_err(|error| Error::bad_use(format!("the limit of {text:?}")).because(error))
}

/// Returns the share above a quantile in percent (`99.99` gives 1e-4); `None` if not between 0 and 100. In whole
/// digits, so that nothing is rounded.
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

fn parse_share(text: &str, share: &str) -> Result<f64, Error> {
    let bad = || {
        Error::bad_use(format!("{share:?} in {text:?} is not a share"))
            .remedy("write a number from 0 to below 1 or a percentage, such as 1e-6 or 0.01%")
    };
    let value = match share.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| bad())? / 100.0,
        None => share.parse().map_err(|_| bad())?,
    };
    if (0.0..1.0).contains(&value) { Ok(value) } else { Err(bad()) }
}

/// Outcome of a requirement on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is met, with 95 % confidence.
    Pass,
    /// It is broken, with 95 % confidence.
    Fail,
    /// The run is too short to decide.
    NotEnoughData,
    /// The source of the run lacks the required quantity.
    Unknown,
}

/// The outcome of a requirement with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Judgement")]
pub struct RequirementResult {
    /// The requirement.
    pub requirement: Requirement,
    /// The outcome.
    pub outcome: Outcome,
    /// Data that the source lacks, if that is the reason why nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Gap>,
    /// Counts of values and breaches.
    pub evidence: Evidence,
    /// Lower and upper limit, each with 95 % confidence, of the share that breaks it.
    pub share_limits: [f64; 2],
    /// Basis of the limits.
    #[serde(rename = "footing")]
    pub basis: LimitBasis,
    /// The largest burst of breaches with which it would pass, if the limits are from the number of breaches alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes_if_at_most: Option<u64>,
}

impl Requirement {
    /// True if a value breaks the limit.
    pub fn is_broken_by(&self, value_ns: i64) -> bool {
        if self.limit_breaks { value_ns >= self.limit_ns } else { value_ns > self.limit_ns }
    }

    fn evidence_of(&self, value_ns: i64) -> Evidence {
        let broke = u64::from(self.is_broken_by(value_ns));
        Evidence { values: 1, broke, may_have_broken: broke }
    }

    fn evidence_of_ages(&self, ages: &Ages) -> Evidence {
        let broke = ages.count_above(self.limit_ns.saturating_sub(i64::from(self.limit_breaks)));
        Evidence { values: ages.count, broke, may_have_broken: broke }
    }

    /// Returns the data needed to decide it that the source of a task lacks, if any.
    pub fn missing_data(&self, task: &TaskRun) -> Option<Gap> {
        let needs: &[Gap] = match self.subject {
            Required::Latency => &[Gap::Latency, Gap::Phase],
            Required::PeriodError => &[Gap::DueTimes, Gap::Grid],
            Required::Execution | Required::Response => &[Gap::Execution],
            Required::Missed => &[Gap::Missed],
        };
        needs.iter().copied().chain(Gap::EVERYTHING).find(|gap| !task.knows(*gap))
    }

    /// Judges whether a run met the requirement, with the evidence. If the run itself does not show how many breaches
    /// come together, `burst_at_most` gives their largest number, if it is known.
    ///
    /// No run can prove a share of 0: it passes if nothing broke it, and the upper limit of the share shows
    /// the strength of that.
    pub fn judge(&self, breaches: &Breaches, burst_at_most: Option<u64>) -> RequirementResult {
        let seen = breaches.evidence;
        let limits = Limits::new(breaches, burst_at_most);
        let [low, high] = limits.share;
        let outcome = if breaches.gap.is_some() {
            Outcome::Unknown
        } else if seen.values == 0 {
            Outcome::NotEnoughData
        } else if self.share == 0.0 {
            match (seen.broke, seen.may_have_broken) {
                (0, 0) => Outcome::Pass,
                (0, _) => Outcome::NotEnoughData,
                _ => Outcome::Fail,
            }
        } else {
            match limits.basis {
                // Limits would be different with bursts of unknown size.
                LimitBasis::Singly | LimitBasis::LongMemory => Outcome::NotEnoughData,
                _ if high < self.share => Outcome::Pass,
                _ if low > self.share => Outcome::Fail,
                _ => Outcome::NotEnoughData,
            }
        };
        let singly = limits.basis == LimitBasis::Singly && self.share > 0.0 && high < self.share;
        RequirementResult {
            requirement: self.clone(),
            outcome,
            unknown: breaches.gap,
            evidence: seen,
            share_limits: limits.share,
            basis: limits.basis,
            passes_if_at_most: singly.then(|| self.largest_burst(breaches)),
        }
    }

    /// Returns the largest burst of breaches with which the requirement would pass.
    fn largest_burst(&self, breaches: &Breaches) -> u64 {
        let passes = |together: u64| Limits::new(breaches, Some(together)).share[1] < self.share;
        let (mut low, mut high) = (1, breaches.evidence.values.max(2));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if passes(middle) { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests;
