//! Splits a stretch of a task's time into fragments by the task's state and its processor's occupant. The
//! fragments follow each other without a gap, so they add up to the stretch.

use std::collections::BTreeMap;

use super::processor::{Occupant, Processor, Stolen};
use super::thread::{State, Thread};

/// Fragment of a task's time with one state of the task and one occupant of its processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Beginning, in ns.
    pub from_ns: i64,
    /// End, in ns.
    pub to_ns: i64,
    /// State of the task.
    pub state: State,
    /// The relevant processor: where the task ran, waited to run, or was woken.
    pub cpu: u16,
    /// Occupant of that processor.
    pub occupant: Occupant,
    /// True if the hypervisor took the processor away.
    pub stolen: bool,
}

/// Splits a stretch of a thread's time by the states and occupants, also at `cuts`. It ends on processor `cpu`.
pub fn split_into_fragments(
    thread: &Thread,
    processors: &BTreeMap<u16, Processor>,
    (from_ns, to_ns): (i64, i64),
    cpu: u16,
    cuts: &[i64],
) -> Vec<Fragment> {
    let mut ends: Vec<i64> = cuts.iter().copied().filter(|t| (from_ns + 1..to_ns).contains(t)).collect();
    ends.push(to_ns);
    ends.sort_unstable();
    ends.dedup();
    let starts = std::iter::once(from_ns).chain(ends.iter().copied());
    let stretches = starts.zip(&ends).flat_map(|(from, to)| thread.state.segments(from, *to));
    let mut fragments = Vec::new();
    for (from, to, state) in stretches {
        let cpu = match state {
            State::Running(cpu) | State::Ready(cpu) => cpu,
            State::Off(_) | State::Unknown => thread.next_wake(from).map_or(cpu, |wake| wake.cpu),
        };
        let Some(processor) = processors.get(&cpu) else {
            let occupant = Occupant::Unrecorded;
            fragments.push(Fragment { from_ns: from, to_ns: to, state, cpu, occupant, stolen: false });
            continue;
        };
        fragments.extend(processor.occupants.segments(from, to).map(|(from_ns, to_ns, occupant)| Fragment {
            from_ns,
            to_ns,
            state,
            cpu,
            occupant,
            stolen: false,
        }));
    }
    for (cpu, processor) in processors {
        for stolen in processor.stolen.iter().filter(|s| s.from_ns < to_ns && s.to_ns > from_ns) {
            mark_stolen(&mut fragments, *cpu, stolen);
        }
    }
    fragments
}

/// Shortest fragment that counts as stolen.
const LEAST_STOLEN_NS: i64 = 20_000;

/// Marks the longest fragments as stolen, splitting them, up to the stolen time. The exact place is unknown, except
/// that no event occurred in it.
fn mark_stolen(fragments: &mut Vec<Fragment>, cpu: u16, stolen: &Stolen) {
    let mut left_ns = stolen.ns;
    while left_ns >= LEAST_STOLEN_NS {
        let length = |p: &Fragment| p.to_ns.min(stolen.to_ns) - p.from_ns.max(stolen.from_ns);
        let begin = fragments.partition_point(|p| p.to_ns <= stolen.from_ns);
        let end = fragments.partition_point(|p| p.from_ns < stolen.to_ns);
        let candidates = (begin..end).zip(&fragments[begin..end]).filter(|(_, p)| p.cpu == cpu && !p.stolen);
        let Some((place, longest)) = candidates.max_by_key(|(_, p)| length(p)) else { return };
        let (whole, taken_ns) = (*longest, length(longest).min(left_ns));
        if taken_ns < LEAST_STOLEN_NS {
            return;
        }
        left_ns -= taken_ns;
        let from_ns = whole.from_ns.max(stolen.from_ns);
        let cut = [whole.from_ns, from_ns, from_ns + taken_ns, whole.to_ns];
        let parts = (0..3).map(|i| Fragment { from_ns: cut[i], to_ns: cut[i + 1], stolen: i == 1, ..whole });
        fragments.splice(place..=place, parts.filter(|part| part.from_ns < part.to_ns));
    }
}
