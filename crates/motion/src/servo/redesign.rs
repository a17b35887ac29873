//! Controllers redesigned for the measured timing, and the cost that each would recover along the run.

use serde::Serialize;

use jitterlab_model::Error;

use super::along_trace::{AlongTrace, Interval};
use super::closed_loop::Loop;
use super::controller::Controller;
use super::covariance_propagation::{
    WarmedUpCovariance, half_confidence_interval, part_costs, stationary_of_cycles,
};
use super::crossings::LoopMargins;
use super::cycles::{RegenerationCycle, cycle_distribution};
use super::design::Design;
use super::evaluate::{Evaluation, EvaluationWithCycles};
use super::gains::Gains;
use super::job_sources::JobSource;
use super::margins::{DelayMargin, delay_margin};
use super::markov_chain::MarkovChain;
use super::multi_task_loop::MultiTaskLoop;
use super::overrun::MissedOutput;
use super::plant::Plant;
use super::single_task_loop::SingleTaskLoop;
use super::timing::{Moment, effective_event};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RedesignKind {
    /// The present design, for the mean delay from sampling to the output.
    MeanDelay {
        delay_ns: i64,
    },
    LinearQuadratic {
        delay_ns: i64,
    },
    /// Gains and times searched for the least cost that keeps the margins.
    Retuned,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Redesign {
    pub redesign: RedesignKind,
    /// Type of the controller: `pd`, `pid`, `state-feedback` or `lqg`.
    pub controller: String,
    /// The cost it would leave along the run.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// The cost along the run now.
    #[serde(with = "crate::Infinite")]
    pub instead_of: f64,
    /// Confidence interval of the share of the cost that it would recover; `None` of a short run.
    pub recovered: Option<Interval>,
    /// The longest constant delay with which it would be stable.
    pub delay: DelayMargin,
    /// The largest factor by which it amplifies a disturbance of any frequency; infinite if unstable.
    #[serde(with = "crate::Infinite")]
    pub peak: f64,
    pub gains: Gains,
}

/// Cycles that a search goes through.
const FEW: usize = 24;
/// Largest amplification of a disturbance in the search: it leaves at least 29 degrees and half of the gain.
const PEAK: f64 = 2.0;
/// Factors by which a search changes numbers, as logarithms: the first and the last.
const FIRST_STEP: f64 = 0.5;
const LAST_STEP: f64 = 0.01;

impl MultiTaskLoop {
    /// Every redesigned controller that the plant of one task and one controller allows.
    pub(super) fn redesigns<S: JobSource>(
        &self,
        found: &EvaluationWithCycles,
        sources: &[S],
    ) -> Result<Vec<Redesign>, Error> {
        let [task] = self.tasks.as_slice() else { return Ok(Vec::new()) };
        let question = SingleTaskLoop {
            plant: self.plant.clone(),
            period_ns: task.period_ns,
            timing: self.timing,
            overrun: task.overrun,
            design_delay_ns: self.design_delay_ns,
        };
        let now = &found.evaluation;
        let designed = redesigned_controllers(&question, found);
        let mut closed: Vec<Loop> = designed.iter().map(|(.., c)| question.loop_with_controller(c)).collect();
        let mut along: Vec<WarmedUpCovariance> =
            closed.iter().map(|closed| WarmedUpCovariance::new(closed, &now.ideal, task.period_ns)).collect();
        self.for_each_moment(sources, |moment| match moment {
            Ok(Moment::At(time, event)) if event.by == 0 => {
                if let Some(event) = effective_event(event, task.overrun.missed_output) {
                    along.iter_mut().for_each(|one| one.process(Moment::At(time, event)));
                }
            }
            Err(together) => along.iter_mut().for_each(|one| one.mark_idle(together.time_ns)),
            Ok(Moment::Cut(time)) => along.iter_mut().for_each(|one| one.process(Moment::Cut(time))),
            _ => {}
        })?;
        let done = designed.into_iter().zip(&mut closed).zip(along);
        let of = |(((redesign, design, controller), closed), along): (
            ((RedesignKind, Design, Controller), &mut Loop),
            WarmedUpCovariance,
        )| {
            let along = along.finish();
            let (stability, rates) = found.cycles.stability(closed, MissedOutput::Zero);
            let stationary = stationary_of_cycles(&stability, &rates, along.cost);
            Redesign {
                redesign,
                controller: design.name().into(),
                cost: stationary.cost,
                instead_of: now.clustered.cost,
                recovered: now.cost_interval.and_then(|_| cost_saving_interval(&along, &now.along)),
                delay: delay_margin(&question.plant, &controller, question.period_ns),
                peak: largest_peak(&question.plant, &controller, question.period_ns),
                gains: Gains::new(&question.plant, &design, &controller, question.period_ns),
            }
        };
        Ok(done.map(of).collect())
    }
}

/// The largest factor by which one of the inputs' loops amplifies a disturbance.
fn largest_peak(plant: &Plant, controller: &Controller, period_ns: i64) -> f64 {
    let of = |channel| {
        LoopMargins::new(plant, controller, period_ns, 0, channel).map_or(f64::INFINITY, |m| m.peak)
    };
    (0..plant.outputs.len()).map(of).fold(1.0, f64::max)
}

fn redesigned_controllers(
    question: &SingleTaskLoop,
    found: &EvaluationWithCycles,
) -> Vec<(RedesignKind, Design, Controller)> {
    let mut all = Vec::new();
    let (now, design, plant) = (&found.evaluation, &question.plant.design, &question.plant);
    let timing = &now.timing;
    let delay_ns =
        question.output_delay_ns(timing.wait_ns.round() as i64, timing.execution_ns.round() as i64);
    let known_ns = delay_ns.min(question.period_ns);
    if design.can_design_for_delay() && delay_ns > question.design_delay_ns && delay_ns <= question.period_ns
    {
        let aware = SingleTaskLoop { design_delay_ns: delay_ns, ..question.clone() };
        if let Ok(controller) = aware.controller() {
            let kind = RedesignKind::MeanDelay { delay_ns };
            all.push((kind, design.with_added_lead(delay_ns as f64 * 1e-9), controller));
        }
    }
    let optimal = match design {
        Design::StateFeedback | Design::Lqg => None,
        Design::GivenFeedback(_) => Some(Design::StateFeedback),
        _ => Some(Design::Lqg),
    };
    let controller = |design: &Design| design.controller(plant, question.period_ns, known_ns).ok();
    if let Some((design, controller)) = optimal.and_then(|d| controller(&d).map(|c| (d, c))) {
        all.push((RedesignKind::LinearQuadratic { delay_ns: known_ns }, design, controller));
    }
    let kept: Vec<(RegenerationCycle, f64)> =
        found.cycles.weighted_cycles().map(|(cycle, weight)| (cycle.clone(), weight)).collect();
    let each = kept.len().div_ceil(FEW).max(1);
    let few: Vec<(RegenerationCycle, f64)> = kept.into_iter().step_by(each).collect();
    if let Some((design, controller)) = retune_pid(question, &few, now) {
        all.push((RedesignKind::Retuned, design, controller));
    }
    all
}

/// Confidence interval of the share by which one cost is below another, from the same parts of both.
fn cost_saving_interval(new: &AlongTrace, old: &AlongTrace) -> Option<Interval> {
    let saved: Vec<f64> = part_costs(old)?
        .iter()
        .zip(part_costs(new)?)
        .map(|(old_part, new_part)| old_part - new_part)
        .collect();
    let (mean, half) = (1.0 - new.cost / old.cost, half_confidence_interval(&saved)? / old.cost);
    half.is_finite().then_some(Interval { low: mean - half, high: mean + half })
}

/// The cost under few cycles in random order.
fn cost_of_cycles(closed: &mut Loop, few: &[(RegenerationCycle, f64)], period_ns: i64) -> f64 {
    let cycles = few.iter().map(|(cycle, weight)| (cycle, *weight));
    MarkovChain::independent(&cycle_distribution(closed, cycles), period_ns).stationary().cost
}

/// PD or PID with numbers that lower the cost and keep the margins; `None` for other designs. Each is changed by a
/// factor as long as that helps, then by smaller ones.
fn retune_pid(
    question: &SingleTaskLoop,
    few: &[(RegenerationCycle, f64)],
    now: &Evaluation,
) -> Option<(Design, Controller)> {
    let (plant, period_ns) = (&question.plant, question.period_ns);
    let begin = plant.design.with_added_lead(question.design_delay_ns as f64 * 1e-9);
    let mut logs = begin.logarithms()?;
    let of = |logs: &[f64]| -> Option<Controller> {
        begin.with_logarithms(logs)?.plant_independent_controller(period_ns, 0.0)
    };
    let longest = |controller: &Controller| match delay_margin(plant, controller, period_ns) {
        DelayMargin::Never => -1,
        DelayMargin::UpTo(ns) => ns,
        DelayMargin::Always => i64::MAX,
    };
    let peak = |controller: &Controller| largest_peak(plant, controller, period_ns);
    let first = of(&logs)?;
    // A larger delay margin than the loop has now is not required.
    let wanted_ns = longest(&first).min(now.timing.worst_response_ns.max(period_ns));
    let allowed_peak = peak(&first).max(PEAK);
    // An integral part is there for a constant load, which the cost does not contain: it is kept.
    let integral = begin.integral_gains();
    let keeps = |logs: &[f64]| {
        let found = begin.with_logarithms(logs).map_or(Vec::new(), |design| design.integral_gains());
        found.iter().zip(&integral).all(|(now, before)| now.abs() >= before.abs() * (1.0 - 1e-9))
    };
    let mut closed = question.loop_with_controller(&first);
    let mut best = cost_of_cycles(&mut closed, few, period_ns);
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
                closed = closed.with_controller(&controller);
                let price = cost_of_cycles(&mut closed, few, period_ns);
                if price < best && longest(&controller) >= wanted_ns && peak(&controller) <= allowed_peak {
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
