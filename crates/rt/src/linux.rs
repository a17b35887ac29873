//! The real operating system behind the ports.

use std::io;

use jitterlab_model::{Policy, SleepClock};

use crate::sys;
use crate::sys::clock_watch::ClockWatch;
use crate::sys::timer::SystemTimer;
use crate::system::{Kernel, Sleep, Slept, System, Timer, TimerKind};

/// The Linux kernel this runs on, read by CLOCK_MONOTONIC.
///
/// ```
/// use jitterlab_rt::{Linux, System};
///
/// let before_ns = Linux.now_ns();
/// assert!(Linux.now_ns() >= before_ns);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl System for Linux {
    type Kernel = Linux;

    #[inline]
    fn now_ns(&self) -> i64 {
        sys::time::now_ns(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    fn kernel(&self) -> &Linux {
        self
    }
}

impl Kernel for Linux {
    #[inline]
    fn clock_ns(&self, clock: SleepClock) -> i64 {
        sys::time::now_ns(sys::time::clock_id(clock))
    }

    #[inline]
    fn sleep_on(&self, clock: SleepClock, sleep: Sleep) -> io::Result<Slept> {
        sys::time::sleep(sys::time::clock_id(clock), sleep)
    }

    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<Box<dyn Timer>> {
        Ok(Box::new(SystemTimer::new(kind, sys::time::clock_id(clock))?))
    }

    fn watch_civil_time(&self) -> io::Result<Box<dyn Send>> {
        sys::signal::accept_interrupts()?;
        Ok(Box::new(ClockWatch::new(sys::signal::this_thread())?))
    }

    fn policy(&self) -> io::Result<Policy> {
        sys::sched::policy()
    }

    #[inline]
    fn end_deadline_job(&self) {
        sys::sched::end_deadline_job();
    }

    #[inline]
    fn current_cpu(&self) -> u16 {
        sys::sched::current_cpu()
    }

    fn cpu_time_ns(&self) -> i64 {
        sys::usage::thread_cpu_time_ns()
    }
}
