//! Cost of each overrun action on the same machine: the run's waits and execution times are replayed under
//! it.

use serde::Serialize;

use jitterlab_model::Error;

use super::along_trace::{AlongTrace, Interval};
use super::closed_loop::{Loop, LoopAction};
use super::covariance_propagation::{
    WarmedUpCovariance, half_confidence_interval, part_costs, stationary_of_cycles,
};
use super::cycles::{CycleCollector, FEW_KEPT, IdleInstant};
use super::evaluate::Evaluation;
use super::execution::Execution;
use super::given_task::GivenTask;
use super::job_sources::JobSource;
use super::markov_chain::Stationary;
use super::multi_task_loop::MultiTaskLoop;
use super::overrun::{MissedOutput, OverrunAction, OverrunPolicy};
use super::single_task_loop::SingleTaskLoop;
use super::timing::{Moment, effective_event};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionCost {
    pub action: OverrunAction,
    #[serde(flatten)]
    pub stationary: Stationary,
    /// Confidence interval of its cost along the run, if only parts of the run were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// Cost of each overrun action that a loop's controller can take, under given execution times.
pub(super) fn under_execution(
    question: &SingleTaskLoop,
    execution: &Execution,
) -> Result<Vec<ActionCost>, Error> {
    let mut closed = question.closed_loop()?;
    supported_actions(&closed)
        .map(|action| {
            let task = GivenTask { action, ..question.task_with_execution(execution.clone()) };
            Ok(ActionCost { action, stationary: task.stationary(&mut closed)?, interval: None })
        })
        .collect()
}

/// The actions that a loop's controller can take.
fn supported_actions(closed: &Loop) -> impl Iterator<Item = OverrunAction> + use<> {
    let predicts = closed.supports(LoopAction::Predict);
    OverrunAction::ALL
        .into_iter()
        .filter(move |action| predicts || action.missed_output != MissedOutput::Predict)
}

/// Remainder of a disturbance below which cycles in time are no longer followed one by one.
const LEFT: f64 = 1e-4;

/// Parts of a run that are followed where all of it is too much.
const PARTS: i64 = 40;
/// Fewest periods of the parts together, and their share of a longer run.
const FEWEST: u64 = 6_000;
const SHARE: u64 = 30;

/// Even parts of a run, as long as each other.
#[derive(Clone, Copy)]
struct SampledParts {
    begin_ns: i64,
    /// From the begin of one to that of the next.
    spacing_ns: i64,
    length_ns: i64,
}

impl SampledParts {
    /// Even parts of a run of `periods` periods; `None` if the `followed` ones are few enough to follow them all.
    fn new(periods: u64, followed: u64, period_ns: i64, begin_ns: i64) -> Option<SampledParts> {
        let enough = (periods / SHARE).max(FEWEST);
        (followed > 2 * enough).then(|| {
            let spacing_ns = (periods as i64 / PARTS).max(1).saturating_mul(period_ns);
            SampledParts {
                begin_ns,
                spacing_ns,
                length_ns: spacing_ns / periods.max(1) as i64 * enough as i64,
            }
        })
    }

    fn contains(&self, time_ns: i64) -> bool {
        (time_ns - self.begin_ns).rem_euclid(self.spacing_ns) < self.length_ns
    }
}

/// A plant under actions that treat a late job alike. After a long time with all cycles in time, further ones
/// cost the same as those of the run.
struct ActionComparison {
    cycles: CycleCollector,
    along: Vec<(OverrunAction, WarmedUpCovariance)>,
    /// Moments since the last cycle began.
    moments: Vec<Moment>,
    begin_ns: i64,
    calm: u64,
    /// Parts of the run that are followed (`None`: all of it); `is_followed` is true if the last cycle was in
    /// one.
    parts: Option<SampledParts>,
    is_followed: bool,
}

impl ActionComparison {
    /// Processes a moment, or a time at which all tasks are idle.
    fn process(&mut self, moment: Result<Moment, IdleInstant>, longest_calm: u64, calm_cost: f64) {
        if let Some(parts) = self.parts.filter(|_| !self.is_followed) {
            if let Err(together) = moment
                && parts.contains(together.time_ns)
            {
                self.is_followed = true;
                self.begin_ns = together.time_ns;
                self.cycles.process(Ok(Moment::Cut(together.time_ns)));
                self.cycles.process(moment);
                self.along.iter_mut().for_each(|(_, warmed)| warmed.process(Moment::Cut(together.time_ns)));
            }
            return;
        }
        let in_time = self.cycles.process(moment);
        let together = match moment {
            Ok(moment) => return self.moments.push(moment),
            Err(together) => together,
        };
        let was_resting = self.calm > longest_calm;
        self.calm = if in_time == Some(true) { self.calm + 1 } else { 0 };
        let is_resting = self.calm > longest_calm;
        for (action, warmed) in &mut self.along {
            if is_resting {
                warmed.add_constant_cost(self.begin_ns, together.time_ns, calm_cost);
                continue;
            }
            if was_resting {
                warmed.process(Moment::Cut(self.begin_ns));
            }
            for moment in &self.moments {
                let moment = match *moment {
                    Moment::At(time, event) => {
                        effective_event(event, action.missed_output).map(|event| Moment::At(time, event))
                    }
                    moment => Some(moment),
                };
                moment.into_iter().for_each(|moment| warmed.process(moment));
            }
        }
        self.along.iter_mut().for_each(|(_, warmed)| warmed.mark_idle(together.time_ns));
        self.moments.clear();
        self.begin_ns = together.time_ns;
        self.is_followed = self.parts.is_none_or(|parts| parts.contains(together.time_ns));
    }
}

impl MultiTaskLoop {
    /// Cost of each overrun action if all tasks of the plant took it; without late jobs all are equal. Re-phase is left
    /// out with several tasks, because they would never be due together again.
    pub(super) fn overrun_costs<T: JobSource>(
        &self,
        now: &Evaluation,
        is_late: bool,
        under: impl Fn(OverrunPolicy) -> Vec<T>,
    ) -> Result<Vec<ActionCost>, Error> {
        let mut closed = self.closed_loop()?;
        let is_one = self.tasks.len() == 1 && self.others.is_empty();
        let actions =
            || supported_actions(&closed).filter(|action| is_one || action.policy != OverrunPolicy::RePhase);
        if !is_late {
            let stationary = &now.clustered;
            return Ok(actions()
                .map(|action| ActionCost { action, stationary: stationary.clone(), interval: None })
                .collect());
        }
        let remembered = LEFT.ln() / now.ideal.radius_per_period.clamp(f64::MIN_POSITIVE, 1.0 - 1e-9).ln();
        let actions: Vec<OverrunAction> = actions().collect();
        let periods = now.timing.periods;
        let followed = (now.timing.missed.max(1) as f64 * (remembered + 1.0)).min(periods as f64) as u64;
        let parts = SampledParts::new(periods, followed, self.period_ns(), 0);
        let own = self.tasks.first().map(|task| task.overrun);
        let own = own.filter(|own| self.tasks.iter().all(|task| task.overrun == *own));
        let mut found: Vec<(ActionCost, AlongTrace)> = Vec::new();
        for policy in
            [OverrunPolicy::Skip, OverrunPolicy::CatchUp, OverrunPolicy::RePhase, OverrunPolicy::Kill]
        {
            let of_late = actions.iter().filter(|action| action.policy == policy);
            let along: Vec<(OverrunAction, WarmedUpCovariance)> = of_late
                .map(|action| (*action, WarmedUpCovariance::new(&closed, &now.ideal, self.period_ns())))
                .collect();
            if along.is_empty() {
                continue;
            }
            let cycles = self.new_cycle_collector()?.with_kept_limit(FEW_KEPT);
            let is_followed = parts.is_none();
            let mut all = ActionComparison {
                cycles,
                along,
                moments: Vec::new(),
                begin_ns: 0,
                calm: 0,
                parts,
                is_followed,
            };
            let own = self.tasks.len();
            self.with_overrun_policy(policy).for_each_moment(&under(policy), |moment| {
                if let Ok(Moment::At(_, event)) = moment {
                    if usize::from(event.by) >= own || !all.is_followed {
                        return;
                    }
                    if event.act == LoopAction::Zero {
                        all.cycles.mark_missed();
                    }
                }
                all.process(moment, remembered as u64, now.jitter.cost);
            })?;
            let ActionComparison { cycles, along, .. } = all;
            for (action, warmed) in along.into_iter().filter(|_| !cycles.is_empty()) {
                let (stability, rates) = cycles.stability(&mut closed, action.missed_output);
                let along = warmed.finish();
                let stationary = stationary_of_cycles(&stability, &rates, along.cost);
                found.push((ActionCost { action, stationary, interval: None }, along));
            }
        }
        if parts.is_some() {
            let along = own.and_then(|own| found.iter().find(|(cost, _)| cost.action == own));
            if let Some(now_along) = along.map(|(_, along)| along.clone()) {
                let of_all = now.along.cost;
                for (cost, along) in &mut found {
                    let (ratio, half) = cost_ratio(along, &now_along);
                    let interval = Interval { low: of_all * (ratio - half), high: of_all * (ratio + half) };
                    if cost.stationary.cost.is_finite() && interval.low.is_finite() {
                        cost.stationary.cost = of_all * ratio;
                        cost.interval = Some(interval);
                    }
                }
            }
        }
        let mut found: Vec<ActionCost> = found.into_iter().map(|(cost, _)| cost).collect();
        found.sort_by_key(|cost| OverrunAction::ALL.iter().position(|action| *action == cost.action));
        Ok(found)
    }

    /// Copy of the loop with this overrun policy for every task; missed outputs hold.
    fn with_overrun_policy(&self, policy: OverrunPolicy) -> MultiTaskLoop {
        let mut other = self.clone();
        other.tasks.iter_mut().for_each(|task| task.overrun = OverrunAction::with_held_output(policy));
        other
    }
}

/// Ratio of two costs along the same parts of a run, and half its confidence interval; NaN if that is unknown.
fn cost_ratio(along: &AlongTrace, other: &AlongTrace) -> (f64, f64) {
    let ratio = along.cost / other.cost;
    let half = match (part_costs(along), part_costs(other)) {
        (Some(parts), Some(others)) => {
            let apart: Vec<f64> =
                parts.iter().zip(&others).map(|(part, other)| part - ratio * other).collect();
            half_confidence_interval(&apart).map_or(f64::NAN, |half| half / other.cost)
        }
        _ => f64::NAN,
    };
    (ratio, half)
}
