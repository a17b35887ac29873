//! Tasks with given execution times on one processor: a task with a shorter period goes first and interrupts
//! the others (rate monotonic: Liu and Layland 1973). Drawn from a seed, so that the same times give the same
//! jobs.

use std::collections::VecDeque;

use jitterlab_analysis::random::Random;
use jitterlab_model::units::parse_duration_ns;
use serde::Serialize;

use jitterlab_model::Error;

use super::execution::Execution;
use super::job_sequence::hyperperiod;
use super::loop_assignment::RequestedPlant;
use super::overrun::OverrunPolicy;
use super::timing::Job;
use crate::error;

/// A task's execution times, as they were given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GivenTimes {
    pub name: String,
    pub period_ns: i64,
    /// Its execution times, as [`Execution::parse`] reads them.
    pub execution: String,
    #[serde(skip)]
    times: Execution,
}

impl GivenTimes {
    /// Reads `TASK=TIMES` or `TASK@PERIOD=TIMES`; without a period the usual one of the loop of that name.
    pub fn parse(text: &str, plants: &[RequestedPlant]) -> Result<GivenTimes, Error> {
        let fail = || error::invalid_given_times(text);
        let (task, execution) = text.split_once('=').ok_or_else(fail)?;
        let (name, period) = task.split_once('@').map_or((task, None), |(name, period)| (name, Some(period)));
        let mut loops = plants.iter().flat_map(|(_, plant)| &plant.loops);
        let usual = loops.find(|l| l.name == name).map(|l| l.period_ns);
        let period_ns = match period {
            Some(text) => parse_duration_ns(text).ok().filter(|ns| *ns > 0),
            None => usual,
        };
        let period_ns = period_ns.filter(|_| !name.is_empty()).ok_or_else(fail)?;
        let times = Execution::parse(execution, period_ns)?;
        Ok(GivenTimes { name: name.into(), period_ns, execution: execution.into(), times })
    }
}

/// Tasks on one processor, and the length of their schedule.
pub struct Schedule {
    tasks: Vec<GivenTimes>,
    end_ns: i64,
}

/// Largest number of jobs of all tasks, and largest number of cycles.
const MOST_JOBS: i64 = 400_000;
const MOST_CYCLES: i64 = 20_000;
const SEED: u64 = 1;

impl Schedule {
    pub fn new(given: &[GivenTimes]) -> Result<Schedule, Error> {
        let mut tasks = given.to_vec();
        tasks.sort_by_key(|task| task.period_ns);
        let hyperperiod_ns =
            hyperperiod(tasks.iter().map(|t| t.period_ns)).ok_or_else(error::never_idle_together)?;
        let jobs: i64 = tasks.iter().map(|task| hyperperiod_ns / task.period_ns).sum();
        let cycles = (MOST_JOBS / jobs.max(1)).clamp(20, MOST_CYCLES);
        Ok(Schedule { tasks, end_ns: hyperperiod_ns.saturating_mul(cycles) })
    }

    /// The jobs of the tasks of these names under these actions, in their order.
    pub(super) fn simulate(&self, wanted: &[(&str, OverrunPolicy)]) -> Vec<Vec<Job>> {
        let policy = |name: &str| wanted.iter().find(|w| w.0 == name).map_or(OverrunPolicy::Skip, |w| w.1);
        let mut running: Vec<TaskState> =
            self.tasks.iter().zip(0..).map(|(task, i)| TaskState::new(task, policy(&task.name), i)).collect();
        let mut now = 0;
        while now < self.end_ns {
            running.iter_mut().filter(|task| task.due_ns == now).for_each(TaskState::release);
            let next_ns = running.iter().map(|task| task.due_ns).min().unwrap_or(self.end_ns);
            let Some(task) = running.iter_mut().find(|task| task.at_work.is_some()) else {
                now = next_ns;
                continue;
            };
            now = task.run_until(now, next_ns);
        }
        let mut of = |name: &str| {
            let found = running.iter_mut().find(|task| task.given.name == name);
            found.map_or_else(Vec::new, |task| std::mem::take(&mut task.jobs))
        };
        wanted.iter().map(|(name, _)| of(name)).collect()
    }
}

struct PendingJob {
    due_ns: i64,
    start_ns: Option<i64>,
    left_ns: i64,
}

struct TaskState<'a> {
    given: &'a GivenTimes,
    policy: OverrunPolicy,
    random: Random,
    /// The kind of the last execution time.
    kind: Option<usize>,
    due_ns: i64,
    at_work: Option<PendingJob>,
    /// Due times that wait for the job at work.
    waiting: VecDeque<i64>,
    jobs: Vec<Job>,
}

impl<'a> TaskState<'a> {
    fn new(given: &'a GivenTimes, policy: OverrunPolicy, number: u64) -> TaskState<'a> {
        TaskState {
            given,
            policy,
            random: Random::new(SEED + number),
            kind: None,
            due_ns: 0,
            at_work: None,
            waiting: VecDeque::new(),
            jobs: Vec::new(),
        }
    }

    /// Releases a job at the due time. One that ended just now has missed this, and under `kill` was killed.
    fn release(&mut self) {
        let due_ns = self.due_ns;
        self.due_ns += self.given.period_ns;
        let ended_now = self.jobs.last().is_some_and(|job| job.end_ns == due_ns && job.due_ns < due_ns);
        match (self.policy, self.at_work.take()) {
            (OverrunPolicy::Kill, Some(job)) => {
                let start_ns = job.start_ns.unwrap_or(due_ns);
                self.finish_job(Job { start_ns, killed: true, ..new_job(job.due_ns, due_ns) });
            }
            (OverrunPolicy::Kill, None) if ended_now => {
                if let Some(job) = self.jobs.last_mut() {
                    job.killed = true;
                }
            }
            (OverrunPolicy::CatchUp, Some(job)) => {
                self.at_work = Some(job);
                self.waiting.push_back(due_ns);
                return;
            }
            (_, Some(job)) => {
                self.at_work = Some(job);
                return;
            }
            (OverrunPolicy::Skip | OverrunPolicy::RePhase, None) if ended_now => return,
            (_, None) => {}
        }
        self.start_job(due_ns);
    }

    fn start_job(&mut self, due_ns: i64) {
        let left_ns = self.given.times.draw(&mut self.kind, &mut self.random);
        self.at_work = Some(PendingJob { due_ns, start_ns: None, left_ns });
    }

    fn finish_job(&mut self, job: Job) {
        self.jobs.push(job);
        if let Some(due_ns) = self.waiting.pop_front() {
            self.start_job(due_ns);
        }
    }

    /// Works until the job is done or a task is due; returns when that is.
    fn run_until(&mut self, now: i64, next_ns: i64) -> i64 {
        let Some(job) = &mut self.at_work else { return next_ns };
        let start_ns = *job.start_ns.get_or_insert(now);
        let end_ns = now + job.left_ns;
        if end_ns > next_ns {
            job.left_ns = end_ns - next_ns;
            return next_ns;
        }
        let due_ns = job.due_ns;
        self.at_work = None;
        self.finish_job(Job { start_ns, ..new_job(due_ns, end_ns) });
        end_ns
    }
}

/// A job that starts when it is due.
fn new_job(due_ns: i64, end_ns: i64) -> Job {
    Job { due_ns, start_ns: due_ns, end_ns, killed: false, after_gap: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    fn schedule(given: &[(&str, i64, &str)]) -> Schedule {
        let of = |(name, period_us, times): &(&str, i64, &str)| {
            GivenTimes::parse(&format!("{name}@{period_us}us={times}"), &[]).unwrap()
        };
        Schedule::new(&given.iter().map(of).collect::<Vec<_>>()).unwrap()
    }

    fn times_us(jobs: &[Job]) -> Vec<(i64, i64, i64, bool)> {
        jobs.iter().map(|j| (j.due_ns / US, j.start_ns / US, j.end_ns / US, j.killed)).collect()
    }

    #[test]
    fn the_shorter_period_interrupts_the_longer() {
        let made = schedule(&[("slow", 6_000, "2.5ms"), ("fast", 4_000, "2.5ms")]);
        let jobs = made.simulate(&[("fast", OverrunPolicy::Skip), ("slow", OverrunPolicy::Skip)]);
        assert_eq!(times_us(&jobs[0])[..2], [(0, 0, 2_500, false), (4_000, 4_000, 6_500, false)]);
        // It ends on its third due time, which has passed by that.
        assert_eq!(times_us(&jobs[1])[..2], [(0, 2_500, 7_500, false), (12_000, 14_500, 19_500, false)]);
    }

    #[test]
    fn each_action_does_with_a_late_job_what_it_is_for() {
        let made = schedule(&[("a", 1_000, "1.3ms")]);
        let of = |policy: OverrunPolicy| times_us(&made.simulate(&[("a", policy)])[0][..3]);
        assert_eq!(
            of(OverrunPolicy::Skip),
            [(0, 0, 1_300, false), (2_000, 2_000, 3_300, false), (4_000, 4_000, 5_300, false)]
        );
        assert_eq!(
            of(OverrunPolicy::Kill),
            [(0, 0, 1_000, true), (1_000, 1_000, 2_000, true), (2_000, 2_000, 3_000, true)]
        );
        assert_eq!(
            of(OverrunPolicy::CatchUp),
            [(0, 0, 1_300, false), (1_000, 1_300, 2_600, false), (2_000, 2_600, 3_900, false)]
        );
        // Done exactly when it is due again: that has passed.
        let exact = schedule(&[("a", 1_000, "1h")]);
        let of = |policy: OverrunPolicy| times_us(&exact.simulate(&[("a", policy)])[0][..2]);
        assert_eq!(of(OverrunPolicy::Skip), [(0, 0, 1_000, false), (2_000, 2_000, 3_000, false)]);
        assert_eq!(of(OverrunPolicy::CatchUp), [(0, 0, 1_000, false), (1_000, 1_000, 2_000, false)]);
        assert!(of(OverrunPolicy::Kill).iter().all(|job| job.3));
        // No work at all takes no time, and is done.
        let none = schedule(&[("a", 1_000, "0ns")]);
        assert_eq!(
            times_us(&none.simulate(&[("a", OverrunPolicy::Skip)])[0])[..2],
            [(0, 0, 0, false), (1_000, 1_000, 1_000, false)]
        );
    }

    #[test]
    fn shares_and_rows_are_those_that_were_given() {
        let made = schedule(&[("a", 1_000, "0.2h:0.9,0.5h:0.1:3")]);
        let jobs = &made.simulate(&[("a", OverrunPolicy::Skip)])[0];
        let long: Vec<bool> = jobs.iter().map(|j| j.end_ns - j.start_ns == 500 * US).collect();
        let share = long.iter().filter(|l| **l).count() as f64 / long.len() as f64;
        let rows = long.windows(2).filter(|w| w[1] && !w[0]).count() as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        assert!((share * long.len() as f64 / rows - 3.0).abs() < 0.2);
    }
}
