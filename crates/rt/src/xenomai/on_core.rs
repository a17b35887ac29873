//! A thread's view of its core: [`Linux`] with the core's clock and sleep.

use std::io;

use jitterlab_model::{CoreUse, SleepClock};

use super::Calls;
use crate::sys::signal;
use crate::system::{Linux, Slept, System, TimerKind};

const NS_PER_S: i64 = 1_000_000_000;
/// Pairs of readings of which the closest counts.
const PAIRS: usize = 32;

/// What attaching a thread left behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handle {
    pub(super) mode_switches_before: u64,
}

/// [`Linux`] with the clock and the sleep of a core, for the thread that is attached to it.
///
/// The core's clock is stated as CLOCK_MONOTONIC by a constant that is measured once, so that tasks on different
/// clocks can share a grid; due times and readings are both the core's, so the constant is in no latency.
#[derive(Debug)]
pub struct OnCore {
    calls: Calls,
    handle: Handle,
    offset_ns: i64,
}

fn ns(time: libc::timespec) -> i64 {
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32 bits wide on 32-bit processors")]
    let (seconds, nanos) = (time.tv_sec as i64, time.tv_nsec as i64);
    seconds * NS_PER_S + nanos
}

impl OnCore {
    pub(super) fn new(calls: Calls, handle: Handle) -> Self {
        let mut system = OnCore { calls, handle, offset_ns: 0 };
        let pairs = (0..PAIRS).map(|_| {
            let before = Linux.now_ns();
            let core = system.core_ns();
            let after = Linux.now_ns();
            (after - before, core - (before + after) / 2)
        });
        system.offset_ns = pairs.min_by_key(|(width, _)| *width).map_or(0, |(_, offset)| offset);
        if let Calls::Evl(calls) = calls {
            calls.enter();
        }
        system
    }

    /// The core's clock.
    #[inline]
    fn core_ns(&self) -> i64 {
        ns(match self.calls {
            Calls::Cobalt(calls) => calls.now(),
            Calls::Evl(calls) => calls.now(),
        })
    }

    fn sleep_until_core_ns(&self, due_ns: i64) -> Slept {
        let due_ns = due_ns.max(0);
        let due = libc::timespec {
            tv_sec: due_ns.div_euclid(NS_PER_S) as _,
            tv_nsec: due_ns.rem_euclid(NS_PER_S) as _,
        };
        let answer = match self.calls {
            Calls::Cobalt(calls) => calls.sleep_until(&due),
            Calls::Evl(calls) => calls.sleep_until(&due),
        };
        // POSIX's errors are positive, EVL's negative.
        if answer.abs() == libc::EINTR { Slept::Interrupted } else { Slept::ToTheEnd }
    }
}

impl Drop for OnCore {
    fn drop(&mut self) {
        if let Calls::Evl(calls) = self.calls {
            calls.detach();
        }
    }
}

impl System for OnCore {
    type Timer = <Linux as System>::Timer;
    type Watch = <Linux as System>::Watch;

    #[inline]
    fn now_ns(&self) -> i64 {
        self.core_ns() - self.offset_ns
    }

    fn clock_ns(&self, clock: SleepClock) -> i64 {
        match clock {
            SleepClock::Monotonic => self.now_ns(),
            civil => Linux.clock_ns(civil),
        }
    }

    #[inline]
    fn sleep_until(&self, clock: SleepClock, due_ns: i64) -> Slept {
        match clock {
            SleepClock::Monotonic => self.sleep_until_core_ns(due_ns.saturating_add(self.offset_ns)),
            civil => Linux.sleep_until(civil, due_ns),
        }
    }

    fn sleep_for(&self, clock: SleepClock, ns: i64) -> Slept {
        match clock {
            SleepClock::Monotonic => self.sleep_until(clock, self.now_ns().saturating_add(ns)),
            civil => Linux.sleep_for(civil, ns),
        }
    }

    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<Self::Timer> {
        Linux.timer(kind, clock)
    }

    fn watch_civil_time(&self) -> io::Result<Self::Watch> {
        Linux.watch_civil_time()
    }

    fn is_deadline_thread(&self) -> bool {
        Linux.is_deadline_thread()
    }

    fn end_deadline_job(&self) {
        Linux.end_deadline_job();
    }

    #[inline]
    fn current_cpu(&self) -> u16 {
        Linux.current_cpu()
    }

    fn thread_cpu_time_ns(&self) -> i64 {
        Linux.thread_cpu_time_ns()
    }

    #[inline]
    fn in_real_time(&self) -> bool {
        match self.calls {
            Calls::Cobalt(calls) => calls.in_real_time(),
            Calls::Evl(calls) => calls.in_real_time(),
        }
    }

    fn core_use(&self) -> Option<CoreUse> {
        let warned = signal::stage_switches();
        let (core, counted) = match self.calls {
            Calls::Cobalt(calls) => {
                ("cobalt", calls.mode_switches().map(|now| now - self.handle.mode_switches_before))
            }
            Calls::Evl(_) => ("evl", None),
        };
        Some(CoreUse {
            core: core.into(),
            mode_switches: counted.unwrap_or(warned.count),
            last_cause: warned.last_cause.map(|cause| cause_name(self.calls, cause)),
            ..CoreUse::default()
        })
    }
}

/// What moved the thread to Linux's side, in words (SIGDEBUG_* of Cobalt, EVL_HMDIAG_* of EVL).
fn cause_name(calls: Calls, cause: u8) -> String {
    let name = match (calls, cause) {
        (_, 1) => "a signal",
        (_, 2) => "a system call",
        (_, 3) => "a fault",
        (Calls::Cobalt(_), 4) => "priority inversion",
        (Calls::Cobalt(_), 5) => "memory that was not locked",
        (Calls::Cobalt(_), 6) | (Calls::Evl(_), 4) => "the watchdog",
        _ => return format!("cause {cause}"),
    };
    name.into()
}
