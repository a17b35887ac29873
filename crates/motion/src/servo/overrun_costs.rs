//! Cost of each overrun action: the run's waits and execution times are replayed under it.

use serde::Serialize;

use jitterlab_model::Error;

use super::closed_loop::{Loop, LoopAction};
use super::covariance_course::{Warmed, along_cycles};
use super::cycles::{Cycles, FEW_KEPT, IdleInstant};
use super::evaluate::Evaluation;
use super::execution::Execution;
use super::jobs::GivenTask;
use super::markov_chain::Stationary;
use super::overrun::{Late, MissedOutput, OverrunAction};
use super::question::Question;
use super::several::Several;
use super::sources::Source;
use super::timing::{Moment, done};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionCost {
    pub action: OverrunAction,
    #[serde(flatten)]
    pub stationary: Stationary,
}

/// The actions that a loop's controller can take, under given execution times.
pub(super) fn under_execution(question: &Question, execution: &Execution) -> Result<Vec<ActionCost>, Error> {
    let mut closed = question.closed()?;
    possible(&closed)
        .map(|action| {
            let task = GivenTask { action, ..question.task(execution.clone()) };
            Ok(ActionCost { action, stationary: task.stationary(&mut closed)? })
        })
        .collect()
}

/// The actions that a loop's controller can take.
fn possible(closed: &Loop) -> impl Iterator<Item = OverrunAction> + use<> {
    let predicts = closed.can(LoopAction::Predict);
    OverrunAction::ALL.into_iter().filter(move |action| predicts || action.without != MissedOutput::Predict)
}

/// Remainder of a disturbance below which cycles in time are no longer followed one by one.
const LEFT: f64 = 1e-4;

/// A plant under actions that treat a late job alike. After a long time with all cycles in time, further ones
/// cost the same as those of the run.
struct Alternatives {
    cycles: Cycles,
    along: Vec<(OverrunAction, Warmed)>,
    /// Moments since the last cycle began.
    moments: Vec<Moment>,
    begin_ns: i64,
    calm: u64,
}

impl Alternatives {
    /// The next moment, or a time at which all tasks are together.
    fn pass(&mut self, moment: Result<Moment, IdleInstant>, longest_calm: u64, calm_cost: f64) {
        let in_time = self.cycles.pass(moment);
        let together = match moment {
            Ok(moment) => return self.moments.push(moment),
            Err(together) => together,
        };
        let was_resting = self.calm > longest_calm;
        self.calm = if in_time == Some(true) { self.calm + 1 } else { 0 };
        let is_resting = self.calm > longest_calm;
        for (action, warmed) in &mut self.along {
            if is_resting {
                warmed.rest(self.begin_ns, together.time_ns, calm_cost);
                continue;
            }
            if was_resting {
                warmed.pass(Moment::Cut(self.begin_ns));
            }
            for moment in &self.moments {
                let moment = match *moment {
                    Moment::At(time, event) => {
                        done(event, action.without).map(|event| Moment::At(time, event))
                    }
                    moment => Some(moment),
                };
                moment.into_iter().for_each(|moment| warmed.pass(moment));
            }
        }
        self.along.iter_mut().for_each(|(_, warmed)| warmed.turn(together.time_ns));
        self.moments.clear();
        self.begin_ns = together.time_ns;
    }
}

impl Several {
    /// Computes the cost of each action if all tasks of the plant took it; without late jobs all costs are
    /// equal. Re-phase is left out with several tasks, because they would never be due together again.
    pub(super) fn actions<T: Source>(
        &self,
        now: &Evaluation,
        is_late: bool,
        under: impl Fn(Late) -> Vec<T>,
    ) -> Result<Vec<ActionCost>, Error> {
        let mut closed = self.closed()?;
        let is_one = self.tasks.len() == 1 && self.others.is_empty();
        let actions = || possible(&closed).filter(|action| is_one || action.late != Late::RePhase);
        if !is_late {
            let stationary = &now.clustered;
            return Ok(actions()
                .map(|action| ActionCost { action, stationary: stationary.clone() })
                .collect());
        }
        let remembered = LEFT.ln() / now.ideal.radius_per_period.clamp(f64::MIN_POSITIVE, 1.0 - 1e-9).ln();
        let actions: Vec<OverrunAction> = actions().collect();
        let mut found: Vec<ActionCost> = Vec::new();
        for late in [Late::Skip, Late::CatchUp, Late::RePhase, Late::Kill] {
            let of_late = actions.iter().filter(|action| action.late == late);
            let along: Vec<(OverrunAction, Warmed)> =
                of_late.map(|action| (*action, Warmed::new(&closed, &now.ideal, self.period_ns()))).collect();
            if along.is_empty() {
                continue;
            }
            let cycles = self.cycles()?.keeping(FEW_KEPT);
            let mut all = Alternatives { cycles, along, moments: Vec::new(), begin_ns: 0, calm: 0 };
            let own = self.tasks.len();
            self.with_action(late).follow(&under(late), |moment| {
                if let Ok(Moment::At(_, event)) = moment {
                    if usize::from(event.by) >= own {
                        return;
                    }
                    if event.act == LoopAction::Zero {
                        all.cycles.missed();
                    }
                }
                all.pass(moment, remembered as u64, now.jitter.cost);
            })?;
            let Alternatives { cycles, along, .. } = all;
            for (action, warmed) in along.into_iter().filter(|_| !cycles.is_empty()) {
                let (stability, rates) = cycles.stability(&mut closed, action.without);
                let stationary = along_cycles(&stability, &rates, warmed.finish().cost);
                found.push(ActionCost { action, stationary });
            }
        }
        found.sort_by_key(|cost| OverrunAction::ALL.iter().position(|action| *action == cost.action));
        Ok(found)
    }

    /// The same with all tasks of the plant under this action.
    fn with_action(&self, late: Late) -> Several {
        let mut other = self.clone();
        other.tasks.iter_mut().for_each(|task| task.overrun = OverrunAction::holding(late));
        other
    }
}
