//! Which of a thread's waits come back periodically.

use std::collections::BTreeMap;

use jitterlab_model::watched::{DueTimes, Waits};

use super::pass::{Pass, WaitKey};

/// A periodic loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The wait that begins each activation.
    pub key: WaitKey,
    /// How it waits, mostly.
    pub waits: Waits,
    /// T.
    pub period_ns: f64,
    /// Where due times come from.
    pub due: DueTimes,
    /// A due time of the grid; of no meaning where due times come from a timer.
    pub origin_ns: f64,
    /// The share of its intervals that are close to whole periods.
    pub regular: f64,
    /// Passes that it rests on.
    pub passes: usize,
}

/// Fewer passes show no period.
const LEAST_PASSES: usize = 8;
/// This share of the intervals has to be close to a whole number of periods.
const LEAST_REGULAR: f64 = 0.8;
/// Close is within this part of a period.
const CLOSE: f64 = 0.25;
/// Shorter and longer periods are none of a control loop.
const PERIODS_NS: (f64, f64) = (10_000.0, 10e9);

/// The wait of a thread that begins its activations, if one comes back periodically.
#[must_use]
pub fn find(passes: &[Pass]) -> Option<Found> {
    let mut groups: BTreeMap<WaitKey, Vec<&Pass>> = BTreeMap::new();
    for pass in passes {
        groups.entry(pass.key).or_default().push(pass);
    }
    let found = groups.into_iter().filter_map(|(key, passes)| of_one(key, &passes));
    // The thread's own timer tells most; then whichever wait is the more regular, and the more frequent.
    found.max_by(|a, b| {
        let rank =
            |found: &Found| (found.due == DueTimes::OwnTimer, (found.regular * 20.0) as u32, found.passes);
        rank(a).cmp(&rank(b))
    })
}

fn of_one(key: WaitKey, passes: &[&Pass]) -> Option<Found> {
    let of = |pass: &&Pass| pass.due_ns.map(|due_ns| (due_ns, due_ns > pass.began_ns));
    let due: Vec<(i64, bool)> = passes.iter().filter_map(of).collect();
    let timed = due.len() * 2 > passes.len();
    // A thread that catches up may ask for no time at all, which is none of its grid.
    let ahead: Vec<i64> = due.iter().filter(|(_, ahead)| *ahead).map(|(due_ns, _)| *due_ns).collect();
    let due = if ahead.len() >= LEAST_PASSES { ahead } else { due.iter().map(|(ns, _)| *ns).collect() };
    let times: Vec<i64> = if timed { due } else { passes.iter().map(|pass| pass.ended_ns).collect() };
    if times.len() < LEAST_PASSES {
        return None;
    }
    let mut intervals: Vec<i64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|ns| *ns > 0).collect();
    if intervals.len() < LEAST_PASSES - 1 {
        return None;
    }
    intervals.sort_unstable();
    let rough_ns = intervals[intervals.len() / 2] as f64;
    if !(PERIODS_NS.0..=PERIODS_NS.1).contains(&rough_ns) {
        return None;
    }
    let close = |ns: &&i64| {
        let periods = (**ns as f64 / rough_ns).round().max(1.0);
        (**ns as f64 / rough_ns - periods).abs() <= CLOSE
    };
    let regular = intervals.iter().filter(close).count() as f64 / intervals.len() as f64;
    if regular < LEAST_REGULAR {
        return None;
    }
    let (period_ns, origin_ns) = fit(&times, rough_ns);
    // A timer's times are exact where they follow a grid.
    let usual = most_frequent(&intervals);
    let waits = most_common(passes.iter().map(|pass| pass.waits));
    let exact = timed && usual.1 * 2 > intervals.len();
    let earliest = |origin: f64| {
        let residual = |t: &i64| {
            let x = *t as f64 - origin;
            x - (x / period_ns).round() * period_ns
        };
        times.iter().map(residual).fold(f64::INFINITY, f64::min)
    };
    Some(Found {
        key,
        waits,
        period_ns: if exact { usual.0 as f64 } else { period_ns },
        due: if timed { DueTimes::OwnTimer } else { DueTimes::FittedGrid },
        origin_ns: origin_ns + earliest(origin_ns),
        regular,
        passes: passes.len(),
    })
}

/// The line through times that are whole periods apart: period and a point of it, by least squares without those that
/// were much later than most.
fn fit(times: &[i64], rough_ns: f64) -> (f64, f64) {
    let first = times.first().copied().unwrap_or(0);
    let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for pair in times.windows(2) {
        let (k, _) = points.last().copied().unwrap_or_default();
        let periods = ((pair[1] - pair[0]) as f64 / rough_ns).round().max(1.0);
        points.push((k + periods, (pair[1] - first) as f64));
    }
    let all = crate::line::least_squares(&points);
    if let Some(fitted) = &all {
        let late = |(k, t): &(f64, f64)| t - (fitted.line.intercept + fitted.line.slope * k);
        let mut sorted: Vec<f64> = points.iter().map(late).collect();
        sorted.sort_by(f64::total_cmp);
        let quartile = |n: usize| sorted[n * (sorted.len() - 1) / 4];
        let fence = quartile(3) + 1.5 * (quartile(3) - quartile(1));
        points.retain(|point| late(point) <= fence);
    }
    match crate::line::least_squares(&points).or(all) {
        Some(fitted) if fitted.line.slope > 0.0 => (fitted.line.slope, first as f64 + fitted.line.intercept),
        _ => (rough_ns, first as f64),
    }
}

/// The value that comes most often among sorted ones, and how often.
fn most_frequent(sorted: &[i64]) -> (i64, usize) {
    let groups = sorted.chunk_by(|a, b| a == b).map(|group| (group[0], group.len()));
    groups.max_by_key(|(_, times)| *times).unwrap_or((0, 0))
}

fn most_common(waits: impl Iterator<Item = Waits>) -> Waits {
    let mut counts: BTreeMap<Waits, usize> = BTreeMap::new();
    for wait in waits {
        *counts.entry(wait).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, times)| *times).map_or(Waits::Read, |(wait, _)| wait)
}
