//! Handlers and locks that ran when a pin's activations were due and made them late.

use std::collections::BTreeMap;

use jitterlab_chip::{Keeper, Log, Span};

/// Late starts and their causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Late {
    /// Number of starts that were late by at least a tenth of the worst.
    pub starts: u64,
    /// Number of these without an explanation.
    pub unexplained: u64,
    /// Causes of the others, the one with the most time first.
    pub by: Vec<DelaySource>,
    /// The vector whose handler makes most of the starts, if handlers make them.
    pub maker: Option<u8>,
}

/// Starts that one handler or lock made late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelaySource {
    /// The handler or lock.
    pub keeper: Keeper,
    /// Number of starts that it made late.
    pub starts: u64,
    /// Largest delay, in cycles.
    pub worst: u64,
    total: u64,
}

/// A handler that follows another begins up to this many cycles before its end or after it, as both count them.
const TOGETHER: u64 = 8;

/// Fewest cycles that count as late: an instruction in progress is completed before an interrupt.
const AT_LEAST: i64 = 5;

/// Finds the late starts of activations, in cycles, and their causes. A start is late by as much as its
/// distance from the previous one exceeds the median distance.
///
/// If a handler makes the starts, the handlers and locks just before it delayed it. Otherwise the program
/// itself makes them, and handlers and locks that ran longer than usual since the previous start delayed it.
pub fn late(log: &Log, starts: &[u64]) -> Late {
    let spans = &log.spans;
    // Later starts, whose handlers and locks were not recorded, are left out.
    let known_until =
        if spans.len() < Log::SPANS { u64::MAX } else { spans.last().map_or(0, |span| span.end) };
    let starts = &starts[..starts.partition_point(|start| *start < known_until)];
    let makers: Vec<Option<&Span>> = starts.iter().map(|start| maker(spans, *start)).collect();
    let by_handler = makers.iter().flatten().count() * 2 > starts.len();
    let late = longer_than_usual(starts);
    let worst = late.iter().copied().max().unwrap_or_default();
    let from = AT_LEAST.max(worst / 10);
    let mut found: BTreeMap<Keeper, DelaySource> = BTreeMap::new();
    let usual = if by_handler { BTreeMap::new() } else { usual(spans, starts) };
    let mut all = Late { maker: by_handler.then(|| most_of(&makers)).flatten(), ..Late::default() };
    for (number, (start, late)) in starts.iter().zip(&late).enumerate() {
        if *late < from {
            continue;
        }
        all.starts += 1;
        let blamed = match makers[number] {
            Some(own) if by_handler => {
                longest(kept(spans, start.saturating_sub(late.unsigned_abs()), own.begin, own))
            }
            _ if by_handler || number == 0 => None,
            _ => {
                let ran = ran(spans, starts[number - 1], *start);
                let more = ran.into_iter().map(|(keeper, cycles)| {
                    (keeper, cycles.saturating_sub(usual.get(&keeper).copied().unwrap_or_default()))
                });
                // A cause of less than half of the delay explains nothing.
                let ran_longer = longest(more);
                let locked = || locked(spans, starts[number - 1], *start);
                let explains = |cycles: u64| cycles * 2 >= late.unsigned_abs();
                ran_longer
                    .filter(|(_, cycles)| explains(*cycles))
                    .or_else(|| locked().filter(|(_, cycles)| explains(*cycles)))
            }
        };
        match blamed {
            Some((keeper, _)) => {
                let blame =
                    found.entry(keeper).or_insert(DelaySource { keeper, starts: 0, worst: 0, total: 0 });
                blame.starts += 1;
                blame.worst = blame.worst.max(late.unsigned_abs());
                blame.total += late.unsigned_abs();
            }
            None => all.unexplained += 1,
        }
    }
    all.by = found.into_values().collect();
    all.by.sort_by_key(|blame| std::cmp::Reverse(blame.total));
    all
}

/// Returns the most frequent vector among these.
fn most_of(makers: &[Option<&Span>]) -> Option<u8> {
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    for span in makers.iter().flatten() {
        if let Keeper::Handler(vector) = span.keeper {
            *counts.entry(vector).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(vector, _)| vector)
}

/// Returns the handler at a moment: the innermost one.
fn maker(spans: &[Span], at: u64) -> Option<&Span> {
    let ended = spans.partition_point(|span| span.end <= at);
    // Nested handlers end first.
    let around = spans[ended..].iter().take(8);
    around.filter(|span| matches!(span.keeper, Keeper::Handler(_))).find(|span| span.begin <= at)
}

/// Returns by how much the distance of each start from the previous one exceeds the median distance.
fn longer_than_usual(starts: &[u64]) -> Vec<i64> {
    let apart: Vec<i64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect();
    let mut sorted = apart.clone();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    std::iter::once(0).chain(apart.into_iter().map(|cycles| cycles - median)).collect()
}

/// Returns the handlers and locks that kept a handler from beginning between two moments, each with its time.
fn kept<'a>(
    spans: &'a [Span],
    from: u64,
    until: u64,
    own: &'a Span,
) -> impl Iterator<Item = (Keeper, u64)> + 'a {
    let first = spans.partition_point(|span| span.end <= from);
    let before = spans[first..].iter().take_while(move |span| span.end <= until + TOGETHER);
    before
        .filter(move |span| *span != own)
        .map(move |span| (span.keeper, span.end - span.begin.max(from).min(span.end)))
}

/// The lock that kept the last handlers before a moment waiting, as the tick that lets a thread go on.
fn locked(spans: &[Span], from: u64, until: u64) -> Option<(Keeper, u64)> {
    let ended = spans.partition_point(|span| span.end <= until);
    let mut before = spans[..ended].iter().rev().take_while(|span| span.end > from);
    let mut begin = before.find(|span| matches!(span.keeper, Keeper::Handler(_)))?.begin;
    for span in before {
        if span.end + TOGETHER < begin {
            return None;
        }
        match span.keeper {
            Keeper::Lock(_) => return Some((span.keeper, span.end - span.begin)),
            Keeper::Handler(_) => begin = begin.min(span.begin),
        }
    }
    None
}

/// Returns the time of each handler between two moments.
fn ran(spans: &[Span], from: u64, until: u64) -> BTreeMap<Keeper, u64> {
    let first = spans.partition_point(|span| span.end <= from);
    let mut ran = BTreeMap::new();
    for span in spans[first..].iter().take_while(|span| span.begin < until) {
        if let Keeper::Handler(_) = span.keeper {
            *ran.entry(span.keeper).or_default() += span.end.min(until) - span.begin.max(from).min(span.end);
        }
    }
    ran
}

/// Returns the mean time of each handler from one start to the next.
fn usual(spans: &[Span], starts: &[u64]) -> BTreeMap<Keeper, u64> {
    let (Some(from), Some(until)) = (starts.first(), starts.last()) else { return BTreeMap::new() };
    let intervals = (starts.len() as u64 - 1).max(1);
    ran(spans, *from, *until).into_iter().map(|(keeper, cycles)| (keeper, cycles / intervals)).collect()
}

fn longest(each: impl IntoIterator<Item = (Keeper, u64)>) -> Option<(Keeper, u64)> {
    each.into_iter().filter(|(_, cycles)| *cycles > 0).max_by_key(|(_, cycles)| *cycles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, cycles: u64, keeper: Keeper) -> Span {
        Span { begin, end: begin + cycles, keeper }
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
                90 => log.spans.push(span(due - 10, 100, Keeper::Handler(7))),
                40 => log.spans.push(span(due - 5, 45, Keeper::Lock(0x80))),
                _ => log.spans.push(span(due - 400, 100, Keeper::Handler(7))),
            }
            log.spans.push(span(due + late, 30, Keeper::Handler(3)));
            starts.push(due + late + 10);
        }
        let late = late(&log, &starts);
        assert_eq!((late.starts, late.unexplained, late.maker), (12, 0, Some(3)));
        let by: Vec<_> = late.by.iter().map(|blame| (blame.keeper, blame.starts, blame.worst)).collect();
        assert_eq!(by, [(Keeper::Handler(7), 10, 90), (Keeper::Lock(0x80), 2, 40)]);
    }

    /// A thread that a tick lets go on every 1000 cycles; a lock keeps every tenth tick waiting. There are locks all the time.
    #[test]
    fn a_lock_that_kept_the_tick_waiting_delayed_its_thread() {
        let (mut log, mut starts) = (Log::default(), Vec::new());
        for k in 1..=100u64 {
            let late = if k % 10 == 0 { 250 } else { 0 };
            log.spans.push(span(1_000 * k - 300, 260 + late + late / 6, Keeper::Lock(0x80)));
            log.spans.push(span(1_000 * k + late, 40, Keeper::Handler(15)));
            log.spans.push(span(1_000 * k + late + 46, 30, Keeper::Handler(14)));
            starts.push(1_000 * k + late + 200);
        }
        let late = late(&log, &starts);
        assert_eq!((late.starts, late.unexplained), (10, 0), "{late:?}");
        assert_eq!((late.by[0].keeper, late.by[0].starts), (Keeper::Lock(0x80), 10));
    }

    /// A loop of 500 cycles, interrupted sometimes by a handler of 80 cycles; once it is long by itself.
    #[test]
    fn what_ran_since_the_start_before_delayed_a_loop() {
        let (mut log, mut starts, mut now) = (Log::default(), vec![0], 0);
        for k in 1..=100u64 {
            if k % 7 == 0 {
                log.spans.push(span(now + 100, 80, Keeper::Handler(16)));
                now += 80;
            }
            now += if k == 50 { 600 } else { 500 };
            starts.push(now);
        }
        let late = late(&log, &starts);
        assert_eq!((late.starts, late.unexplained), (15, 1));
        assert_eq!((late.by[0].keeper, late.by[0].starts, late.by[0].worst), (Keeper::Handler(16), 14, 80));
    }
}
