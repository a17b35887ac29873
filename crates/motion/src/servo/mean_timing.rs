//! The timing of a task in short, as its jobs pass.

use serde::Serialize;

use jitterlab_model::Error;

use super::timing::Job;
use super::weakly_hard::{MissCounter, WeaklyHard};
use crate::error;

/// The timing of a run in the figures a loop knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanTiming {
    pub periods: u64,
    pub executed: u64,
    /// Periods in which no output came.
    pub missed: u64,
    pub longest_missed: u64,
    /// Largest number of misses in windows of consecutive periods.
    pub misses: Vec<WeaklyHard>,
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

/// Error of a velocity that is computed from positions with the nominal period, as shares of the speed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VelocityError {
    /// Standard deviation: that of the period error over the period.
    pub standard_deviation: f64,
    /// Largest magnitude of the error.
    pub worst: f64,
}

#[derive(Default)]
struct VelocityErrors {
    last_ns: Option<i64>,
    count: f64,
    sum: f64,
    squares: f64,
    worst: f64,
}

impl VelocityErrors {
    fn add(&mut self, job: &Job, period_ns: i64) {
        let last = self.last_ns.replace(job.start_ns).filter(|_| !job.after_gap);
        if let Some(last) = last {
            // 1 - interval / period is the error of a steady speed that is computed with the nominal period.
            let error = (job.start_ns - last - period_ns) as f64 / period_ns as f64;
            self.count += 1.0;
            self.sum += error;
            self.squares += error * error;
            self.worst = self.worst.max(error.abs());
        }
    }

    fn error(&self) -> VelocityError {
        let count = f64::max(self.count, 1.0);
        let mean = self.sum / count;
        let standard_deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        VelocityError { standard_deviation, worst: self.worst }
    }
}

#[derive(Default)]
struct JobTimeSums {
    count: u64,
    latency: i128,
    wait: i128,
    execution: i128,
    free_ns: Option<i64>,
    longest: Option<(i64, u64, i64)>,
    shortest_ns: Option<i64>,
}

impl JobTimeSums {
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

/// Timing of a task, collected job by job.
pub(super) struct TimingCollector {
    period_ns: i64,
    sums: JobTimeSums,
    misses: MissCounter,
    intervals: VelocityErrors,
}

/// Timing of a task's jobs.
pub(super) struct JobTiming {
    pub mean: MeanTiming,
    /// Place of the job with the longest response time, and its due time.
    pub worst: (u64, i64),
    pub velocity: VelocityError,
}

/// Fewest activations that show anything of a loop.
const FEWEST: u64 = 10;

impl TimingCollector {
    pub fn new(period_ns: i64) -> TimingCollector {
        let (sums, intervals) = (JobTimeSums::default(), VelocityErrors::default());
        TimingCollector { period_ns, sums, misses: MissCounter::new(period_ns), intervals }
    }

    pub fn add(&mut self, job: &Job) {
        self.sums.add(job);
        self.misses.add_job(job);
        self.intervals.add(job, self.period_ns);
    }

    pub fn finish(self) -> Result<JobTiming, Error> {
        let TimingCollector { sums, misses, intervals, .. } = self;
        let Some((worst_response_ns, row, due_ns)) = sums.longest.filter(|_| sums.count >= FEWEST) else {
            return Err(error::too_few_activations(sums.count));
        };
        let mean = |sum: i128| sum as f64 / sums.count as f64;
        let (periods, missed) = misses.period_and_miss_counts();
        let mean = MeanTiming {
            periods,
            executed: sums.count,
            missed,
            longest_missed: misses.most_consecutive_misses(),
            misses: misses.most_misses_per_window(),
            latency_ns: mean(sums.latency),
            wait_ns: mean(sums.wait),
            execution_ns: mean(sums.execution),
            worst_response_ns,
            least_response_ns: sums.shortest_ns.unwrap_or(0),
        };
        Ok(JobTiming { mean, worst: (row, due_ns), velocity: intervals.error() })
    }
}
