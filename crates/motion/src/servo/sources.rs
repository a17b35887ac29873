//! Where the jobs of a task come from: a record, a record under another overrun action, or given times put through a schedule.

use super::merged::Jobs;
use super::overrun::Late;
use super::record::Record;
use super::replay::Replay;
use super::timing::Job;

/// The jobs of one task in order, to be gone through as often as wanted.
pub(super) trait Source {
    /// All of them.
    fn jobs(&self) -> Jobs<'_>;

    /// How long before its due time the earliest of them starts.
    fn early_ns(&self) -> i64;
}

/// Rows that are read at once.
const CHUNK: u64 = 1 << 14;

/// As they were recorded.
pub(super) struct Recorded<'a, R: ?Sized>(pub &'a R);

impl<R: Record + ?Sized> Source for Recorded<'_, R> {
    fn jobs(&self) -> Jobs<'_> {
        let mut next = 0;
        let mut rows = Vec::new().into_iter();
        Box::new(std::iter::from_fn(move || {
            if rows.len() == 0 {
                match self.0.rows(next..next + CHUNK) {
                    Ok(read) => rows = read.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
                next += CHUNK;
            }
            rows.next().map(|a| Ok(Job::from(&a)))
        }))
    }

    fn early_ns(&self) -> i64 {
        -self.0.least_latency_ns()
    }
}

/// As a schedule made them.
pub(super) struct Made(pub Vec<Job>);

impl Source for Made {
    fn jobs(&self) -> Jobs<'_> {
        Box::new(self.0.iter().copied().map(Ok))
    }

    fn early_ns(&self) -> i64 {
        0
    }
}

/// As they would have been under another overrun action (none: as they were). A job waits and works like the one that was due when
/// it is, or the first after that: so that tasks replayed side by side stay side by side.
pub(super) struct Replayed<'a, S> {
    pub source: &'a S,
    pub late: Option<Late>,
    pub period_ns: i64,
}

impl<S: Source> Source for Replayed<'_, S> {
    fn jobs(&self) -> Jobs<'_> {
        let mut recorded = self.source.jobs();
        let Some(late) = self.late else { return recorded };
        let period_ns = self.period_ns;
        let mut replay: Option<Replay> = None;
        // What is known at a due time: that time, the wait and the work.
        let (mut known, mut free_ns, mut after_gap) = (None::<(i64, i64, i64)>, None::<i64>, false);
        Box::new(std::iter::from_fn(move || {
            loop {
                if let (Some(replay), Some((due_ns, wait_ns, work_ns))) = (&mut replay, known)
                    && due_ns >= replay.due_ns() - period_ns / 2
                {
                    return Some(Ok(replay.job(wait_ns, work_ns, std::mem::take(&mut after_gap))));
                }
                let job = match recorded.next()? {
                    Ok(job) => job,
                    Err(error) => return Some(Err(error)),
                };
                if job.after_gap || replay.is_none() {
                    replay = Some(Replay::from(late, period_ns, job.due_ns));
                    (free_ns, after_gap) = (None, true);
                }
                let ready_ns = free_ns.map_or(job.due_ns, |free| free.max(job.due_ns));
                free_ns = Some(job.end_ns);
                known = Some((job.due_ns, job.start_ns - ready_ns, job.end_ns - job.start_ns));
            }
        }))
    }

    fn early_ns(&self) -> i64 {
        self.source.early_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = 1_000;

    fn job(due_ns: i64, start_ns: i64, end_ns: i64) -> Job {
        Job { due_ns, start_ns, end_ns, killed: false, after_gap: false }
    }

    fn replayed(late: Late, jobs: &[Job]) -> Vec<(i64, i64, i64, bool)> {
        let made = Made(jobs.to_vec());
        let source = Replayed { source: &made, late: Some(late), period_ns: H };
        source.jobs().flatten().map(|j| (j.due_ns, j.start_ns, j.end_ns, j.killed)).collect()
    }

    #[test]
    fn jobs_stay_where_they_were_in_time_under_any_action() {
        // A job of 1.3 periods skips the second due time; what it would have met there is what the third met.
        let skipped = [job(5_000, 5_000, 6_300), job(7_000, 7_010, 7_200), job(8_000, 8_020, 8_100)];
        let of = |due, start, end| (due, start, end, false);
        assert_eq!(
            replayed(Late::Skip, &skipped),
            [of(5_000, 5_000, 6_300), of(7_000, 7_010, 7_200), of(8_000, 8_020, 8_100)]
        );
        assert_eq!(
            replayed(Late::Kill, &skipped),
            [
                (5_000, 5_000, 6_000, true),
                of(6_000, 6_010, 6_200),
                of(7_000, 7_010, 7_200),
                of(8_000, 8_020, 8_100)
            ]
        );
        assert_eq!(
            replayed(Late::CatchUp, &skipped)[1..3],
            [of(6_000, 6_310, 6_500), of(7_000, 7_010, 7_200)]
        );
        // From a run that served all, the job of the missed due time is left out.
        let served = [job(0, 0, 1_300), job(1_000, 1_300, 1_400), job(2_000, 2_050, 2_100)];
        assert_eq!(replayed(Late::Skip, &served), [of(0, 0, 1_300), of(2_000, 2_050, 2_100)]);
    }

    #[test]
    fn lost_records_begin_the_replay_anew() {
        let gap = Job { after_gap: true, ..job(90_500, 90_510, 90_600) };
        let found = replayed(Late::Kill, &[job(0, 0, 100), gap]);
        assert_eq!(found, [(0, 0, 100, false), (90_500, 90_510, 90_600, false)]);
    }
}
