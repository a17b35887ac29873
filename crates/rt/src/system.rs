//! What a task needs of the operating system, as a port: [`Linux`] is the real one, [`crate::fake::FakeSystem`]
//! a scripted one for tests.

use crate::sys;

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// The time asked for has come.
    ToTheEnd,
    /// A signal arrived first.
    Interrupted,
}

/// Time and sleep as an operating system offers them. Times are nanoseconds of CLOCK_MONOTONIC.
pub trait System: Clone + Send {
    /// Reads the clock.
    fn now_ns(&self) -> i64;

    /// Sleeps until the clock shows `due_ns`, or a signal arrives.
    fn sleep_until(&self, due_ns: i64) -> Slept;

    /// The processor the calling thread is on.
    fn current_cpu(&self) -> u16;

    /// Processor time the calling thread has used.
    fn thread_cpu_time_ns(&self) -> i64;
}

/// The Linux kernel this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl System for Linux {
    #[inline]
    fn now_ns(&self) -> i64 {
        sys::time::now_ns(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    fn sleep_until(&self, due_ns: i64) -> Slept {
        sys::time::sleep_until(libc::CLOCK_MONOTONIC, due_ns)
    }

    #[inline]
    fn current_cpu(&self) -> u16 {
        sys::sched::current_cpu()
    }

    fn thread_cpu_time_ns(&self) -> i64 {
        sys::usage::thread_cpu_time_ns()
    }
}
