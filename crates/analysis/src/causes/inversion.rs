//! Waits for a lock, split by whether its holder had a processor during them.

use std::collections::BTreeMap;

use super::processor::{ObservedThread, Occupant, Processor};

/// Switches in which a holder is looked for that was displaced: of more nothing is known.
const LOOKED_BACK: usize = 4_096;

/// Stretch of a wait for a lock; `preemptor` had the holder's processor while the holder was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    pub from_ns: i64,
    pub to_ns: i64,
    pub preemptor: Option<ObservedThread>,
}

/// Splits a wait by the states of the lock's holder, which ended the wait. Only recorded processors
/// show whether it ran: an unrecorded stretch is no inversion.
pub fn split_by_holder(
    processors: &BTreeMap<u16, Processor>,
    holder: i32,
    let_go_ns: i64,
    (from_ns, to_ns): (i64, i64),
) -> Vec<LockWait> {
    // It lets go at the end, so it has a processor then.
    let has = |processor: &&Processor| {
        processor
            .occupants
            .segments(let_go_ns - 1, let_go_ns)
            .any(|(_, _, occupant)| is_thread(occupant, holder))
    };
    let Some(processor) = processors.values().find(has) else {
        return vec![LockWait { from_ns, to_ns, preemptor: None }];
    };
    let ready = |t_ns: i64| {
        let before = processor.departures.partition_point(|left| left.t_ns <= t_ns);
        let last =
            processor.departures.range(..before).rev().take(LOOKED_BACK).find(|left| left.pid == holder);
        last.is_some_and(|left| left.ready)
    };
    let runs_elsewhere = |from: i64, to: i64| {
        processors
            .values()
            .any(|p| p.occupants.segments(from, to).any(|(_, _, occupant)| is_thread(occupant, holder)))
    };
    let waits = processor.occupants.segments(from_ns, to_ns).map(|(from_ns, to_ns, occupant)| {
        let preemptor = match occupant {
            Occupant::Thread(seen)
                if seen.pid != holder
                    && seen.pid != 0
                    && ready(from_ns)
                    && !runs_elsewhere(from_ns, to_ns) =>
            {
                Some(seen)
            }
            _ => None,
        };
        LockWait { from_ns, to_ns, preemptor }
    });
    waits.collect()
}

fn is_thread(occupant: Occupant, pid: i32) -> bool {
    matches!(occupant, Occupant::Thread(seen) if seen.pid == pid)
}
