//! The way of the NIST paper (Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact on
//! Motor Control", section 3): a task of period A goes back to sleep as long as the due time is further away than
//! A, else it polls.

use std::io;

use crate::system::System;
use crate::wake::{PollingWait, Wake, WakeReport, WakeUp};

/// Wakes every A and polls in the last one.
pub struct RepeatedWake<S: System> {
    inner: Box<dyn WakeUp<S>>,
    every_ns: i64,
    /// The next wake-up of the task of period A; its grid begins at the first due time.
    next_ns: Option<i64>,
    polling: PollingWait,
}

impl<S: System> RepeatedWake<S> {
    /// `inner` wakes every `every_ns`.
    pub fn new(inner: Box<dyn WakeUp<S>>, every_ns: i64) -> Self {
        RepeatedWake { inner, every_ns: every_ns.max(1), next_ns: None, polling: PollingWait::default() }
    }

    /// The first time after `now_ns` on the grid of period A that goes through `due_ns`.
    fn first_wake_after(&self, now_ns: i64, due_ns: i64) -> i64 {
        due_ns - (due_ns - now_ns).max(0) / self.every_ns * self.every_ns
    }
}

impl<S: System> WakeUp<S> for RepeatedWake<S> {
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        let mut now_ns = system.now_ns();
        while due_ns - now_ns > self.every_ns {
            let mut next_ns = self.next_ns.unwrap_or_else(|| self.first_wake_after(now_ns, due_ns));
            if next_ns <= now_ns {
                // Wake-ups that passed while the task worked are left out.
                next_ns += ((now_ns - next_ns) / self.every_ns + 1) * self.every_ns;
            }
            self.next_ns = Some(next_ns);
            now_ns = match self.inner.wait(system, next_ns)? {
                Wake::Due => system.now_ns(),
                Wake::Read(arrival) => arrival.now_ns,
                Wake::Interrupted => return Ok(Wake::Interrupted),
            };
        }
        Ok(self.polling.poll_until(system, now_ns, due_ns))
    }

    fn report(&self) -> WakeReport {
        self.inner.report()
    }
}
