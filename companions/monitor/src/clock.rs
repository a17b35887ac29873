//! The clocks of a month: one that only runs, one that runs while the machine is suspended, and the time of day, which may be
//! set.

use std::fs;

use nix::time::{ClockId, clock_gettime};

/// The clocks at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// CLOCK_MONOTONIC, which all due times are of.
    pub mono_ns: i64,
    /// CLOCK_BOOTTIME, which also counts the time that the machine was suspended.
    pub boot_ns: i64,
    pub utc_ns: i64,
}

impl Moment {
    /// Unix time of a monotonic time, as the clocks are set now.
    pub fn utc_from_mono(&self, mono_ns: i64) -> i64 {
        self.utc_ns - self.mono_ns + mono_ns
    }

    /// CLOCK_BOOTTIME of a monotonic time.
    pub fn boottime_from_mono(&self, mono_ns: i64) -> i64 {
        self.boot_ns - self.mono_ns + mono_ns
    }
}

/// Source of the time; tests bring their own.
pub trait Clock: Send + Sync {
    fn now(&self) -> Moment;

    /// The kernel's identifier of the present boot.
    fn current_boot_id(&self) -> String;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let ns =
            |clock| clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec());
        Moment {
            mono_ns: ns(ClockId::CLOCK_MONOTONIC),
            boot_ns: ns(ClockId::CLOCK_BOOTTIME),
            utc_ns: ns(ClockId::CLOCK_REALTIME),
        }
    }

    fn current_boot_id(&self) -> String {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().into()
    }
}
