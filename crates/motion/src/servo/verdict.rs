//! Verdict on closing a loop on a machine: the worst of cost, margin left, and worst event.

use jitterlab_analysis::purposes::activations_needed;
use jitterlab_model::Fitness;
use serde::Serialize;

use super::along_trace::Interval;
use super::burst_stability::Stability;
use super::design_margins::Margins;
use super::evaluate::Evaluation;
use super::markov_chain::Stationary;
use super::mean_timing::MeanTiming;
use super::reference_tracking::FollowedReference;
use super::response::Reference;
use super::weakly_hard::{Guarantee, StabilityUnderMisses, WeaklyHard};

/// Loss up to which a loop is good: the uncertainty of a plant model is as large.
const GOOD_LOSS: f64 = 0.1;
/// Loss up to which it is usable: the cost is four times the ideal one, the errors twice.
const USABLE_LOSS: f64 = 3.0;
/// Largest deviation of the response through the worst event, as a share of the error with ideal timing.
const GOOD_EVENT: f64 = 0.1;
/// Largest deviation with which a loop is of limited use: the errors are twice as large.
const USABLE_EVENT: f64 = 1.0;
/// Below this share of the period no latency matters to a loop.
const NOTHING: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum VerdictReason {
    Unstable {
        #[serde(with = "crate::Infinite")]
        radius_per_period: f64,
    },
    /// Stability is unknown: a growing row of cycles was repeated at once, and may be repeated for longer.
    StabilityUnknown { cycles: usize, came: u64, again: u64 },
    /// Records were lost that may have held the worst activations.
    LostRecords,
    /// Cost of the timing, as a share of the cost with ideal timing.
    Cost {
        loss: f64,
        /// Its confidence interval; `None` if the run is too short for one.
        interval: Option<Interval>,
    },
    /// The time from the due time to the output, against the loop's delay margin.
    Delay {
        worst_ns: i64,
        mean_ns: i64,
        /// The longest constant delay with which the loop is stable; `None` if it is with any.
        margin_ns: Option<i64>,
    },
    /// Variation of that time against the loop's margin for delays in any order.
    Jitter {
        /// Largest minus smallest time from the due time to the output.
        jitter_ns: i64,
        /// Margin of the loop on top of the smallest delay, in ns.
        margin_ns: i64,
    },
    /// Periods without an output.
    Misses {
        /// The most that came how close together.
        seen: WeaklyHard,
        /// Stability proved for a loop with no more misses than these.
        guarantee: Guarantee,
    },
    /// Missed periods in any order, as they were asked for.
    MissesAskedFor {
        at_most: WeaklyHard,
        guarantee: Guarantee,
        /// The growth per period of the sequence that grows most of those found.
        growth: f64,
    },
    /// Deviation of the response through the worst event from the ideal one.
    Event {
        reference: Reference,
        /// As a share of the largest error with ideal timing.
        #[serde(with = "crate::Infinite")]
        of_error: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GradedReason {
    pub fitness: Fitness,
    #[serde(flatten)]
    pub judgement: VerdictReason,
}

/// Verdict on closing a loop on a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopVerdict {
    /// The worst of all sides.
    pub fitness: Fitness,
    /// All sides, the one that decides first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub sides: Vec<GradedReason>,
}

impl LoopVerdict {
    /// Verdict by reasons in the order of their weight.
    pub(super) fn new(mut sides: Vec<GradedReason>) -> LoopVerdict {
        sides.sort_by_key(|side| std::cmp::Reverse(side.fitness));
        LoopVerdict { fitness: sides.first().map_or(Fitness::CannotTell, |side| side.fitness), sides }
    }

    /// Verdict by a run whose records were lost where it was worst: what is not fit remains so.
    pub(super) fn with_lost_records(mut self) -> LoopVerdict {
        self.sides.push(GradedReason { fitness: Fitness::CannotTell, judgement: VerdictReason::LostRecords });
        LoopVerdict::new(self.sides)
    }
}

/// Graded reason by the stability that is proved under a requested weakly hard requirement.
pub(super) fn requirement_reason(under: &StabilityUnderMisses) -> GradedReason {
    let StabilityUnderMisses { at_most, guarantee, lower: growth, .. } = *under;
    let fitness = match guarantee {
        Guarantee::Stable => Fitness::Good,
        Guarantee::Undecided => Fitness::CannotTell,
        Guarantee::Unstable | Guarantee::DoesNotDecay => Fitness::Unfit,
    };
    GradedReason { fitness, judgement: VerdictReason::MissesAskedFor { at_most, guarantee, growth } }
}

fn grade(value: f64, good: f64, usable: f64) -> Fitness {
    match value {
        value if value < good => Fitness::Good,
        value if value < usable => Fitness::Limited,
        _ => Fitness::Unfit,
    }
}

/// Graded reason by the stability of a stationary loop, and if it is stable by its loss with confidence interval.
pub(super) fn cost_reason(
    stationary: &Stationary,
    stability: &Stability,
    (loss, interval): (f64, Option<Interval>),
) -> GradedReason {
    if let Stability::CannotTell { cycles, came, again } = *stability {
        let judgement = VerdictReason::StabilityUnknown { cycles, came, again };
        return GradedReason { fitness: Fitness::CannotTell, judgement };
    }
    if !stationary.is_stable() {
        let radius_per_period = stationary.radius_per_period;
        return GradedReason {
            fitness: Fitness::Unfit,
            judgement: VerdictReason::Unstable { radius_per_period },
        };
    }
    let fitness = grade(interval.map_or(loss, |i| i.high), GOOD_LOSS, USABLE_LOSS);
    GradedReason { fitness, judgement: VerdictReason::Cost { loss, interval } }
}

/// True if a task is never late enough to matter to a loop.
fn is_hardly_late(worst_response_ns: i64, period_ns: i64) -> bool {
    worst_response_ns as f64 <= NOTHING * period_ns as f64
}

/// Graded reason by the cost of a run; without a confidence interval only a task that is hardly late can be good.
fn run_cost_reason(found: &Evaluation, hardly_late: bool) -> GradedReason {
    let stationary = &found.clustered;
    let mut cost = cost_reason(stationary, &found.stability, found.loss_with_interval());
    // Without an interval only a timing that cannot matter is good, and only where enough of it was seen.
    let cannot_matter = hardly_late && found.timing.executed >= activations_needed();
    if stationary.is_stable() && found.cost_interval.is_none() && !cannot_matter {
        cost.fitness = cost.fitness.max(Fitness::CannotTell);
    }
    cost
}

/// A task of several that close a plant: its timing, its period, and the longest constant delay with which
/// the plant is stable; `None` for its whole period.
pub(super) struct LateTask<'a> {
    pub timing: &'a MeanTiming,
    pub period_ns: i64,
    pub delay_margin_ns: Option<i64>,
}

/// The verdict on a plant by its cost, delays, margin, requirements and response through the worst event. The delay is
/// that of the task nearest to its margin; the margin is another one of its loop.
pub(super) fn plant_verdict(
    found: &Evaluation,
    tasks: &[LateTask<'_>],
    margin: Option<GradedReason>,
    requirements: &[StabilityUnderMisses],
    responses: &[FollowedReference],
) -> LoopVerdict {
    let hardly = tasks.iter().all(|t| is_hardly_late(t.timing.worst_response_ns, t.period_ns));
    let mut sides = vec![run_cost_reason(found, hardly)];
    let delays = tasks
        .iter()
        .filter(|t| t.delay_margin_ns.is_some())
        .map(|t| delay_reason(t.timing, t.delay_margin_ns));
    sides.extend(delays.max_by(|a, b| a.fitness.cmp(&b.fitness)));
    sides.extend(margin);
    sides.extend(requirements.iter().map(requirement_reason));
    sides.extend(worst_event_reason(responses));
    LoopVerdict::new(sides)
}

/// Graded reason by the mean and the worst time from the due time to the output, against the loop's delay margin.
fn delay_reason(timing: &MeanTiming, delay_margin_ns: Option<i64>) -> GradedReason {
    let mean_ns = (timing.latency_ns + timing.execution_ns).round() as i64;
    let fitness = match delay_margin_ns {
        Some(margin) if mean_ns > margin => Fitness::Unfit,
        Some(margin) if timing.worst_response_ns > margin => Fitness::Limited,
        _ => Fitness::Good,
    };
    let judgement =
        VerdictReason::Delay { worst_ns: timing.worst_response_ns, mean_ns, margin_ns: delay_margin_ns };
    GradedReason { fitness, judgement }
}

/// Graded reason by the deviation of the response through the worst event from the ideal one (first reference).
fn worst_event_reason(responses: &[FollowedReference]) -> Option<GradedReason> {
    let FollowedReference { reference, of_error, .. } = responses.first()?;
    let judgement = VerdictReason::Event { reference: *reference, of_error: *of_error };
    Some(GradedReason { fitness: grade(*of_error, GOOD_EVENT, USABLE_EVENT), judgement })
}

/// Graded reason by the jitter margin of a loop that misses no period, else by the proof for its observed misses.
pub(super) fn jitter_or_misses_reason(
    timing: &MeanTiming,
    margins: &Margins,
    observed: Option<&StabilityUnderMisses>,
) -> Option<GradedReason> {
    if timing.missed == 0 {
        let jitter_ns = timing.worst_response_ns - timing.least_response_ns;
        let margin_ns = margins.jitter_from_least_ns? as i64;
        let fitness = if jitter_ns <= margin_ns { Fitness::Good } else { Fitness::Limited };
        return Some(GradedReason { fitness, judgement: VerdictReason::Jitter { jitter_ns, margin_ns } });
    }
    let StabilityUnderMisses { at_most: seen, guarantee, .. } = *observed?;
    // A missing proof is no reason against a loop.
    let fitness = if guarantee == Guarantee::Unstable { Fitness::Limited } else { Fitness::Good };
    Some(GradedReason { fitness, judgement: VerdictReason::Misses { seen, guarantee } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_records_leave_open_what_is_not_decided_without_them() {
        let with_loss = |loss: f64| {
            let side = GradedReason {
                fitness: grade(loss, GOOD_LOSS, USABLE_LOSS),
                judgement: VerdictReason::Cost { loss, interval: None },
            };
            LoopVerdict::new(vec![side]).with_lost_records()
        };
        let good = with_loss(0.0);
        assert_eq!(
            (good.fitness, good.sides[0].judgement),
            (Fitness::CannotTell, VerdictReason::LostRecords)
        );
        assert_eq!(with_loss(f64::INFINITY).fitness, Fitness::Unfit);
    }
}
