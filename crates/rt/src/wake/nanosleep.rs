//! `clock_nanosleep` to the absolute due time: the kernel's own way to be periodic without drift.

use std::io;

use jitterlab_model::SleepClock;

use super::{Wake, WakeUp};
use crate::system::{Sleep, Slept, System};

/// Sleeps by `clock_nanosleep(clock, TIMER_ABSTIME)`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nanosleep {
    clock: SleepClock,
}

impl Nanosleep {
    /// Sleeps on this clock; due times are its times.
    pub fn new(clock: SleepClock) -> Self {
        Nanosleep { clock }
    }
}

impl<S: System> WakeUp<S> for Nanosleep {
    #[inline]
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        Ok(match system.sleep(self.clock, Sleep::Until(due_ns))? {
            Slept::ToTheEnd => Wake::Due,
            Slept::Interrupted => Wake::Interrupted,
        })
    }
}
