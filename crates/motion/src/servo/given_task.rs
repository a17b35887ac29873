//! A task with given execution times: each job samples when it starts, works and writes; the overrun action
//! decides about the due times that it overruns.
//!
//! If jobs depend on each other only through the kind of their execution time, the loop's equation is exact.
//! A task that catches up carries its backlog from job to job: then a sequence is drawn, and the loop is
//! followed along it.

use jitterlab_analysis::random::Random;

use jitterlab_model::Error;

use super::along_trace::Interval;
use super::burst_stability::Stability;
use super::closed_loop::{Event, Loop, LoopAction};
use super::covariance_propagation::{CovariancePropagation, PropagationResult};
use super::cycles::{CycleCollector, IdleInstant, OutputsPerPeriod};
use super::execution::{Execution, ExecutionKind};
use super::flow_map::Flow;
use super::markov_chain::{Stationary, StretchDistribution};
use super::overrun::{MissedOutput, OverrunAction, OverrunPolicy};
use super::quadrature::mean_quadrature;
use super::replay::Replay;
use super::timing::{Actuation, Job, Moment, MomentGenerator, TaskTiming, effective_event};
use super::weakly_hard::Step;

/// A periodic task with given execution times.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenTask {
    pub period_ns: i64,
    pub execution: Execution,
    /// Time from the due time to the start, in ns; always the same.
    pub wait_ns: f64,
    pub action: OverrunAction,
    pub timing: TaskTiming,
}

/// Points of each piece of a range of execution times.
const POINTS: usize = 24;
/// Number of jobs of a drawn sequence, and of one of identical jobs.
const DRAWN: usize = 400_000;
const ALIKE: usize = 20_000;
const SEED: u64 = 1;

impl GivenTask {
    pub fn stationary(&self, closed: &mut Loop) -> Result<Stationary, Error> {
        Ok(self.stationary_with_stability(closed)?.0)
    }

    /// Stationary loop, its stability, and the confidence interval of its cost if that is of a drawn sequence.
    pub(super) fn stationary_with_stability(
        &self,
        closed: &mut Loop,
    ) -> Result<(Stationary, Stability, Option<Interval>), Error> {
        if self.action.missed_output == MissedOutput::Predict && !closed.supports(LoopAction::Predict) {
            return Err(Error::bad_use(
                "this controller has no estimator that could predict its output: take --controller lqg, or an action that holds the \
                 output or sets it to zero",
            ));
        }
        let period_ns = self.period_ns as f64;
        let catches_up =
            self.action.policy == OverrunPolicy::CatchUp && self.execution.longest_ns() > period_ns;
        // A task that works as long as its period or longer on average is never done: its jobs come back to back.
        let is_endless = self.execution.mean_ns() >= period_ns * (1.0 - 1e-12);
        if catches_up && !(is_endless && self.timing.actuation != Actuation::AtNextDue) {
            return Ok(self.stationary_by_simulation(closed, is_endless));
        }
        let of_kinds: Vec<StretchDistribution> = self
            .execution
            .kinds()
            .iter()
            .map(|kind| self.stretches_of_kind(closed, kind, catches_up))
            .collect();
        let stationary = self.execution.markov_chain(&of_kinds, self.period_ns).stationary();
        let stability = if stationary.is_stable() { Stability::Stable } else { Stability::Unstable };
        Ok((stationary, stability, None))
    }

    /// Stationary loop along a sequence drawn from the execution times.
    fn stationary_by_simulation(
        &self,
        closed: &mut Loop,
        is_endless: bool,
    ) -> (Stationary, Stability, Option<Interval>) {
        const WHOLE: usize = 8;
        let owed = OutputsPerPeriod { period_ns: self.period_ns, outputs: vec![1] };
        let cycles = CycleCollector::new(self.period_ns, owed, if is_endless { 1 } else { WHOLE });
        let punctual = GivenTask { execution: Execution::constant(0.0), wait_ns: 0.0, ..self.clone() };
        let begin = punctual.stretches_of_kind(closed, &punctual.execution.kinds()[0], false);
        let begin = punctual.execution.markov_chain(&[begin], self.period_ns).stationary();
        let mut course = CovariancePropagation::new(closed, self.period_ns, cycles, &begin);
        let mut replay = Replay::new(self.action.policy, self.period_ns);
        let mut moments = MomentGenerator::new(self.timing, self.period_ns, 0);
        let (mut random, mut kind, mut free_ns) = (Random::new(SEED), None, i64::MIN);
        for _ in 0..if self.execution.is_constant() { ALIKE } else { DRAWN } {
            let execution_ns = self.execution.draw(&mut kind, &mut random);
            let job = self.next_job(&mut replay, &mut free_ns, execution_ns);
            moments.add_job(&job, |moment| {
                course.process(match moment {
                    Moment::IdleDue(time_ns) => Err(IdleInstant { time_ns, in_time: false }),
                    moment => Ok(moment),
                });
            });
        }
        let PropagationResult { stationary, analysis, interval, .. } = course.finish();
        (stationary, analysis.stability, interval)
    }

    /// The jobs, spread over each range of times, as steps of proofs; `None` for a task that can fall behind.
    pub fn steps(&self, closed: &mut Loop) -> Option<Vec<Step>> {
        const OF_RANGE: u32 = 8;
        if self.action.policy == OverrunPolicy::CatchUp
            && self.execution.longest_ns() >= self.period_ns as f64
        {
            return None;
        }
        let owed = OutputsPerPeriod { period_ns: self.period_ns, outputs: vec![1] };
        let mut steps = Vec::new();
        for kind in self.execution.kinds() {
            let parts = if kind.high_ns > kind.low_ns { OF_RANGE } else { 0 };
            for part in 0..=parts {
                let share = f64::from(part) / f64::from(parts.max(1));
                let time = kind.low_ns + (kind.high_ns - kind.low_ns) * share;
                let (events, length) = self.job_events(time, false);
                let missed = owed.missed_periods(&events, length);
                steps.push(Step { map: closed.passage(&events, length).phi, missed });
            }
        }
        Some(steps)
    }

    /// Distribution of the loop's maps under jobs of this kind.
    fn stretches_of_kind(
        &self,
        closed: &mut Loop,
        kind: &ExecutionKind,
        back_to_back: bool,
    ) -> StretchDistribution {
        let mut stretches = StretchDistribution::new(closed.lasting_size());
        let due_times = (1..).map(|n| f64::from(n) * self.period_ns as f64 - self.wait_ns);
        let cuts = due_times.take_while(|t| *t < kind.high_ns);
        for (time, share) in mean_quadrature(kind.low_ns, kind.high_ns, cuts, POINTS) {
            // Between two nanoseconds the effect changes in proportion.
            let (below, part) = (time.floor(), time.fract());
            let both = [(below, share * (1.0 - part)), (below + 1.0, share * part)];
            for (time, share) in both.into_iter().filter(|(_, share)| *share != 0.0) {
                let (events, length) = self.job_events(time, back_to_back);
                stretches.add(&closed.passage(&events, length), length * 1e-9, share);
            }
        }
        stretches
    }

    /// Effect of a job with this execution time on the lasting state, until the next served job is due.
    pub fn passage(&self, closed: &mut Loop, execution_ns: f64) -> Flow {
        let (events, length) = self.job_events(execution_ns, false);
        closed.passage(&events, length)
    }

    /// Replays the next job; its wait counts from its due time, however long the one before worked.
    fn next_job(&self, replay: &mut Replay, free_ns: &mut i64, work_ns: i64) -> Job {
        let due_ns = replay.due_ns();
        let waits_ns = due_ns + self.wait_ns.round() as i64 - due_ns.max(*free_ns);
        let job = replay.next_job(waits_ns.max(0), work_ns, false);
        *free_ns = job.end_ns;
        job
    }

    /// Events of a job with this execution time among others like it, and the time to the next served job. They count
    /// from its due time to that of the next or, for a task that catches up or whose output waits for the next start,
    /// from its start to the next.
    fn job_events(&self, time: f64, back_to_back: bool) -> (Vec<(f64, Event)>, f64) {
        let marks = matches!(self.action.policy, OverrunPolicy::Skip | OverrunPolicy::Kill)
            .then_some(LoopAction::Zero);
        let mut replay = Replay::new(self.action.policy, self.period_ns);
        let mut moments = MomentGenerator::new(self.timing, self.period_ns, 0).with_missed_action(marks);
        let (mut cuts, mut events, mut free_ns) = (Vec::new(), Vec::new(), i64::MIN);
        // A task that catches up may still be at work when it is due, and an output may wait for the next start.
        let waits = self.timing.actuation == Actuation::AtNextStart && self.wait_ns < self.period_ns as f64;
        let from_start = self.action.policy == OverrunPolicy::CatchUp || waits;
        let work_ns = time.round() as i64;
        for number in 0..4 {
            let job = if back_to_back {
                let start_ns = number * work_ns;
                Job {
                    due_ns: start_ns,
                    start_ns,
                    end_ns: start_ns + work_ns,
                    killed: false,
                    after_gap: false,
                }
            } else {
                self.next_job(&mut replay, &mut free_ns, work_ns)
            };
            moments.add_job(&job, |moment| match moment {
                Moment::IdleDue(time) if !from_start => cuts.push((time, events.len())),
                Moment::At(time, event) => {
                    if from_start && event.act == LoopAction::Sample {
                        cuts.push((time, events.len()));
                    }
                    events
                        .extend(effective_event(event, self.action.missed_output).map(|event| (time, event)));
                }
                _ => {}
            });
        }
        let (Some((begin, from)), Some((end, to))) = (cuts.get(1), cuts.get(2)) else {
            return (Vec::new(), self.period_ns as f64);
        };
        // On a grid that restarts, the next due time is that of the next job.
        let waits_for_due =
            self.action.policy == OverrunPolicy::RePhase && self.timing.actuation == Actuation::AtNextDue;
        let time_of = |time: i64, event: &Event| match event.act {
            LoopAction::Write if waits_for_due => (end - begin) as f64,
            _ => (time - begin) as f64,
        };
        let course = events[*from..*to].iter().map(|(time, event)| (time_of(*time, event), *event));
        (course.collect(), (end - begin) as f64)
    }
}
