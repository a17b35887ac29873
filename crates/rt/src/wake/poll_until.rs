//! Reading the clock up to a due time.

use std::hint::spin_loop;

use super::{Arrival, Wake};
use crate::system::System;

/// Interval at which polling makes the task check its stop flag.
const SLICE_NS: i64 = 10_000_000;

/// A wait that polls, possibly in several slices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PollingWait {
    begun: Option<Arrival>,
}

impl PollingWait {
    /// Returns true if a wait was cut short and is to be resumed.
    #[inline]
    pub(crate) fn is_unfinished(&self) -> bool {
        self.begun.is_some()
    }

    /// Polls the clock until it shows `due_ns`, or for 10 ms, after which it is to be called again.
    /// `arrived_ns` is a reading made just now; between readings is the processor's pause hint.
    #[inline]
    pub(crate) fn poll_until<S: System>(&mut self, system: &S, arrived_ns: i64, due_ns: i64) -> Wake {
        let mut arrival = self.begun.take().unwrap_or(Arrival::without_polling(arrived_ns));
        let slice_ends_ns = arrival.now_ns.saturating_add(SLICE_NS);
        while arrival.now_ns < due_ns {
            if arrival.now_ns >= slice_ends_ns {
                self.begun = Some(arrival);
                return Wake::Interrupted;
            }
            spin_loop();
            let now_ns = system.now_ns();
            arrival.longest_hole_ns = arrival.longest_hole_ns.max(now_ns - arrival.now_ns);
            arrival.now_ns = now_ns;
        }
        Wake::Read(arrival)
    }
}
