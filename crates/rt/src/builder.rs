//! Description of a periodic loop, and its construction.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jitterlab_model::{Compensation, Error, Overrun, Policy, Refusal, SleepClock, TaskSpec, WakeMethod};

use crate::compensate;
use crate::counters::{CounterWriter, TaskCounters};
use crate::error::SystemRequest;
use crate::linux::Linux;
use crate::overload_guard::OverloadGuard;
use crate::periodic::{LoopLimits, PeriodicLoop};
use crate::record::Recorder;
use crate::schedule::Schedule;
use crate::setup::{LONGEST_COMPUTING, ThreadSetup};
use crate::spare_processor;
use crate::sys::{self, signal};
use crate::system::{Kernel, System};
use crate::task_wake_up;
use crate::wake::{Nanosleep, WakeUp};

/// Describes a [`PeriodicLoop`]; everything has a default. Made by [`PeriodicLoop::every`].
#[must_use]
pub struct Builder<S: System> {
    system: S,
    spec: TaskSpec,
    setup: Option<ThreadSetup>,
    epoch_ns: Option<i64>,
    wake: Option<Box<dyn WakeUp<S>>>,
    stop: Arc<AtomicBool>,
    recorder: Option<Recorder>,
    counters: Arc<TaskCounters>,
    limits: LoopLimits,
    guarded: bool,
    may_poll: bool,
}

impl PeriodicLoop<Linux> {
    /// Builder of a loop of this period on this machine. A period below 1 ns counts as 1 ns.
    pub fn every(period: Duration) -> Builder<Linux> {
        PeriodicLoop::every_on(Linux, period)
    }
}

impl<S: System> PeriodicLoop<S> {
    /// Builder of a loop on another system. A [`crate::fitted::FittedClock`] is timed by the processor's
    /// counter, a [`crate::fake::FakeSystem`] is for tests.
    pub fn every_on(system: S, period: Duration) -> Builder<S> {
        Builder::new(system, TaskSpec { period_ns: duration_ns(period).max(1), ..TaskSpec::default() })
    }

    /// Builder of a loop as a task's description has it, apart from policy, processor and clock to read.
    pub fn from_spec(system: S, spec: &TaskSpec) -> Builder<S> {
        Builder::new(system, spec.clone())
    }
}

fn duration_ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl<S: System> Builder<S> {
    pub(crate) fn new(system: S, spec: TaskSpec) -> Self {
        Builder {
            system,
            may_poll: spec.wake.traits().polls,
            spec,
            setup: None,
            epoch_ns: None,
            wake: None,
            stop: Arc::default(),
            recorder: None,
            counters: Arc::default(),
            limits: LoopLimits::default(),
            guarded: false,
        }
    }

    fn setup_mut(&mut self) -> &mut ThreadSetup {
        let TaskSpec { name, period_ns, .. } = &self.spec;
        self.setup.get_or_insert_with(|| ThreadSetup {
            lock_memory: false,
            // As it is, unless another one is asked for.
            ..ThreadSetup::new(name, sys::sched::policy().unwrap_or(Policy::Other), *period_ns)
        })
    }

    /// Sets the name in reports. Default: task.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.spec.name = name.into();
        self
    }

    /// Shifts the grid against its beginning. Default: not at all.
    pub fn offset(mut self, offset: Duration) -> Self {
        self.spec.offset_ns = duration_ns(offset);
        self
    }

    /// Sets the beginning of the grid on CLOCK_MONOTONIC, so that several tasks can share one. Default: one period
    /// after [`Builder::build`].
    pub fn start_at_ns(mut self, epoch_ns: i64) -> Self {
        self.epoch_ns = Some(epoch_ns);
        self
    }

    /// Ends before the first due time that is not earlier than this one. Default: never.
    pub fn until_ns(mut self, until_ns: i64) -> Self {
        self.limits.until_ns = until_ns;
        self
    }

    /// Ends after this many activations. Default: never.
    pub fn count(mut self, activations: u64) -> Self {
        self.limits.count = activations;
        self
    }

    /// Sets the overrun policy. Default: skip.
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.spec.overrun = overrun;
        self
    }

    /// Sets the wake-up method. Default: absolute nanosleep. Where the system refuses another method, nanosleep is used
    /// and the refusal is listed by [`PeriodicLoop::refused`].
    pub fn wake(mut self, method: WakeMethod) -> Self {
        self.spec.wake = method;
        self.may_poll |= method.traits().polls;
        self
    }

    /// Sets the caller's own wake-up, instead of method, clock and compensation.
    pub fn with_wake_up(mut self, wake: Box<dyn WakeUp<S>>) -> Self {
        self.wake = Some(wake);
        self
    }

    /// Sets the clock to sleep on; due times stay on CLOCK_MONOTONIC. Default: monotonic.
    pub fn clock(mut self, clock: SleepClock) -> Self {
        self.spec.clock = clock;
        self
    }

    /// Sets the compensation of the wake-up's jitter. A margin chosen from data is measured in [`Builder::build`],
    /// which takes up to ten seconds for the rarest late starts. Default: none.
    pub fn compensate(mut self, compensation: Compensation) -> Self {
        self.spec.compensate = compensation;
        self
    }

    /// Sets the scheduling policy of the calling thread. Default: unchanged.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.spec.policy = Some(policy);
        self.setup_mut().policy = policy;
        self
    }

    /// Sets the processor to bind the calling thread to. Default: none.
    pub fn cpu(mut self, cpu: u16) -> Self {
        self.spec.cpu = Some(cpu);
        self.setup_mut().cpu = Some(cpu);
        self
    }

    /// Locks all memory of the process, now and later, so that no page fault delays the task. Default: no.
    pub fn lock_memory(mut self) -> Self {
        self.setup_mut().lock_memory = true;
        self
    }

    /// Sets a flag that ends the loop once it is set: before the next activation, or when a signal cuts the wait short.
    pub fn stop_flag(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Ends with the first activation whose latency is this or more, and sets the stop flag. Default: never.
    pub fn stop_above(mut self, limit: Duration) -> Self {
        self.limits.stop_above_ns = duration_ns(limit);
        self
    }

    /// Records every activation with this recorder (see [`crate::record::ring`]).
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Counts in these counters, so that another thread can look at any time (see [`PeriodicLoop::counters`]).
    pub fn counters(mut self, counters: Arc<TaskCounters>) -> Self {
        self.counters = counters;
        self
    }

    /// Stops a task that leaves no time on its processor to others (see [`jitterlab_model::Overload`]).
    /// One under SCHED_FIFO or SCHED_RR that uses 95 % of it or more. Where [`Builder::build`] sets the
    /// thread up, the kernel may also make a thread that never waits an ordinary one: see
    /// [`ThreadSetup::longest_computing`], which concerns the whole process. Default: no.
    pub fn guarded(mut self) -> Self {
        self.guarded = true;
        self
    }

    /// Sets up the calling thread as far as requested, and returns the loop that is to run on it.
    ///
    /// # Errors
    /// A description that contradicts itself, polling under a real-time policy on the only processor, and a system on
    /// which nothing can sleep. Other refusals of the system are no error: see [`PeriodicLoop::refused`].
    pub fn build(self) -> Result<PeriodicLoop<S>, Error> {
        let Builder { system, spec, mut setup, epoch_ns, wake, mut limits, .. } = self;
        spec.validate()?;
        // Once the thread is bound it is too late to find the processors left to others.
        if setup.is_some() {
            spare_processor::check(std::slice::from_ref(&spec), &sys::sched::cpus().unwrap_or_default())?;
        }
        if let (true, Some(setup)) = (self.guarded, &mut setup) {
            setup.longest_computing = Some(LONGEST_COMPUTING);
        }
        let (granted, mut refused) = match setup.map(|setup| setup.apply()) {
            Some((granted, refused)) => (Some(granted), refused),
            None => (None, Vec::new()),
        };
        let wake = match wake {
            Some(wake) => wake,
            None => wake_or_nanosleep(&system, &spec, &mut refused)?,
        };
        limits.may_poll = self.may_poll;
        // Only these keep others off their processor.
        let policy = system.kernel().policy();
        let guarded = self.guarded && matches!(policy, Ok(Policy::Fifo(_) | Policy::RoundRobin(_)));
        if guarded && self.may_poll {
            signal::allow_holding_cpu();
        }
        let now_ns = system.now_ns();
        let first_due_ns =
            epoch_ns.unwrap_or_else(|| now_ns.saturating_add(spec.period_ns)).saturating_add(spec.offset_ns);
        Ok(PeriodicLoop {
            system,
            schedule: Schedule::new(first_due_ns, spec.period_ns, spec.overrun),
            wake,
            counters: CounterWriter::new(self.counters),
            recorder: self.recorder,
            stop: self.stop,
            limits,
            guard: guarded.then(|| OverloadGuard::new(spec.period_ns, now_ns)),
            last_end_ns: i64::MIN,
            end: None,
            granted,
            refused,
        })
    }
}

/// Makes the requested wake-up or, where the system refuses it, plain nanosleep.
///
/// # Errors
/// No method of waiting is available.
pub(crate) fn wake_or_nanosleep<S: System>(
    system: &S,
    spec: &TaskSpec,
    refused: &mut Vec<Refusal>,
) -> Result<Box<dyn WakeUp<S>>, Error> {
    task_wake_up::wake_up_of_task(system, spec).or_else(|error| {
        let wanted = SystemRequest::WakeUp(spec.wake, spec.clock);
        refused.push(wanted.refusal(&format!("task {}", spec.name), error.to_string(), None));
        let sleep = Box::new(Nanosleep::default());
        compensate::with_compensation(sleep, system, spec.compensate, spec.period_ns)
            .map_err(|cause| Error::refused("the system does not let the task sleep").because(cause))
    })
}
