//! Search for the periodic wait of a thread.

use std::collections::BTreeMap;

use jitterlab_model::watched::{DueTimes, Waits};

use super::pass::{Pass, WaitKey};

/// A periodic loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The wait that begins each activation.
    pub key: WaitKey,
    /// Its most frequent way to wait.
    pub waits: Waits,
    /// The period T, in ns.
    pub period_ns: f64,
    /// Source of the due times.
    pub due: DueTimes,
    /// A due time of the grid; meaningless if due times come from a timer.
    pub origin_ns: f64,
    /// Share of its intervals that are close to whole periods.
    pub regular: f64,
    /// Number of passes behind it.
    pub passes: usize,
}

/// Reason why a thread has no periodic loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Irregular {
    /// There are too few waits to show a period: this many.
    Few(usize),
    /// Its waits end at irregular distances: others wake it, or its work varies.
    Uneven(usize),
    /// It asks for times at several distances, without having missed any between.
    Several {
        /// The 5th percentile of the distances, in ns.
        shortest_ns: i64,
        /// The 95th percentile of the distances, in ns.
        longest_ns: i64,
    },
}

/// Fewest passes that show a period.
const LEAST_PASSES: usize = 8;
/// Least share of the intervals that must be close to a whole number of periods.
const LEAST_REGULAR: f64 = 0.8;
/// Share of the waits above which due times left out before they had passed do not belong to the grid.
const MOST_LEFT_OUT: f64 = 0.05;
/// Largest distance that counts as close, as a part of a period.
const CLOSE: f64 = 0.25;
/// Quantiles of the intervals at which a period is looked for, in percent: the median first.
const QUANTILES: [usize; 4] = [50, 25, 10, 3];
/// Shortest and longest period of a control loop, in ns.
const PERIODS_NS: (f64, f64) = (10_000.0, 10e9);

/// Finds the wait of a thread that begins its activations, if one is periodic.
///
/// # Errors
/// Returns an error if no wait is periodic.
pub fn find(passes: &[Pass]) -> Result<Found, Irregular> {
    let mut groups: BTreeMap<WaitKey, Vec<&Pass>> = BTreeMap::new();
    for pass in passes {
        groups.entry(pass.key).or_default().push(pass);
    }
    let found = groups.iter().filter_map(|(key, passes)| of_one(*key, passes));
    // The thread's own timer is the strongest evidence; next comes the more regular wait, then the more frequent one.
    let found = found.max_by(|a, b| {
        let rank =
            |found: &Found| (found.due == DueTimes::OwnTimer, (found.regular * 20.0) as u32, found.passes);
        rank(a).cmp(&rank(b))
    });
    let Some(found) = found else {
        return Err(match passes.len() {
            few if few < LEAST_PASSES => Irregular::Few(few),
            many => Irregular::Uneven(many),
        });
    };
    match groups.get(&found.key).and_then(|passes| several(passes, &found)) {
        Some(several) => Err(several),
        None => Ok(found),
    }
}

/// Returns the distances of the times that a thread asks for, if it leaves out times of its grid that had not passed.
fn several(passes: &[&Pass], found: &Found) -> Option<Irregular> {
    // The kernel chooses the times of SCHED_DEADLINE: those it leaves out follow an overrun.
    let chooses = !matches!(found.waits, Waits::NanosleepRelative | Waits::Deadline);
    if found.due != DueTimes::OwnTimer || !chooses {
        return None;
    }
    let asked = passes.windows(2).filter_map(|pair| {
        let (before_ns, due_ns) = (pair[0].due_ns?, pair[1].due_ns?);
        Some((due_ns - before_ns, left_out(before_ns, due_ns, pair[1].began_ns, found.period_ns)))
    });
    let asked: Vec<(i64, u64)> = asked.collect();
    let left_out = asked.iter().filter(|(_, left_out)| *left_out > 0).count();
    if left_out as f64 <= asked.len() as f64 * MOST_LEFT_OUT {
        return None;
    }
    // A time before the last one is of another clock or timer, and no distance.
    let mut distances: Vec<i64> = asked.iter().map(|(ns, _)| *ns).filter(|ns| *ns > 0).collect();
    distances.sort_unstable();
    let at = |percent: usize| distances[percent * (distances.len() - 1) / 100];
    Some(Irregular::Several { shortest_ns: at(5), longest_ns: at(95) })
}

/// Returns the number of grid times between two due times that had not passed when the thread asked for the
/// second. It left them out on purpose, or they are not due times.
pub(super) fn left_out(before_ns: i64, due_ns: i64, asked_ns: i64, period_ns: f64) -> u64 {
    let between = (((due_ns - before_ns) as f64 / period_ns).round() as i64 - 1).max(0);
    let passed = ((asked_ns - before_ns) as f64 / period_ns).floor() as i64;
    (between - passed.clamp(0, between)).unsigned_abs()
}

fn of_one(key: WaitKey, passes: &[&Pass]) -> Option<Found> {
    let of = |pass: &&Pass| pass.due_ns.map(|due_ns| (due_ns, due_ns > pass.began_ns));
    let due: Vec<(i64, bool)> = passes.iter().filter_map(of).collect();
    let timed = due.len() * 2 > passes.len();
    // A thread that catches up may ask for no time at all, which is not on its grid.
    let ahead: Vec<i64> = due.iter().filter(|(_, ahead)| *ahead).map(|(due_ns, _)| *due_ns).collect();
    let asked: Vec<i64> = due.iter().map(|(ns, _)| *ns).collect();
    let times = match timed {
        true => vec![ahead, asked],
        false => vec![passes.iter().map(|pass| pass.ended_ns).collect()],
    };
    let tried = times.iter().filter_map(|times| Grid::from_times(times));
    // A thread that asks for past times asks for all of its grid, where others show only every few periods.
    let grid =
        tried.reduce(
            |ahead, asked| if asked.is_exact() && asked.rough_ns < ahead.rough_ns { asked } else { ahead },
        )?;
    let Grid { times, rough_ns, regular, .. } = &grid;
    let (period_ns, origin_ns) = fit(times, *rough_ns);
    // A timer's times are exact if they follow a grid.
    let exact = timed && grid.is_exact();
    let waits = most_common(passes.iter().map(|pass| pass.waits));
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
        period_ns: if exact { grid.part.0 as f64 } else { period_ns },
        due: if timed { DueTimes::OwnTimer } else { DueTimes::FittedGrid },
        origin_ns: origin_ns + earliest(origin_ns),
        regular: *regular,
        passes: passes.len(),
    })
}

/// Times of which most are whole periods apart.
struct Grid<'a> {
    times: &'a [i64],
    /// Approximate period: the longest of several possible ones. A thread that often skips due times has
    /// longer intervals in the middle.
    rough_ns: f64,
    /// Share of the intervals that are close to whole periods.
    regular: f64,
    /// The most frequent quotient of an interval by its number of periods, and its frequency.
    part: (i64, usize),
    intervals: usize,
}

impl<'a> Grid<'a> {
    fn from_times(times: &'a [i64]) -> Option<Self> {
        let intervals = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|ns| *ns > 0);
        let mut intervals: Vec<i64> = intervals.collect();
        if times.len() < LEAST_PASSES || intervals.len() < LEAST_PASSES - 1 {
            return None;
        }
        intervals.sort_unstable();
        let periods = |ns: i64, rough_ns: f64| (ns as f64 / rough_ns).round().max(1.0);
        let regular = |rough_ns: f64| {
            let close = |ns: &&i64| (**ns as f64 / rough_ns - periods(**ns, rough_ns)).abs() <= CLOSE;
            intervals.iter().filter(close).count() as f64 / intervals.len() as f64
        };
        let quantile = |percent: usize| intervals[percent * intervals.len() / 100] as f64;
        let possible = QUANTILES.into_iter().map(quantile);
        let possible = possible.filter(|ns| (PERIODS_NS.0..=PERIODS_NS.1).contains(ns));
        let mut judged = possible.map(|ns| (ns, regular(ns)));
        let (rough_ns, regular) = judged.find(|(_, share)| *share >= LEAST_REGULAR)?;
        let part = |ns: &i64| {
            let periods = periods(*ns, rough_ns) as i64;
            (ns % periods == 0).then_some(ns / periods)
        };
        let mut parts: Vec<i64> = intervals.iter().filter_map(part).collect();
        parts.sort_unstable();
        Some(Grid { times, rough_ns, regular, part: most_frequent(&parts), intervals: intervals.len() })
    }

    /// True if most intervals are whole multiples of one time to the nanosecond.
    fn is_exact(&self) -> bool {
        self.part.1 * 2 > self.intervals
    }
}

/// Fits the line through times that are whole periods apart: its period and a point on it, by least squares
/// without the times that were much later than most.
fn fit(times: &[i64], rough_ns: f64) -> (f64, f64) {
    let first = times.first().copied().unwrap_or(0);
    let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for pair in times.windows(2) {
        let (k, _) = points.last().copied().unwrap_or_default();
        let periods = ((pair[1] - pair[0]) as f64 / rough_ns).round().max(1.0);
        points.push((k + periods, (pair[1] - first) as f64));
    }
    let all = crate::least_squares::least_squares(&points);
    if let Some(fitted) = &all {
        let late = |(k, t): &(f64, f64)| t - (fitted.line.intercept + fitted.line.slope * k);
        let mut sorted: Vec<f64> = points.iter().map(late).collect();
        sorted.sort_by(f64::total_cmp);
        let quartile = |n: usize| sorted[n * (sorted.len() - 1) / 4];
        let fence = quartile(3) + 1.5 * (quartile(3) - quartile(1));
        points.retain(|point| late(point) <= fence);
    }
    match crate::least_squares::least_squares(&points).or(all) {
        Some(fitted) if fitted.line.slope > 0.0 => (fitted.line.slope, first as f64 + fitted.line.intercept),
        _ => (rough_ns, first as f64),
    }
}

/// Returns the most frequent of sorted values, and its frequency.
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
