//! SCHED_DEADLINE releases the task itself: at the end of a job the thread gives up its remaining runtime, and the
//! kernel lets it run again at the beginning of its next period (sched(7), "SCHED_DEADLINE").
//!
//! The periods are the kernel's: they begin when the thread wakes for its first due time, so every further release
//! carries the latency of that first one, and they follow the kernel's scheduling clock, which NTP does not slew.

use std::io;

use jitterlab_model::SleepClock;

use super::{Arrival, Wake, WakeUp};
use crate::system::{Slept, System};

/// Waits for the kernel's next period.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    released: bool,
}

impl Deadline {
    /// For the calling thread, whose SCHED_DEADLINE period must be the task's.
    ///
    /// # Errors
    /// A thread that is not under SCHED_DEADLINE: it would not be held back at all.
    pub fn new<S: System>(system: &S) -> io::Result<Self> {
        if system.is_deadline_thread() {
            Ok(Deadline { released: false })
        } else {
            Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the thread does not run under SCHED_DEADLINE, which alone could release it",
            ))
        }
    }
}

impl<S: System> WakeUp<S> for Deadline {
    fn name(&self) -> &'static str {
        "deadline"
    }

    fn needs(&self) -> &'static str {
        "a thread under SCHED_DEADLINE whose period is the task's"
    }

    fn wait(&mut self, system: &S, due_ns: i64) -> Wake {
        if self.released {
            system.end_deadline_job();
            let now_ns = system.now_ns();
            if now_ns >= due_ns {
                return Wake::Read(Arrival::at(now_ns));
            }
        }
        // The first wait, a due time after missed ones, or a kernel clock that runs ahead: sleep to the due time.
        self.released = true;
        match system.sleep_until(SleepClock::Monotonic, due_ns) {
            Slept::ToTheEnd => Wake::Due,
            Slept::Interrupted => {
                // What is left of the wait is a sleep again, not another period.
                self.released = false;
                Wake::Interrupted
            }
        }
    }
}
