//! The clocks of a month: one that only runs, one that runs while the machine is suspended, and the time of day, which may be
//! set.

use std::fs;

use nix::time::{ClockId, clock_gettime};

/// The clocks at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// CLOCK_MONOTONIC, which all due times are of.
    pub mono_ns: i64,
    /// CLOCK_BOOTTIME: it counts the time that the machine was suspended.
    pub boot_ns: i64,
    /// Unix time.
    pub utc_ns: i64,
}

impl Now {
    /// Unix time of a monotonic time, as the clocks are set now.
    pub fn utc_of(&self, mono_ns: i64) -> i64 {
        self.utc_ns - self.mono_ns + mono_ns
    }

    /// Time since boot of a monotonic time.
    pub fn boot_of(&self, mono_ns: i64) -> i64 {
        self.boot_ns - self.mono_ns + mono_ns
    }
}

/// Where the time comes from; tests bring their own.
pub trait Clock: Send + Sync {
    fn now(&self) -> Now;

    /// The boot that the clocks count from.
    fn boot(&self) -> String;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let ns =
            |clock| clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec());
        Now {
            mono_ns: ns(ClockId::CLOCK_MONOTONIC),
            boot_ns: ns(ClockId::CLOCK_BOOTTIME),
            utc_ns: ns(ClockId::CLOCK_REALTIME),
        }
    }

    fn boot(&self) -> String {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().into()
    }
}
