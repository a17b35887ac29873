//! `clock_nanosleep` to the absolute due time: the kernel's own way to be periodic without drift.

use jitterlab_model::SleepClock;

use super::{Wake, WakeUp};
use crate::system::{Slept, System};

/// Sleeps by `clock_nanosleep(clock, TIMER_ABSTIME)`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nanosleep {
    clock: SleepClock,
}

impl Nanosleep {
    /// Sleeps on this clock; due times are its times.
    pub fn on(clock: SleepClock) -> Self {
        Nanosleep { clock }
    }
}

impl<S: System> WakeUp<S> for Nanosleep {
    fn name(&self) -> &'static str {
        "nanosleep"
    }

    #[inline]
    fn wait(&mut self, system: &S, due_ns: i64) -> Wake {
        match system.sleep_until(self.clock, due_ns) {
            Slept::ToTheEnd => Wake::Due,
            Slept::Interrupted => Wake::Interrupted,
        }
    }
}
