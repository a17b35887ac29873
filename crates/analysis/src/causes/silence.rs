//! Times in which a thread had the processor and no event came, and the ticks around them: a tick shows that
//! nothing outside this kernel had the processor.

use std::collections::VecDeque;

use super::event::{EventKind, Functions};
use super::timeline::{pop_front_while, pop_superseded};

/// Shortest time without an event that is kept: less is no question.
const LEAST_NS: i64 = 60_000;
/// Longest time by which kernel code makes a tick late.
const LATE_TICK_NS: i64 = 500_000;
/// Time from a tick to the event before or after it.
const AT_EDGE_NS: i64 = 100_000;
/// Two periods of the slowest tick (100 Hz).
const TICKS_WITHIN_NS: i64 = 20_000_000;

/// Time in which a thread had the processor and no event came, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    pub from_ns: i64,
    pub to_ns: i64,
}

/// Evidence that the kernel's ticks give for a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickEvidence {
    /// One was due in it, and came only at its end.
    Late,
    /// One came in time where it begins or ends.
    InTime,
    /// Ticks come on this processor; none was due in it.
    NotDue,
    /// None come, or no event shows them.
    Unseen,
}

/// A tick of the kernel.
#[derive(Debug, Clone, Copy)]
struct Tick {
    due_ns: i64,
    came_ns: i64,
}

/// Silences and ticks of a processor.
#[derive(Debug, Default)]
pub struct Silences {
    silences: VecDeque<Silence>,
    ticks: VecDeque<Tick>,
    /// Time of the next tick, if it was set.
    next_ns: Option<i64>,
}

impl Silences {
    /// Notes a silence if it is long: a thread had the processor from the event before until this one.
    pub fn note_silence(&mut self, from_ns: i64, to_ns: i64) {
        if to_ns.saturating_sub(from_ns) >= LEAST_NS {
            self.silences.push_back(Silence { from_ns, to_ns });
        }
    }

    /// Notes at which time the kernel's next tick is set to expire, and when it came.
    pub fn process_event(&mut self, t_ns: i64, what: &EventKind, functions: Functions) {
        match what {
            EventKind::TimerStart { function, soft_ns, .. } if functions.ticks.contains(function) => {
                self.next_ns = Some(*soft_ns);
            }
            EventKind::TimerExpire { function, .. } if functions.ticks.contains(function) => {
                if let Some(due_ns) = self.next_ns.take() {
                    self.ticks.push_back(Tick { due_ns, came_ns: t_ns });
                }
            }
            _ => {}
        }
    }

    /// Notes that events were lost: the next tick may have come.
    pub fn note_lost_events(&mut self) {
        self.next_ns = None;
    }

    /// Returns the silence at a time.
    pub fn at(&self, t_ns: i64) -> Option<&Silence> {
        let next = self.silences.partition_point(|silence| silence.from_ns <= t_ns);
        self.silences.get(next.checked_sub(1)?).filter(|silence| t_ns < silence.to_ns)
    }

    /// Returns the beginnings and ends of silences between two times.
    pub fn edges(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = i64> + '_ {
        let first = self.silences.partition_point(|silence| silence.to_ns <= from_ns);
        let within = self.silences.range(first..).take_while(move |silence| silence.from_ns < to_ns);
        within.flat_map(|silence| [silence.from_ns, silence.to_ns])
    }

    /// Returns the evidence of ticks for a silence in which the hypervisor reports `stolen_ns` as taken.
    pub fn tick_evidence(&self, silence: &Silence, stolen_ns: i64) -> TickEvidence {
        let Silence { from_ns, to_ns } = *silence;
        let after = self.ticks.partition_point(|tick| tick.came_ns < from_ns - TICKS_WITHIN_NS);
        let near = || self.ticks.range(after..).take_while(|tick| tick.came_ns <= to_ns + TICKS_WITHIN_NS);
        let lateness = |tick: &Tick| tick.came_ns.min(to_ns) - tick.due_ns.max(from_ns);
        let is_at_edge =
            |tick: &Tick| [from_ns, to_ns].iter().any(|t| tick.came_ns.abs_diff(*t) <= AT_EDGE_NS as u64);
        match () {
            () if near().any(|tick| lateness(tick) - stolen_ns > LATE_TICK_NS) => TickEvidence::Late,
            () if near().any(|tick| is_at_edge(tick) && tick.came_ns - tick.due_ns <= LATE_TICK_NS) => {
                TickEvidence::InTime
            }
            () if near().next().is_some() => TickEvidence::NotDue,
            () => TickEvidence::Unseen,
        }
    }

    /// Forgets everything before this time but the last tick.
    pub fn forget_before(&mut self, t_ns: i64) {
        pop_front_while(&mut self.silences, |silence| silence.to_ns < t_ns);
        pop_superseded(&mut self.ticks, |tick| tick.came_ns < t_ns);
    }
}
