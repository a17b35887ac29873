//! SCHED_DEADLINE releases the task itself: at the end of a job the thread gives up its remaining runtime, and the
//! kernel lets it run again at the beginning of its next period (sched(7), "SCHED_DEADLINE").
//!
//! The periods are the kernel's: they begin when the thread wakes for its first due time, so every further release
//! carries the latency of that first one, and they follow the kernel's scheduling clock, which NTP does not slew.

use std::io;

use jitterlab_model::{Error, Policy, SleepClock};

use super::{Arrival, Wake, WakeUp};
use crate::system::{Kernel, Sleep, Slept, System};

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
    pub fn new<S: System>(system: &S) -> Result<Self, Error> {
        match system.kernel().policy()? {
            Policy::Deadline { .. } => Ok(Deadline { released: false }),
            _ => Err(Error::bad_use(
                "the thread does not run under SCHED_DEADLINE, which alone could release it",
            )),
        }
    }
}

impl<S: System> WakeUp<S> for Deadline {
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        if self.released {
            system.kernel().end_deadline_job();
            let now_ns = system.now_ns();
            if now_ns >= due_ns {
                return Ok(Wake::Read(Arrival::without_polling(now_ns)));
            }
        }
        // The first wait, a due time after missed ones, or a kernel clock that runs ahead: sleep to the due time.
        self.released = true;
        match system.sleep(SleepClock::Monotonic, Sleep::Until(due_ns))? {
            Slept::ToTheEnd => Ok(Wake::Due),
            Slept::Interrupted => {
                // The rest of the wait is a sleep again, not another period.
                self.released = false;
                Ok(Wake::Interrupted)
            }
        }
    }
}
