//! One sleep that ends a margin before the due time, then polling.

use std::io;

use jitterlab_model::MarginUsed;

use super::QuantileTracker;
use crate::system::System;
use crate::wake::{PollingWait, Wake, WakeReport, WakeUp};

/// Wakes a margin before the due time and polls.
pub struct EarlyWake<S: System> {
    inner: Box<dyn WakeUp<S>>,
    margin_ns: i64,
    tracker: Option<QuantileTracker>,
    samples: u64,
    first_due_ns: Option<i64>,
    polling: PollingWait,
}

impl<S: System> EarlyWake<S> {
    /// Creates a wake-up that is early by a given margin.
    pub fn with_fixed_margin(inner: Box<dyn WakeUp<S>>, margin_ns: i64) -> Self {
        EarlyWake::with_measured_margin(inner, margin_ns, 0)
    }

    /// Creates it with a margin chosen from `samples` measured latencies.
    pub fn with_measured_margin(inner: Box<dyn WakeUp<S>>, margin_ns: i64, samples: u64) -> Self {
        EarlyWake {
            inner,
            margin_ns,
            tracker: None,
            samples,
            first_due_ns: None,
            polling: PollingWait::default(),
        }
    }

    /// Creates it with a margin that follows the latencies, starting with one chosen from `samples` of them.
    pub fn with_tracked_margin(inner: Box<dyn WakeUp<S>>, tracker: QuantileTracker, samples: u64) -> Self {
        let margin_ns = tracker.margin_ns();
        EarlyWake { tracker: Some(tracker), ..EarlyWake::with_measured_margin(inner, margin_ns, samples) }
    }
}

impl<S: System> WakeUp<S> for EarlyWake<S> {
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        if self.polling.is_unfinished() {
            return Ok(self.polling.poll_until(system, due_ns, due_ns));
        }
        let early_ns = due_ns.saturating_sub(self.margin_ns);
        self.first_due_ns.get_or_insert(due_ns);
        // Only a sleep that began before its end shows how late sleeps end.
        let slept = self.tracker.is_some() && system.now_ns() < early_ns;
        let arrived_ns = match self.inner.wait(system, early_ns)? {
            Wake::Due => system.now_ns(),
            Wake::Read(arrival) => arrival.now_ns,
            Wake::Interrupted => return Ok(Wake::Interrupted),
        };
        if let (true, Some(tracker)) = (slept, &mut self.tracker) {
            tracker.observe(due_ns, arrived_ns > due_ns);
            self.margin_ns = tracker.margin_ns();
        }
        Ok(self.polling.poll_until(system, arrived_ns, due_ns))
    }

    fn report(&self) -> WakeReport {
        let mut course = self.tracker.as_ref().map_or(Vec::new(), QuantileTracker::margin_history);
        // Fixed, or nothing was learned from: no sleep began before its end.
        if course.is_empty() {
            course.extend(self.first_due_ns.map(|due_ns| (due_ns, self.margin_ns)));
        }
        WakeReport { margin: Some(MarginUsed { samples: self.samples, course }), ..self.inner.report() }
    }
}
