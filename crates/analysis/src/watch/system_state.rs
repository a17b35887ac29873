//! Surroundings that all tracked threads share: the handlers that run on each processor, and the clock of civil time.

use std::collections::{HashMap, VecDeque};

use crate::causes::{Event, EventKind, HandlerKind};

/// A clock that moved by more than this between two readings has been set: slewing moves it less.
const STEP_NS: i64 = 100_000;
/// Number of remembered times at which the clock was set: waits end soon after them.
const REMEMBERED: usize = 64;

/// Tracks what waits of every thread depend on.
#[derive(Debug, Default)]
pub struct SystemState {
    /// Nested handlers of each processor, innermost last.
    nest: HashMap<u16, Vec<HandlerKind>>,
    clock: Clock,
}

/// CLOCK_REALTIME against CLOCK_MONOTONIC.
#[derive(Debug, Default)]
struct Clock {
    /// To be added to the former, in ns.
    to_monotonic_ns: i64,
    /// Time before which events had been taken at the last reading.
    taken_ns: Option<i64>,
    /// Times between readings in which it was set.
    set: VecDeque<(i64, i64)>,
    steps: u64,
    moved_ns: i64,
}

impl SystemState {
    /// Notes an offset from CLOCK_REALTIME to CLOCK_MONOTONIC, and whether that clock was set. It was read at `now_ns`,
    /// before the events until `complete_ns` are taken; `was_set` is true if the kernel reports so since the last
    /// reading.
    pub fn note_clock_reading(&mut self, to_monotonic_ns: i64, complete_ns: i64, now_ns: i64, was_set: bool) {
        let clock = &mut self.clock;
        let moved_ns = clock.to_monotonic_ns - to_monotonic_ns;
        if let Some(taken_ns) = clock.taken_ns
            && (was_set || moved_ns.abs() > STEP_NS)
        {
            clock.set.push_back((taken_ns, now_ns));
            if clock.set.len() > REMEMBERED {
                clock.set.pop_front();
            }
            clock.steps += 1;
            clock.moved_ns += moved_ns;
        }
        (clock.to_monotonic_ns, clock.taken_ns) = (to_monotonic_ns, Some(complete_ns));
    }

    /// Returns how often CLOCK_REALTIME was seen set, and by how much altogether, in ns.
    #[must_use]
    pub fn clock_steps(&self) -> (u64, i64) {
        (self.clock.steps, self.clock.moved_ns)
    }

    /// Tracks the handlers on each processor by the next event.
    pub fn process_event(&mut self, event: &Event) {
        match &event.what {
            EventKind::HandlerEnter(handler) => self.nest.entry(event.cpu).or_default().push(handler.kind),
            EventKind::HandlerExit(handler) => {
                let nest = self.nest.entry(event.cpu).or_default();
                if let Some(place) = nest.iter().rposition(|kind| *kind == handler.kind) {
                    nest.truncate(place);
                }
            }
            EventKind::Switch { .. } => drop(self.nest.remove(&event.cpu)),
            EventKind::Lost | EventKind::CallsLost { .. } => self.nest.clear(),
            _ => {}
        }
    }

    /// Returns the threads that an event concerns; `None` if it concerns all.
    #[must_use]
    pub fn threads_concerned(event: &Event) -> Option<[i32; 2]> {
        match event.what {
            EventKind::Lost | EventKind::CallsLost { .. } => None,
            EventKind::Waking { pid, .. } | EventKind::Migrate { pid, .. } => Some([pid, pid]),
            EventKind::Switch { from, to, .. } => Some([from, to]),
            _ => Some([event.pid, event.pid]),
        }
    }

    pub(super) fn innermost_handler(&self, cpu: u16) -> Option<HandlerKind> {
        self.nest.get(&cpu)?.last().copied()
    }

    pub(super) fn to_monotonic_ns(&self, realtime_ns: i64) -> i64 {
        realtime_ns.saturating_add(self.clock.to_monotonic_ns)
    }

    pub(super) fn clock_was_set_within(&self, from_ns: i64, to_ns: i64) -> bool {
        self.clock.set.iter().any(|(from, to)| *from <= to_ns && from_ns <= *to)
    }
}
