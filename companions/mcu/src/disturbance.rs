//! Handlers and locks that ran when a pin's activations were due and made them late.

use std::collections::BTreeMap;

use jitterlab_chip::{Blocker, Log, Span};

/// Late starts and their causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LateStarts {
    /// Number of starts that were late by at least a tenth of the worst.
    pub starts: u64,
    pub unexplained: u64,
    /// Causes of the others, the one with the most time first.
    pub causes: Vec<DelaySource>,
    /// The vector whose handler makes most of the starts, if handlers make them.
    pub maker: Option<u8>,
}

/// Starts that one handler or lock made late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelaySource {
    pub blocker: Blocker,
    pub starts: u64,
    pub worst: u64,
    total: u64,
}

/// A handler that follows another begins up to this many cycles before its end or after it, as both count them.
const CHAINING_CYCLES: u64 = 8;

/// Fewest cycles that count as late: an instruction in progress is completed before an interrupt.
const LATE_FROM_CYCLES: i64 = 5;

/// Finds the late starts of activations, in cycles, and their causes. A start is late by as much as its
/// distance from the previous one exceeds the median distance.
///
/// If a handler makes the starts, the handlers and locks just before it delayed it. Otherwise the program
/// itself makes them, and handlers and locks that ran longer than usual since the previous start delayed it.
pub fn find_late_starts(log: &Log, starts: &[u64]) -> LateStarts {
    let spans = &log.spans;
    // Later starts, whose handlers and locks were not recorded, are left out.
    let known_until =
        if spans.len() < Log::MAX_SPANS { u64::MAX } else { spans.last().map_or(0, |span| span.end) };
    let starts = &starts[..starts.partition_point(|start| *start < known_until)];
    let makers: Vec<Option<&Span>> = starts.iter().map(|start| handler_at(spans, *start)).collect();
    let by_handler = makers.iter().flatten().count() * 2 > starts.len();
    let late = excess_over_median(starts);
    let worst = late.iter().copied().max().unwrap_or_default();
    let from = LATE_FROM_CYCLES.max(worst / 10);
    let mut found: BTreeMap<Blocker, DelaySource> = BTreeMap::new();
    let usual = if by_handler { BTreeMap::new() } else { mean_handler_times(spans, starts) };
    let mut all = LateStarts {
        maker: by_handler.then(|| most_frequent_vector(&makers)).flatten(),
        ..LateStarts::default()
    };
    for (number, (start, late)) in starts.iter().zip(&late).enumerate() {
        if *late < from {
            continue;
        }
        all.starts += 1;
        let blamed = match makers[number] {
            Some(own) if by_handler => {
                longest_time(blocking_times(spans, start.saturating_sub(late.unsigned_abs()), own.begin, own))
            }
            _ if by_handler || number == 0 => None,
            _ => {
                let ran = handler_times(spans, starts[number - 1], *start);
                let more = ran.into_iter().map(|(blocker, cycles)| {
                    (blocker, cycles.saturating_sub(usual.get(&blocker).copied().unwrap_or_default()))
                });
                // A cause of less than half of the delay explains nothing.
                let ran_longer = longest_time(more);
                let locked = || lock_before_last_handlers(spans, starts[number - 1], *start);
                let explains = |cycles: u64| cycles * 2 >= late.unsigned_abs();
                ran_longer
                    .filter(|(_, cycles)| explains(*cycles))
                    .or_else(|| locked().filter(|(_, cycles)| explains(*cycles)))
            }
        };
        match blamed {
            Some((blocker, _)) => {
                let blame =
                    found.entry(blocker).or_insert(DelaySource { blocker, starts: 0, worst: 0, total: 0 });
                blame.starts += 1;
                blame.worst = blame.worst.max(late.unsigned_abs());
                blame.total += late.unsigned_abs();
            }
            None => all.unexplained += 1,
        }
    }
    all.causes = found.into_values().collect();
    all.causes.sort_by_key(|blame| std::cmp::Reverse(blame.total));
    all
}

fn most_frequent_vector(makers: &[Option<&Span>]) -> Option<u8> {
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    for span in makers.iter().flatten() {
        if let Blocker::Handler(vector) = span.blocker {
            *counts.entry(vector).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(vector, _)| vector)
}

/// Innermost handler that ran at a moment, if one did.
fn handler_at(spans: &[Span], at: u64) -> Option<&Span> {
    let ended = spans.partition_point(|span| span.end <= at);
    // Nested handlers end first.
    let around = spans[ended..].iter().take(8);
    around.filter(|span| matches!(span.blocker, Blocker::Handler(_))).find(|span| span.begin <= at)
}

/// Cycles by which the distance of each start from the previous one exceeds the median distance.
fn excess_over_median(starts: &[u64]) -> Vec<i64> {
    let apart: Vec<i64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect();
    let mut sorted = apart.clone();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    std::iter::once(0).chain(apart.into_iter().map(|cycles| cycles - median)).collect()
}

/// Handlers and locks that kept a handler from beginning between two moments, each with its time.
fn blocking_times<'a>(
    spans: &'a [Span],
    from: u64,
    until: u64,
    own: &'a Span,
) -> impl Iterator<Item = (Blocker, u64)> + 'a {
    let first = spans.partition_point(|span| span.end <= from);
    let before = spans[first..].iter().take_while(move |span| span.end <= until + CHAINING_CYCLES);
    before
        .filter(move |span| *span != own)
        .map(move |span| (span.blocker, span.end - span.begin.max(from).min(span.end)))
}

/// The lock, with its cycles, that kept the last handlers before a moment waiting; `None` if none did.
/// Such a handler is the tick that lets a thread go on.
fn lock_before_last_handlers(spans: &[Span], from: u64, until: u64) -> Option<(Blocker, u64)> {
    let ended = spans.partition_point(|span| span.end <= until);
    let mut before = spans[..ended].iter().rev().take_while(|span| span.end > from);
    let mut begin = before.find(|span| matches!(span.blocker, Blocker::Handler(_)))?.begin;
    for span in before {
        if span.end + CHAINING_CYCLES < begin {
            return None;
        }
        match span.blocker {
            Blocker::Lock(_) => return Some((span.blocker, span.end - span.begin)),
            Blocker::Handler(_) => begin = begin.min(span.begin),
        }
    }
    None
}

/// Cycles of each handler between two moments.
fn handler_times(spans: &[Span], from: u64, until: u64) -> BTreeMap<Blocker, u64> {
    let first = spans.partition_point(|span| span.end <= from);
    let mut ran = BTreeMap::new();
    for span in spans[first..].iter().take_while(|span| span.begin < until) {
        if let Blocker::Handler(_) = span.blocker {
            *ran.entry(span.blocker).or_default() += span.end.min(until) - span.begin.max(from).min(span.end);
        }
    }
    ran
}

/// Mean cycles of each handler from one start to the next.
fn mean_handler_times(spans: &[Span], starts: &[u64]) -> BTreeMap<Blocker, u64> {
    let (Some(from), Some(until)) = (starts.first(), starts.last()) else { return BTreeMap::new() };
    let intervals = (starts.len() as u64 - 1).max(1);
    handler_times(spans, *from, *until)
        .into_iter()
        .map(|(blocker, cycles)| (blocker, cycles / intervals))
        .collect()
}

fn longest_time(each: impl IntoIterator<Item = (Blocker, u64)>) -> Option<(Blocker, u64)> {
    each.into_iter().filter(|(_, cycles)| *cycles > 0).max_by_key(|(_, cycles)| *cycles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, cycles: u64, blocker: Blocker) -> Span {
        Span { begin, end: begin + cycles, blocker }
    }

    /// A handler every 1000 cycles; every tenth is kept waiting by another handler, every 25th by a lock.
    #[test]
    fn what_ran_when_a_handler_was_due_delayed_it() {
        let (mut log, mut starts) = (Log::default(), Vec::new());
        for k in 1..=100u64 {
            let due = 1_000 * k;
            let late = match k {
                k if k % 10 == 0 => 90,
                k if k % 25 == 0 => 40,
                _ => 0,
            };
            match late {
                90 => log.spans.push(span(due - 10, 100, Blocker::Handler(7))),
                40 => log.spans.push(span(due - 5, 45, Blocker::Lock(0x80))),
                _ => log.spans.push(span(due - 400, 100, Blocker::Handler(7))),
            }
            log.spans.push(span(due + late, 30, Blocker::Handler(3)));
            starts.push(due + late + 10);
        }
        let late = find_late_starts(&log, &starts);
        assert_eq!((late.starts, late.unexplained, late.maker), (12, 0, Some(3)));
        let by: Vec<_> = late.causes.iter().map(|blame| (blame.blocker, blame.starts, blame.worst)).collect();
        assert_eq!(by, [(Blocker::Handler(7), 10, 90), (Blocker::Lock(0x80), 2, 40)]);
    }

    /// A thread that a tick lets go on every 1000 cycles; a lock keeps every tenth tick waiting. There are locks all the time.
    #[test]
    fn a_lock_that_kept_the_tick_waiting_delayed_its_thread() {
        let (mut log, mut starts) = (Log::default(), Vec::new());
        for k in 1..=100u64 {
            let late = if k % 10 == 0 { 250 } else { 0 };
            log.spans.push(span(1_000 * k - 300, 260 + late + late / 6, Blocker::Lock(0x80)));
            log.spans.push(span(1_000 * k + late, 40, Blocker::Handler(15)));
            log.spans.push(span(1_000 * k + late + 46, 30, Blocker::Handler(14)));
            starts.push(1_000 * k + late + 200);
        }
        let late = find_late_starts(&log, &starts);
        assert_eq!((late.starts, late.unexplained), (10, 0), "{late:?}");
        assert_eq!((late.causes[0].blocker, late.causes[0].starts), (Blocker::Lock(0x80), 10));
    }

    /// A loop of 500 cycles, interrupted sometimes by a handler of 80 cycles; once it is long by itself.
    #[test]
    fn what_ran_since_the_start_before_delayed_a_loop() {
        let (mut log, mut starts, mut now) = (Log::default(), vec![0], 0);
        for k in 1..=100u64 {
            if k % 7 == 0 {
                log.spans.push(span(now + 100, 80, Blocker::Handler(16)));
                now += 80;
            }
            now += if k == 50 { 600 } else { 500 };
            starts.push(now);
        }
        let late = find_late_starts(&log, &starts);
        assert_eq!((late.starts, late.unexplained), (15, 1));
        assert_eq!(
            (late.causes[0].blocker, late.causes[0].starts, late.causes[0].worst),
            (Blocker::Handler(16), 14, 80)
        );
    }
}
