//! Never waits: reads the clock until the due time. The processor is the task's alone; the remaining delays are the
//! holes that the system tears into it.

use std::io;

use super::{PollingWait, Wake, WakeUp};
use crate::system::System;

/// Polls from the end of one activation to the due time of the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spin {
    polling: PollingWait,
}

impl<S: System> WakeUp<S> for Spin {
    #[inline]
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        Ok(self.polling.poll_until(system, system.now_ns(), due_ns))
    }
}
