//! The periodic loop: wait, read the clock, work, read the clock, record. Nothing else.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_model::{Activation, CoreUse, Flags, Granted, Overload, Refusal, TaskResult};

use crate::counters::{CounterWriter, TaskCounters};
use crate::linux::Linux;
use crate::overload_guard::OverloadGuard;
use crate::record::Recorder;
use crate::schedule::{DueTime, Schedule};
use crate::sys::signal::held_cpu_too_long;
use crate::system::{Kernel, System};
use crate::wake::{Arrival, Wake, WakeUp};

/// Conditions that end a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopLimits {
    pub until_ns: i64,
    pub count: u64,
    pub stop_above_ns: i64,
    /// True if constant polling is no overload.
    pub may_poll: bool,
}

impl Default for LoopLimits {
    fn default() -> Self {
        LoopLimits { until_ns: i64::MAX, count: u64::MAX, stop_above_ns: i64::MAX, may_poll: false }
    }
}

/// Reason for a loop's end.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoopEnd {
    /// The next due time is not before that of [`crate::Builder::until_ns`].
    Until,
    /// It had the activations of [`crate::Builder::count`].
    Count,
    /// Somebody set the stop flag.
    Stopped,
    /// The latency of this activation, the last one, reached the limit of [`crate::Builder::stop_above`].
    Above(Activation),
    /// It was stopped for the machine's safety (see [`crate::Builder::guarded`]).
    Overload(Overload),
    /// The wait failed with this error of the system.
    Wait(io::Error),
}

/// A task that runs once every period, on the thread that calls it.
///
/// ```
/// use std::time::Duration;
/// use jitterlab_rt::PeriodicLoop;
///
/// let mut task = PeriodicLoop::every(Duration::from_millis(1)).count(5).build()?;
/// while let Some(activation) = task.wait() {
///     // The work of one activation; it ends when `activation` goes out of scope.
///     let _position = activation.index() as f64 * 0.1;
/// }
/// assert_eq!(task.result().executed, 5);
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
pub struct PeriodicLoop<S: System = Linux> {
    pub(crate) system: S,
    pub(crate) schedule: Schedule,
    pub(crate) wake: Box<dyn WakeUp<S>>,
    pub(crate) counters: CounterWriter,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) limits: LoopLimits,
    pub(crate) guard: Option<OverloadGuard>,
    pub(crate) last_end_ns: i64,
    pub(crate) end: Option<LoopEnd>,
    pub(crate) granted: Option<Granted>,
    pub(crate) refused: Vec<Refusal>,
}

impl<S: System> PeriodicLoop<S> {
    /// Waits for the next activation, which lasts until it is dropped; `None` once the loop has ended.
    /// [`PeriodicLoop::end`] gives the reason.
    #[inline]
    pub fn wait(&mut self) -> Option<RunningActivation<'_, S>> {
        let due = self.schedule.next();
        if self.last_end_ns == i64::MIN {
            self.system.begin();
        }
        let wake = loop {
            if self.stop.load(Ordering::Relaxed)
                || due.due_ns >= self.limits.until_ns
                || self.counters.executed() >= self.limits.count
                || self.end.is_some()
            {
                return self.note_end(due);
            }
            if due.due_ns <= self.last_end_ns {
                break Wake::Due;
            }
            match self.wake.wait(&self.system, due.due_ns) {
                Ok(Wake::Interrupted) => {}
                Ok(wake) => break wake,
                Err(error) => self.end_with_others(LoopEnd::Wait(error)),
            }
        };
        let arrival = match wake {
            Wake::Read(arrival) => arrival,
            Wake::Due | Wake::Interrupted => Arrival::without_polling(self.system.now_ns()),
        };
        let cpu = self.system.kernel().current_cpu();
        let polled = if arrival.arrived_ns < arrival.now_ns { Flags::POLLED } else { Flags::default() };
        let mode = if self.system.in_real_time() { Flags::default() } else { Flags::NOT_REAL_TIME };
        let due = DueTime { flags: due.flags.with(polled).with(mode), ..due };
        Some(RunningActivation { due, arrival, cpu, task: self })
    }

    /// Notes the reason for the loop's end, and returns `None`.
    #[cold]
    fn note_end(&mut self, due: DueTime) -> Option<RunningActivation<'_, S>> {
        self.end.get_or_insert(if self.counters.executed() >= self.limits.count {
            LoopEnd::Count
        } else if due.due_ns >= self.limits.until_ns {
            LoopEnd::Until
        } else {
            LoopEnd::Stopped
        });
        None
    }

    /// Ends this loop, and with the stop flag those that share it.
    #[cold]
    fn end_with_others(&mut self, end: LoopEnd) {
        self.end.get_or_insert(end);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Runs `work` at every activation; returns the value it breaks with, `None` if the loop ends before.
    pub fn run<B>(&mut self, mut work: impl FnMut(&RunningActivation<'_, S>) -> ControlFlow<B>) -> Option<B> {
        while let Some(running) = self.wait() {
            if let ControlFlow::Break(value) = work(&running) {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn finish_activation(&mut self, due: DueTime, arrival: Arrival, cpu: u16) {
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
        if let Some(recorder) = &mut self.recorder
            && !recorder.push(&activation)
        {
            self.counters.set_dropped(recorder.dropped());
        }
        if activation.latency_ns() >= self.limits.stop_above_ns {
            self.end_with_others(LoopEnd::Above(activation));
        }
        if let Some(guard) = &mut self.guard {
            let kernel = self.system.kernel();
            let from_ns = if self.limits.may_poll { arrival.now_ns } else { arrival.arrived_ns };
            let overload = guard.observe(from_ns, end_ns, || kernel.cpu_time_ns());
            if let Some(overload) = overload.or_else(|| held_cpu_too_long().then_some(Overload::HeldCpu)) {
                self.end_with_others(LoopEnd::Overload(overload));
            }
        }
        self.last_end_ns = end_ns;
        self.system.after_activation();
    }

    /// Ends an activation that was left open.
    #[inline]
    pub fn close(&mut self, OpenActivation { due, arrival, cpu }: OpenActivation) {
        self.finish_activation(due, arrival, cpu);
    }

    /// Begins the work of an activation that was left open only now; returns the new beginning. The time
    /// until now is part of its latency.
    ///
    /// For a program whose work cannot begin when its thread wakes up, such as an interpreter with a lock.
    #[inline]
    pub fn begin_work_now(&self, open: &mut OpenActivation) -> i64 {
        let now_ns = self.system.now_ns();
        open.arrival.arrived_ns += now_ns - open.arrival.now_ns;
        open.arrival.now_ns = now_ns;
        now_ns
    }

    /// The shared counters, for another thread to read at any time.
    pub fn counters(&self) -> &Arc<TaskCounters> {
        self.counters.counters()
    }

    /// Returns the task's result so far, with the due times it still has to catch up counted as missed. The thread's
    /// resource usage is left to [`crate::sys::usage`].
    pub fn result(&self) -> TaskResult {
        let counters = self.counters.counters();
        let (wake, system, counted) = (self.wake.report(), self.system.report(), counters.snapshot());
        TaskResult {
            missed: counted.missed + self.schedule.backlog(),
            margin: wake.margin,
            clock_steps: wake.clock_steps,
            clock_moved_ns: wake.clock_moved_ns,
            clock_fit: system.clock_fit,
            core: system.core.map(|core| CoreUse {
                outside: counters.outside_real_time(),
                gravity_ns: wake.gravity_ns,
                ..core
            }),
            ..counted
        }
    }

    /// Returns the refused requests, each with its remedy.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Returns the scheduling in force, read back from the system; `None` if nothing was requested.
    pub fn granted(&self) -> Option<&Granted> {
        self.granted.as_ref()
    }

    /// Reason for the loop's end; `None` while it goes on.
    pub fn end(&self) -> Option<&LoopEnd> {
        self.end.as_ref()
    }

    pub(crate) fn into_end(self) -> LoopEnd {
        self.end.unwrap_or(LoopEnd::Stopped)
    }
}

/// An activation that runs: from [`PeriodicLoop::wait`] until this is dropped.
#[must_use = "it ends when dropped"]
pub struct RunningActivation<'a, S: System> {
    due: DueTime,
    arrival: Arrival,
    cpu: u16,
    task: &'a mut PeriodicLoop<S>,
}

impl<S: System> RunningActivation<'_, S> {
    /// Number k of its due time on the grid.
    pub fn index(&self) -> u64 {
        self.due.index
    }

    /// Due time t_k, in nanoseconds of CLOCK_MONOTONIC.
    pub fn due_ns(&self) -> i64 {
        self.due.due_ns
    }

    /// Start w_k, in nanoseconds of CLOCK_MONOTONIC.
    pub fn start_ns(&self) -> i64 {
        self.arrival.now_ns
    }

    /// Returns the latency of its start in nanoseconds; negative for an early wake-up.
    pub fn latency_ns(&self) -> i64 {
        self.arrival.now_ns - self.due.due_ns
    }

    /// Leaves it open, to be ended by [`PeriodicLoop::close`]. For callers that cannot hold on to the loop
    /// meanwhile, such as those in other languages.
    #[inline]
    pub fn leave_open(self) -> OpenActivation {
        let running = ManuallyDrop::new(self);
        OpenActivation { due: running.due, arrival: running.arrival, cpu: running.cpu }
    }

    /// The system it runs on, to read its clock.
    pub fn system(&self) -> &S {
        &self.task.system
    }
}

/// An activation that runs, apart from its loop (see [`RunningActivation::leave_open`]).
#[derive(Debug)]
#[must_use = "it ends by PeriodicLoop::close"]
pub struct OpenActivation {
    due: DueTime,
    arrival: Arrival,
    cpu: u16,
}

impl<S: System> Drop for RunningActivation<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.task.finish_activation(self.due, self.arrival, self.cpu);
    }
}
