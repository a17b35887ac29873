//! Controllers designed anew for the timing that was measured, what each would recover, and its numbers.

use nalgebra::DMatrix;
use serde::Serialize;

use super::along_trace::{AlongTrace, TimeBase, Walk};
use super::averaged::{Averaged, Gap};
use super::chain::{Chain, Stationary, Stretches};
use super::controller::Controller;
use super::cycles::Pattern;
use super::design::Design;
use super::evaluate::{Counted, Evaluation, Interval, Judging, curve_step_ns, jackknife, parts_of, spread};
use super::gains::Gains;
use super::gather::moments;
use super::looped::{Act, Event, Loop};
use super::margins::{DelayMargin, delay_margin, phase_margin};
use super::plant::Plant;
use super::question::Question;
use super::record::Record;
use crate::error::MotionError;

/// A way to design a controller anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RedesignKind {
    /// The same design, for the mean delay from sampling to the output.
    MeanDelay {
        /// That delay.
        delay_ns: i64,
    },
    /// Linear-quadratic, for the measured intervals and delays as they are spread.
    Distribution,
    /// Gains and times searched for the least cost that keeps the margins.
    Retuned,
}

/// A controller designed anew.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Redesign {
    /// How it was designed.
    pub redesign: RedesignKind,
    /// What it is: `pd`, `pid`, `state-feedback` or `lqg`.
    pub controller: String,
    /// The cost it would leave, by how jobs follow each other.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// The cost now.
    #[serde(with = "crate::Infinite")]
    pub instead_of: f64,
    /// Where the share of the cost lies that it would recover; `None` where the run is too short to say.
    pub recovered: Option<Interval>,
    /// The cost it would leave along the run itself.
    #[serde(with = "crate::Infinite")]
    pub along: f64,
    /// The cost along the run itself now.
    #[serde(with = "crate::Infinite")]
    pub along_instead_of: f64,
    /// Where the share lies that it would recover by the run itself.
    pub along_recovered: Option<Interval>,
    /// The longest constant delay it would stand.
    pub delay: DelayMargin,
    /// Its numbers.
    pub gains: Gains,
}

/// Kinds of gaps and cycles that a search goes through.
const FEW: usize = 24;
/// Least phase margin in degrees of what is searched for.
const PHASE: f64 = 30.0;
/// Factors by which a search changes numbers, as logarithms: the first and the last.
const FIRST_STEP: f64 = 0.5;
const LAST_STEP: f64 = 0.01;

impl Question {
    /// Every controller designed anew that the plant allows, for a task that closes its loop alone.
    ///
    /// # Errors
    /// As [`Question::evaluate`].
    pub(super) fn redesigns<R: Record + ?Sized>(&self, record: &R) -> Result<Vec<Redesign>, MotionError> {
        let (now, counted) = Judging::new(self, record)?.finish(self, record)?;
        redesigns(self, &counted, &now, record)
    }
}

/// Every way that the question's plant allows.
pub(super) fn redesigns<R: Record + ?Sized>(
    question: &Question,
    counted: &Counted,
    now: &Evaluation,
    record: &R,
) -> Result<Vec<Redesign>, MotionError> {
    let few = coarse(&counted.patterns, FEW);
    let mut found: Vec<(RedesignKind, Design, Controller)> = Vec::new();
    let delay_ns =
        question.output_delay_ns(now.timing.wait_ns.round() as i64, now.timing.execution_ns.round() as i64);
    let design = &question.plant.design;
    if design.knows_delay() && delay_ns > question.design_delay_ns && delay_ns <= question.period_ns {
        let aware = Question { design_delay_ns: delay_ns, ..question.clone() };
        if let Ok(controller) = aware.controller() {
            let kind = RedesignKind::MeanDelay { delay_ns };
            found.push((kind, design.leading(delay_ns as f64 * 1e-9), controller));
        }
    }
    if let Some((design, controller)) = for_distribution(question, &few, now) {
        found.push((RedesignKind::Distribution, design, controller));
    }
    if let Some((design, controller)) = retuned(question, &few, now) {
        found.push((RedesignKind::Retuned, design, controller));
    }
    let mut closed: Vec<Loop> = found.iter().map(|(.., c)| question.closed_by(c)).collect();
    let under: Vec<_> = closed.iter_mut().map(|closed| counted.under(closed)).collect();
    let step_ns = curve_step_ns(now.timing.periods, question.period_ns);
    let mut walks: Vec<Walk> = closed
        .iter()
        .zip(&under)
        .map(|(closed, (all, _))| Walk::new(closed, TimeBase::Nominal, all.covariance.as_ref(), step_ns))
        .collect();
    moments(question, record, |moment| walks.iter_mut().for_each(|walk| walk.pass(moment)))?;
    let (_, now_left_out) = counted.under(&mut question.closed()?);
    let done =
        found.into_iter().zip(under).zip(walks).map(|(((redesign, design, controller), under), walk)| {
            let (all, left_out) = under;
            let along = walk.finish();
            let shares: Vec<f64> =
                left_out.iter().zip(&now_left_out).map(|(new, old)| 1.0 - new.cost / old.cost).collect();
            Redesign {
                redesign,
                controller: design.name().into(),
                cost: all.cost,
                instead_of: now.clustered.cost,
                recovered: jackknife(1.0 - all.cost / now.clustered.cost, &shares),
                along_recovered: now.along_interval.and_then(|_| along_recovered(&along, &now.along)),
                along: along.cost,
                along_instead_of: now.along.cost,
                delay: delay_margin(&question.plant, &controller, question.period_ns),
                gains: Gains::of(&question.plant, &design, &controller, question.period_ns),
            }
        });
    Ok(done.collect())
}

/// Where the share lies that one cost along a run is smaller than another along the same run: by the same parts of both.
fn along_recovered(new: &AlongTrace, old: &AlongTrace) -> Option<Interval> {
    let saved: Vec<f64> =
        parts_of(old)?.iter().zip(parts_of(new)?).map(|(old_part, new_part)| old_part - new_part).collect();
    let (mean, half) = (1.0 - new.cost / old.cost, spread(&saved)? / old.cost);
    half.is_finite().then_some(Interval { low: mean - half, high: mean + half })
}

/// Patterns with the same order of events and the same length in periods become few, at their mean times.
fn coarse(patterns: &[Pattern], most: usize) -> Vec<Pattern> {
    let kind = |p: &Pattern| -> (Vec<Event>, i64) {
        // Lengths that differ by less than a millionth are the same.
        (p.events.iter().map(|(_, event)| *event).collect(), (p.length_ns * 1e-3).round() as i64)
    };
    let mut sorted: Vec<&Pattern> = patterns.iter().collect();
    let last = |p: &Pattern| p.events.last().map_or(0.0, |e| e.0);
    sorted.sort_by(|a, b| kind(a).cmp(&kind(b)).then(last(a).total_cmp(&last(b))));
    let total: u64 = patterns.iter().map(|p| p.count).sum();
    let each = (total / most as u64).max(1);
    let mut few: Vec<Pattern> = Vec::new();
    for pattern in sorted {
        match few.last_mut().filter(|group| group.count < each && kind(group) == kind(pattern)) {
            Some(group) => {
                let share = pattern.count as f64 / (group.count + pattern.count) as f64;
                let mean = |a: f64, b: f64| a + (b - a) * share;
                group.events.iter_mut().zip(&pattern.events).for_each(|(a, b)| a.0 = mean(a.0, b.0));
                group.length_ns = mean(group.length_ns, pattern.length_ns);
                group.count += pattern.count;
            }
            None => few.push(pattern.clone()),
        }
    }
    few.sort_by_key(|p| std::cmp::Reverse(p.count));
    few.truncate(2 * most);
    few
}

/// The gaps from sample to sample in these patterns. An output that is still to be written goes out at the end.
fn gaps(patterns: &[Pattern]) -> Vec<Gap> {
    let samples = |p: &Pattern| -> Vec<f64> {
        p.events.iter().filter(|(_, e)| e.act == Act::Sample).map(|(time, _)| *time).collect()
    };
    let total: f64 = patterns.iter().map(|p| p.count as f64).sum();
    let first = |p: &Pattern| samples(p).first().copied().unwrap_or(0.0);
    let mean_first = patterns.iter().map(|p| first(p) * p.count as f64).sum::<f64>() / total.max(1.0);
    let mut all = Vec::new();
    for pattern in patterns {
        let times = samples(pattern);
        let next = times.iter().skip(1).copied().chain([pattern.length_ns + mean_first]);
        for (sampled, next) in times.iter().zip(next) {
            let writes = |act: Act| matches!(act, Act::Finish | Act::Write);
            let written = pattern.events.iter().find(|(time, e)| time > sampled && writes(e.act));
            let length = (next - sampled).max(1.0);
            let delay = written.map_or(length, |(time, _)| (time - sampled).min(length));
            all.push(Gap {
                length_ns: length.round() as i64,
                delay_ns: delay.round() as i64,
                share: pattern.count as f64,
            });
        }
    }
    let total: f64 = all.iter().map(|gap| gap.share).sum();
    all.iter_mut().for_each(|gap| gap.share /= total.max(1.0));
    all
}

/// The cost under few patterns in random order.
fn cost(closed: &mut Loop, few: &[Pattern], period_ns: i64) -> Stationary {
    let mut all = Stretches::new(closed.lasting());
    for pattern in few {
        let passage = closed.passage(&pattern.events, pattern.length_ns);
        all.add(&passage, pattern.length_ns * 1e-9, pattern.count as f64);
    }
    Chain::independent(&all, period_ns).stationary()
}

/// Feedback of states for a plant that is fed back its states, else from a Kalman filter where its noise is known; of the filter with
/// and without the noise that the timing makes the better one.
fn for_distribution(question: &Question, few: &[Pattern], now: &Evaluation) -> Option<(Design, Controller)> {
    let plant = &question.plant;
    let averaged = Averaged::new(plant, &gaps(few)).ok()?;
    if matches!(plant.design, Design::StateFeedback | Design::GivenFeedback(_)) {
        return Some((Design::StateFeedback, averaged.feedback(plant)));
    }
    let without = averaged.filtered(plant, None).ok()?;
    let priced = |controller: &Controller| cost(&mut question.closed_by(controller), few, question.period_ns);
    let first = priced(&without);
    let spread = first
        .covariance
        .as_ref()
        .or(now.clustered.covariance.as_ref())
        .map(|p| of_inputs(plant, &without, p));
    let with = spread.and_then(|spread| averaged.filtered(plant, Some(&spread)).ok());
    let better = with.filter(|with| priced(with).cost < first.cost);
    Some((Design::Lqg, better.unwrap_or(without)))
}

/// The covariance of [x; u_prev; u] from that of [x; u; xc] before a sample.
fn of_inputs(plant: &Plant, c: &Controller, p: &DMatrix<f64>) -> DMatrix<f64> {
    let (n, m, _) = plant.sizes();
    let nc = c.states().min(p.nrows() - n - m);
    let mut map = DMatrix::zeros(n + 2 * m, n + m + nc);
    map.view_mut((0, 0), (n + m, n + m)).fill_with_identity();
    map.view_mut((n + m, 0), (m, n)).copy_from(&(&c.d * &plant.c));
    map.view_mut((n + m, n + m), (m, nc)).copy_from(&c.c.columns(0, nc));
    let lasting = p.view((0, 0), (n + m + nc, n + m + nc));
    let mut spread = &map * lasting * map.transpose();
    let mut inputs = spread.view_mut((n + m, n + m), (m, m));
    inputs += &c.d * &plant.measurement_noise * c.d.transpose();
    spread
}

/// PD and PID: each number is changed by a factor as long as that lowers the cost and keeps the margins, then by smaller ones.
fn retuned(question: &Question, few: &[Pattern], now: &Evaluation) -> Option<(Design, Controller)> {
    let (plant, period_ns) = (&question.plant, question.period_ns);
    let begin = plant.design.leading(question.design_delay_ns as f64 * 1e-9);
    let mut logs = begin.logarithms()?;
    let of =
        |logs: &[f64]| -> Option<Controller> { begin.with_logarithms(logs)?.by_its_numbers(period_ns, 0.0) };
    let longest = |controller: &Controller| match delay_margin(plant, controller, period_ns) {
        DelayMargin::Never => -1,
        DelayMargin::UpTo(ns) => ns,
        DelayMargin::Always => i64::MAX,
    };
    let phase = |controller: &Controller| {
        let of =
            |channel| phase_margin(plant, controller, period_ns, 0, channel).map_or(180.0, |m| m.degrees);
        (0..plant.outputs.len()).map(of).fold(180.0, f64::min)
    };
    let first = of(&logs)?;
    // What the loop has now is enough where it has less.
    let wanted_ns = longest(&first).min(now.timing.worst_response_ns.max(period_ns));
    let wanted_degrees = phase(&first).min(PHASE);
    // What an integral is there for, a load that stays, is not in the cost: it is not given up.
    let integral = begin.integral_gains();
    let keeps = |logs: &[f64]| {
        let found = begin.with_logarithms(logs).map_or(Vec::new(), |design| design.integral_gains());
        found.iter().zip(&integral).all(|(now, before)| now.abs() >= before.abs() * (1.0 - 1e-9))
    };
    let mut closed = question.closed_by(&first);
    let mut best = cost(&mut closed, few, period_ns).cost;
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let mut is_better = false;
        for i in 0..logs.len() {
            for change in [step, -step] {
                let mut other = logs.clone();
                other[i] += change;
                if !keeps(&other) {
                    continue;
                }
                let Some(controller) = of(&other) else { continue };
                closed = closed.closed_anew(&controller);
                let price = cost(&mut closed, few, period_ns).cost;
                if price < best && longest(&controller) >= wanted_ns && phase(&controller) >= wanted_degrees {
                    (best, logs, is_better) = (price, other, true);
                    break;
                }
            }
        }
        if !is_better {
            step /= 2.0;
        }
    }
    Some((begin.with_logarithms(&logs)?, of(&logs)?))
}
