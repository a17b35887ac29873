//! Figures of one hour of one source: figures that add up to those of days and months.

use std::collections::BTreeMap;

use jitterlab_analysis::purposes::Measure;
use jitterlab_model::causes::Cause;
use jitterlab_model::distribution::Moments;
use jitterlab_model::{TaskResult, TimingStats};
use jitterlab_trace::StoredDistribution;
use serde::{Deserialize, Serialize};

/// Starts at most of an hour that are kept with their cause, those with the largest latencies.
pub const MAX_WORST: usize = 16;

/// An hour, or what was measured of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// The stretch of measuring without a break that the hour is of: 16 hexadecimal digits.
    pub stream: String,
    /// Number of the hour in the stream, from 0.
    pub seq: u64,
    pub machine: String,
    /// The boot that the monotonic clock counts from.
    pub boot: String,
    /// Beginning on the monotonic clock.
    pub mono_ns: i64,
    /// End: the due time that would have been next.
    pub end_mono_ns: i64,
    /// Beginning and end on the clock that counts suspension.
    pub boot_ns: (i64, i64),
    /// Beginning and end in Unix time.
    pub utc_ns: (i64, i64),
    /// Distance that the time of day moved against the clock that counts suspension.
    pub clock_step_ns: i64,
    /// Time before the hour or in it that nothing was measured of.
    pub gap_ns: i64,
    /// True if the journal was read after its monitor had ended without closing it.
    #[serde(default)]
    pub recovered: bool,
    pub tasks: Vec<HourTask>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HourTask {
    pub name: String,
    pub period_ns: i64,
    pub policy: String,
    /// Overrun policy.
    pub overrun: String,
    /// Due times missed.
    pub missed: u64,
    /// Activations without a record.
    pub lost: u64,
    /// Figures, in the order of `Quantity::COUNTED`.
    pub stored: Vec<StoredDistribution>,
    #[serde(rename = "above")]
    pub limit_counts: Vec<LimitCount>,
    /// Causes of late starts, as far as they were looked for.
    pub causes: Vec<HourCause>,
    /// Starts with the largest latencies.
    #[serde(rename = "latest")]
    pub worst_starts: Vec<WorstStart>,
}

/// Starts above a limit of a purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitCount {
    pub purpose: String,
    /// The limit: a time, or how many due times may be missed.
    pub limit_ns: i64,
    /// The quantity.
    pub measure: Measure,
    /// Number of values above it.
    #[serde(rename = "above")]
    pub count: u64,
}

/// Delays by one cause in an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourCause {
    #[serde(flatten)]
    pub cause: Cause,
    /// Starts that the cause delayed.
    pub times: u64,
    /// Sum of its delays.
    pub sum_ns: i64,
    /// Largest of its delays.
    pub max_ns: i64,
    /// Proven part of the sum.
    pub proven_ns: i64,
    /// Likely part of the sum.
    pub likely_ns: i64,
}

/// A start with one of the largest latencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstStart {
    /// Start in Unix time.
    pub utc_ns: i64,
    pub latency_ns: i64,
    /// Cause; `None` where it was not found.
    pub cause: Option<Cause>,
}

impl Hour {
    /// End of the hour by each of its clocks.
    pub fn hour_end(&self) -> HourEnd {
        HourEnd { boot: self.boot.clone(), boot_ns: self.boot_ns.1, utc_ns: self.utc_ns.1 }
    }

    /// Merges the hour that follows in the stream into this one, for want of room.
    pub fn merge_next(&mut self, next: &Hour) {
        self.seq = next.seq;
        self.end_mono_ns = next.end_mono_ns;
        (self.boot_ns.1, self.utc_ns.1) = (next.boot_ns.1, next.utc_ns.1);
        self.clock_step_ns = self.clock_step_ns.saturating_add(next.clock_step_ns);
        self.gap_ns = self.gap_ns.saturating_add(next.gap_ns);
        for (task, next) in self.tasks.iter_mut().zip(&next.tasks) {
            merge_task(task, next);
        }
    }
}

/// End of an hour by its clocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourEnd {
    pub boot: String,
    /// End on the clock that counts suspension.
    pub boot_ns: i64,
    /// End in Unix time.
    pub utc_ns: i64,
}

impl HourEnd {
    /// Time from the end of the hour to a moment of a boot, at least 0.
    pub fn gap_until(&self, boot: &str, boot_ns: i64, utc_ns: i64) -> i64 {
        let gap_ns = if self.boot == boot { boot_ns - self.boot_ns } else { utc_ns - self.utc_ns };
        gap_ns.max(0)
    }
}

impl HourTask {
    /// Number of activations with a record.
    pub fn recorded(&self) -> u64 {
        self.latency_moments().count
    }

    /// Converts the figures to a task's result, for a first due time and a last end.
    pub fn task_result(&self, first_due_ns: i64, last_end_ns: i64) -> TaskResult {
        let Moments { min_ns, max_ns, .. } = self.latency_moments();
        TaskResult {
            executed: self.recorded() + self.lost,
            missed: self.missed,
            dropped: self.lost,
            first_due_ns,
            last_end_ns,
            min_latency_ns: min_ns,
            max_latency_ns: max_ns,
            ..TaskResult::default()
        }
    }

    fn latency_moments(&self) -> Moments {
        self.stored.first().map(|latency| latency.moments).unwrap_or_default()
    }

    /// Number of due times: served, missed, or without a record.
    pub fn due_times(&self) -> u64 {
        self.recorded() + self.missed + self.lost
    }

    /// Adds the hour's figures to those of its task.
    pub fn add_to(&self, stats: &mut TimingStats) {
        stats.add_missed(self.missed);
        StoredDistribution::add_all(&self.stored, stats);
        stats.break_sequence();
    }
}

/// Sums of all hours of a monitor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// First and last moment, in Unix time.
    pub utc_ns: (i64, i64),
    /// Time that nothing was measured of.
    pub gap_ns: i64,
    /// Number of the next hour of each stream: those before are in the sums.
    pub streams: BTreeMap<String, u64>,
    /// Tasks by name and period.
    pub tasks: Vec<HourTask>,
    /// End of the last hour.
    #[serde(default)]
    pub end: Option<HourEnd>,
}

impl Totals {
    pub fn contains(&self, hour: &Hour) -> bool {
        self.streams.get(&hour.stream).is_some_and(|next| hour.seq < *next)
    }

    /// Adds an hour that is not in the sums yet.
    pub fn add(&mut self, hour: &Hour) {
        if self.contains(hour) {
            return;
        }
        self.streams.insert(hour.stream.clone(), hour.seq + 1);
        self.utc_ns = (self.utc_ns.0.min(hour.utc_ns.0), self.utc_ns.1.max(hour.utc_ns.1));
        self.gap_ns = self.gap_ns.saturating_add(hour.gap_ns);
        if self.end.as_ref().is_none_or(|end| end.utc_ns <= hour.utc_ns.1 || end.boot == hour.boot) {
            self.end = Some(hour.hour_end());
        }
        for task in &hour.tasks {
            let known = self
                .tasks
                .iter_mut()
                .find(|known| (&known.name, known.period_ns) == (&task.name, task.period_ns));
            match known {
                Some(known) => merge_task(known, task),
                None => self.tasks.push(task.clone()),
            }
        }
    }
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            utc_ns: (i64::MAX, i64::MIN),
            gap_ns: 0,
            streams: BTreeMap::new(),
            tasks: Vec::new(),
            end: None,
        }
    }
}

fn merge_task(all: &mut HourTask, task: &HourTask) {
    let mut stats = TimingStats::new(all.period_ns);
    all.add_to(&mut stats);
    task.add_to(&mut stats);
    all.stored = stats.counted().map(StoredDistribution::from).into();
    all.missed += task.missed;
    all.lost += task.lost;
    (all.policy, all.overrun) = (task.policy.clone(), task.overrun.clone());
    for above in &task.limit_counts {
        let same = |known: &&mut LimitCount| {
            (&known.purpose, known.limit_ns, known.measure) == (&above.purpose, above.limit_ns, above.measure)
        };
        match all.limit_counts.iter_mut().find(same) {
            Some(known) => known.count += above.count,
            None => all.limit_counts.push(above.clone()),
        }
    }
    for cause in &task.causes {
        match all.causes.iter_mut().find(|known| known.cause == cause.cause) {
            Some(known) => {
                known.times += cause.times;
                known.sum_ns = known.sum_ns.saturating_add(cause.sum_ns);
                known.max_ns = known.max_ns.max(cause.max_ns);
                known.proven_ns = known.proven_ns.saturating_add(cause.proven_ns);
                known.likely_ns = known.likely_ns.saturating_add(cause.likely_ns);
            }
            None => all.causes.push(cause.clone()),
        }
    }
    all.causes.sort_by_key(|cause| std::cmp::Reverse(cause.sum_ns));
    all.causes.truncate(MOST_CAUSES);
    all.worst_starts.extend(task.worst_starts.iter().cloned());
    all.worst_starts.sort_by_key(|late| std::cmp::Reverse(late.latency_ns));
    all.worst_starts.truncate(MAX_WORST);
}

/// Causes at most that totals keep apart, those with the largest sums.
const MOST_CAUSES: usize = 96;
