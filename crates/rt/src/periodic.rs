//! The periodic loop: wait, read the clock, work, read the clock, record. Nothing else.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jitterlab_model::{Activation, Flags, Overrun, TaskResult};

use crate::counters::{CounterWriter, TaskCounters};
use crate::overload::{Guard, Overload};
use crate::record::Recorder;
use crate::schedule::{Due, Schedule};
use crate::sys::signal::held_cpu_too_long;
use crate::system::{Linux, System};
use crate::wake::{Arrival, Nanosleep, Wake, WakeUp};

/// Describes a [`PeriodicLoop`]. Made by [`PeriodicLoop::every`].
pub struct Builder<S: System = Linux> {
    system: S,
    period_ns: i64,
    offset_ns: i64,
    epoch_ns: Option<i64>,
    until_ns: i64,
    count: u64,
    overrun: Overrun,
    wake: Box<dyn WakeUp<S>>,
    stop: Arc<AtomicBool>,
    stop_above_ns: i64,
    recorder: Option<Recorder>,
    counters: Arc<TaskCounters>,
    guarded: bool,
    may_poll: bool,
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl<S: System> Builder<S> {
    fn new(system: S, period_ns: i64) -> Self {
        Builder {
            system,
            period_ns: period_ns.max(1),
            offset_ns: 0,
            epoch_ns: None,
            until_ns: i64::MAX,
            count: u64::MAX,
            overrun: Overrun::default(),
            wake: Box::new(Nanosleep::default()),
            stop: Arc::default(),
            stop_above_ns: i64::MAX,
            recorder: None,
            counters: Arc::default(),
            guarded: true,
            may_poll: false,
        }
    }

    /// Shifts the grid against its beginning. Default: not at all.
    #[must_use]
    pub fn offset(mut self, offset: Duration) -> Self {
        self.offset_ns = ns(offset);
        self
    }

    /// The beginning of the grid on CLOCK_MONOTONIC, so that several tasks can share one. Default: one period
    /// after [`Builder::build`].
    #[must_use]
    pub fn start_at_ns(mut self, epoch_ns: i64) -> Self {
        self.epoch_ns = Some(epoch_ns);
        self
    }

    /// Ends before the first due time that is not earlier than this one. Default: never.
    #[must_use]
    pub fn until_ns(mut self, until_ns: i64) -> Self {
        self.until_ns = until_ns;
        self
    }

    /// Ends after this many activations. Default: never.
    #[must_use]
    pub fn count(mut self, activations: u64) -> Self {
        self.count = activations;
        self
    }

    /// What happens to due times that passed. Default: skip.
    #[must_use]
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    /// How to wait. Default: absolute nanosleep.
    #[must_use]
    pub fn wake(mut self, wake: Box<dyn WakeUp<S>>) -> Self {
        self.wake = wake;
        self
    }

    /// A flag that ends the loop once it is set: before the next activation, or when a signal cuts the wait short.
    #[must_use]
    pub fn stop_flag(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the stop flag at the first latency of this or more, so that what surrounds it is not overwritten.
    #[must_use]
    pub fn stop_above(mut self, limit: Duration) -> Self {
        self.stop_above_ns = ns(limit);
        self
    }

    /// Records every activation there.
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Counts there, so that another thread can look at any time (see [`PeriodicLoop::counters`]).
    #[must_use]
    pub fn counters(mut self, counters: Arc<TaskCounters>) -> Self {
        self.counters = counters;
        self
    }

    /// Whether a task that cannot keep up is stopped (see [`Overload`]). Default: yes. Ordinary threads, which
    /// the kernel makes share, need it not.
    #[must_use]
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Whether its processor is its own, so that polling all the time is no overload. Default: no.
    #[must_use]
    pub fn may_poll(mut self, may_poll: bool) -> Self {
        self.may_poll = may_poll;
        self
    }

    /// The loop, ready to wait for its first due time.
    pub fn build(self) -> PeriodicLoop<S> {
        let now_ns = self.system.now_ns();
        let epoch_ns = self.epoch_ns.unwrap_or_else(|| now_ns.saturating_add(self.period_ns));
        let first_due_ns = epoch_ns.saturating_add(self.offset_ns);
        PeriodicLoop {
            system: self.system,
            schedule: Schedule::new(first_due_ns, self.period_ns, self.overrun),
            wake: self.wake,
            counters: CounterWriter::new(self.counters),
            recorder: self.recorder,
            stop: self.stop,
            stop_above_ns: self.stop_above_ns,
            until_ns: self.until_ns,
            count: self.count,
            may_poll: self.may_poll,
            guard: self.guarded.then(|| Guard::new(self.period_ns, now_ns)),
            last_end_ns: i64::MIN,
            overload: None,
            above: None,
        }
    }
}

/// A task that runs once every period, on the thread that calls it.
///
/// ```
/// use std::time::Duration;
/// use jitterlab_rt::PeriodicLoop;
///
/// let mut task = PeriodicLoop::every(Duration::from_millis(1)).count(5).build();
/// while let Some(activation) = task.wait() {
///     // The work of one activation; it ends when `activation` goes out of scope.
///     let _position = activation.index() as f64 * 0.1;
/// }
/// assert_eq!(task.result().executed, 5);
/// ```
pub struct PeriodicLoop<S: System = Linux> {
    system: S,
    schedule: Schedule,
    wake: Box<dyn WakeUp<S>>,
    counters: CounterWriter,
    recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    stop_above_ns: i64,
    until_ns: i64,
    count: u64,
    may_poll: bool,
    guard: Option<Guard>,
    last_end_ns: i64,
    overload: Option<Overload>,
    above: Option<Activation>,
}

impl PeriodicLoop<Linux> {
    /// A loop of this period on this machine. A period below 1 ns counts as 1 ns.
    pub fn every(period: Duration) -> Builder<Linux> {
        Builder::new(Linux, ns(period))
    }
}

impl<S: System> PeriodicLoop<S> {
    /// A loop on another system, such as [`crate::fake::FakeSystem`].
    pub fn every_on(system: S, period: Duration) -> Builder<S> {
        Builder::new(system, ns(period))
    }

    /// Waits for the next activation, which lasts until the answer is dropped. `None` once the loop has come to
    /// its end: count, time, stop flag or overload.
    #[inline]
    pub fn wait(&mut self) -> Option<Running<'_, S>> {
        let due = self.schedule.next();
        let wake = loop {
            if self.stop.load(Ordering::Relaxed)
                || due.due_ns >= self.until_ns
                || self.counters.executed() >= self.count
            {
                return None;
            }
            if due.due_ns <= self.last_end_ns {
                break Wake::Due;
            }
            match self.wake.wait(&self.system, due.due_ns) {
                Wake::Interrupted => {}
                wake => break wake,
            }
        };
        let arrival = match wake {
            Wake::Read(arrival) => arrival,
            Wake::Due | Wake::Interrupted => Arrival::at(self.system.now_ns()),
        };
        let cpu = self.system.current_cpu();
        let polled = if arrival.arrived_ns < arrival.now_ns { Flags::POLLED } else { Flags::default() };
        let due = Due { flags: due.flags.with(polled), ..due };
        Some(Running { due, arrival, cpu, task: self })
    }

    /// Runs `work` at every activation until it breaks or the loop comes to its end.
    pub fn run<B>(&mut self, mut work: impl FnMut(&Running<'_, S>) -> ControlFlow<B>) -> Option<B> {
        while let Some(running) = self.wait() {
            if let ControlFlow::Break(value) = work(&running) {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn complete(&mut self, due: Due, arrival: Arrival, cpu: u16) {
        let end_ns = self.system.now_ns();
        let missed = self.schedule.complete(end_ns);
        let activation = Activation {
            index: due.index,
            due_ns: due.due_ns,
            start_ns: arrival.now_ns,
            end_ns,
            missed: u32::try_from(missed).unwrap_or(u32::MAX),
            cpu,
            flags: due.flags,
        };
        self.counters.count(&activation, missed, &arrival);
        if missed > 0 {
            self.counters.set_phase_loss_ns(self.schedule.phase_loss_ns());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.push(activation);
            self.counters.set_dropped(recorder.dropped());
        }
        if activation.latency_ns() >= self.stop_above_ns && self.above.is_none() {
            self.above = Some(activation);
            self.stop.store(true, Ordering::Relaxed);
        }
        if let Some(guard) = &mut self.guard {
            let system = &self.system;
            let from_ns = if self.may_poll { arrival.now_ns } else { arrival.arrived_ns };
            let overload = guard.observe(from_ns, end_ns, || system.thread_cpu_time_ns());
            if overload.is_some() || held_cpu_too_long() {
                self.overload = overload.or(Some(Overload::HeldCpu));
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        self.last_end_ns = end_ns;
        self.system.after_activation();
    }

    /// The shared counters, for another thread to read at any time.
    pub fn counters(&self) -> &Arc<TaskCounters> {
        self.counters.shared()
    }

    /// What the task did so far, with the due times it still has to catch up counted as missed. The thread's
    /// resource usage is left to [`crate::sys::usage`].
    pub fn result(&self) -> TaskResult {
        let s = self.counters.shared().snapshot();
        let wake = self.wake.report();
        TaskResult {
            executed: s.executed,
            missed: s.missed + self.schedule.backlog(),
            dropped: s.dropped,
            first_due_ns: s.first_due_ns,
            last_end_ns: s.last_end_ns,
            phase_loss_ns: s.phase_loss_ns,
            min_latency_ns: s.min_latency_ns,
            max_latency_ns: s.max_latency_ns,
            polled_ns: s.polled_ns,
            longest_hole_ns: s.longest_hole_ns,
            margin: wake.margin,
            clock_steps: wake.clock_steps,
            clock_moved_ns: wake.clock_moved_ns,
            clock_fit: self.system.clock_fit(),
            ..TaskResult::default()
        }
    }

    /// Why the task was stopped for the machine's safety, if it was.
    pub fn overload(&self) -> Option<Overload> {
        self.overload
    }

    /// The activation that reached the limit of [`Builder::stop_above`], if one did.
    pub fn above(&self) -> Option<Activation> {
        self.above
    }
}

/// An activation that runs: from [`PeriodicLoop::wait`] until this is dropped.
pub struct Running<'a, S: System> {
    due: Due,
    arrival: Arrival,
    cpu: u16,
    task: &'a mut PeriodicLoop<S>,
}

impl<S: System> Running<'_, S> {
    /// k, the number of its due time on the grid.
    pub fn index(&self) -> u64 {
        self.due.index
    }

    /// t_k.
    pub fn due_ns(&self) -> i64 {
        self.due.due_ns
    }

    /// w_k.
    pub fn start_ns(&self) -> i64 {
        self.arrival.now_ns
    }

    /// How late it started; negative for an early wake-up.
    pub fn latency_ns(&self) -> i64 {
        self.arrival.now_ns - self.due.due_ns
    }

    /// The system it runs on, to read its clock.
    pub fn system(&self) -> &S {
        &self.task.system
    }
}

impl<S: System> Drop for Running<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.task.complete(self.due, self.arrival, self.cpu);
    }
}
