//! Sleeping as a thread of Xenomai's Cobalt core.

use std::fs;

use super::{Nanosleep, Wake, WakeUp};
use crate::system::System;

/// Sleeps by Cobalt's `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)`, on a system that is
/// [`crate::xenomai::OnCore`].
#[derive(Debug, Clone, Copy)]
pub struct Cobalt {
    sleep: Nanosleep,
    gravity_ns: i64,
}

impl Cobalt {
    /// Reads the gravity that the core has been given.
    pub fn new() -> Self {
        let clock = fs::read_to_string("/proc/xenomai/clock/coreclk").unwrap_or_default();
        Cobalt { sleep: Nanosleep::default(), gravity_ns: user_gravity_ns(&clock).unwrap_or(0) }
    }
}

impl Default for Cobalt {
    fn default() -> Self {
        Self::new()
    }
}

/// `2000` of a line such as `gravity: irq=0 kernel=1000 user=2000`.
fn user_gravity_ns(clock: &str) -> Option<i64> {
    let line = clock.lines().find(|line| line.trim_start().starts_with("gravity"))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("user="))?.parse().ok()
}

impl<S: System> WakeUp<S> for Cobalt {
    fn name(&self) -> &'static str {
        "cobalt"
    }

    fn needs(&self) -> &'static str {
        "a kernel with Xenomai's Cobalt core, libcobalt, and policy fifo or rr"
    }

    fn gravity_ns(&self) -> i64 {
        self.gravity_ns
    }

    #[inline]
    fn wait(&mut self, system: &S, due_ns: i64) -> Wake {
        self.sleep.wait(system, due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravity_of_user_threads_is_found() {
        let clock = "        name: coreclk\n     gravity: irq=0 kernel=1000 user=2000\n      status: on\n";
        assert_eq!(user_gravity_ns(clock), Some(2_000));
        assert_eq!(user_gravity_ns("gravity: none"), None);
    }
}
