//! One pass over a run: its cycles, its misses, its means and its worst event.

use serde::Serialize;

use super::ServoError;
use super::cycles::Cycles;
use super::misses::{AtMost, Misses};
use super::question::Question;
use super::record::Record;
use super::sources::Source;
use super::timing::{Job, Moment, Moments};
use crate::error::MotionError;

/// The timing of a run in the figures a loop knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanTiming {
    /// Periods of the grid.
    pub periods: u64,
    /// Activations that ran.
    pub executed: u64,
    /// Periods in which no output came.
    pub missed: u64,
    /// Longest row of such periods.
    pub longest_missed: u64,
    /// The most of them in so many periods in a row.
    pub misses: Vec<AtMost>,
    /// Mean of start - due.
    pub latency_ns: f64,
    /// Mean time from when an activation was due and the task free for it to its start.
    pub wait_ns: f64,
    /// Mean of end - start.
    pub execution_ns: f64,
    /// Largest of end - due.
    pub worst_response_ns: i64,
    /// Smallest of end - due.
    pub least_response_ns: i64,
}

/// What a pass gathers.
pub(super) struct Gathered {
    pub cycles: Cycles,
    pub timing: MeanTiming,
    /// Place of the activation with the longest response time, and its due time.
    pub worst: (u64, i64),
}

/// The moments of a record's activations.
pub(super) fn moments<R: Record + ?Sized>(
    question: &Question,
    record: &R,
    mut give: impl FnMut(Moment),
) -> Result<(), MotionError> {
    let mut moments = moments_of(question, record);
    record.visit(&mut |rows| rows.iter().for_each(|a| moments.job(&Job::from(a), &mut give)))
}

fn moments_of<R: Record + ?Sized>(question: &Question, record: &R) -> Moments {
    Moments::new(question.timing, question.period_ns, -record.least_latency_ns())
}

#[derive(Default)]
struct Sums {
    count: u64,
    latency: i128,
    wait: i128,
    execution: i128,
    free_ns: Option<i64>,
    longest: Option<(i64, u64, i64)>,
    shortest_ns: Option<i64>,
}

impl Sums {
    fn add(&mut self, job: &Job) {
        let ready = self.free_ns.filter(|_| !job.after_gap).map_or(job.due_ns, |free| free.max(job.due_ns));
        self.latency += i128::from(job.start_ns.wrapping_sub(job.due_ns));
        self.wait += i128::from(job.start_ns.wrapping_sub(ready));
        self.execution += i128::from(job.end_ns.wrapping_sub(job.start_ns));
        self.free_ns = Some(job.end_ns);
        let response = job.end_ns.wrapping_sub(job.due_ns);
        if self.longest.is_none_or(|l| response > l.0) {
            self.longest = Some((response, self.count, job.due_ns));
        }
        self.shortest_ns = Some(self.shortest_ns.map_or(response, |s| s.min(response)));
        self.count += 1;
    }
}

/// The timing of a task on its way.
struct Timings {
    sums: Sums,
    misses: Misses,
}

impl Timings {
    fn new(period_ns: i64) -> Timings {
        Timings { sums: Sums::default(), misses: Misses::new(period_ns) }
    }

    fn add(&mut self, job: &Job) {
        self.sums.add(job);
        self.misses.job(job);
    }

    /// The timing in short, and the activation with the longest response time: its place and its due time.
    fn finish(self) -> Result<(MeanTiming, (u64, i64)), MotionError> {
        let Timings { sums, misses } = self;
        let Some((worst_response_ns, row, due_ns)) = sums.longest.filter(|_| sums.count >= FEWEST) else {
            return Err(ServoError::TooFewActivations(sums.count as usize).into());
        };
        let mean = |sum: i128| sum as f64 / sums.count as f64;
        let (periods, missed) = misses.counts();
        let timing = MeanTiming {
            periods,
            executed: sums.count,
            missed,
            longest_missed: misses.longest(),
            misses: misses.seen(),
            latency_ns: mean(sums.latency),
            wait_ns: mean(sums.wait),
            execution_ns: mean(sums.execution),
            worst_response_ns,
            least_response_ns: sums.shortest_ns.unwrap_or(0),
        };
        Ok((timing, (row, due_ns)))
    }
}

/// The timing of a task's jobs in short, and the due time of the one with the longest response time.
pub(super) fn mean_timing<S: Source>(period_ns: i64, source: &S) -> Result<(MeanTiming, i64), MotionError> {
    let mut timings = Timings::new(period_ns);
    for job in source.jobs() {
        timings.add(&job?);
    }
    let (timing, (_, worst_ns)) = timings.finish()?;
    Ok((timing, worst_ns))
}

/// Fewest activations that show anything of a loop.
const FEWEST: u64 = 10;
/// Most periods that a loop is followed while nothing serves it (33 s at 2 kHz): each is an event to compute and to keep.
const LONGEST_OUTAGE: i64 = 1 << 16;

/// The time for which a job, or the lack of one since the job before, leaves the loop alone.
fn outage_ns(job: &Job, before: Option<&Job>) -> i64 {
    let begin_ns = before.filter(|_| !job.after_gap).map_or(job.due_ns, |before| before.due_ns);
    job.end_ns.max(job.due_ns) - job.start_ns.min(begin_ns)
}

/// Goes through a run once; twice where its bursts are too different from each other to be kept whole.
pub(super) fn gather<R: Record + ?Sized>(question: &Question, record: &R) -> Result<Gathered, MotionError> {
    let mut most_jobs = Cycles::WHOLE;
    loop {
        let mut cycles = Cycles::new(question.period_ns, most_jobs);
        let mut timings = Timings::new(question.period_ns);
        let mut moments = moments_of(question, record);
        let (mut last, mut outage): (Option<Job>, _) = (None, None);
        let longest_ns = question.period_ns.saturating_mul(LONGEST_OUTAGE);
        record.visit(&mut |rows| {
            for a in rows {
                let job = Job::from(a);
                let open_ns = outage_ns(&job, last.as_ref());
                if outage.is_some() || open_ns > longest_ns {
                    outage.get_or_insert(ServoError::Outage(a.index, open_ns));
                    return;
                }
                last = Some(job);
                timings.add(&job);
                moments.job(&job, |moment| cycles.pass(moment));
            }
        })?;
        if let Some(outage) = outage {
            return Err(outage.into());
        }
        if cycles.must_cut_bursts() {
            most_jobs = 1;
            continue;
        }
        let (timing, worst) = timings.finish()?;
        return Ok(Gathered { cycles, timing, worst });
    }
}
