//! Loops closed by several tasks of one run: a plant for each task, or one plant that tasks of several rates close together (a cascade).
//!
//! The unit is the common multiple of all periods: one cycle lasts from a time at which every task is due and
//! none is at work to the next such time. The joint events of all tasks in between give one map, which is
//! exact: no times are rounded. Loops on plants of their own affect each other through the timing alone;
//! tasks of one plant also through the plant.

use jitterlab_model::Error;

use super::cascade::task_wirings;
use super::closed_loop::{ControllerWiring, Loop, LoopAction};
use super::covariance_propagation::CovariancePropagation;
use super::cycles::{CycleCollector, IdleInstant, OutputsPerPeriod};
use super::execution::Execution;
use super::given_task::GivenTask;
use super::job_sequence::{MergedTasks, hyperperiod};
use super::job_sources::JobSource;
use super::markov_chain::{MarkovChain, Stationary, StretchDistribution};
use super::mean_timing::TimingCollector;
use super::overrun::{MissedOutput, OverrunAction, OverrunPolicy};
use super::plant::Plant;
use super::replay::Replay;
use super::timing::{Actuation, Job, Moment, MomentGenerator, TaskTiming, effective_event};
use crate::error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopTask {
    pub name: String,
    pub period_ns: i64,
    pub overrun: OverrunAction,
    /// The loops of the plant that it closes, by number; none where it closes all of it by the plant's one controller.
    pub loops: Vec<usize>,
}

impl LoopTask {
    /// A task that closes no loops yet, or all of a plant by its one controller.
    pub fn new(name: impl Into<String>, period_ns: i64, overrun: OverrunAction) -> LoopTask {
        LoopTask { name: name.into(), period_ns, overrun, loops: Vec::new() }
    }
}

/// A plant and the tasks that close it, among other tasks that run at the same time.
#[derive(Debug, Clone)]
pub struct MultiTaskLoop {
    pub plant: Plant,
    /// The tasks that close it; those of outer loops first.
    pub tasks: Vec<LoopTask>,
    /// Tasks of other plants: they only decide when all are idle together.
    pub others: Vec<LoopTask>,
    pub timing: TaskTiming,
    /// Constant delay that the design of the plant's one controller takes into account.
    pub design_delay_ns: i64,
}

/// Common multiples after which constant timing has to have come back to where it was.
const LONGEST_CYCLE: i64 = 1_000;
/// Steps in which a loop's delay is looked for before it is found by halving.
const SCAN: i64 = 32;

impl MultiTaskLoop {
    /// All tasks, those of the plant first.
    pub fn all_tasks(&self) -> impl Iterator<Item = &LoopTask> {
        self.tasks.iter().chain(&self.others)
    }

    pub fn hyperperiod_ns(&self) -> Result<i64, Error> {
        hyperperiod(self.all_tasks().map(|task| task.period_ns)).ok_or_else(error::never_idle_together)
    }

    /// The longest period of the tasks that close the plant; rates are per this period.
    pub fn period_ns(&self) -> i64 {
        self.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1)
    }

    /// Number of outputs that each task of the plant owes per hyperperiod.
    pub(super) fn outputs_per_period(&self) -> Result<OutputsPerPeriod, Error> {
        let period_ns = hyperperiod(self.tasks.iter().map(|task| task.period_ns))
            .ok_or_else(error::never_idle_together)?;
        let outputs = self.tasks.iter().map(|task| (period_ns / task.period_ns) as usize).collect();
        Ok(OutputsPerPeriod { period_ns, outputs })
    }

    pub fn closed_loop(&self) -> Result<Loop, Error> {
        let defers = matches!(self.timing.actuation, Actuation::AtNextStart | Actuation::AtNextDue);
        let wirings = if self.plant.loops.is_empty() {
            let design = &self.plant.design;
            let controller = design.controller(&self.plant, self.period_ns(), self.design_delay_ns)?;
            vec![ControllerWiring::for_all_signals(&self.plant, &controller)]
        } else {
            let tasks: Vec<(i64, Vec<usize>)> =
                self.tasks.iter().map(|task| (task.period_ns, task.loops.clone())).collect();
            task_wirings(&self.plant, &tasks)?
        };
        Ok(Loop::with_controllers(&self.plant, wirings, defers))
    }

    /// New collector of regeneration cycles; long bursts of a task that is alone are cut where its jobs start.
    pub(super) fn new_cycle_collector(&self) -> Result<CycleCollector, Error> {
        const WHOLE: usize = 8;
        let is_alone = self.tasks.len() == 1 && self.others.is_empty();
        Ok(CycleCollector::new(
            self.period_ns(),
            self.outputs_per_period()?,
            if is_alone { WHOLE } else { usize::MAX },
        ))
    }

    /// Gives all moments of all tasks, and the times at which all are idle; returns each task's timing.
    pub(super) fn for_each_moment<S: JobSource>(
        &self,
        sources: &[S],
        mut give: impl FnMut(Result<Moment, IdleInstant>),
    ) -> Result<Vec<TimingCollector>, Error> {
        let early_ns = sources.iter().map(JobSource::max_early_ns).max().unwrap_or(0);
        // One task alone needs no merging, which takes nearly twice as long.
        if let ([task], [], [source]) = (self.tasks.as_slice(), self.others.as_slice(), sources) {
            let (mut moments, mut timings) =
                (self.moment_generator(task, early_ns), TimingCollector::new(task.period_ns));
            let mut last = None;
            source.visit(&mut |job| {
                timings.add(job);
                moments.add_job(job, |moment| match moment {
                    Moment::IdleDue(time_ns) => {
                        let in_time = last.replace(time_ns).is_some_and(|last| {
                            let length_ns: i64 = time_ns - last;
                            (length_ns - task.period_ns).abs() < task.period_ns / 2
                        });
                        give(Err(IdleInstant { time_ns, in_time }));
                    }
                    moment => {
                        if matches!(moment, Moment::Cut(_)) {
                            last = None;
                        }
                        give(Ok(moment));
                    }
                });
            })?;
            return Ok(vec![timings]);
        }
        let mut merged = MergedTasks::new(self.hyperperiod_ns()?);
        for (task, source) in self.all_tasks().zip(sources) {
            merged.add(task.period_ns, self.moment_generator(task, early_ns), source.jobs());
        }
        merged.for_each_moment(|moment| {
            give(moment);
            true
        })
    }

    /// Generator of a task's moments, with a mark where a due time is missed or a job killed.
    pub(super) fn moment_generator(&self, task: &LoopTask, early_ns: i64) -> MomentGenerator {
        let marks = matches!(task.overrun.policy, OverrunPolicy::Skip | OverrunPolicy::Kill)
            .then_some(LoopAction::Zero);
        MomentGenerator::new(self.timing, task.period_ns, early_ns).with_missed_action(marks)
    }

    /// Passes a moment on; at a missed due time the output follows `missed_output`, or without one its task's action.
    pub(super) fn process_moment(
        &self,
        moment: Result<Moment, IdleInstant>,
        missed_output: Option<MissedOutput>,
        course: &mut CovariancePropagation,
    ) {
        let Ok(Moment::At(time, event)) = moment else { return course.process(moment) };
        let Some(task) = self.tasks.get(usize::from(event.by)) else { return };
        if event.act == LoopAction::Zero {
            course.cycles.mark_missed();
        }
        if let Some(event) = effective_event(event, missed_output.unwrap_or(task.overrun.missed_output)) {
            course.process(Ok(Moment::At(time, event)));
        }
    }

    /// Names of the outputs that follow a reference from outside.
    pub(super) fn followed_outputs(&self) -> Result<Vec<String>, Error> {
        let name = |output: usize| self.plant.outputs.get(output).cloned();
        Ok(self.closed_loop()?.followed_outputs().into_iter().filter_map(name).collect())
    }

    /// The stationary loop whose tasks always have these waits and execution times.
    ///
    /// # Errors
    /// As [`super::Design::controller`], and tasks that are never idle together.
    pub fn stationary_with_timing(&self, waits_and_works: &[(i64, i64)]) -> Result<Stationary, Error> {
        if let [(wait_ns, execution_ns)] = waits_and_works
            && let Some(task) = self.only_task(*wait_ns as f64, *execution_ns as f64)
        {
            return task.stationary(&mut self.closed_loop()?);
        }
        let hyperperiod_ns = hyperperiod(self.tasks.iter().map(|task| task.period_ns))
            .ok_or_else(error::never_idle_together)?;
        let mut closed = self.closed_loop()?;
        let mut merged = MergedTasks::new(hyperperiod_ns);
        for (task, (wait, work)) in self.tasks.iter().zip(waits_and_works) {
            let jobs = Box::new(steady_jobs(task, 0, (*wait, *work)).map(Ok));
            merged.add(task.period_ns, MomentGenerator::new(self.timing, task.period_ns, 0), jobs);
        }
        // From one time to the next at which all are idle; the same for ever.
        let (mut begin, mut events, mut found) = (None::<i64>, Vec::new(), None);
        let given_up_ns = hyperperiod_ns.saturating_mul(LONGEST_CYCLE);
        merged.for_each_moment(|moment| match moment {
            Err(together) => match begin.replace(together.time_ns) {
                Some(begin) => {
                    let length = (together.time_ns - begin) as f64;
                    let passage = closed.passage(&events, length);
                    found = Some(StretchDistribution::from_flow(&passage, length * 1e-9));
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
        let found: StretchDistribution = found.ok_or_else(error::never_idle_together)?;
        Ok(MarkovChain::independent(&found, self.period_ns()).stationary())
    }

    /// The one task that closes the plant, always with this wait and execution time; `None` where several do.
    pub(super) fn only_task(&self, wait_ns: f64, execution_ns: f64) -> Option<GivenTask> {
        let [LoopTask { period_ns, overrun, .. }] = *self.tasks.as_slice() else { return None };
        let (execution, wait_ns) = (Execution::constant(execution_ns.max(0.0)), wait_ns.max(0.0));
        Some(GivenTask { period_ns, execution, wait_ns, action: overrun, timing: self.timing })
    }

    /// The stationary loop with every task punctual and no work to do.
    pub fn ideal_stationary(&self) -> Result<Stationary, Error> {
        let ideal = self.stationary_with_timing(&vec![(0, 0); self.tasks.len()])?;
        if ideal.is_stable() {
            return Ok(ideal);
        }
        Err(error::unstable(&self.plant.name, self.period_ns(), ideal.spectral_radius))
    }

    /// Longest constant delay of each task's outputs with which the plant is stable; `None` if its whole period is. So
    /// it is for every shorter one; all other tasks are punctual.
    pub fn tolerated_delays_ns(&self) -> Result<Vec<Option<i64>>, Error> {
        (0..self.tasks.len()).map(|i| self.tolerated_delay_ns(i)).collect()
    }

    fn tolerated_delay_ns(&self, i: usize) -> Result<Option<i64>, Error> {
        let longest_ns = self.tasks[i].period_ns - 1;
        let is_stable = |delay_ns: i64| -> Result<bool, Error> {
            let of = |other: usize| (0, if other == i { delay_ns } else { 0 });
            Ok(self.stationary_with_timing(&(0..self.tasks.len()).map(of).collect::<Vec<_>>())?.is_stable())
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
}

/// An endless sequence of jobs with this wait and execution time.
pub(super) fn steady_jobs(
    task: &LoopTask,
    first_ns: i64,
    (wait, work): (i64, i64),
) -> impl Iterator<Item = Job> + use<> {
    let mut replay = Replay::with_first_due(task.overrun.policy, task.period_ns, first_ns);
    std::iter::repeat_with(move || replay.next_job(wait, work, false))
}
