//! `clock_nanosleep` for one period after each activation, as many programs do. Its work and its latency add up
//! from activation to activation: it drifts through the grid until it has lost a due time.

use std::io;

use jitterlab_model::SleepClock;

use super::{Wake, WakeUp};
use crate::system::{Sleep, Slept, System};

/// Sleeps by `clock_nanosleep(clock, 0)` for a whole period.
#[derive(Debug, Clone, Copy)]
pub struct NanosleepRelative {
    clock: SleepClock,
    period_ns: i64,
    started: bool,
    /// The end of the sleep that a signal cut short.
    until_ns: Option<i64>,
}

impl NanosleepRelative {
    /// Sleeps for `period_ns` of this clock.
    pub fn new(clock: SleepClock, period_ns: i64) -> Self {
        NanosleepRelative { clock, period_ns, started: false, until_ns: None }
    }
}

impl<S: System> WakeUp<S> for NanosleepRelative {
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        let now_ns = system.now_ns();
        // No due time but the first is ever further away than one period.
        let fresh_ns = if self.started { now_ns.saturating_add(self.period_ns) } else { due_ns };
        let until_ns = self.until_ns.unwrap_or(fresh_ns);
        match system.sleep(self.clock, Sleep::For(until_ns.saturating_sub(now_ns)))? {
            Slept::ToTheEnd => {
                (self.started, self.until_ns) = (true, None);
                Ok(Wake::Due)
            }
            Slept::Interrupted => {
                self.until_ns = Some(until_ns);
                Ok(Wake::Interrupted)
            }
        }
    }
}
