//! Sleeping as a thread of a Xenomai core, on a system that is [`crate::xenomai::OnCore`]: Cobalt's
//! `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)`, or EVL's `evl_sleep_until` on its monotonic clock.

use std::fs;
use std::io;

use super::{Nanosleep, Wake, WakeReport, WakeUp};
use crate::system::System;
use crate::xenomai::Core;

/// Sleeps on the core's clock.
#[derive(Debug, Clone, Copy)]
pub struct Xenomai {
    sleep: Nanosleep,
    gravity_ns: i64,
}

impl Xenomai {
    /// Reads the gravity that the core has been given.
    pub fn new(core: Core) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let gravity_ns = match core {
            Core::Cobalt => cobalt_gravity_ns(&read("/proc/xenomai/clock/coreclk")),
            Core::Evl => evl_gravity_ns(&read(concat!("/sys/devices/virtual/clock", "/monotonic/gravity"))),
        };
        Xenomai { sleep: Nanosleep::default(), gravity_ns: gravity_ns.unwrap_or(0) }
    }
}

/// Gravity for threads: `2000` of a line such as `gravity: irq=0 kernel=1000 user=2000`.
fn cobalt_gravity_ns(clock: &str) -> Option<i64> {
    let line = clock.lines().find(|line| line.trim_start().starts_with("gravity"))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("user="))?.parse().ok()
}

/// Gravity for threads: `1900` of a line such as `0i 1000k 1900u`.
fn evl_gravity_ns(gravity: &str) -> Option<i64> {
    gravity.split_whitespace().find_map(|word| word.strip_suffix('u'))?.parse().ok()
}

impl<S: System> WakeUp<S> for Xenomai {
    #[inline]
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        self.sleep.wait(system, due_ns)
    }

    fn report(&self) -> WakeReport {
        WakeReport { gravity_ns: self.gravity_ns, ..WakeReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravity_of_user_threads_is_found() {
        let clock = "        name: coreclk\n     gravity: irq=0 kernel=1000 user=2000\n      status: on\n";
        assert_eq!(cobalt_gravity_ns(clock), Some(2_000));
        assert_eq!(cobalt_gravity_ns("gravity: none"), None);
        assert_eq!(evl_gravity_ns("0i 1000k 1900u\n"), Some(1_900));
        assert_eq!(evl_gravity_ns(""), None);
    }
}
