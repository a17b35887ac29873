//! A task's standing figures, kept by its own thread and readable by any other without disturbing it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicI64, AtomicU64};

#[cfg(loom)]
use loom::sync::atomic::{AtomicI64, AtomicU64};

use jitterlab_model::{Activation, Flags, TaskResult};

use crate::wake::Arrival;

/// Makes the counters, and their values before the first activation.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $atomic:ident = $begin:expr),+ $(,)?) => {
        /// Counters of one task. Only its own thread writes them, by plain stores to cache lines of their own.
        ///
        /// ```
        /// use std::time::Duration;
        /// use jitterlab_rt::PeriodicLoop;
        ///
        /// let mut task = PeriodicLoop::every(Duration::from_millis(1)).count(3).build()?;
        /// // For any other thread to look at, at any time.
        /// let counters = task.counters().clone();
        /// while task.wait().is_some() {}
        /// assert_eq!(counters.snapshot().executed, 3);
        /// # Ok::<(), jitterlab_model::Error>(())
        /// ```
        #[derive(Debug)]
        #[repr(align(128))]
        pub struct TaskCounters {
            $($(#[$doc])* $name: $atomic),+
        }

        impl Default for TaskCounters {
            fn default() -> Self {
                TaskCounters { $($name: $atomic::new($begin)),+ }
            }
        }
    };
}

// As the fields of [`TaskResult`], and what they are made of.
counters! {
    executed: AtomicU64 = 0,
    missed: AtomicU64 = 0,
    dropped: AtomicU64 = 0,
    first_due_ns: AtomicI64 = 0,
    last_end_ns: AtomicI64 = 0,
    phase_loss_ns: AtomicI64 = 0,
    min_latency_ns: AtomicI64 = i64::MAX,
    max_latency_ns: AtomicI64 = i64::MIN,
    polled_ns: AtomicI64 = 0,
    longest_hole_ns: AtomicI64 = 0,
    /// Activations that began outside real-time mode (Xenomai).
    not_real_time: AtomicU64 = 0,
    /// The processor that the first activation began on.
    first_cpu: AtomicU64 = 0,
    elsewhere: AtomicU64 = 0,
    other_cpu: AtomicU64 = 0,
}

impl TaskCounters {
    /// Returns the part of a task's result that the counters alone know, at this moment. While the task runs, counts of two
    /// neighbouring activations may mix.
    pub fn snapshot(&self) -> TaskResult {
        // First: everything that the counted activations left behind is then visible too.
        if self.executed.load(Acquire) == 0 {
            return TaskResult::default();
        }
        let elsewhere = self.elsewhere.load(Acquire);
        TaskResult {
            executed: self.executed.load(Acquire),
            missed: self.missed.load(Acquire),
            dropped: self.dropped.load(Acquire),
            first_due_ns: self.first_due_ns.load(Acquire),
            last_end_ns: self.last_end_ns.load(Acquire),
            phase_loss_ns: self.phase_loss_ns.load(Acquire),
            min_latency_ns: self.min_latency_ns.load(Acquire),
            max_latency_ns: self.max_latency_ns.load(Acquire),
            polled_ns: self.polled_ns.load(Acquire),
            longest_hole_ns: self.longest_hole_ns.load(Acquire),
            elsewhere,
            other_cpu: u16::try_from(self.other_cpu.load(Acquire)).ok().filter(|_| elsewhere > 0),
            ..TaskResult::default()
        }
    }

    /// Number of activations that began outside real-time mode.
    pub(crate) fn outside_real_time(&self) -> u64 {
        self.not_real_time.load(Acquire)
    }
}

/// The writing side: one per task, so that a load and a store need not be one indivisible step.
#[derive(Debug)]
pub(crate) struct CounterWriter {
    shared: Arc<TaskCounters>,
    /// [`packed_properties`] of the last activation that had nothing else to be counted; of none before the first.
    usual: u64,
}

/// Packs due times missed, processor and flags into one number to compare, as they lie in memory.
#[inline]
fn packed_properties(a: &Activation) -> u64 {
    u64::from(a.missed) | u64::from(a.cpu) << 32 | u64::from(a.flags.0) << 48
}

impl CounterWriter {
    pub(crate) fn new(counters: Arc<TaskCounters>) -> Self {
        CounterWriter { shared: counters, usual: u64::MAX }
    }

    /// Counts an activation, with the due times skipped after it and the polling before it. Its own `missed`
    /// is as many, as far as it reaches.
    #[inline]
    pub(crate) fn count(&mut self, a: &Activation, missed: u64, arrival: &Arrival) {
        if !self.is_usual(a) {
            self.count_unusual(a, missed);
        }
        self.update_figures(a, arrival);
    }

    /// Returns true if the activation has nothing special to count.
    #[inline]
    pub(crate) fn is_usual(&self, a: &Activation) -> bool {
        packed_properties(a) == self.usual
    }

    /// Counts latency, polling and end, which every activation has.
    #[inline]
    pub(crate) fn update_figures(&self, a: &Activation, arrival: &Arrival) {
        let c = &*self.shared;
        let latency = a.latency_ns();
        if latency < c.min_latency_ns.load(Relaxed) {
            c.min_latency_ns.store(latency, Relaxed);
        }
        if latency > c.max_latency_ns.load(Relaxed) {
            c.max_latency_ns.store(latency, Relaxed);
        }
        let polled_ns = arrival.now_ns - arrival.arrived_ns;
        if polled_ns > 0 {
            c.polled_ns.store(c.polled_ns.load(Relaxed) + polled_ns, Relaxed);
            if arrival.longest_hole_ns > c.longest_hole_ns.load(Relaxed) {
                c.longest_hole_ns.store(arrival.longest_hole_ns, Relaxed);
            }
        }
        c.last_end_ns.store(a.end_ns.max(a.due_ns), Relaxed);
        c.executed.store(c.executed.load(Relaxed) + 1, Release);
    }

    #[cold]
    fn count_unusual(&mut self, a: &Activation, missed: u64) {
        let c = &*self.shared;
        if c.executed.load(Relaxed) == 0 {
            c.first_due_ns.store(a.due_ns, Relaxed);
            c.first_cpu.store(a.cpu.into(), Relaxed);
        }
        self.usual = packed_properties(a);
        let mut count_besides = |counter: &AtomicU64, more: u64| {
            counter.store(counter.load(Relaxed) + more, Relaxed);
            self.usual = u64::MAX;
        };
        if u64::from(a.cpu) != c.first_cpu.load(Relaxed) {
            count_besides(&c.elsewhere, 1);
            c.other_cpu.store(a.cpu.into(), Relaxed);
        }
        if missed > 0 {
            count_besides(&c.missed, missed);
        }
        if a.flags.contains(Flags::NOT_REAL_TIME) {
            count_besides(&c.not_real_time, 1);
        }
    }

    pub(crate) fn set_phase_loss_ns(&self, phase_loss_ns: i64) {
        self.shared.phase_loss_ns.store(phase_loss_ns, Relaxed);
    }

    #[inline]
    pub(crate) fn set_dropped(&self, dropped: u64) {
        self.shared.dropped.store(dropped, Relaxed);
    }

    #[inline]
    pub(crate) fn executed(&self) -> u64 {
        self.shared.executed.load(Relaxed)
    }

    pub(crate) fn counters(&self) -> &Arc<TaskCounters> {
        &self.shared
    }
}

/// In every order that the memory model allows, as far as loom knows it: see `./test`.
#[cfg(all(test, loom))]
mod tests {
    use super::*;

    #[test]
    fn whoever_sees_an_activation_counted_sees_what_it_left_behind() {
        loom::model(|| {
            let counters = Arc::<TaskCounters>::default();
            let shown = counters.clone();
            // The looking thread is spawned, since loom switches threads only before the object that it reads last: the
            // counting thread reads its own counters.
            let looking = loom::thread::spawn(move || {
                let seen = shown.snapshot();
                let n = seen.executed;
                if n == 0 {
                    return assert_eq!(seen, TaskResult::default());
                }
                assert!(n <= 2 && seen.first_due_ns == 1_000 && seen.max_latency_ns == 10, "{seen:?}");
                assert!(seen.missed >= n && seen.last_end_ns >= 1_020 + 1_000 * (n as i64 - 1), "{seen:?}");
                assert!(
                    seen.polled_ns >= if n == 2 { 19 } else { 10 } && seen.longest_hole_ns == 3,
                    "{seen:?}"
                );
                assert!(seen.min_latency_ns <= 11 - n as i64, "{seen:?}");
            });
            let mut writer = CounterWriter::new(counters);
            for index in 0..2 {
                let due_ns = 1_000 * (1 + index as i64);
                let (start_ns, end_ns) = (due_ns + 10 - index as i64, due_ns + 20);
                let a = Activation { index, due_ns, start_ns, end_ns, ..Activation::default() };
                let arrival = Arrival { arrived_ns: due_ns, now_ns: start_ns, longest_hole_ns: 3 };
                writer.count(&a, 1, &arrival);
            }
            looking.join().unwrap();
            assert_eq!(writer.shared.snapshot().executed, 2);
        });
    }
}
