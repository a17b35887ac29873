//! The conclusion of a loop: the verdict on closing it, the deciding side, and the next step.

use jitterlab_analysis::purposes::activations_needed;
use jitterlab_model::{Fitness, Gap};
use jitterlab_motion::servo::{
    ActionCost, Evaluation, GradedReason, Guarantee, Interval, LoopUnderExecution, LoopUnderRun, LoopVerdict,
    Loss, Reference, ServoResult, TimingSource, VerdictReason,
};

use super::servo_tables::{self as tables, action_text, loop_sentence, remedy_text};
use super::{LOST_RECORDS, percent, timing_alone_sentence};
use crate::conclusion::{Conclusion, verdict_word};
use crate::words::{capitalize, time};

/// A gain below this share is not worth doing anything for.
const WORTHWHILE: f64 = 0.01;

/// Writes an interval of shares as `2 to 3 %`.
fn interval_text(interval: Interval) -> String {
    let low = percent(interval.low);
    let low = low.trim_end_matches(" %");
    if interval.high.is_finite() {
        format!("{low} to {}", percent(interval.high))
    } else {
        format!("{low} % or more")
    }
}

/// The verdict on closing the loop, its deciding reason, and the next step; `None` for constant delays.
pub(crate) fn conclusion(result: &ServoResult) -> Option<Conclusion> {
    let closed = loop_sentence(&result.closed);
    let verdict = result.verdict()?;
    let (found, next) = match &result.judged {
        TimingSource::Run(under) => {
            let found = &under.assessment;
            let next = match tables::peak_clause(&result.margins) {
                Some(peak) if result.margins.is_poor_design() && verdict.fitness != Fitness::CannotTell => {
                    format!("--redesign, or other gains: {peak}")
                }
                _ => next_step(under, result.closed.period_ns),
            };
            (Some(&found.evaluation), next)
        }
        TimingSource::Execution(under) => (None, next_step_after_execution(under)),
        TimingSource::ConstantDelays { .. } => return None,
    };
    let with = match &result.judged {
        TimingSource::Execution(_) => "with these times",
        _ => "on this machine",
    };
    let sentence = verdict_sentence(verdict, &closed, ["", "this loop", with]);
    let deciding = deciding_reason(&verdict.sides).map_or(String::new(), |side| reason_clause(side, found));
    let run = match &result.judged {
        TimingSource::Run(under) => Some(&under.run),
        _ => None,
    };
    let only_starts = run.is_some_and(|run| run.unknown.contains(&Gap::Execution));
    let so_far = match verdict.fitness {
        Fitness::CannotTell => "As far as it goes, ",
        // Unknown execution times must not be judged as zero.
        _ if only_starts => "As far as its starts go (how long its jobs work is unknown), ",
        _ => "",
    };
    let number = format!("{so_far}{deciding}.{}", timing_alone_sentence(run, verdict.fitness));
    Some(Conclusion {
        fitness: verdict.fitness,
        asked: true,
        verdict: sentence,
        number: capitalize(&number),
        next,
    })
}

/// Verdict on a plant in a sentence, and guarantees asked for; the words are `of`, `loops` and `with` for it.
pub(super) fn verdict_sentence(verdict: &LoopVerdict, name: &str, [of, loops, with]: [&str; 3]) -> String {
    let (fit, sides) = (verdict_word(verdict.fitness), &verdict.sides);
    let sentence = match verdict.fitness {
        Fitness::Good => format!("{fit} for {name}."),
        _ if is_about_requested_misses(sides.first()) => format!("{fit} for {name}."),
        Fitness::Limited => format!("{fit}: {of}{name} can be closed, and it costs something."),
        Fitness::CannotTell => format!("{fit} for {name}: {}.", unknown_clause(sides, loops)),
        Fitness::Unfit => format!("{fit}: do not close {of}{name} {with}."),
    };
    sentence + &requested_guarantees(sides)
}

/// True if a reason is about misses that were asked for.
fn is_about_requested_misses(side: Option<&GradedReason>) -> bool {
    side.is_some_and(|side| matches!(side.judgement, VerdictReason::MissesAskedFor { .. }))
}

/// The first reason about the timing, neither misses asked for nor lost records; `None` without one.
pub(super) fn deciding_reason(sides: &[GradedReason]) -> Option<&GradedReason> {
    let is_about_timing = |side: &&GradedReason| {
        !is_about_requested_misses(Some(side)) && !matches!(side.judgement, VerdictReason::LostRecords)
    };
    sides.iter().find(is_about_timing)
}

/// Sentences such as ` It is PROVED stable ...`, one for each guarantee that was asked for.
fn requested_guarantees(sides: &[GradedReason]) -> String {
    let of_asked = sides.iter().filter(|side| is_about_requested_misses(Some(side)));
    of_asked.map(|side| format!(" {}.", capitalize(&reason_clause(side, None)))).collect()
}

fn unknown_clause(sides: &[GradedReason], loops: &str) -> String {
    match sides.first().map(|side| side.judgement) {
        Some(VerdictReason::MissesAskedFor { .. }) => "a guarantee that was asked for is not proved".into(),
        Some(VerdictReason::StabilityUnknown { .. }) => "whether it is stable is not known".into(),
        Some(VerdictReason::LostRecords) => LOST_RECORDS.into(),
        _ => format!("the run is too short for {loops}"),
    }
}

pub(super) fn reason_clause(side: &GradedReason, found: Option<&Evaluation>) -> String {
    match side.judgement {
        VerdictReason::Unstable { radius_per_period } => {
            let cause = found.map_or(String::new(), |found| format!("; {}", instability_cause(found)));
            format!(
                "with this timing it is NOT stable in the mean square (a disturbance changes by the factor {:.4} in each \
                 period){cause}",
                radius_per_period.sqrt()
            )
        }
        VerdictReason::LostRecords => LOST_RECORDS.into(),
        VerdictReason::StabilityUnknown { again: 0, .. } => {
            "the more cycles are taken together, the more a disturbance grows".into()
        }
        VerdictReason::StabilityUnknown { cycles, came, again } => {
            let row = if cycles == 1 { "a late cycle".into() } else { format!("a row of {cycles} cycles") };
            format!(
                "{row} makes a disturbance grow, and came again at once {again} times of {came}: that it does not come \
                 so for longer is not known"
            )
        }
        VerdictReason::Cost { loss, interval } => cost_clause(loss, interval, found.map(Evaluation::loss)),
        VerdictReason::Delay { worst_ns, mean_ns, margin_ns } => {
            let margin = margin_ns.map_or("any delay".into(), |ns| format!("a delay of {}", time(ns as f64)));
            let mean = time(mean_ns as f64);
            match side.fitness {
                Fitness::Unfit => format!(
                    "its outputs come {mean} after their due time, and it tolerates no more than {margin}"
                ),
                _ => format!(
                    "its outputs come {mean} after their due time, at worst {}, and it tolerates {margin}",
                    time(worst_ns as f64)
                ),
            }
        }
        VerdictReason::Jitter { jitter_ns, margin_ns } => format!(
            "its outputs vary by {}, and {} {}, whatever their order",
            time(jitter_ns as f64),
            if jitter_ns <= margin_ns { "it is stable with up to" } else { "it is proved stable only up to" },
            time(margin_ns as f64)
        ),
        VerdictReason::Misses { seen, guarantee } => format!(
            "up to {} of {} periods in a row had no output, and {}",
            seen.misses,
            seen.of,
            match guarantee {
                Guarantee::Stable => "it is proved stable under any such sequence",
                Guarantee::Unstable | Guarantee::DoesNotDecay => {
                    "there are such sequences under which it is not stable"
                }
                Guarantee::Undecided => "that it is stable under any such sequence is not proved",
            }
        ),
        VerdictReason::MissesAskedFor { at_most, guarantee, growth } => {
            let under = format!("at most {} of any {} periods missed", at_most.misses, at_most.of);
            match guarantee {
                Guarantee::Stable => format!("it is PROVED stable with {under}"),
                Guarantee::Unstable => format!(
                    "it is NOT stable with {under}: a disturbance can grow by the factor {growth:.6} in each period"
                ),
                Guarantee::DoesNotDecay => {
                    format!("it is NOT stable with {under}: a disturbance may neither grow nor die out")
                }
                Guarantee::Undecided => format!("whether it is stable with {under} is not proved"),
            }
        }
        VerdictReason::Event { reference, of_error } => {
            let how = if of_error.is_finite() { percent(of_error) } else { "any share".into() };
            format!(
                "the worst event moves it by {how} of the error that {} has anyway",
                reference_name(reference)
            )
        }
    }
}

fn reference_name(reference: Reference) -> String {
    match reference {
        Reference::Move { time_ns, .. } => format!("a move of {}", time(time_ns as f64)),
        other => other.to_string(),
    }
}

fn cost_clause(loss: f64, interval: Option<Interval>, parts: Option<Loss>) -> String {
    if interval.is_some_and(|i| i.contains(0.0)) || loss.abs() < 1e-4 {
        let within = interval.map_or(String::new(), |i| match i.low.abs().max(i.high.abs()) {
            most if most < 1e-4 => " (its cost changes by less than 0.01 %)".into(),
            _ => format!(" (its cost changes by {})", interval_text(i)),
        });
        return format!("this timing has no measurable effect on the loop{within}");
    }
    // Constant timing has the same cost in every run.
    let sure = interval.filter(|i| percent(i.low) != percent(i.high));
    let sure = sure.map_or(String::new(), |i| format!(" ({} with 95 % confidence)", interval_text(i)));
    if loss < 0.0 {
        return format!(
            "this timing happens to make the loop {} better than ideal timing{sure}",
            percent(-loss)
        );
    }
    let text = format!("this timing makes the loop {} worse than ideal timing would be{sure}", percent(loss));
    let Some(parts) = parts else { return text };
    let named = [
        (parts.mean_delay, "mean latency and execution time"),
        (parts.jitter, "jitter"),
        (parts.missed, "jobs that overrun"),
        (parts.clusters, "their coming in bursts"),
    ];
    let Some((part, what)) = named.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { return text };
    // A part can be more than the whole where another one helps.
    let most = match part / loss {
        share if share > 1.0 => "the most of it".into(),
        share => format!("{:.0} % of that", share * 100.0),
    };
    format!("{text}; {most} is {what}")
}

fn instability_cause(found: &Evaluation) -> &'static str {
    match () {
        () if !found.mean_delay.is_stable() => "its mean delay alone is too much",
        () if !found.jitter.is_stable() => "its jitter is too much",
        () if !found.independent.is_stable() => "too many of its jobs overrun",
        () => "its jobs overrun in bursts; as many one by one would not do that",
    }
}

fn next_step(under: &LoopUnderRun, period_ns: i64) -> String {
    let found = &under.assessment;
    let evaluation = &found.evaluation;
    if found.verdict.fitness == Fitness::CannotTell && !is_about_requested_misses(found.verdict.sides.first())
    {
        let remembered = 1.0 / (1.0 - evaluation.clustered.radius_per_period).max(1e-9);
        let needed_ns = period_ns as f64 * (remembered * 200.0).max(activations_needed() as f64);
        return format!("measure for {} or longer", time(needed_ns));
    }
    let ideal = evaluation.ideal.cost;
    let now = evaluation.clustered.cost;
    let remedies = under.remedies.iter().map(|r| (r.instead_of - r.cost, r.cost, remedy_text(r.remedy)));
    let actions =
        found.actions.iter().map(|a| (now - a.stationary.cost, a.stationary.cost, action_clause(a)));
    // Remedies are computed in random order: if order matters, none saves more than the timing costs.
    let (whole, _) = evaluation.loss_with_interval();
    let gain = |gain: f64, cost: f64| {
        if cost.is_finite() && !gain.is_finite() { f64::INFINITY } else { (gain / ideal).min(whole.max(0.0)) }
    };
    let best = remedies
        .chain(actions)
        .filter(|(_, cost, _)| cost.is_finite())
        .map(|(saved, cost, what)| (gain(saved, cost), what))
        .filter(|(gain, _)| *gain > WORTHWHILE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((gain, what)) if gain.is_finite() => {
            format!("{what}; that would take {} off the cost", percent(gain * ideal / now))
        }
        Some((_, what)) => format!("{what}; with that the loop would be stable"),
        None if found.verdict.fitness == Fitness::Good => "nothing needs to be done for it".into(),
        None if evaluation.clustered.is_stable() => {
            "find what makes it late with jitterlab analyze, or take a slower controller".into()
        }
        None => {
            "find what makes it late with jitterlab analyze; a longer period needs a slower controller".into()
        }
    }
}

fn action_clause(cost: &ActionCost) -> String {
    format!("when a job overruns, {}", action_text(cost.action))
}

fn next_step_after_execution(under: &LoopUnderExecution) -> String {
    let others = under.actions.iter().filter(|a| a.action != under.overrun && a.stationary.is_stable());
    let now = under.stationary.cost;
    match others.min_by(|a, b| a.stationary.cost.total_cmp(&b.stationary.cost)) {
        Some(best) if now.is_infinite() => format!("{}; with that it would be stable", action_clause(best)),
        Some(best) if now / best.stationary.cost - 1.0 > WORTHWHILE => {
            let saved = percent(1.0 - best.stationary.cost / now);
            format!("{}; that would take {saved} off the cost", action_clause(best))
        }
        _ if under.verdict.fitness == Fitness::Good => "jitterlab run, and the same with its run file".into(),
        _ => "shorter jobs, a longer period, or another controller (--controller)".into(),
    }
}
