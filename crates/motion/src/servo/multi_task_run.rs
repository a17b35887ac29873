//! Effect of timing on several loops: that of a run, or of given execution times put through a schedule.

use jitterlab_model::Error;

use super::along_trace::{CovarianceAlongTrace, TimeBase};
use super::assessment::{AssessmentOptions, LoopAssessment, LoopFacts};
use super::closed_loop::Loop;
use super::evaluate::EvaluationWithCycles;
use super::job_sequence::{Jobs, MergedTasks};
use super::job_sources::{JobSource, RecordedJobs, ReplayedJobs, ScheduledJobs};
use super::markov_chain::Stationary;
use super::mean_timing::JobTiming;
use super::multi_task_loop::{LoopTask, MultiTaskLoop, steady_jobs};
use super::overrun::{OverrunAction, OverrunPolicy};
use super::record::Record;
use super::reference_tracking::{
    EventWindow, FollowedReference, POINTS, compare_responses, default_references,
};
use super::response::Reference;
use super::schedule::Schedule;
use super::task_summary::TaskSummary;
use super::timing::{Job, Moment, effective_event};

impl MultiTaskLoop {
    /// Judges the plant by a run's records of all tasks, in the order of [`MultiTaskLoop::all_tasks`]; also each task of its own.
    pub fn under_run<R: Record + ?Sized>(
        &self,
        records: &[&R],
        wishes: &AssessmentOptions,
    ) -> Result<(LoopAssessment, Vec<TaskSummary>), Error> {
        let sources = self.recorded_sources(records);
        self.assess_jobs(&sources, |policy| self.replayed_sources(&sources, policy), wishes)
    }

    pub(super) fn recorded_sources<'a, R: Record + ?Sized>(
        &self,
        records: &[&'a R],
    ) -> Vec<RecordedJobs<'a, R>> {
        let tasks = self.all_tasks().zip(records);
        tasks.map(|(task, record)| RecordedJobs { record: *record, period_ns: task.period_ns }).collect()
    }

    /// Jobs of all tasks, the plant's own replayed under an overrun policy; other plants' tasks stay as they were.
    pub(super) fn replayed_sources<'a, S: JobSource>(
        &self,
        sources: &'a [S],
        policy: OverrunPolicy,
    ) -> Vec<ReplayedJobs<'a, S>> {
        let own = self.tasks.len();
        let of = |(i, (task, source)): (usize, (&LoopTask, &'a S))| ReplayedJobs {
            source,
            policy: (i < own).then_some(policy),
            period_ns: task.period_ns,
        };
        self.all_tasks().zip(sources).enumerate().map(of).collect()
    }

    /// Judges the plant by jobs that a schedule makes.
    ///
    /// # Errors
    /// As [`MultiTaskLoop::ideal_stationary`], and tasks that are never idle together.
    pub fn under_schedule(
        &self,
        schedule: &Schedule,
        wishes: &AssessmentOptions,
    ) -> Result<(LoopAssessment, Vec<TaskSummary>), Error> {
        let made = |policy: Option<OverrunPolicy>| -> Vec<ScheduledJobs> {
            let action = |task: &LoopTask| match policy {
                Some(policy) if self.tasks.contains(task) => policy,
                _ => task.overrun.policy,
            };
            let tasks: Vec<(&str, OverrunPolicy)> =
                self.all_tasks().map(|task| (task.name.as_str(), action(task))).collect();
            schedule.simulate(&tasks).into_iter().map(ScheduledJobs).collect()
        };
        self.assess_jobs(&made(None), |policy| made(Some(policy)), wishes)
    }

    /// Assessment of the plant by these jobs, and a summary of each task; `under` gives the jobs of another policy.
    fn assess_jobs<S: JobSource, T: JobSource>(
        &self,
        sources: &[S],
        under: impl Fn(OverrunPolicy) -> Vec<T>,
        wishes: &AssessmentOptions,
    ) -> Result<(LoopAssessment, Vec<TaskSummary>), Error> {
        let found = self.evaluate(sources)?;
        let EvaluationWithCycles { evaluation, timings, .. } = &found;
        let alone = self.single_task_costs(sources, &self.closed_loop()?, &evaluation.ideal)?;
        // The rate of its slowest part; the covariance decays with twice that.
        let period_s = self.period_ns() as f64 * 1e-9;
        let rate = -evaluation.ideal.radius_per_period.max(f64::MIN_POSITIVE).ln() / (2.0 * period_s);
        let task = match timings.as_slice() {
            [timing] if self.others.is_empty() => self.only_task(timing.mean.wait_ns, 0.0),
            _ => None,
        };
        let facts = LoopFacts {
            rate: rate.clamp(1e-6 / period_s, 1.0 / period_s),
            alone: task,
            delay_margin_ns: self.tolerated_delays_ns()?,
            margins: None,
        };
        let tasks = self.tasks.iter().zip(timings).enumerate().map(|(i, (task, timing))| TaskSummary {
            alone: alone.get(i).copied(),
            ..self.task_summary(task, Some(timing.mean.clone()))
        });
        Ok((self.assess(&found, sources, under, wishes, &facts)?, tasks.collect()))
    }

    /// Cost along the run under each task's jobs with the plant's other tasks punctual; empty if there are no others.
    fn single_task_costs<S: JobSource>(
        &self,
        sources: &[S],
        closed: &Loop,
        ideal: &Stationary,
    ) -> Result<Vec<f64>, Error> {
        let own = self.tasks.len();
        let mut alone = Vec::new();
        for i in 0..if own > 1 { own } else { 0 } {
            let mut walk = CovarianceAlongTrace::new(closed, TimeBase::Nominal, ideal.covariance.as_ref(), 0);
            self.merged_with_others_punctual(sources, i)?.for_each_moment(|moment| {
                match moment {
                    Ok(Moment::At(time, event)) => {
                        let missed_output = self.tasks[usize::from(event.by)].overrun.missed_output;
                        effective_event(event, missed_output)
                            .into_iter()
                            .for_each(|e| walk.process(Moment::At(time, e)));
                    }
                    Ok(moment) => walk.process(moment),
                    Err(_) => {}
                }
                true
            })?;
            alone.push(walk.finish().cost);
        }
        Ok(alone)
    }

    /// References followed through the worst event of any of the plant's tasks, and with all tasks punctual. `rate` is
    /// that of the slowest part of the loop in rad/s.
    pub(super) fn worst_event_responses<S: JobSource>(
        &self,
        sources: &[S],
        closed: &Loop,
        rate: f64,
        timings: &[JobTiming],
        wishes: &AssessmentOptions,
    ) -> Result<Vec<FollowedReference>, Error> {
        let share = |i: &usize| timings[*i].mean.worst_response_ns as f64 / self.tasks[*i].period_ns as f64;
        let Some(worst_ns) =
            (0..self.tasks.len()).max_by(|a, b| share(a).total_cmp(&share(b))).map(|i| timings[i].worst.1)
        else {
            return Ok(Vec::new());
        };
        let usual = default_references(rate);
        let references = if wishes.references.is_empty() { &usual[..] } else { &wishes.references[..] };
        let windows: Vec<(Reference, i64, i64)> = references
            .iter()
            .map(|reference| {
                let window = EventWindow::new(*reference, rate, self.period_ns());
                (*reference, worst_ns.saturating_sub(window.before_ns), window.length_ns)
            })
            .collect();
        let moved_ns = |w: &(Reference, i64, i64)| match w.0 {
            Reference::Move { time_ns, .. } => time_ns.min(w.2),
            _ => 0,
        };
        let from_ns = windows.iter().map(|w| w.1.saturating_sub(moved_ns(w))).min().unwrap_or(worst_ns);
        let until_ns = windows.iter().map(|w| w.1.saturating_add(w.2)).max().unwrap_or(worst_ns);
        let mut jobs: Vec<Vec<Job>> = Vec::new();
        for source in sources.iter().take(self.tasks.len()) {
            let mut within = Vec::new();
            source.visit(&mut |job| {
                within.extend(Some(*job).filter(|job| (from_ns..=until_ns).contains(&job.due_ns)));
            })?;
            jobs.push(within);
        }
        let each = windows.into_iter().map(|window| match moved_ns(&window) {
            0 => self.reference_response(&jobs, closed, window, POINTS),
            moved_ns => self.worst_move_response(&jobs, closed, window, moved_ns / self.period_ns().max(1)),
        });
        each.collect()
    }

    /// Response to a move that begins so that the event falls where it does most harm, on one of `count` jobs.
    fn worst_move_response(
        &self,
        jobs: &[Vec<Job>],
        closed: &Loop,
        (reference, event_ns, length_ns): (Reference, i64, i64),
        count: i64,
    ) -> Result<FollowedReference, Error> {
        const JOBS: i64 = 100_000;
        // As many as take no longer than the run itself.
        let tried = (JOBS * self.period_ns() / length_ns.max(1)).clamp(4, 24);
        let period_ns = self.period_ns();
        let window = |k: i64| (reference, event_ns.saturating_sub(k.saturating_mul(period_ns)), length_ns);
        let worst_of = |from: i64, until: i64, each: i64| -> Result<(f64, i64), Error> {
            let mut worst = (-1.0, from);
            for k in (from..=until).step_by(each.unsigned_abs() as usize) {
                let found = self.reference_response(jobs, closed, window(k), POINTS / 4)?;
                if found.of_error > worst.0 {
                    worst = (found.of_error, k);
                }
            }
            Ok(worst)
        };
        let each = (count / tried).max(1);
        let mut worst = worst_of(0, count, each)?;
        if each > 1 {
            let (from, until) = ((worst.1 - each + 1).max(0), (worst.1 + each - 1).min(count));
            let near = worst_of(from, until, (2 * each / tried).max(1))?;
            worst = if near.0 > worst.0 { near } else { worst };
        }
        self.reference_response(jobs, closed, window(worst.1), POINTS)
    }

    fn reference_response(
        &self,
        jobs: &[Vec<Job>],
        closed: &Loop,
        (reference, begin_ns, length_ns): (Reference, i64, i64),
        points: i64,
    ) -> Result<FollowedReference, Error> {
        let end_ns = begin_ns.saturating_add(length_ns);
        let is_within = |job: &&Job| (begin_ns..=end_ns).contains(&job.due_ns);
        let recorded: Vec<ScheduledJobs> =
            jobs.iter().map(|jobs| ScheduledJobs(jobs.iter().filter(is_within).copied().collect())).collect();
        let begin_ns = recorded.iter().filter_map(|made| made.0.first()).map(|job| job.due_ns).min();
        let begin_ns = begin_ns.unwrap_or(end_ns);
        let last_ns = |made: &ScheduledJobs| made.0.last().map_or(begin_ns, |job| job.due_ns);
        let punctual = self.tasks.iter().zip(&recorded).map(|(task, made)| {
            let first_ns = made.0.first().map_or(begin_ns, |job| job.due_ns);
            let jobs = steady_jobs(task, first_ns, (0, 0));
            ScheduledJobs(jobs.take_while(|job| job.due_ns <= last_ns(made)).collect())
        });
        let punctual: Vec<ScheduledJobs> = punctual.collect();
        let ends = self.tasks.iter().zip(&recorded).map(|(task, made)| last_ns(made) + task.period_ns);
        let length_ns = (ends.min().unwrap_or(begin_ns) - begin_ns).clamp(1, length_ns);
        let moments = |of: &[ScheduledJobs]| -> Result<Vec<Moment>, Error> {
            let mut all = vec![Moment::Cut(begin_ns)];
            let merged = self.merged_jobs(of)?;
            merged.for_each_moment(|moment| {
                if let Ok(Moment::At(time, event)) = moment {
                    let missed_output = self.tasks[usize::from(event.by)].overrun.missed_output;
                    all.extend(effective_event(event, missed_output).map(|event| Moment::At(time, event)));
                }
                true
            })?;
            Ok(all)
        };
        Ok(compare_responses(closed, reference, length_ns, moments(&punctual)?, moments(&recorded)?, points))
    }

    /// The jobs of the plant's tasks, all punctual but one.
    fn merged_with_others_punctual<'a, S: JobSource>(
        &'a self,
        sources: &'a [S],
        but: usize,
    ) -> Result<MergedTasks<'a>, Error> {
        let mut merged = MergedTasks::new(self.hyperperiod_ns()?);
        for (i, (task, source)) in self.tasks.iter().zip(sources).enumerate() {
            let first = source.jobs().next().transpose()?.map_or(0, |job| job.due_ns);
            let punctual =
                LoopTask { overrun: OverrunAction::with_held_output(OverrunPolicy::Skip), ..task.clone() };
            let jobs: Jobs<'a> = if i == but {
                source.jobs()
            } else {
                Box::new(steady_jobs(&punctual, first, (0, 0)).map(Ok))
            };
            merged.add(task.period_ns, self.moment_generator(task, source.max_early_ns()), jobs);
        }
        Ok(merged)
    }

    fn merged_jobs<'a>(&'a self, made: &'a [ScheduledJobs]) -> Result<MergedTasks<'a>, Error> {
        let mut merged = MergedTasks::new(self.hyperperiod_ns()?);
        for (task, made) in self.tasks.iter().zip(made) {
            merged.add(task.period_ns, self.moment_generator(task, 0), made.jobs());
        }
        Ok(merged)
    }
}
