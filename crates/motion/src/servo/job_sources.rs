//! Sources of a task's jobs: a record, a record under another overrun action, or given times put through a
//! schedule.

use std::collections::VecDeque;

use super::job_sequence::Jobs;
use super::overrun::OverrunPolicy;
use super::record::Record;
use super::replay::Replay;
use super::timing::Job;
use jitterlab_model::units::Human;
use jitterlab_model::{Activation, Error};

/// The jobs of one task in order, which can be read any number of times.
pub(super) trait JobSource {
    /// Iterator over all jobs.
    fn jobs(&self) -> Jobs<'_>;

    /// Calls `give` with each job.
    fn visit(&self, give: &mut dyn FnMut(&Job)) -> Result<(), Error> {
        for job in self.jobs() {
            give(&job?);
        }
        Ok(())
    }

    /// Largest time by which a job starts before its due time, in ns.
    fn max_early_ns(&self) -> i64;

    /// True if lost records may have held the worst jobs.
    fn has_lost_extremes(&self) -> bool {
        false
    }
}

/// Rows that are read at once: as many as a run file keeps together.
const CHUNK: u64 = 1 << 18;
/// Most periods that a loop is followed while nothing serves it (33 s at 2 kHz): each is an event to compute and to keep.
const LONGEST_OUTAGE: i64 = 1 << 16;

/// Jobs as they were recorded, by a task of this period.
pub(super) struct RecordedJobs<'a, R: ?Sized> {
    pub record: &'a R,
    pub period_ns: i64,
}

impl<R: ?Sized> RecordedJobs<'_, R> {
    /// Job of an activation; an error if the loop is left without its controller for too long before it ends.
    fn checked_job(&self, a: &Activation, before: &mut Option<Job>) -> Result<Job, Error> {
        let job = Job::from(a);
        let last = before.replace(job).filter(|_| !job.after_gap);
        let begin_ns = last.map_or(job.due_ns, |last| last.due_ns).min(job.start_ns);
        let open_ns = job.end_ns.max(job.due_ns) - begin_ns;
        if open_ns > self.period_ns.saturating_mul(LONGEST_OUTAGE) {
            return Err(Error::not_measured(format!(
                "around activation {} the task leaves its loop alone for {}: what a loop does for so long without its controller is \
                 not computed. See what happened with `jitterlab analyze`, and measure again",
                a.index,
                Human(open_ns as f64)
            )));
        }
        Ok(job)
    }
}

impl<R: Record + ?Sized> JobSource for RecordedJobs<'_, R> {
    fn jobs(&self) -> Jobs<'_> {
        let mut next = 0;
        let mut rows = Vec::new().into_iter();
        let mut before = None;
        Box::new(std::iter::from_fn(move || {
            if rows.len() == 0 {
                match self.record.rows(next..next + CHUNK) {
                    Ok(read) => rows = read.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
                next += CHUNK;
            }
            rows.next().map(|a| self.checked_job(&a, &mut before))
        }))
    }

    fn visit(&self, give: &mut dyn FnMut(&Job)) -> Result<(), Error> {
        let (mut before, mut outage) = (None, None);
        self.record.visit(&mut |rows| {
            for a in rows.iter().take(if outage.is_some() { 0 } else { rows.len() }) {
                match self.checked_job(a, &mut before) {
                    Ok(job) => give(&job),
                    Err(error) => {
                        outage = Some(error);
                        return;
                    }
                }
            }
        })?;
        outage.map_or(Ok(()), Err)
    }

    fn max_early_ns(&self) -> i64 {
        -self.record.least_latency_ns()
    }

    fn has_lost_extremes(&self) -> bool {
        self.record.has_lost_extremes()
    }
}

/// Jobs as a schedule made them.
pub(super) struct ScheduledJobs(pub Vec<Job>);

impl JobSource for ScheduledJobs {
    fn jobs(&self) -> Jobs<'_> {
        Box::new(self.0.iter().copied().map(Ok))
    }

    fn max_early_ns(&self) -> i64 {
        0
    }
}

/// Jobs as they would have been under another overrun policy (none: as they were). A job waits and works like the one that was due when
/// it is, or the first after that: so that tasks replayed side by side stay side by side.
pub(super) struct ReplayedJobs<'a, S> {
    pub source: &'a S,
    pub policy: Option<OverrunPolicy>,
    pub period_ns: i64,
}

struct ReplayState {
    policy: OverrunPolicy,
    period_ns: i64,
    replay: Option<Replay>,
    free_ns: Option<i64>,
}

impl ReplayState {
    /// Takes the next recorded job; gives the replayed jobs with its wait and execution time.
    fn replay_job(&mut self, job: &Job, give: &mut dyn FnMut(&Job)) {
        let mut after_gap = job.after_gap || self.replay.is_none();
        if after_gap {
            (self.replay, self.free_ns) =
                (Some(Replay::with_first_due(self.policy, self.period_ns, job.due_ns)), None);
        }
        let ready_ns = self.free_ns.map_or(job.due_ns, |free| free.max(job.due_ns));
        self.free_ns = Some(job.end_ns);
        let (wait_ns, work_ns) = (job.start_ns - ready_ns, job.end_ns - job.start_ns);
        let Some(replay) = &mut self.replay else { return };
        while job.due_ns >= replay.due_ns() - self.period_ns / 2 {
            give(&replay.next_job(wait_ns, work_ns, std::mem::take(&mut after_gap)));
        }
    }
}

impl<S: JobSource> ReplayedJobs<'_, S> {
    fn replay_state(&self) -> Option<ReplayState> {
        let (period_ns, replay, free_ns) = (self.period_ns, None, None);
        Some(ReplayState { policy: self.policy?, period_ns, replay, free_ns })
    }
}

impl<S: JobSource> JobSource for ReplayedJobs<'_, S> {
    fn jobs(&self) -> Jobs<'_> {
        let mut recorded = self.source.jobs();
        let Some(mut replaying) = self.replay_state() else { return recorded };
        let mut ready = VecDeque::new();
        Box::new(std::iter::from_fn(move || {
            while ready.is_empty() {
                match recorded.next()? {
                    Ok(job) => replaying.replay_job(&job, &mut |job| ready.push_back(*job)),
                    Err(error) => return Some(Err(error)),
                }
            }
            ready.pop_front().map(Ok)
        }))
    }

    fn visit(&self, give: &mut dyn FnMut(&Job)) -> Result<(), Error> {
        match self.replay_state() {
            Some(mut replaying) => self.source.visit(&mut |job| replaying.replay_job(job, give)),
            None => self.source.visit(give),
        }
    }

    fn max_early_ns(&self) -> i64 {
        self.source.max_early_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = 1_000;

    fn job(due_ns: i64, start_ns: i64, end_ns: i64) -> Job {
        Job { due_ns, start_ns, end_ns, killed: false, after_gap: false }
    }

    fn replayed(policy: OverrunPolicy, jobs: &[Job]) -> Vec<(i64, i64, i64, bool)> {
        let made = ScheduledJobs(jobs.to_vec());
        let source = ReplayedJobs { source: &made, policy: Some(policy), period_ns: H };
        source.jobs().flatten().map(|j| (j.due_ns, j.start_ns, j.end_ns, j.killed)).collect()
    }

    #[test]
    fn jobs_stay_where_they_were_in_time_under_any_action() {
        // A job of 1.3 periods skips the second due time; a replayed job there gets the wait and work of the
        // third.
        let skipped = [job(5_000, 5_000, 6_300), job(7_000, 7_010, 7_200), job(8_000, 8_020, 8_100)];
        let of = |due, start, end| (due, start, end, false);
        assert_eq!(
            replayed(OverrunPolicy::Skip, &skipped),
            [of(5_000, 5_000, 6_300), of(7_000, 7_010, 7_200), of(8_000, 8_020, 8_100)]
        );
        assert_eq!(
            replayed(OverrunPolicy::Kill, &skipped),
            [
                (5_000, 5_000, 6_000, true),
                of(6_000, 6_010, 6_200),
                of(7_000, 7_010, 7_200),
                of(8_000, 8_020, 8_100)
            ]
        );
        assert_eq!(
            replayed(OverrunPolicy::CatchUp, &skipped)[1..3],
            [of(6_000, 6_310, 6_500), of(7_000, 7_010, 7_200)]
        );
        // From a run that served all, the job of the missed due time is left out.
        let served = [job(0, 0, 1_300), job(1_000, 1_300, 1_400), job(2_000, 2_050, 2_100)];
        assert_eq!(replayed(OverrunPolicy::Skip, &served), [of(0, 0, 1_300), of(2_000, 2_050, 2_100)]);
    }

    #[test]
    fn lost_records_begin_the_replay_anew() {
        let gap = Job { after_gap: true, ..job(90_500, 90_510, 90_600) };
        let found = replayed(OverrunPolicy::Kill, &[job(0, 0, 100), gap]);
        assert_eq!(found, [(0, 0, 100, false), (90_500, 90_510, 90_600, false)]);
    }
}
