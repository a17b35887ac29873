//! Counts of one task by hours, as its activations come.

use jitterlab_analysis::purposes::Purpose;
use jitterlab_fleet::limit_counts::{LimitBreach, LimitCounts};
use jitterlab_model::{Activation, Flags, TimingStats};

use crate::hour::{LimitCount, MAX_WORST};

/// Counts of a task in an hour.
#[derive(Debug, Clone)]
pub struct HourCounts {
    pub stats: TimingStats,
    /// Activations without a record.
    pub lost: u64,
    /// Starts above each limit in force, once the hour is over.
    pub limit_counts: Vec<u64>,
    /// First due time.
    pub first_due_ns: Option<i64>,
    /// The due time that would have been next.
    pub next_due_ns: i64,
    /// Due time and latency of the starts with the largest latencies, the largest first.
    pub worst_starts: Vec<(i64, i64)>,
}

impl HourCounts {
    fn new(period_ns: i64) -> Self {
        HourCounts {
            stats: TimingStats::new(period_ns),
            lost: 0,
            limit_counts: Vec::new(),
            first_due_ns: None,
            next_due_ns: 0,
            worst_starts: Vec::new(),
        }
    }

    /// Number of due times until now: served, missed, or without a record.
    pub fn due_times(&self) -> u64 {
        self.stats.executed() + self.stats.least_missed() + self.lost
    }

    fn keep_if_worst(&mut self, a: &Activation) {
        let latency_ns = a.latency_ns();
        if self.worst_starts.len() >= MAX_WORST
            && self.worst_starts.last().is_some_and(|(_, least)| latency_ns <= *least)
        {
            return;
        }
        let place = self.worst_starts.partition_point(|(_, other)| *other >= latency_ns);
        self.worst_starts.insert(place, (a.due_ns, latency_ns));
        self.worst_starts.truncate(MAX_WORST);
    }
}

#[derive(Debug)]
pub struct TaskCounter {
    pub name: String,
    pub period_ns: i64,
    limits: LimitCounts,
    next_index: Option<u64>,
    /// The hour that is counted.
    open: HourCounts,
    /// The hour before it, where other tasks are still in that.
    closed: Option<HourCounts>,
}

impl TaskCounter {
    /// Counter without activations, for the limits of these purposes, or of all that the period tests.
    pub fn new(name: &str, period_ns: i64, purposes: &[&'static Purpose]) -> Self {
        let limits = LimitCounts::for_purposes(purposes, period_ns);
        let (next_index, open, closed) = (None, HourCounts::new(period_ns), None);
        TaskCounter { name: name.into(), period_ns, limits, next_index, open, closed }
    }

    /// Limits in force, and the starts of the open hour above them.
    pub fn limits(&self) -> &LimitCounts {
        &self.limits
    }

    /// Counts of the open hour.
    pub fn open_counts(&self) -> &HourCounts {
        &self.open
    }

    /// True if the task has passed the end of the hour.
    pub fn has_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Counts the next activations, all of one hour; returns the breaches of limits by them.
    pub fn push(&mut self, rows: &[Activation]) -> Vec<LimitBreach> {
        let mut broken = Vec::new();
        let count = &mut self.open;
        count.stats.push_all(rows);
        for a in rows {
            let lost = self.next_index.map_or(0, |next| a.index.saturating_sub(next));
            count.lost += if a.flags.contains(Flags::AFTER_GAP) { lost } else { 0 };
            self.next_index = Some(a.index + 1 + u64::from(a.missed));
            count.first_due_ns.get_or_insert(a.due_ns);
            count.next_due_ns = a.due_ns + self.period_ns * (1 + i64::from(a.missed));
            count.keep_if_worst(a);
            broken.extend(self.limits.push(a));
        }
        broken
    }

    /// Counts missed due times and lost activations that only the source's own result contains.
    pub fn add_unreported(&mut self, missed: u64, lost: u64) {
        self.open.stats.add_missed(missed);
        self.open.lost += lost;
        self.open.next_due_ns += self.period_ns * (missed + lost) as i64;
    }

    /// Closes the hour: further activations count for the next.
    pub fn close_hour(&mut self) {
        self.closed = Some(self.take_open_hour());
    }

    /// Removes and returns the counts of the hour that ends.
    pub fn take_hour(&mut self) -> HourCounts {
        self.closed.take().unwrap_or_else(|| self.take_open_hour())
    }

    fn take_open_hour(&mut self) -> HourCounts {
        let mut next = HourCounts::new(self.period_ns);
        next.next_due_ns = self.open.next_due_ns;
        let stats = self.open.stats.take();
        next.stats = std::mem::replace(&mut self.open.stats, TimingStats::new(self.period_ns));
        let mut ended = std::mem::replace(&mut self.open, next);
        ended.stats = stats;
        ended.limit_counts = self.limits.take_counts().counts().into();
        ended
    }

    /// Starts above each limit in an hour's counts.
    pub fn limit_counts(&self, count: &HourCounts) -> Vec<LimitCount> {
        let each = self.limits.limits().iter().zip(&count.limit_counts);
        each.map(|(limit, above)| LimitCount {
            purpose: limit.purpose.into(),
            limit_ns: limit.limit_ns,
            measure: limit.measure,
            count: *above,
        })
        .collect()
    }
}
