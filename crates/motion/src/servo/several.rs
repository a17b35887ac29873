//! Several loops of one run: a plant for each task, or one plant that tasks of several rates close together (a cascade).
//!
//! The unit is the common multiple of all periods: from one time at which every task is due and none is at work to the next such.
//! What happens between, of all tasks jointly, is one cycle, whose map is exact; no times are rounded. Loops on plants of their own
//! feel each other through the timing alone; tasks of one plant through the plant, too.

use super::ServoError;
use super::cascade::closings;
use super::chain::{Chain, Stationary, Stretches};
use super::gather::MeanTiming;
use super::joint::Owed;
use super::looped::{Closing, Loop};
use super::loops_judged::{LoopOfPlant, TaskOfLoops};
use super::merged::{Merged, common_multiple};
use super::overrun::OverrunAction;
use super::plant::Plant;
use super::plant_loop::PlantLoop;
use super::question::Question;
use super::replay::Replay;
use super::timing::{Actuation, Job, Moment, Moments, TaskTiming};
use crate::error::MotionError;

/// A task that closes loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopTask {
    /// Its name.
    pub name: String,
    /// Its period.
    pub period_ns: i64,
    /// What happens to a job that is not done in time.
    pub overrun: OverrunAction,
    /// The loops of the plant that it closes, by number; none where it closes all of it by the plant's one controller.
    pub loops: Vec<usize>,
}

/// A plant and the tasks that close it, among other tasks that run beside them.
#[derive(Debug, Clone)]
pub struct Several {
    /// The plant.
    pub plant: Plant,
    /// The tasks that close it; those of outer loops first.
    pub tasks: Vec<LoopTask>,
    /// Tasks of other plants: they only decide when all are idle together.
    pub others: Vec<LoopTask>,
    /// Where in each task sampling and actuation happen.
    pub timing: TaskTiming,
}

/// Common multiples after which constant timing has to have come back to where it was.
const LONGEST_CYCLE: i64 = 1_000;
/// Steps in which a loop's delay is looked for before it is found by halving.
const SCAN: i64 = 32;

impl Several {
    /// All tasks, those of the plant first.
    pub fn all_tasks(&self) -> impl Iterator<Item = &LoopTask> {
        self.tasks.iter().chain(&self.others)
    }

    /// The common multiple of all periods.
    ///
    /// # Errors
    /// There is none that is short enough.
    pub fn common_ns(&self) -> Result<i64, MotionError> {
        Ok(common_multiple(self.all_tasks().map(|task| task.period_ns)).ok_or(ServoError::NeverTogether)?)
    }

    /// The longest period of the tasks that close the plant: what its rates are per.
    pub fn period_ns(&self) -> i64 {
        self.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1)
    }

    /// The periods in which misses are counted: those of the plant's slowest task, or of several tasks what all have in common.
    pub(super) fn owed(&self) -> Result<Owed, MotionError> {
        let period_ns =
            common_multiple(self.tasks.iter().map(|task| task.period_ns)).ok_or(ServoError::NeverTogether)?;
        let outputs = self.tasks.iter().map(|task| (period_ns / task.period_ns) as usize).collect();
        Ok(Owed { period_ns, outputs })
    }

    /// The closed loop.
    ///
    /// # Errors
    /// As [`super::Design::controller`].
    pub fn closed(&self) -> Result<Loop, MotionError> {
        let defers = matches!(self.timing.actuation, Actuation::AtNextStart | Actuation::AtNextDue);
        let closings = if self.plant.loops.is_empty() {
            let question = Question::of(self.plant.clone(), self.period_ns());
            vec![Closing::whole(&self.plant, &question.controller()?)]
        } else {
            let tasks: Vec<(i64, Vec<usize>)> =
                self.tasks.iter().map(|task| (task.period_ns, task.loops.clone())).collect();
            closings(&self.plant, &tasks)?
        };
        Ok(Loop::of(&self.plant, closings, defers))
    }

    /// Names of the outputs that follow a reference from outside.
    pub(super) fn followed_outputs(&self) -> Result<Vec<String>, MotionError> {
        let name = |output: usize| self.plant.outputs.get(output).cloned();
        Ok(self.closed()?.followed().into_iter().filter_map(name).collect())
    }

    /// The stationary loop whose tasks always wait and work so long.
    ///
    /// # Errors
    /// As [`super::Design::controller`], and tasks that are never idle together.
    pub fn constant(&self, waits_and_works: &[(i64, i64)]) -> Result<Stationary, MotionError> {
        let common_ns =
            common_multiple(self.tasks.iter().map(|task| task.period_ns)).ok_or(ServoError::NeverTogether)?;
        let mut closed = self.closed()?;
        let mut merged = Merged::new(common_ns);
        for (task, (wait, work)) in self.tasks.iter().zip(waits_and_works) {
            let jobs = Box::new(steady(task, 0, (*wait, *work)).map(Ok));
            merged.add(task.period_ns, Moments::new(self.timing, task.period_ns, 0), jobs);
        }
        // From one time to the next at which all are idle; the same for ever.
        let (mut begin, mut events, mut found) = (None::<i64>, Vec::new(), None);
        let given_up_ns = common_ns.saturating_mul(LONGEST_CYCLE);
        merged.run(|moment| match moment {
            Err(together) => match begin.replace(together.time_ns) {
                Some(begin) => {
                    let length = (together.time_ns - begin) as f64;
                    let passage = closed.passage(&events, length);
                    found = Some(Stretches::of(&passage, length * 1e-9));
                    false
                }
                None => true,
            },
            Ok(Moment::At(time, event)) => {
                if let Some(begin) = begin {
                    events.push(((time - begin) as f64, event));
                }
                time < given_up_ns
            }
            Ok(_) => true,
        })?;
        let found = found.ok_or(ServoError::NeverTogether)?;
        Ok(Chain::independent(&found, self.period_ns()).stationary())
    }

    /// The stationary loop with every task punctual and no work to do.
    ///
    /// # Errors
    /// As [`Several::constant`], and a loop that is not even stable then.
    pub fn ideal(&self) -> Result<Stationary, MotionError> {
        let ideal = self.constant(&vec![(0, 0); self.tasks.len()])?;
        if ideal.is_stable() {
            return Ok(ideal);
        }
        let (plant, radius) = (self.plant.name.clone(), ideal.spectral_radius);
        Err(ServoError::Unstable { plant, period_ns: self.period_ns(), radius }.into())
    }

    /// What each task's loops stand: the longest constant delay of its outputs with all others punctual, and for every shorter one
    /// too; `None` up to its whole period.
    ///
    /// # Errors
    /// As [`Several::constant`].
    pub fn stands(&self) -> Result<Vec<Option<i64>>, MotionError> {
        (0..self.tasks.len()).map(|i| self.stands_of(i)).collect()
    }

    fn stands_of(&self, i: usize) -> Result<Option<i64>, MotionError> {
        let longest_ns = self.tasks[i].period_ns - 1;
        let is_stable = |delay_ns: i64| -> Result<bool, MotionError> {
            let of = |other: usize| (0, if other == i { delay_ns } else { 0 });
            Ok(self.constant(&(0..self.tasks.len()).map(of).collect::<Vec<_>>())?.is_stable())
        };
        let mut good = 0;
        for step in 1..=SCAN {
            let mut bad = longest_ns * step / SCAN;
            if is_stable(bad)? {
                good = bad;
                continue;
            }
            while bad - good > 1 {
                let middle = good + (bad - good) / 2;
                if is_stable(middle)? {
                    good = middle;
                } else {
                    bad = middle;
                }
            }
            return Ok(Some(good));
        }
        Ok(None)
    }

    /// A task as a result names it.
    pub fn described(&self, task: &LoopTask, timing: Option<MeanTiming>) -> TaskOfLoops {
        let loops: Vec<LoopOfPlant> = if self.plant.loops.is_empty() {
            let design = self.plant.design.name().into();
            vec![LoopOfPlant { name: None, controller: design }]
        } else {
            let of = |i: &usize| self.plant.loops.get(*i);
            let named = |l: &PlantLoop| LoopOfPlant {
                name: Some(l.name.clone()),
                controller: l.design.name().into(),
            };
            task.loops.iter().filter_map(of).map(named).collect()
        };
        TaskOfLoops { name: task.name.clone(), period_ns: task.period_ns, loops, timing, alone: None }
    }
}

/// Jobs that always wait and work so long, for ever.
pub(super) fn steady(
    task: &LoopTask,
    first_ns: i64,
    (wait, work): (i64, i64),
) -> impl Iterator<Item = Job> + use<> {
    let mut replay = Replay::from(task.overrun.late, task.period_ns, first_ns);
    std::iter::repeat_with(move || replay.job(wait, work, false))
}
