//! A periodic timer of the kernel, read as a file (`timerfd`) or waited for as a signal (`timer-signal`): armed
//! once, it needs one system call for each activation.

use std::io;

use jitterlab_model::SleepClock;

use super::{Wake, WakeUp};
use crate::system::{Expired, Kernel, System, Timer, TimerKind};

/// Waits for a timer that expires once every interval.
pub struct PeriodicTimer {
    timer: Box<dyn Timer>,
    interval_ns: i64,
    /// The next expiry that was not waited for yet; `None` while the timer is not armed.
    next_ns: Option<i64>,
}

impl PeriodicTimer {
    /// A timer for the calling thread; due times are times of `clock`, usually `interval_ns` apart.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(
        system: &impl System,
        kind: TimerKind,
        clock: SleepClock,
        interval_ns: i64,
    ) -> io::Result<Self> {
        Ok(PeriodicTimer { timer: system.kernel().timer(kind, clock)?, interval_ns, next_ns: None })
    }

    /// Returns true if one of the expiries to come is the due time.
    fn expires_at(&self, due_ns: i64) -> bool {
        self.next_ns.is_some_and(|next| next <= due_ns && (due_ns - next) % self.interval_ns == 0)
    }
}

impl<S: System> WakeUp<S> for PeriodicTimer {
    fn wait(&mut self, _: &S, due_ns: i64) -> io::Result<Wake> {
        if !self.expires_at(due_ns) {
            self.timer.arm(due_ns, self.interval_ns)?;
            self.next_ns = Some(due_ns);
        }
        let mut next_ns = self.next_ns.unwrap_or(due_ns);
        // Expiries before the due time belong to missed activations.
        while next_ns <= due_ns {
            match self.timer.wait()? {
                Expired::Times(times) => {
                    let times = i64::try_from(times).unwrap_or(i64::MAX);
                    next_ns = next_ns.saturating_add(times.saturating_mul(self.interval_ns));
                    self.next_ns = Some(next_ns);
                }
                Expired::Interrupted => return Ok(Wake::Interrupted),
            }
        }
        Ok(Wake::Due)
    }
}
