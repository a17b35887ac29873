//! A task's standing figures, kept by its own thread and readable by any other without disturbing it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU64};

use jitterlab_model::{Activation, Flags};

use crate::wake::Arrival;

/// Counters of one task. Only its own thread writes them, by plain stores to cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub struct TaskCounters {
    executed: AtomicU64,
    missed: AtomicU64,
    dropped: AtomicU64,
    first_due_ns: AtomicI64,
    last_end_ns: AtomicI64,
    phase_loss_ns: AtomicI64,
    min_latency_ns: AtomicI64,
    max_latency_ns: AtomicI64,
    polled_ns: AtomicI64,
    longest_hole_ns: AtomicI64,
    not_real_time: AtomicU64,
}

/// What the counters showed at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Activations that ran.
    pub executed: u64,
    /// Due times skipped so far.
    pub missed: u64,
    /// Records lost because the ring was full.
    pub dropped: u64,
    /// t_0, 0 before the first activation.
    pub first_due_ns: i64,
    /// The end of the last activation; its due time, if it ended before that.
    pub last_end_ns: i64,
    /// Sum of the shifts of the grid (policy re-phase).
    pub phase_loss_ns: i64,
    /// Smallest latency of all, 0 before the first activation.
    pub min_latency_ns: i64,
    /// Largest latency of all, 0 before the first activation.
    pub max_latency_ns: i64,
    /// Time spent polling the clock for due times.
    pub polled_ns: i64,
    /// Longest time between two readings while polling.
    pub longest_hole_ns: i64,
    /// Activations that began outside real-time mode (Xenomai).
    pub not_real_time: u64,
}

impl Default for TaskCounters {
    fn default() -> Self {
        TaskCounters {
            executed: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            first_due_ns: AtomicI64::new(0),
            last_end_ns: AtomicI64::new(0),
            phase_loss_ns: AtomicI64::new(0),
            min_latency_ns: AtomicI64::new(i64::MAX),
            max_latency_ns: AtomicI64::new(i64::MIN),
            polled_ns: AtomicI64::new(0),
            longest_hole_ns: AtomicI64::new(0),
            not_real_time: AtomicU64::new(0),
        }
    }
}

impl TaskCounters {
    /// What the counters show now. While the task runs, figures of two neighbouring activations may mix.
    pub fn snapshot(&self) -> Snapshot {
        let executed = self.executed.load(Acquire);
        if executed == 0 {
            return Snapshot::default();
        }
        Snapshot {
            executed,
            missed: self.missed.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            first_due_ns: self.first_due_ns.load(Relaxed),
            last_end_ns: self.last_end_ns.load(Relaxed),
            phase_loss_ns: self.phase_loss_ns.load(Relaxed),
            min_latency_ns: self.min_latency_ns.load(Relaxed),
            max_latency_ns: self.max_latency_ns.load(Relaxed),
            polled_ns: self.polled_ns.load(Relaxed),
            longest_hole_ns: self.longest_hole_ns.load(Relaxed),
            not_real_time: self.not_real_time.load(Relaxed),
        }
    }
}

/// The writing side: one per task, so that a load and a store need not be one indivisible step.
#[derive(Debug)]
pub(crate) struct CounterWriter(Arc<TaskCounters>);

impl CounterWriter {
    pub(crate) fn new(counters: Arc<TaskCounters>) -> Self {
        CounterWriter(counters)
    }

    /// Counts an activation, with the due times skipped after it and the polling before it.
    #[inline]
    pub(crate) fn count(&self, a: &Activation, missed: u64, arrival: &Arrival) {
        let c = &*self.0;
        let executed = c.executed.load(Relaxed);
        if executed == 0 {
            c.first_due_ns.store(a.due_ns, Relaxed);
        }
        let latency = a.latency_ns();
        if latency < c.min_latency_ns.load(Relaxed) {
            c.min_latency_ns.store(latency, Relaxed);
        }
        if latency > c.max_latency_ns.load(Relaxed) {
            c.max_latency_ns.store(latency, Relaxed);
        }
        if missed > 0 {
            c.missed.store(c.missed.load(Relaxed) + missed, Relaxed);
        }
        let polled_ns = arrival.now_ns - arrival.arrived_ns;
        if polled_ns > 0 {
            c.polled_ns.store(c.polled_ns.load(Relaxed) + polled_ns, Relaxed);
            if arrival.longest_hole_ns > c.longest_hole_ns.load(Relaxed) {
                c.longest_hole_ns.store(arrival.longest_hole_ns, Relaxed);
            }
        }
        if a.flags.contains(Flags::NOT_REAL_TIME) {
            c.not_real_time.store(c.not_real_time.load(Relaxed) + 1, Relaxed);
        }
        c.last_end_ns.store(a.end_ns.max(a.due_ns), Relaxed);
        c.executed.store(executed + 1, Release);
    }

    pub(crate) fn set_phase_loss_ns(&self, phase_loss_ns: i64) {
        self.0.phase_loss_ns.store(phase_loss_ns, Relaxed);
    }

    #[inline]
    pub(crate) fn set_dropped(&self, dropped: u64) {
        self.0.dropped.store(dropped, Relaxed);
    }

    #[inline]
    pub(crate) fn executed(&self) -> u64 {
        self.0.executed.load(Relaxed)
    }

    pub(crate) fn shared(&self) -> &Arc<TaskCounters> {
        &self.0
    }
}
