//! Several loops of one run: a plant for each task, or one plant that tasks of several rates close together (a cascade).
//!
//! The unit is the common multiple of all periods: from one time at which every task is due and none is at work to the next such.
//! What happens between, of all tasks jointly, is one cycle, whose map is exact; no times are rounded. Loops on plants of their own
//! feel each other through the timing alone; tasks of one plant through the plant, too.

use std::convert::Infallible;

use super::along_trace::{TimeBase, Walk};
use super::cascade::closings;
use super::chain::{Chain, Stationary, Stretches};
use super::classes::Memory;
use super::evaluate::{BATCHES, Evaluation, by_batches, curve_step_ns, is_long_enough, jackknife, values};
use super::gather::{MeanTiming, mean_timing};
use super::joint::JointCycles;
use super::looped::{Closing, Loop};
use super::loops_judged::{LoopOfPlant, PlantUnderRun, TaskOfLoops};
use super::merged::{Jobs, Merged, common_multiple};
use super::overrun::{Late, OverrunAction};
use super::plant::Plant;
use super::plant_loop::PlantLoop;
use super::question::Question;
use super::record::Record;
use super::replay::Replay;
use super::timing::{Actuation, Job, Moment, Moments, TaskTiming};
use super::verdict::of_costs;
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
/// Rows that are read at once.
const CHUNK: u64 = 1 << 14;
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
        common_multiple(self.all_tasks().map(|task| task.period_ns)).ok_or(MotionError::NeverTogether)
    }

    /// The longest period of the tasks that close the plant: what its rates are per.
    pub fn period_ns(&self) -> i64 {
        self.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1)
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

    /// The stationary loop whose tasks always wait and work so long.
    ///
    /// # Errors
    /// As [`super::Design::controller`], and tasks that are never idle together.
    pub fn constant(&self, waits_and_works: &[(i64, i64)]) -> Result<Stationary, MotionError> {
        let common_ns = common_multiple(self.tasks.iter().map(|task| task.period_ns))
            .ok_or(MotionError::NeverTogether)?;
        let mut closed = self.closed()?;
        let mut merged = Merged::<Infallible>::new(common_ns);
        for (task, (wait, work)) in self.tasks.iter().zip(waits_and_works) {
            let jobs = Box::new(steady(task, 0, (*wait, *work)).map(Ok));
            merged.add(task.period_ns, Moments::new(self.timing, task.period_ns, 0), jobs);
        }
        // From one time to the next at which all are idle; the same for ever.
        let (mut begin, mut events, mut found) = (None::<i64>, Vec::new(), None);
        let given_up_ns = common_ns.saturating_mul(LONGEST_CYCLE);
        let Ok(()) = merged.run(|moment| match moment {
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
        });
        let found = found.ok_or(MotionError::NeverTogether)?;
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
        Err(MotionError::Unstable {
            plant: self.plant.name.clone(),
            period_ns: self.period_ns(),
            radius: ideal.spectral_radius,
        })
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

    /// Judges the plant by what a run recorded of all tasks, in the order of [`Several::all_tasks`].
    ///
    /// # Errors
    /// As [`Several::ideal`], too few activations, and records that cannot be read.
    pub fn under_run<R: Record + ?Sized>(&self, records: &[&R]) -> Result<PlantUnderRun, R::Error> {
        let ideal = self.ideal()?;
        let mut closed = self.closed()?;
        let timings = self
            .tasks
            .iter()
            .zip(records)
            .map(|(task, record)| mean_timing(task.period_ns, *record))
            .collect::<Result<Vec<_>, _>>()?;
        let waits: Vec<(i64, i64)> =
            timings.iter().map(|t| (t.wait_ns.round() as i64, t.execution_ns.round() as i64)).collect();
        let (period_ns, common_ns) = (self.period_ns(), self.common_ns()?);
        let time_ns = timings.iter().map(|t| t.periods as i64).zip(&self.tasks);
        let time_ns = time_ns.map(|(periods, task)| periods * task.period_ns).max().unwrap_or(0).max(1);
        let curve_step_ns = curve_step_ns((time_ns / period_ns) as u64, period_ns);
        let mut cycles = JointCycles::new(closed.lasting(), period_ns);
        let mut walk = Walk::new(&closed, TimeBase::Nominal, ideal.covariance.as_ref(), curve_step_ns);
        let own = self.tasks.len();
        let mut origin = None::<i64>;
        self.merged(records, common_ns, None)?.run(|moment| {
            match moment {
                Ok(Moment::At(time, event)) if usize::from(event.by) < own => {
                    walk.pass(Moment::At(time, event));
                    cycles.at(time, event);
                }
                Ok(Moment::Cut(time)) => {
                    walk.pass(Moment::Cut(time));
                    cycles.cut();
                }
                Ok(_) => {}
                Err(together) => {
                    let since = together.time_ns - *origin.get_or_insert(together.time_ns);
                    let part = (i128::from(since) * BATCHES as i128 / i128::from(time_ns)) as usize;
                    cycles.together(&mut closed, together.time_ns, together.in_time, part);
                }
            }
            true
        })?;
        if cycles.count() == 0 {
            return Err(MotionError::NeverTogether.into());
        }
        let memory = cycles.memory();
        let clustered = cycles.stationary(memory, None);
        let independent = cycles.stationary(Memory::None, None);
        let is_long = is_long_enough((time_ns / period_ns) as f64, clustered.radius_per_period);
        let left_out: Vec<Stationary> = (0..if is_long { BATCHES } else { 0 })
            .map(|part| cycles.stationary(memory, Some(part)))
            .collect();
        let along = walk.finish();
        let along_interval = if is_long { by_batches(&along) } else { None };
        let evaluation = Evaluation {
            mean_delay: self.constant(&waits)?,
            jitter: cycles.in_time().unwrap_or_else(|| independent.clone()),
            independent,
            memory,
            cost_interval: jackknife(clustered.cost, &values(&left_out, |s| s.cost)),
            radius_interval: jackknife(
                clustered.radius_per_period,
                &values(&left_out, |s| s.radius_per_period),
            ),
            clustered,
            along,
            along_interval,
            timing: timings.first().cloned().ok_or(MotionError::TooFewActivations(0))?,
            resolution_ns: 1,
            ideal,
        };
        let mut alone = Vec::new();
        for i in 0..if own > 1 { own } else { 0 } {
            let mut walk = Walk::new(&closed, TimeBase::Nominal, evaluation.ideal.covariance.as_ref(), 0);
            self.merged(records, common_ns, Some(i))?.run(|moment| {
                if let Ok(moment) = moment {
                    walk.pass(moment);
                }
                true
            })?;
            alone.push(walk.finish().cost);
        }
        let verdict = of_costs(
            &evaluation,
            timings.iter().zip(&self.tasks).map(|(t, task)| (t.worst_response_ns, task.period_ns)),
        );
        let tasks = self.tasks.iter().zip(timings).enumerate().map(|(i, (task, timing))| TaskOfLoops {
            alone: alone.get(i).copied(),
            ..self.described(task, Some(timing))
        });
        Ok(PlantUnderRun {
            verdict,
            tasks: tasks.collect(),
            common_ns,
            cycles: cycles.count(),
            computed: cycles.computed,
            evaluation,
        })
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

    /// The recorded jobs of all tasks; or of the plant's, with all punctual but one.
    fn merged<'a, R: Record + ?Sized>(
        &'a self,
        records: &[&'a R],
        common_ns: i64,
        but: Option<usize>,
    ) -> Result<Merged<'a, R::Error>, R::Error> {
        let mut merged = Merged::new(common_ns);
        let early_ns = records.iter().map(|record| -record.least_latency_ns()).max().unwrap_or(0);
        let wanted = if but.is_some() { self.tasks.len() } else { usize::MAX };
        for (i, (task, record)) in self.all_tasks().zip(records).enumerate().take(wanted) {
            let moments = Moments::new(self.timing, task.period_ns, early_ns);
            let jobs = match but {
                Some(but) if but != i => {
                    let first = record.rows(0..1)?.first().map_or(0, |a| a.due_ns);
                    let punctual = LoopTask { overrun: OverrunAction::holding(Late::Skip), ..task.clone() };
                    Box::new(steady(&punctual, first, (0, 0)).map(Ok)) as Jobs<'a, R::Error>
                }
                _ => recorded(*record),
            };
            merged.add(task.period_ns, moments, jobs);
        }
        Ok(merged)
    }
}

/// Jobs that always wait and work so long, for ever.
fn steady(task: &LoopTask, first_ns: i64, (wait, work): (i64, i64)) -> impl Iterator<Item = Job> + use<> {
    let mut replay = Replay::new(task.overrun.late, task.period_ns);
    std::iter::repeat_with(move || {
        let job = replay.job(wait, work, false);
        let moved = |time: i64| time.saturating_add(first_ns);
        Job { due_ns: moved(job.due_ns), start_ns: moved(job.start_ns), end_ns: moved(job.end_ns), ..job }
    })
}

/// The jobs of a record, read piece by piece.
fn recorded<'a, R: Record + ?Sized>(record: &'a R) -> Jobs<'a, R::Error> {
    let mut next = 0;
    let mut rows = Vec::new().into_iter();
    Box::new(std::iter::from_fn(move || {
        if rows.len() == 0 {
            match record.rows(next..next + CHUNK) {
                Ok(read) => rows = read.into_iter(),
                Err(error) => return Some(Err(error)),
            }
            next += CHUNK;
        }
        rows.next().map(|a| Ok(Job::from(&a)))
    }))
}
