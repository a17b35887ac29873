//! What a task needs of the operating system, as a port: [`Linux`] is the real one, [`crate::fake::FakeSystem`]
//! a scripted one for tests, [`crate::fitted::Fitted`] a real one read by another clock.

use std::io;

use jitterlab_model::{ClockFit, CoreUse, SleepClock};

use crate::sys;
use crate::sys::timer::SystemTimer;
use crate::sys::watch::ClockWatch;

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// The time asked for has come.
    ToTheEnd,
    /// A signal arrived first.
    Interrupted,
}

/// How waiting for a timer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// It expired this many times since it was last waited for, 1 or more.
    Times(u64),
    /// A signal arrived first.
    Interrupted,
}

/// The kernel's two kinds of timers that a thread can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerKind {
    /// timerfd_create(2), waited for with read(2).
    File,
    /// timer_create(2), waited for with sigwaitinfo(2).
    Signal,
}

/// A periodic timer of the kernel.
pub trait Timer: Send {
    /// Lets it expire at `first_ns` of its clock and then every `interval_ns`. What it still had to say is lost.
    ///
    /// # Errors
    /// What the kernel answered.
    fn arm(&mut self, first_ns: i64, interval_ns: i64) -> io::Result<()>;

    /// Waits until it has expired.
    fn wait(&mut self) -> Expired;
}

/// Time and sleep as an operating system offers them.
pub trait System: Send + Sized + 'static {
    /// A timer of this system.
    type Timer: Timer;

    /// Kept as long as sleeps of this thread are to be interrupted when civil time is set.
    type Watch: Send;

    /// The time now, in nanoseconds of CLOCK_MONOTONIC.
    fn now_ns(&self) -> i64;

    /// The time now on another clock, in its nanoseconds.
    fn clock_ns(&self, clock: SleepClock) -> i64;

    /// Sleeps until `clock` shows `due_ns`, or a signal arrives.
    fn sleep_until(&self, clock: SleepClock, due_ns: i64) -> Slept;

    /// Sleeps for `ns` of `clock`, or until a signal arrives.
    fn sleep_for(&self, clock: SleepClock, ns: i64) -> Slept;

    /// A timer for the calling thread, which alone may wait for it.
    ///
    /// # Errors
    /// What the kernel answered.
    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<Self::Timer>;

    /// Interrupts sleeps of the calling thread whenever civil time is set, until the answer is dropped.
    ///
    /// # Errors
    /// What the kernel answered.
    fn watch_civil_time(&self) -> io::Result<Self::Watch>;

    /// Whether the calling thread runs under SCHED_DEADLINE.
    fn is_deadline_thread(&self) -> bool;

    /// Under SCHED_DEADLINE: gives up the rest of this period's runtime, so that the kernel releases the thread
    /// again at the beginning of the next one (sched(7)).
    fn end_deadline_job(&self);

    /// The processor the calling thread is on.
    fn current_cpu(&self) -> u16;

    /// Processor time the calling thread has used.
    fn thread_cpu_time_ns(&self) -> i64;

    /// Told after every activation, off the measured path.
    #[inline]
    fn after_activation(&self) {}

    /// Whether the calling thread is in real-time mode at this moment: on Linux always, on a Xenomai core while it
    /// is on the core's side. Looked at in every activation.
    #[inline]
    fn in_real_time(&self) -> bool {
        true
    }

    /// How the calling thread fared on its Xenomai core, if it is on one.
    fn core_use(&self) -> Option<CoreUse> {
        None
    }

    /// How well [`System::now_ns`] states CLOCK_MONOTONIC, if it reads another clock.
    fn clock_fit(&self) -> Option<ClockFit> {
        None
    }
}

/// The Linux kernel this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl System for Linux {
    type Timer = SystemTimer;
    type Watch = ClockWatch;

    #[inline]
    fn now_ns(&self) -> i64 {
        sys::time::now_ns(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    fn clock_ns(&self, clock: SleepClock) -> i64 {
        sys::time::now_ns(sys::time::id_of(clock))
    }

    #[inline]
    fn sleep_until(&self, clock: SleepClock, due_ns: i64) -> Slept {
        sys::time::sleep_until(sys::time::id_of(clock), due_ns)
    }

    #[inline]
    fn sleep_for(&self, clock: SleepClock, ns: i64) -> Slept {
        sys::time::sleep_for(sys::time::id_of(clock), ns)
    }

    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<SystemTimer> {
        SystemTimer::new(kind, sys::time::id_of(clock))
    }

    fn watch_civil_time(&self) -> io::Result<ClockWatch> {
        sys::signal::accept_interrupts()?;
        ClockWatch::new(sys::signal::this_thread())
    }

    fn is_deadline_thread(&self) -> bool {
        matches!(sys::sched::policy(), Ok(jitterlab_model::Policy::Deadline { .. }))
    }

    #[inline]
    fn end_deadline_job(&self) {
        sys::sched::end_deadline_job();
    }

    #[inline]
    fn current_cpu(&self) -> u16 {
        sys::sched::current_cpu()
    }

    fn thread_cpu_time_ns(&self) -> i64 {
        sys::usage::thread_cpu_time_ns()
    }
}
