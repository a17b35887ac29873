//! How a task waits for its due time: one file per method, [`of_method`] the one place that knows them all.

mod nanosleep;

pub use nanosleep::Nanosleep;

use jitterlab_model::WakeMethod;

use crate::system::System;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The due time has come. The clock was not read after waking.
    Due,
    /// The task arrived early and polled the clock until the due time had come.
    Polled {
        /// When it arrived.
        arrived_ns: i64,
        /// The reading that ended the polling: the due time or just after it.
        now_ns: i64,
    },
    /// A signal arrived before the due time; wait again unless it meant to stop.
    Interrupted,
}

/// A way to wait for a due time.
///
/// A wait for a due time that has already passed returns at once. A wait never returns [`Wake::Due`] before the
/// due time, except by the gravity that the method states.
pub trait WakeUp<S: System>: Send {
    /// The name used in options and files.
    fn name(&self) -> &'static str;

    /// What the method asks of the system beyond a clock, as a sentence; empty if nothing.
    fn needs(&self) -> &'static str {
        ""
    }

    /// By how much it may wake early, in nanoseconds (Xenomai calls this gravity). Nothing on stock Linux.
    fn gravity_ns(&self) -> i64 {
        0
    }

    /// Waits until the clock shows `due_ns`, or a signal arrives.
    fn wait(&mut self, system: &S, due_ns: i64) -> Wake;
}

/// The wake-up method of that name.
pub fn of_method<S: System>(method: WakeMethod) -> Box<dyn WakeUp<S>> {
    match method {
        WakeMethod::Nanosleep => Box::new(Nanosleep),
    }
}
