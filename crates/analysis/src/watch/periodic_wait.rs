//! Search for the periodic wait of a thread.

use std::collections::BTreeMap;

use jitterlab_model::watched::{DueTimeSource, WaitKind};

use super::wait_tracker::{Wait, WaitKey, Waker};

/// A wait that begins the activations of a periodic loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodicWait {
    /// The wait that begins each activation.
    pub key: WaitKey,
    /// Most frequent way to wait; [`WaitKind::NanosleepRelative`] for any wait that a length of time ends.
    pub waits: WaitKind,
    /// True if others end its waits, so that it has no due times: distances longer than the period are no misses.
    pub is_woken: bool,
    /// True if its timers are those of CLOCK_REALTIME, which can be set.
    pub on_realtime: bool,
    /// The period T, in ns.
    pub period_ns: f64,
    /// Source of the due times.
    pub due: DueTimeSource,
    /// A due time of the grid; meaningless if due times come from a timer.
    pub origin_ns: f64,
    /// Share of its intervals that are close to whole periods.
    pub regular: f64,
    /// Number of waits behind it.
    pub passes: usize,
}

/// Reason why a thread has no periodic loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPeriodicWait {
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
    /// Others wake it, at uneven distances.
    Woken {
        /// The one that did most often.
        by: Waker,
        /// Number of its waits.
        waits: usize,
        /// The 5th percentile of the distances, in ns.
        shortest_ns: i64,
        /// The 95th percentile of the distances, in ns.
        longest_ns: i64,
    },
}

/// Fewest waits that show a period.
const LEAST_PASSES: usize = 8;
/// Least share of the intervals that must be close to a whole number of periods.
const LEAST_REGULAR: f64 = 0.8;
/// Share of the waits above which due times left out before they had passed do not belong to the grid.
const MOST_LEFT_OUT: f64 = 0.05;
/// Largest distance that counts as close, as a part of a period.
const CLOSE: f64 = 0.25;
/// Largest distance that counts as close for lengths of time behind work that varies, as a part of a period.
const CLOSE_LENGTH: f64 = 0.5;
/// Least share of the time that intervals close to the period take in a loop of lengths of time: a few short sleeps in
/// each activation are not the loop.
const LEAST_OF_TIME: f64 = 0.25;
/// Least share of the intervals between wake-ups by others that must be one period.
const LEAST_WOKEN: f64 = 0.9;
/// Most starts that a late one makes wait, of which the last is on the grid again.
const MOST_JOINED: usize = 16;
/// Share of the waits that own timers end above which a wait has no grid but theirs.
const MOST_TIMED: f64 = 0.05;
/// A wait with this many times fewer waits than another one is no loop, unless it asks for due times.
const RARER: usize = 4;
/// Quantiles of the intervals at which a period is looked for, in percent: the median first.
const QUANTILES: [usize; 4] = [50, 25, 10, 3];
/// Shortest and longest period of a control loop, in ns.
const PERIODS_NS: (f64, f64) = (10_000.0, 10e9);

/// Finds the wait of a thread that begins its activations, if one is periodic.
///
/// # Errors
/// Returns an error if no wait is periodic.
pub fn find_periodic_wait(passes: &[Wait]) -> Result<PeriodicWait, NoPeriodicWait> {
    let mut groups: BTreeMap<WaitKey, Vec<&Wait>> = BTreeMap::new();
    for wait in passes {
        groups.entry(wait.key).or_default().push(wait);
    }
    let found: Vec<PeriodicWait> =
        groups.iter().filter_map(|(key, passes)| fit_periodic_wait(*key, passes)).collect();
    let most = found.iter().map(|found| found.passes).max().unwrap_or(0);
    // A rare wait is part of the work. Among frequent ones due times are the strongest evidence, then a timer; next comes
    // the more regular wait, then the more frequent one.
    let found = found.into_iter().max_by_key(|found| {
        let is_timed = found.due == DueTimeSource::OwnTimer;
        let has_due_times = is_timed && found.waits != WaitKind::NanosleepRelative;
        (2 * found.passes >= most, has_due_times, is_timed, (found.regular * 20.0) as u32, found.passes)
    });
    // A rare sleep is part of the work, too, where the frequent ones have no period.
    let timed = |passes: &Vec<&Wait>| passes.iter().filter(|wait| wait.due_ns.is_some()).count();
    let most_timed = groups.values().map(timed).max().unwrap_or(0);
    let found = found.filter(|found| {
        found.waits != WaitKind::NanosleepRelative || found.passes.saturating_mul(RARER) >= most_timed
    });
    let Some(found) = found else { return Err(explain_irregularity(passes.len(), &groups)) };
    match groups.get(&found.key).and_then(|passes| left_out_interval_range(passes, &found)) {
        Some(left_out) => Err(left_out),
        None => Ok(found),
    }
}

/// Returns the reason why none of these waits is periodic.
fn explain_irregularity(waits: usize, groups: &BTreeMap<WaitKey, Vec<&Wait>>) -> NoPeriodicWait {
    if waits < LEAST_PASSES {
        return NoPeriodicWait::Few(waits);
    }
    let woken = groups.values().max_by_key(|passes| passes.len()).and_then(|passes| {
        let by = most_frequent_waker(passes)?;
        let distances = passes.windows(2).map(|pair| pair[1].ended_ns - pair[0].ended_ns);
        let (shortest_ns, longest_ns) = central_range(distances)?;
        Some(NoPeriodicWait::Woken { by, waits, shortest_ns, longest_ns })
    });
    woken.unwrap_or(NoPeriodicWait::Uneven(waits))
}

/// Returns the thread or interrupt that ended waits most often; `None` if most ended by a timer.
fn most_frequent_waker(passes: &[&Wait]) -> Option<Waker> {
    let mut counts: BTreeMap<Waker, usize> = BTreeMap::new();
    for waker in passes.iter().filter_map(|wait| wait.waker.filter(|waker| waker.is_other())) {
        *counts.entry(waker).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let most = counts.into_iter().max_by_key(|(_, times)| *times);
    most.filter(|_| 2 * all > passes.len()).map(|(waker, _)| waker)
}

/// Returns the 5th and the 95th percentile of the positive distances; `None` without any.
fn central_range(distances: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let mut distances: Vec<i64> = distances.filter(|ns| *ns > 0).collect();
    distances.sort_unstable();
    let last = distances.len().checked_sub(1)?;
    Some((distances[5 * last / 100], distances[95 * last / 100]))
}

/// Returns the range of timer intervals as a reason, if a thread leaves out grid times that had not passed.
fn left_out_interval_range(passes: &[&Wait], found: &PeriodicWait) -> Option<NoPeriodicWait> {
    // The kernel chooses the times of SCHED_DEADLINE: those it leaves out follow an overrun.
    let chooses = !matches!(found.waits, WaitKind::NanosleepRelative | WaitKind::Deadline);
    if found.due != DueTimeSource::OwnTimer || !chooses {
        return None;
    }
    let asked = passes.windows(2).filter_map(|pair| {
        let (before_ns, due_ns) = (pair[0].due_ns?, pair[1].due_ns?);
        Some((due_ns - before_ns, count_left_out(before_ns, due_ns, pair[1].began_ns, found.period_ns)))
    });
    let asked: Vec<(i64, u64)> = asked.collect();
    let left_out = asked.iter().filter(|(_, left_out)| *left_out > 0).count();
    if left_out as f64 <= asked.len() as f64 * MOST_LEFT_OUT {
        return None;
    }
    // A time before the last one is of another clock or timer, and no distance.
    let (shortest_ns, longest_ns) = central_range(asked.iter().map(|(ns, _)| *ns))?;
    Some(NoPeriodicWait::Several { shortest_ns, longest_ns })
}

/// Returns how many grid times between two due times had not passed when the thread asked for the second. It left them
/// out on purpose, or they are not due times.
pub(super) fn count_left_out(before_ns: i64, due_ns: i64, call_ns: i64, period_ns: f64) -> u64 {
    let between = (((due_ns - before_ns) as f64 / period_ns).round() as i64 - 1).max(0);
    let passed = ((call_ns - before_ns) as f64 / period_ns).floor() as i64;
    (between - passed.clamp(0, between)).unsigned_abs()
}

/// Fits period and grid to the waits of one call and object; `None` if they are not periodic.
fn fit_periodic_wait(key: WaitKey, passes: &[&Wait]) -> Option<PeriodicWait> {
    let of = |wait: &&Wait| wait.due_ns.map(|due_ns| (due_ns, due_ns > wait.began_ns));
    let due: Vec<(i64, bool)> = passes.iter().filter_map(of).collect();
    let timed = due.len() * 2 > passes.len();
    if !timed && due.len() as f64 > MOST_TIMED * passes.len() as f64 {
        return None;
    }
    let is_woken = !timed && most_frequent_waker(passes).is_some();
    // A thread that catches up may ask for no time at all, which is not on its grid.
    let ahead: Vec<i64> = due.iter().filter(|(_, ahead)| *ahead).map(|(due_ns, _)| *due_ns).collect();
    let asked: Vec<i64> = due.iter().map(|(ns, _)| *ns).collect();
    let ended: Vec<i64> = passes.iter().map(|wait| wait.ended_ns).collect();
    let mut waits = most_frequent_kind(passes.iter().map(|wait| wait.waits));
    let grid = match (timed, is_woken) {
        (true, _) => {
            let tried = [&ahead, &asked].into_iter().filter_map(|times| Grid::from_times(times));
            // A thread that asks for past times asks for all of its grid, where others show only every few periods.
            tried.reduce(
                |ahead, asked| {
                    if asked.is_exact() && asked.rough_ns < ahead.rough_ns { asked } else { ahead }
                },
            )
        }
        (false, true) => Grid::from_woken(&ended),
        (false, false) => Grid::from_times(&ended),
    };
    let on_realtime = 2 * passes.iter().filter(|wait| wait.on_realtime).count() > passes.len();
    let has_due_times = !timed || waits == WaitKind::Deadline || grid.as_ref().is_some_and(Grid::is_exact);
    if !has_due_times && asks_for_lengths(passes) {
        waits = WaitKind::NanosleepRelative;
    }
    if waits == WaitKind::NanosleepRelative {
        let (period_ns, regular) = fit_relative_sleeps(&asked)?;
        let due = DueTimeSource::OwnTimer;
        let origin_ns = asked.first().map_or(0.0, |ns| *ns as f64);
        return Some(PeriodicWait {
            key,
            waits,
            is_woken,
            on_realtime,
            period_ns,
            due,
            origin_ns,
            regular,
            passes: passes.len(),
        });
    }
    let grid = grid?;
    let Grid { times, rough_ns, regular, .. } = &grid;
    let (period_ns, origin_ns) = fit_period(times, *rough_ns);
    // A timer's times are exact if they follow a grid.
    let exact = timed && grid.is_exact();
    let earliest = |origin: f64| {
        let residual = |t: &i64| {
            let x = *t as f64 - origin;
            x - (x / period_ns).round() * period_ns
        };
        // A late start may be nearer to the next due time.
        let is_on_grid = |ns: &f64| timed || ns.abs() <= CLOSE * period_ns;
        let earliest = times.iter().map(residual).filter(is_on_grid).reduce(f64::min);
        earliest.unwrap_or(0.0)
    };
    Some(PeriodicWait {
        key,
        waits,
        is_woken,
        on_realtime,
        period_ns: if exact { grid.exact_period.0 as f64 } else { period_ns },
        due: if timed { DueTimeSource::OwnTimer } else { DueTimeSource::FittedGrid },
        origin_ns: origin_ns + earliest(origin_ns),
        regular: *regular,
        passes: passes.len(),
    })
}

/// True if the times that a thread asks for lie at a fixed distance from its calls rather than from each other.
fn asks_for_lengths(passes: &[&Wait]) -> bool {
    let due = |wait: &Wait| wait.due_ns.filter(|due_ns| *due_ns > wait.began_ns);
    let lengths = passes.iter().filter_map(|wait| Some(due(wait)? - wait.began_ns));
    let distances = passes.windows(2).filter_map(|pair| Some(due(pair[1])? - due(pair[0])?));
    let width = |times: Vec<i64>| {
        central_range(times.into_iter()).map_or(0, |(shortest, longest)| longest - shortest)
    };
    2 * width(lengths.collect()) < width(distances.collect())
}

/// Recognises a loop of relative sleeps: median interval, and share of intervals close to it; `None` if irregular.
fn fit_relative_sleeps(times: &[i64]) -> Option<(f64, f64)> {
    let mut distances: Vec<i64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|ns| *ns > 0).collect();
    if distances.len() < LEAST_PASSES - 1 {
        return None;
    }
    distances.sort_unstable();
    let period_ns = distances[distances.len() / 2] as f64;
    let close = |ns: &&i64| (**ns as f64 - period_ns).abs() <= CLOSE_LENGTH * period_ns;
    let close: Vec<i64> = distances.iter().filter(close).copied().collect();
    let regular = close.len() as f64 / distances.len() as f64;
    let of_time = close.iter().sum::<i64>() as f64 / distances.iter().sum::<i64>() as f64;
    let is_loop = (PERIODS_NS.0..=PERIODS_NS.1).contains(&period_ns) && of_time >= LEAST_OF_TIME;
    (is_loop && regular >= LEAST_REGULAR).then_some((period_ns, regular))
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
    exact_period: (i64, usize),
    intervals: usize,
}

impl<'a> Grid<'a> {
    /// Finds the grid that most of these times are on; `None` if they have none.
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
        let mut candidates = possible.map(|ns| (ns, regular(ns)));
        let (rough_ns, regular) = candidates.find(|(_, share)| *share >= LEAST_REGULAR)?;
        let part = |ns: &i64| {
            let periods = periods(*ns, rough_ns) as i64;
            (ns % periods == 0).then_some(ns / periods)
        };
        let mut parts: Vec<i64> = intervals.iter().filter_map(part).collect();
        parts.sort_unstable();
        Some(Grid {
            times,
            rough_ns,
            regular,
            exact_period: most_frequent(&parts),
            intervals: intervals.len(),
        })
    }

    /// Finds the period of wake-ups by others; `None` unless nearly all intervals are one. A late start and those that
    /// waited behind it count as one interval.
    fn from_woken(times: &'a [i64]) -> Option<Self> {
        let intervals: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if intervals.len() < LEAST_PASSES - 1 {
            return None;
        }
        let mut sorted = intervals.clone();
        sorted.sort_unstable();
        let rough_ns = sorted[sorted.len() / 2] as f64;
        if !(PERIODS_NS.0..=PERIODS_NS.1).contains(&rough_ns) {
            return None;
        }
        let close = |ns: i64| {
            let periods = ns as f64 / rough_ns;
            periods >= 0.5 && (periods - periods.round()).abs() <= CLOSE
        };
        let (mut at, mut all, mut single) = (0, 0, 0);
        while at < intervals.len() {
            all += 1;
            let is_single = (intervals[at] as f64 - rough_ns).abs() <= CLOSE * rough_ns;
            let is_late = intervals[at] as f64 > (1.0 + CLOSE) * rough_ns;
            let short = intervals[at + 1..].iter().take(MOST_JOINED);
            let short = short.take_while(|ns| (**ns as f64) < (1.0 - CLOSE) * rough_ns).count();
            let sum = |joined: &usize| intervals[at..=at + joined].iter().sum::<i64>();
            let joined = (1..=short).find(|joined| is_late && close(sum(joined)));
            single += usize::from(is_single || joined.is_some());
            at += 1 + joined.unwrap_or(0);
        }
        let regular = f64::from(single as u32) / f64::from(all);
        let grid = Grid { times, rough_ns, regular, exact_period: (0, 0), intervals: intervals.len() };
        (regular >= LEAST_WOKEN).then_some(grid)
    }

    /// True if most intervals are whole multiples of one time to the nanosecond.
    fn is_exact(&self) -> bool {
        self.exact_period.1 * 2 > self.intervals
    }
}

/// Fits period and origin to times that are whole periods apart, by least squares. Times that were much later than most
/// are left out.
fn fit_period(times: &[i64], rough_ns: f64) -> (f64, f64) {
    let first = times.first().copied().unwrap_or(0);
    let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    // Numbers are counted from the last time that was on the grid: a late one shortens the interval behind it.
    let (mut number, mut before, mut off) = (0.0, first, 0);
    for time in times.iter().skip(1) {
        let periods = (*time - before) as f64 / rough_ns;
        let is_on_grid = periods >= 0.5 && (periods - periods.round()).abs() <= CLOSE;
        off = if is_on_grid { 0 } else { off + 1 };
        if off > MOST_JOINED {
            // The time that they were counted from was late itself.
            (number, off) = (0.0, 0);
            points.clear();
        } else if is_on_grid {
            number += periods.round();
        } else {
            continue;
        }
        before = *time;
        points.push((number, (*time - first) as f64));
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

fn most_frequent_kind(waits: impl Iterator<Item = WaitKind>) -> WaitKind {
    let mut counts: BTreeMap<WaitKind, usize> = BTreeMap::new();
    for wait in waits {
        *counts.entry(wait).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, times)| *times).map_or(WaitKind::Read, |(wait, _)| wait)
}
