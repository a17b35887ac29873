//! Reading time.

use crate::system::{Linux, System};

/// A source of time in nanoseconds. Differences mean something, absolute values only on the same clock.
pub trait Clock {
    /// The time now.
    fn now_ns(&self) -> i64;
}

/// CLOCK_MONOTONIC, read through the vDSO: the clock that due times are on, slewed by NTP, never stepped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> i64 {
        Linux.now_ns()
    }
}
