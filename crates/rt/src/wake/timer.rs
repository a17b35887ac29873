//! A periodic timer of the kernel, read as a file (`timerfd`) or waited for as a signal (`timer-signal`): armed
//! once, it needs one system call for each activation.

use std::io;

use jitterlab_model::SleepClock;

use super::{Nanosleep, Wake, WakeUp};
use crate::system::{Expired, System, Timer, TimerKind};

/// Waits for a timer that expires once every interval.
#[derive(Debug)]
pub struct PeriodicTimer<S: System> {
    timer: S::Timer,
    kind: TimerKind,
    clock: SleepClock,
    interval_ns: i64,
    /// The next expiry that was not waited for yet; `None` while the timer is not armed.
    next_ns: Option<i64>,
}

impl<S: System> PeriodicTimer<S> {
    /// A timer for the calling thread; due times are times of `clock`, usually `interval_ns` apart.
    ///
    /// # Errors
    /// What the system answered.
    pub fn new(system: &S, kind: TimerKind, clock: SleepClock, interval_ns: i64) -> io::Result<Self> {
        Ok(PeriodicTimer { timer: system.timer(kind, clock)?, kind, clock, interval_ns, next_ns: None })
    }

    /// Whether one of the expiries to come is the due time.
    fn serves(&self, due_ns: i64) -> bool {
        self.next_ns.is_some_and(|next| next <= due_ns && (due_ns - next) % self.interval_ns == 0)
    }
}

impl<S: System> WakeUp<S> for PeriodicTimer<S> {
    fn name(&self) -> &'static str {
        match self.kind {
            TimerKind::File => "timerfd",
            TimerKind::Signal => "timer-signal",
        }
    }

    fn needs(&self) -> &'static str {
        match self.kind {
            TimerKind::File => "one file descriptor",
            TimerKind::Signal => "one signal, SIGRTMAX - 3, blocked in the task's thread",
        }
    }

    fn wait(&mut self, system: &S, due_ns: i64) -> Wake {
        if !self.serves(due_ns) {
            if self.timer.arm(due_ns, self.interval_ns).is_err() {
                // No kernel is known to refuse this; the due time is kept all the same.
                return Nanosleep::on(self.clock).wait(system, due_ns);
            }
            self.next_ns = Some(due_ns);
        }
        let mut next_ns = self.next_ns.unwrap_or(due_ns);
        // Expiries before the due time are those of missed activations.
        while next_ns <= due_ns {
            match self.timer.wait() {
                Expired::Times(times) => {
                    let times = i64::try_from(times).unwrap_or(i64::MAX);
                    next_ns = next_ns.saturating_add(times.saturating_mul(self.interval_ns));
                    self.next_ns = Some(next_ns);
                }
                Expired::Interrupted => return Wake::Interrupted,
            }
        }
        Wake::Due
    }
}
