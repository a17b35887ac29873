//! cyclictest's stream of single latencies (`-v`): lines of thread, cycle and latency.
//!
//! Due times are not printed; they are taken as cycle times interval. After a miss that is too early, since
//! cyclictest skips the due times it missed without counting them as cycles.

use std::collections::BTreeMap;

use jitterlab_model::{Activation, Flags, Gap, Warning};

use super::text::{lines, ns, number_after};
use super::{Hints, Import, Input, Measured, Mistake, Peer, Told};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "cyclictest -v", recognise, parse };

/// Thread, cycle and latency of a line such as `       1:     212:       9`.
fn sample(line: &str) -> Option<(usize, u64, i64)> {
    let mut fields = line.split(':').map(str::trim);
    let sample = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?);
    // With --smi a count follows the latency.
    let latency = sample.2.split_whitespace().next()?.parse().ok()?;
    fields.next().is_none().then_some((sample.0, sample.1, latency))
}

/// Thread and interval in microseconds of the line that each thread leaves at the end.
fn interval_of(line: &str) -> Option<(usize, i64)> {
    let (thread, rest) = line.strip_prefix("T:")?.split_once('(')?;
    Some((thread.trim().parse().ok()?, number_after(rest, " I:")? as i64))
}

pub(super) fn recognise(input: &Input) -> bool {
    let found = input.text.lines().filter(|l| !l.starts_with('#')).take(200);
    found.filter(|l| sample(l.trim()).is_some()).count() >= 3
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("cyclictest", "monotonic");
    let unit_ns = import.unit(None, hints, 1_000);
    let mut printed: Vec<i64> = Vec::new();
    let mut intervals: BTreeMap<usize, i64> = BTreeMap::new();
    let mut samples: BTreeMap<usize, Vec<(u64, i64)>> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        if let Some((_, interval)) = line.strip_prefix("Thread ").and_then(|l| l.split_once(" Interval: ")) {
            printed.extend(interval.trim().parse::<i64>());
        } else if let Some((thread, interval)) = interval_of(line) {
            intervals.insert(thread, interval);
        } else if let Some((thread, cycle, latency)) = sample(line) {
            let samples = samples.entry(thread).or_default();
            if samples.last().is_some_and(|(last, _)| *last >= cycle) {
                return Err(Unreadable::Second.at(number));
            }
            samples.push((cycle, latency));
        }
    }
    // The printed interval is already the next thread's: one distance (500 us unless given) too long.
    let distance = if printed.len() > 1 { printed[1].saturating_sub(printed[0]) } else { 500 };
    for (thread, samples) in samples {
        let printed = printed.get(thread).map(|us| us.saturating_sub(distance));
        let told = intervals.get(&thread).copied().or(printed).map(|us| ns(us, 1_000));
        let period = import.period(told, hints, 1_000_000);
        let mut next = 0;
        let rows = samples.into_iter().map(|(index, latency)| {
            let due_ns = ns(i64::try_from(index).unwrap_or(i64::MAX), period.ns());
            let start_ns = due_ns.saturating_add(ns(latency, unit_ns));
            let flags = if index == next { Flags::default() } else { Flags::AFTER_GAP };
            next = index.saturating_add(1);
            Activation { index, due_ns, start_ns, end_ns: start_ns, flags, ..Activation::default() }
        });
        let rows = rows.collect();
        let told = Told::new(format!("thread{thread}"), period).skips().lacks(Gap::DueTimes);
        import.task(told, Measured::Rows(rows));
    }
    import.warn(Warning::DueTimesAssumed { tool: "cyclictest".into() });
    import.complete()
}
