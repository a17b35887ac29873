//! Reduction of a long run to its spikes: a slice of figures for each second, and the rows around each spike.

use std::collections::VecDeque;

use jitterlab_model::{Activation, Flags, TimingStats};

use crate::slices::{SLICE_NS, Slice};

/// Rows kept before and after each spike.
const NEIGHBOURS: usize = 8;

/// Watches one task's rows go by.
#[derive(Debug)]
pub(crate) struct SpikeFilter {
    above_ns: i64,
    /// The last rows that were not kept.
    before: VecDeque<Activation>,
    /// Number of further rows that belong to the last spike.
    after: usize,
    /// True if rows were dropped since the last kept one.
    skipped: bool,
}

impl SpikeFilter {
    pub(crate) fn new(above_ns: i64) -> Self {
        SpikeFilter { above_ns, before: VecDeque::with_capacity(NEIGHBOURS), after: 0, skipped: false }
    }

    /// Takes the next row; hands rows to `keep` that have to be kept. The first row after some that were not kept
    /// carries [`Flags::AFTER_GAP`].
    pub(crate) fn push(&mut self, a: &Activation, mut keep: impl FnMut(&Activation)) {
        if a.latency_ns() >= self.above_ns {
            for row in self.before.drain(..) {
                keep(&with_gap_flag(&row, std::mem::take(&mut self.skipped)));
            }
            keep(&with_gap_flag(a, std::mem::take(&mut self.skipped)));
            self.after = NEIGHBOURS;
        } else if self.after > 0 {
            self.after -= 1;
            keep(a);
        } else {
            if self.before.len() == NEIGHBOURS {
                self.before.pop_front();
                self.skipped = true;
            }
            self.before.push_back(*a);
        }
    }
}

fn with_gap_flag(a: &Activation, gap: bool) -> Activation {
    Activation { flags: if gap { a.flags.with(Flags::AFTER_GAP) } else { a.flags }, ..*a }
}

/// Counts one task's figures second by second.
#[derive(Debug)]
pub(crate) struct Slicer {
    task: usize,
    stats: TimingStats,
    start_ns: i64,
    first_due_ns: i64,
    last_end_ns: i64,
    /// True if a piece was held back the last time.
    held_back: bool,
}

impl Slicer {
    pub(crate) fn new(task: usize, period_ns: i64) -> Self {
        Slicer {
            task,
            stats: TimingStats::new(period_ns),
            start_ns: 0,
            first_due_ns: 0,
            last_end_ns: 0,
            held_back: false,
        }
    }

    /// Counts the next row; returns the slice that it ends.
    pub(crate) fn push(&mut self, a: &Activation) -> Option<Slice> {
        let start_ns = a.due_ns.saturating_sub(a.due_ns.rem_euclid(SLICE_NS));
        let ended = if start_ns == self.start_ns { None } else { self.take() };
        if self.stats.executed() == 0 {
            (self.start_ns, self.first_due_ns) = (start_ns, a.due_ns);
        }
        self.stats.push(a);
        self.last_end_ns = a.end_ns;
        ended
    }

    /// Returns the counts since the last piece at every other call, so that a crash does not lose a whole slice.
    pub(crate) fn take_piece(&mut self) -> Option<Slice> {
        self.held_back = !self.held_back;
        if self.held_back { None } else { self.take() }
    }

    /// Returns the counts since the last slice, as a piece of one; `None` if there are none.
    pub(crate) fn take(&mut self) -> Option<Slice> {
        self.held_back = false;
        (self.stats.executed() > 0).then(|| {
            let stats = self.stats.take();
            Slice::new(self.task, self.start_ns, self.first_due_ns, self.last_end_ns, &stats)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u64, latency_ns: i64) -> Activation {
        let due_ns = index as i64 * 1_000_000;
        Activation {
            index,
            due_ns,
            start_ns: due_ns + latency_ns,
            end_ns: due_ns + latency_ns,
            ..Activation::default()
        }
    }

    fn kept(spikes: &[u64], rows: u64) -> Vec<(u64, bool)> {
        let mut filter = SpikeFilter::new(100);
        let mut kept = Vec::new();
        for k in 0..rows {
            let latency = if spikes.contains(&k) { 100 } else { 99 };
            filter.push(&row(k, latency), |a| kept.push((a.index, a.flags.contains(Flags::AFTER_GAP))));
        }
        kept
    }

    #[test]
    fn a_spike_is_kept_with_its_neighbours() {
        let expected: Vec<_> = (12..=28).map(|k| (k, k == 12)).collect();
        assert_eq!(kept(&[20], 100), expected);
    }

    #[test]
    fn spikes_close_together_give_one_group_and_no_row_twice() {
        let expected: Vec<_> = (12..=46).map(|k| (k, k == 12)).collect();
        assert_eq!(kept(&[20, 25, 38], 100), expected);
    }

    #[test]
    fn no_gap_is_claimed_where_none_is() {
        assert_eq!(kept(&[3], 6), [0, 1, 2, 3, 4, 5].map(|k| (k, false)));
        let touching: Vec<_> = (12..=45).map(|k| (k, k == 12)).collect();
        assert_eq!(kept(&[20, 37], 46), touching);
        let one_left_out: Vec<_> = (12..=28).chain(30..=46).map(|k| (k, k == 12 || k == 30)).collect();
        assert_eq!(kept(&[20, 38], 47), one_left_out);
    }

    #[test]
    fn every_second_gives_a_slice() {
        let mut slicer = Slicer::new(0, 1_000_000);
        let mut slices: Vec<_> = (500..2_700).filter_map(|k| slicer.push(&row(k, 5))).collect();
        slices.extend(slicer.take());
        let found: Vec<_> = slices.iter().map(|s| (s.start_ns / SLICE_NS, s.executed())).collect();
        assert_eq!(found, [(0, 500), (1, 1000), (2, 700)]);
    }
}
