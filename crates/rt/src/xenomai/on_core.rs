//! A thread's view of its core: [`Linux`] with the core's clock and sleep.

use std::io;

use jitterlab_model::{CoreUse, Error, Policy, SleepClock};

use super::calls::{self, Calls};
use super::core::Core;
use super::error::cause_name;
use crate::linux::Linux;
use crate::sys::signal;
use crate::system::{Kernel, Sleep, Slept, System, SystemReport};

const NS_PER_S: i64 = 1_000_000_000;
/// Number of pairs of readings, where the closest pair counts.
const PAIRS: usize = 32;

/// [`Linux`] with the clock and the sleep of a core, for the thread that is attached to it.
///
/// The core's clock is stated as CLOCK_MONOTONIC by a constant that is measured once, so that tasks on different
/// clocks can share a grid; due times and readings are both the core's, so the constant is in no latency.
#[derive(Debug)]
pub struct OnCore {
    calls: Calls,
    /// Mode switches before the first activation, which are the set-up's.
    before: ModeSwitches,
    offset_ns: i64,
}

/// Number of times a thread was moved to Linux's side.
#[derive(Debug, Clone, Copy, Default)]
struct ModeSwitches {
    /// By the core's own counter; `None` where it has none.
    counted: Option<u64>,
    /// By the warnings that arrived.
    warned: u64,
}

fn timespec_ns(time: libc::timespec) -> i64 {
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32-bit processors")]
    let (seconds, nanos) = (time.tv_sec as i64, time.tv_nsec as i64);
    seconds * NS_PER_S + nanos
}

/// Makes the calling thread a thread of the core, with this policy; the core shows it under this name. For EVL the
/// thread must have its policy already.
///
/// # Errors
/// A core that was not [`calls::prepare`]d, a policy it does not have, or its own refusal.
pub fn attach(core: Core, policy: Policy, name: &str) -> Result<OnCore, Error> {
    let calls = calls::prepared_calls(core)?;
    match calls {
        Calls::Cobalt(calls) => calls.attach(policy, name)?,
        Calls::Evl(calls) => calls.attach(policy, name)?,
    }
    Ok(OnCore::new(calls))
}

impl OnCore {
    fn new(calls: Calls) -> Self {
        let mut system = OnCore { calls, before: ModeSwitches::default(), offset_ns: 0 };
        let pairs = (0..PAIRS).map(|_| {
            let before = Linux.now_ns();
            let core = system.core_now_ns();
            let after = Linux.now_ns();
            (after - before, core - (before + after) / 2)
        });
        system.offset_ns = pairs.min_by_key(|(width, _)| *width).map_or(0, |(_, offset)| offset);
        system.begin();
        system
    }

    fn mode_switches(&self) -> ModeSwitches {
        let counted = match self.calls {
            Calls::Cobalt(calls) => calls.mode_switches(),
            Calls::Evl(_) => None,
        };
        ModeSwitches { counted, warned: signal::stage_switches().count }
    }

    /// Time now by the core's clock.
    #[inline]
    fn core_now_ns(&self) -> i64 {
        timespec_ns(match self.calls {
            Calls::Cobalt(calls) => calls.now(),
            Calls::Evl(calls) => calls.now(),
        })
    }

    fn sleep_until_core_ns(&self, due_ns: i64) -> io::Result<Slept> {
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
        match answer.abs() {
            0 => Ok(Slept::ToTheEnd),
            libc::EINTR => Ok(Slept::Interrupted),
            error => Err(io::Error::from_raw_os_error(error)),
        }
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
    type Kernel = Linux;

    #[inline]
    fn now_ns(&self) -> i64 {
        self.core_now_ns() - self.offset_ns
    }

    #[inline]
    fn kernel(&self) -> &Linux {
        &Linux
    }

    #[inline]
    fn sleep(&self, clock: SleepClock, sleep: Sleep) -> io::Result<Slept> {
        match (clock, sleep) {
            (SleepClock::Monotonic, Sleep::Until(due_ns)) => {
                self.sleep_until_core_ns(due_ns.saturating_add(self.offset_ns))
            }
            (SleepClock::Monotonic, Sleep::For(ns)) => {
                self.sleep_until_core_ns(self.core_now_ns().saturating_add(ns))
            }
            _ => Linux.sleep_on(clock, sleep),
        }
    }

    #[inline]
    fn in_real_time(&self) -> bool {
        match self.calls {
            Calls::Cobalt(calls) => calls.in_real_time(),
            Calls::Evl(calls) => calls.in_real_time(),
        }
    }

    fn begin(&mut self) {
        self.before = self.mode_switches();
        if let Calls::Evl(calls) = self.calls {
            calls.enter();
        }
    }

    fn report(&self) -> SystemReport {
        let core = match self.calls {
            Calls::Cobalt(_) => Core::Cobalt,
            Calls::Evl(_) => Core::Evl,
        };
        let (now, before) = (self.mode_switches(), self.before);
        let warned = now.warned - before.warned;
        let counted = now.counted.zip(before.counted).map(|(now, before)| now - before);
        let cause = signal::stage_switches().last_cause.filter(|_| warned > 0);
        let core = CoreUse {
            core: core.to_string().to_lowercase(),
            mode_switches: counted.unwrap_or(warned),
            last_cause: cause.map(|cause| cause_name(core, cause)),
            ..CoreUse::default()
        };
        SystemReport { clock_fit: None, core: Some(core) }
    }
}
