//! Sleeping as a thread of Xenomai 4's EVL core.

use std::fs;

use super::{Nanosleep, Wake, WakeUp};
use crate::system::System;

/// Sleeps by `evl_sleep_until` on EVL's monotonic clock, on a system that is [`crate::xenomai::OnCore`].
#[derive(Debug, Clone, Copy)]
pub struct Evl {
    sleep: Nanosleep,
    gravity_ns: i64,
}

impl Evl {
    /// Reads the gravity that the core has been given.
    pub fn new() -> Self {
        let gravity = fs::read_to_string("/sys/devices/virtual/clock/monotonic/gravity").unwrap_or_default();
        Evl { sleep: Nanosleep::default(), gravity_ns: user_gravity_ns(&gravity).unwrap_or(0) }
    }
}

impl Default for Evl {
    fn default() -> Self {
        Self::new()
    }
}

/// `1900` of a line such as `0i 1000k 1900u`.
fn user_gravity_ns(gravity: &str) -> Option<i64> {
    gravity.split_whitespace().find_map(|word| word.strip_suffix('u'))?.parse().ok()
}

impl<S: System> WakeUp<S> for Evl {
    fn name(&self) -> &'static str {
        "evl"
    }

    fn needs(&self) -> &'static str {
        "a kernel with the EVL core (Xenomai 4), libevl, and policy fifo or rr"
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
        assert_eq!(user_gravity_ns("0i 1000k 1900u\n"), Some(1_900));
        assert_eq!(user_gravity_ns(""), None);
    }
}
