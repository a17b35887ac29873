//! Methods of waiting for a due time: one file per method, and the one place that knows them all.
//!
//! Decorators go around any of them: [`OnCivilTime`] to sleep on another clock, [`crate::compensate`] to wake early
//! and poll.

mod deadline;
mod nanosleep;
mod nanosleep_relative;
mod on_clock;
mod poll_until;
mod spin;
mod timer;
mod xenomai;

pub use deadline::Deadline;
pub use nanosleep::Nanosleep;
pub use nanosleep_relative::NanosleepRelative;
pub use on_clock::OnCivilTime;
pub(crate) use poll_until::PollingWait;
pub use spin::Spin;
pub use timer::PeriodicTimer;
pub use xenomai::Xenomai;

use std::io;

use jitterlab_model::{Error, MarginUsed, SleepClock, WakeMethod};

use crate::system::{System, TimerKind};
use crate::xenomai::Core;

/// End of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The due time has come. The clock was not read after waking.
    Due,
    /// The due time has come, and the clock was read to know it.
    Read(Arrival),
    /// The due time has not come, but the task may want to stop: a signal arrived, or it has polled for a while.
    /// Wait for the same due time again to go on.
    Interrupted,
}

/// A wake-up that read the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time at which the task woke, or began to poll.
    pub arrived_ns: i64,
    /// The last reading: not before the due time.
    pub now_ns: i64,
    /// Longest time between two readings while it polled.
    pub longest_hole_ns: i64,
}

impl Arrival {
    /// A wake-up that did not poll.
    #[inline]
    pub fn without_polling(now_ns: i64) -> Self {
        Arrival { arrived_ns: now_ns, now_ns, longest_hole_ns: 0 }
    }
}

/// Properties of a wake-up at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WakeReport {
    /// Margin by which it woke early, if on purpose.
    pub margin: Option<MarginUsed>,
    /// Number of times the clock it sleeps on was set.
    pub clock_steps: u64,
    /// Total movement of that clock, in nanoseconds.
    pub clock_moved_ns: i64,
    /// Gravity: time by which it may wake early, in nanoseconds. 0 on stock Linux.
    pub gravity_ns: i64,
}

/// A way to wait for a due time.
///
/// A wait for a due time that has already passed returns at once, except by [`NanosleepRelative`], whose flaw
/// that is. A wait never ends before the due time by more than the gravity that the method reports.
///
/// ```
/// use std::io;
/// use jitterlab_rt::fake::FakeSystem;
/// use jitterlab_rt::system::System;
/// use jitterlab_rt::{PeriodicLoop, Wake, WakeUp};
///
/// /// Waits for nothing: the clock of the fake system is set by the work.
/// struct Never;
///
/// impl<S: System> WakeUp<S> for Never {
///     fn wait(&mut self, _: &S, _: i64) -> io::Result<Wake> {
///         Err(io::ErrorKind::Unsupported.into())
///     }
/// }
///
/// let every = std::time::Duration::from_millis(1);
/// let mut task = PeriodicLoop::every_on(FakeSystem::new(0), every).with_wake_up(Box::new(Never)).build()?;
/// assert!(task.wait().is_none() && task.end().is_some());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
pub trait WakeUp<S: System>: Send {
    /// Waits until the clock shows `due_ns`, or a signal arrives.
    ///
    /// # Errors
    /// The system's error: the due time has not come, and waiting for it again is of no use.
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake>;

    /// Returns its properties at the end.
    fn report(&self) -> WakeReport {
        WakeReport::default()
    }
}

/// A wake-up method, made on the thread that will use it. Its due times are times of `clock`; it is asked for a due time
/// every `interval_ns`.
///
/// # Errors
/// The system's refusal, or a method that needs a Xenomai core where the thread has none.
pub fn wake_up_by_method<S: System>(
    system: &S,
    method: WakeMethod,
    clock: SleepClock,
    interval_ns: i64,
) -> Result<Box<dyn WakeUp<S>>, Error> {
    if method.traits().core && system.report().core.is_none() {
        return Err(Error::bad_use(format!(
            "the thread is not attached to a Xenomai core, whose sleep wake={method} is"
        )));
    }
    Ok(match method {
        WakeMethod::Nanosleep => Box::new(Nanosleep::new(clock)),
        WakeMethod::NanosleepRelative => Box::new(NanosleepRelative::new(clock, interval_ns)),
        WakeMethod::TimerSignal => {
            Box::new(PeriodicTimer::new(system, TimerKind::Signal, clock, interval_ns)?)
        }
        WakeMethod::Timerfd => Box::new(PeriodicTimer::new(system, TimerKind::File, clock, interval_ns)?),
        WakeMethod::Deadline => Box::new(Deadline::new(system)?),
        WakeMethod::Spin => Box::new(Spin::default()),
        WakeMethod::Cobalt => Box::new(Xenomai::new(Core::Cobalt)),
        WakeMethod::Evl => Box::new(Xenomai::new(Core::Evl)),
        other => {
            return Err(Error::not_measured(format!("this release of jitterlab-rt has no wake={other}")));
        }
    })
}
