//! Missed due times: their number, their bursts, and the weakly-hard figures for the design of a control loop.

use std::collections::VecDeque;

use jitterlab_model::{Activation, Flags, LogHistogram};
use serde::Serialize;

use crate::scan::BlockSketch;

/// The windows of the weakly-hard figures (m, K), in due times (Bernat, Burns & Llamosi, IEEE Trans. Comp. 2001).
pub const WINDOWS: [u64; 3] = [10, 100, 1_000];
const LONGEST: u64 = 1_000;

/// Counts missed due times activation by activation, in constant memory. Can be merged with the part that follows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissCounter {
    period_ns: i64,
    executed: u64,
    missed: u64,
    late: u64,
    overruns: u64,
    bursts: LogHistogram,
    longest: u64,
    /// Due times so far; a gap in the records counts as [`LONGEST`], so that no window reaches across it.
    length: u64,
    largest: [u64; WINDOWS.len()],
    /// Missed due times among the first and among the last [`LONGEST`] due times.
    early_misses: Vec<Missed>,
    recent_misses: VecDeque<Missed>,
    ends_in_miss: bool,
}

/// Consecutive missed due times, stored as one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Missed {
    /// Position of the first.
    begin: u64,
    /// Position behind the last.
    end: u64,
    /// Misses before them.
    before: u64,
}

impl Missed {
    /// Returns these misses with `length` due times and `missed` misses before them.
    fn shifted_by(self, length: u64, missed: u64) -> Self {
        Missed { begin: self.begin + length, end: self.end + length, before: self.before + missed }
    }
}

impl MissCounter {
    /// Creates an empty counter for a task of this period.
    pub fn new(period_ns: i64) -> Self {
        MissCounter { period_ns, ..MissCounter::default() }
    }

    /// Counts the next activation and the due times missed after it.
    #[inline]
    pub fn push(&mut self, a: &Activation) {
        if a.flags.contains(Flags::AFTER_GAP) {
            self.length += LONGEST;
        }
        self.executed += 1;
        self.late += u64::from(a.latency_ns() >= self.period_ns);
        self.overruns += u64::from(a.response_ns() > self.period_ns);
        self.length += 1;
        self.ends_in_miss = a.missed > 0;
        if a.missed > 0 {
            self.push_burst(u64::from(a.missed));
        }
    }

    /// Counts the next few activations, as [`MissCounter::push`] for each.
    pub fn push_few(&mut self, few: &[Activation], sketch: &BlockSketch) {
        let on_time = sketch.span.max_ns < self.period_ns && sketch.longest_response_ns <= self.period_ns;
        if sketch.span.missed == 0 && !sketch.has_gap && on_time && sketch.span.count > 0 {
            self.executed += sketch.span.count;
            self.length += sketch.span.count;
            self.ends_in_miss = false;
        } else {
            few.iter().for_each(|a| self.push(a));
        }
    }

    #[cold]
    fn push_burst(&mut self, burst: u64) {
        self.bursts.record(burst as i64);
        self.longest = self.longest.max(burst);
        let missed = Missed { begin: self.length, end: self.length + burst, before: self.missed };
        self.push_missed(missed);
        self.count_windows(missed);
        self.missed += burst;
        self.length += burst;
    }

    /// Adds consecutive misses to those remembered, and drops those outside every window that ends with them or later.
    fn push_missed(&mut self, missed: Missed) {
        if missed.begin < LONGEST {
            self.early_misses.push(missed);
        }
        self.recent_misses.push_back(missed);
        while self.recent_misses.front().is_some_and(|first| first.end + LONGEST <= missed.end) {
            self.recent_misses.pop_front();
        }
    }

    /// Updates the most misses in a window by the windows that end with the last of these. None that ends at an earlier
    /// one of them has more.
    fn count_windows(&mut self, Missed { begin, end, before }: Missed) {
        for (window, largest) in WINDOWS.iter().zip(&mut self.largest) {
            let from = end.saturating_sub(*window);
            let first = self.recent_misses.partition_point(|missed| missed.end <= from);
            let outside =
                self.recent_misses.get(first).map_or(0, |m| m.before + from.saturating_sub(m.begin));
            *largest = (*largest).max(before + (end - begin) - outside);
        }
    }

    /// Adds the part of the trace that follows this one.
    pub fn merge(&mut self, next: &MissCounter) {
        self.executed += next.executed;
        self.late += next.late;
        self.overruns += next.overruns;
        self.bursts.merge(&next.bursts);
        self.longest = self.longest.max(next.longest);
        for (mine, theirs) in self.largest.iter_mut().zip(next.largest) {
            *mine = (*mine).max(theirs);
        }
        for missed in &next.early_misses {
            let missed = missed.shifted_by(self.length, self.missed);
            self.push_missed(missed);
            self.count_windows(missed);
        }
        for missed in &next.recent_misses {
            let missed = missed.shifted_by(self.length, self.missed);
            if self.recent_misses.back().is_none_or(|last| last.begin < missed.begin) {
                self.push_missed(missed);
            }
        }
        self.missed += next.missed;
        self.length += next.length;
        if next.executed > 0 {
            self.ends_in_miss = next.ends_in_miss;
        }
    }

    /// Returns the figures so far.
    pub fn figures(&self) -> Misses {
        let due = self.executed + self.missed;
        let bursts: Vec<Burst> = self
            .bursts
            .bins()
            .map(|b| Burst { from: b.low_ns as u64, to: b.high_ns as u64, count: b.count })
            .collect();
        let begun: u64 = bursts.iter().map(|b| b.count).sum();
        let followed = self.missed - u64::from(self.ends_in_miss);
        Misses {
            due,
            executed: self.executed,
            missed: self.missed,
            late: self.late,
            overruns: self.overruns,
            longest_run: self.longest,
            bursts,
            weakly_hard: WINDOWS
                .iter()
                .zip(self.largest)
                .filter(|(window, _)| **window <= due)
                .map(|(&window, missed)| WeaklyHard { missed, window })
                .collect(),
            p_miss: (due > 0).then(|| self.missed as f64 / due as f64),
            p_miss_after_miss: (followed > 0).then(|| (self.missed - begun) as f64 / followed as f64),
        }
    }
}

/// Bursts of one length (of a narrow range of lengths from 256 on).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Shortest length counted here, in due times.
    pub from: u64,
    /// Longest length counted here.
    pub to: u64,
    /// Number of such bursts.
    pub count: u64,
}

/// Weakly-hard figure: in every window of `window` due times at most `missed` were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WeaklyHard {
    /// m: the most due times missed in any window.
    pub missed: u64,
    /// K: the window's length in due times.
    pub window: u64,
}

/// Figures of a task's missed due times.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Misses {
    /// Due times in all.
    pub due: u64,
    /// Due times that were served.
    pub executed: u64,
    /// Due times that passed unserved.
    pub missed: u64,
    /// Activations that started at or after the next due time.
    pub late: u64,
    /// Activations that ended after the next due time.
    pub overruns: u64,
    /// The most consecutive due times missed.
    pub longest_run: u64,
    /// Bursts of consecutive missed due times by length, shortest first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub bursts: Vec<Burst>,
    /// The weakly-hard figures for each of [`WINDOWS`] that the run is long enough for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub weakly_hard: Vec<WeaklyHard>,
    /// Share of the due times that were missed.
    pub p_miss: Option<f64>,
    /// Share of missed due times followed by another miss. Equal to `p_miss` if misses were independent.
    pub p_miss_after_miss: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a trace with these numbers of misses after its activations.
    fn trace(missed: &[u32]) -> Vec<Activation> {
        missed.iter().map(|&missed| Activation { missed, ..Activation::default() }).collect()
    }

    fn count(trace: &[Activation]) -> MissCounter {
        let mut counter = MissCounter::new(1_000);
        trace.iter().for_each(|a| counter.push(a));
        counter
    }

    /// Returns the most misses in any window, by the definition.
    fn by_definition(missed: &[u32], window: u64) -> u64 {
        let sequence =
            missed.iter().flat_map(|m| std::iter::once(0).chain(std::iter::repeat_n(1, *m as usize)));
        // Misses before each due time.
        let mut before = vec![0];
        sequence.for_each(|miss: u64| before.push(before[before.len() - 1] + miss));
        let window = (window as usize).min(before.len() - 1);
        before.windows(window + 1).map(|w| w[window] - w[0]).max().unwrap_or(0)
    }

    #[test]
    fn one_percent_alone_and_one_percent_in_bursts_are_told_apart() {
        let alone: Vec<u32> = (0..990).map(|k| u32::from(k % 99 == 98)).collect();
        let bursts: Vec<u32> = (0..990).map(|k| if k == 500 { 10 } else { 0 }).collect();
        let (alone, bursts) = (count(&trace(&alone)).figures(), count(&trace(&bursts)).figures());
        assert_eq!((alone.missed, alone.due, bursts.missed, bursts.due), (10, 1_000, 10, 1_000));
        let worst = |m: &Misses| m.weakly_hard.iter().map(|w| w.missed).collect::<Vec<_>>();
        assert_eq!((worst(&alone), worst(&bursts)), (vec![1, 1, 10], vec![10, 10, 10]));
        assert_eq!((alone.longest_run, bursts.longest_run), (1, 10));
        assert_eq!((alone.p_miss_after_miss, bursts.p_miss_after_miss), (Some(0.0), Some(0.9)));
    }

    #[test]
    fn a_stall_is_late_once_and_missed_five_times() {
        let stall = Activation { start_ns: 5_300, end_ns: 5_310, missed: 5, ..Activation::default() };
        let found = count(&[stall]).figures();
        assert_eq!((found.late, found.overruns, found.missed, found.due), (1, 1, 5, 6));
        assert_eq!(found.bursts, [Burst { from: 5, to: 5, count: 1 }]);
    }

    #[test]
    fn no_window_reaches_across_lost_records() {
        let mut parts = trace(&[3, 4]);
        parts[1].flags = Flags::AFTER_GAP;
        let worst = |parts: &[Activation]| count(parts).largest[0];
        assert_eq!((worst(&parts), worst(&trace(&[3, 4]))), (4, 7));
    }

    #[test]
    fn an_endless_stall_takes_no_time_to_count() {
        let found = count(&trace(&[0, u32::MAX])).figures();
        assert_eq!(found.longest_run, u64::from(u32::MAX));
        assert!(found.weakly_hard.iter().all(|w| w.missed == w.window));
        let stalls = count(&trace(&[u32::MAX; 100_000]));
        assert_eq!(stalls.recent_misses.len(), 1, "each takes one place");
    }

    proptest! {
        #[test]
        fn windows_hold_what_the_definition_says_however_the_trace_is_cut(
            missed in prop::collection::vec(prop_oneof![4 => Just(0u32), 1 => 1u32..30, 1 => 300u32..400, 1 => 900u32..2_100], 1..120),
            cuts in prop::collection::vec(0usize..120, 0..4),
        ) {
            let whole = count(&trace(&missed));
            let mut at_once = MissCounter::new(1_000);
            trace(&missed).chunks(7).for_each(|few| at_once.push_few(few, &BlockSketch::new(few, 0)));
            prop_assert_eq!(&at_once, &whole);
            for (k, window) in WINDOWS.iter().enumerate() {
                prop_assert_eq!(whole.largest[k], by_definition(&missed, *window));
            }
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(missed.len())).collect();
            cuts.sort_unstable();
            cuts.push(missed.len());
            let mut merged = MissCounter::new(1_000);
            let mut from = 0;
            for to in cuts {
                merged.merge(&count(&trace(&missed[from..to])));
                from = to;
            }
            prop_assert_eq!(merged, whole);
        }
    }
}
