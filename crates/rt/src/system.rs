//! Services that a task needs from the operating system, as ports: [`crate::Linux`] is the real one,
//! [`crate::fake::FakeSystem`] a scripted one for tests, [`crate::fitted::FittedClock`] a real one read by another clock.

use std::io;

use jitterlab_model::{ClockFit, CoreUse, Policy, SleepClock};

/// Length of a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sleep {
    /// Until the clock shows this time, in its nanoseconds.
    Until(i64),
    /// For a number of nanoseconds.
    For(i64),
}

/// End of a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// The requested time has come.
    ToTheEnd,
    /// A signal arrived first.
    Interrupted,
}

/// End of a wait for a timer.
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

/// A periodic timer of the kernel, for the thread that made it.
pub trait Timer: Send {
    /// Makes the timer expire at `first_ns` of its clock and then every `interval_ns`. Expiries not yet waited for are
    /// forgotten.
    ///
    /// # Errors
    /// The kernel's error.
    fn arm(&mut self, first_ns: i64, interval_ns: i64) -> io::Result<()>;

    /// Waits until the timer has expired.
    ///
    /// # Errors
    /// The kernel's error.
    fn wait(&mut self) -> io::Result<Expired>;
}

/// Services of a kernel that wake-up methods need, for the calling thread.
pub trait Kernel: Send + 'static {
    /// The time now on a clock, in its nanoseconds.
    fn clock_ns(&self, clock: SleepClock) -> i64;

    /// Sleeps on `clock`, or until a signal arrives.
    ///
    /// # Errors
    /// The kernel's error, except that a signal arrived.
    fn sleep_on(&self, clock: SleepClock, sleep: Sleep) -> io::Result<Slept>;

    /// A timer for the calling thread, which alone may wait for it.
    ///
    /// # Errors
    /// The kernel's error.
    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<Box<dyn Timer>>;

    /// Interrupts sleeps of the calling thread whenever civil time is set, until the answer is dropped.
    ///
    /// # Errors
    /// The kernel's error.
    fn watch_civil_time(&self) -> io::Result<Box<dyn Send>>;

    /// Returns the scheduling policy of the calling thread.
    ///
    /// # Errors
    /// The kernel's error.
    fn policy(&self) -> io::Result<Policy>;

    /// Under SCHED_DEADLINE: gives up the rest of this period's runtime, so that the kernel releases the thread
    /// again at the beginning of the next one (sched(7)).
    fn end_deadline_job(&self);

    /// The processor the calling thread is on.
    fn current_cpu(&self) -> u16;

    /// Processor time the calling thread has used.
    fn cpu_time_ns(&self) -> i64;
}

/// A clock, and the kernel below it. Only the first two methods have to be written.
pub trait System: Send + Sized + 'static {
    /// Kernel that schedules its threads.
    type Kernel: Kernel;

    /// The time now, in nanoseconds of CLOCK_MONOTONIC.
    fn now_ns(&self) -> i64;

    /// The kernel.
    fn kernel(&self) -> &Self::Kernel;

    /// Sleeps on `clock`, or until a signal arrives.
    ///
    /// # Errors
    /// The system's error, except that a signal arrived.
    #[inline]
    fn sleep(&self, clock: SleepClock, sleep: Sleep) -> io::Result<Slept> {
        self.kernel().sleep_on(clock, sleep)
    }

    /// Returns true if the calling thread is in real-time mode at this moment. On Linux always, on a Xenomai
    /// core while it is on the core's side. Asked in every activation.
    #[inline]
    fn in_real_time(&self) -> bool {
        true
    }

    /// Called before the wait for the first activation: earlier events of the thread were its set-up.
    #[inline]
    fn begin(&mut self) {}

    /// Called after every activation, off the measured path.
    #[inline]
    fn after_activation(&self) {}

    /// Returns its properties at the end of a run.
    fn report(&self) -> SystemReport {
        SystemReport::default()
    }
}

/// Properties of a system at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemReport {
    /// Accuracy of [`System::now_ns`] against CLOCK_MONOTONIC, if it reads another clock.
    pub clock_fit: Option<ClockFit>,
    /// Behaviour of the calling thread on its Xenomai core, if it is on one.
    pub core: Option<CoreUse>,
}
