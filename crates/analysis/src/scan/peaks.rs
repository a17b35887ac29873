//! The largest latencies of a trace with their positions, in bounded memory.

use jitterlab_model::Activation;
use serde::Serialize;

use super::BlockSketch;

/// A latency with its position on the task's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Peak {
    /// The latency, in ns.
    pub latency_ns: i64,
    /// The number of its due time on the grid.
    pub index: u64,
}

impl Peak {
    /// Keeps the `most` largest, the largest first; the choice among equal ones is pseudo-random.
    pub fn largest_first(peaks: &mut Vec<Peak>, most: usize) {
        if (1..peaks.len()).contains(&most) {
            peaks.select_nth_unstable_by(most - 1, by_size);
            peaks.truncate(most);
        }
        peaks.sort_unstable_by(by_size);
    }
}

/// The `capacity` largest latencies of a trace. Can be merged in any order. The choice among equal latencies
/// is pseudo-random, so that coarse time stamps do not favour any part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peaks {
    capacity: usize,
    /// Candidates: at least the `capacity` largest, at most twice as many.
    candidates: Vec<Peak>,
    /// Smallest latency that can be among them, in ns.
    floor_ns: i64,
}

impl Peaks {
    /// Creates an empty collection.
    pub fn new(capacity: usize) -> Self {
        Peaks { capacity, candidates: Vec::new(), floor_ns: i64::MIN }
    }

    /// Keeps a latency if it may be among the largest.
    #[inline]
    pub fn push(&mut self, index: u64, latency_ns: i64) {
        if latency_ns >= self.floor_ns {
            self.keep(Peak { latency_ns, index });
        }
    }

    /// Takes the next few activations, as [`Peaks::push`] for each.
    pub fn push_few(&mut self, few: &[Activation], sketch: &BlockSketch) {
        if sketch.span.max_ns >= self.floor_ns {
            few.iter().for_each(|a| self.push(a.index, a.latency_ns()));
        }
    }

    fn keep(&mut self, peak: Peak) {
        self.candidates.push(peak);
        if self.candidates.len() >= 2 * self.capacity.max(1) {
            self.drop_smaller();
        }
    }

    /// Keeps the `capacity` largest.
    fn drop_smaller(&mut self) {
        if self.candidates.len() > self.capacity && self.capacity > 0 {
            let last = self.capacity - 1;
            self.candidates.select_nth_unstable_by(last, by_size);
            self.candidates.truncate(self.capacity);
            self.floor_ns = self.candidates[last].latency_ns;
        }
    }

    /// Adds the latencies of another part of the trace.
    pub fn merge(&mut self, other: &Peaks) {
        other.candidates.iter().for_each(|peak| self.push(peak.index, peak.latency_ns));
    }

    /// Returns the largest latencies, the largest first.
    pub fn largest(&self) -> Vec<Peak> {
        let mut all = self.candidates.clone();
        Peak::largest_first(&mut all, self.capacity);
        all
    }
}

fn by_size(a: &Peak, b: &Peak) -> std::cmp::Ordering {
    b.latency_ns.cmp(&a.latency_ns).then_with(|| position_hash(a.index).cmp(&position_hash(b.index)))
}

/// Returns a pseudo-random number that depends only on the position (SplitMix64): no two positions share one.
pub(crate) fn position_hash(place: u64) -> u64 {
    let mut z = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_are_kept_however_the_trace_is_cut(
            values in prop::collection::vec(-20i64..20, 0..300), cut in 0usize..300, capacity in 1usize..40
        ) {
            let cut = cut.min(values.len());
            let (mut early, mut late) = (Peaks::new(capacity), Peaks::new(capacity));
            for (i, v) in values.iter().enumerate() {
                if i < cut { &mut early } else { &mut late }.push(i as u64, *v);
            }
            late.merge(&early);
            let mut all: Vec<Peak> =
                values.iter().enumerate().map(|(i, v)| Peak { latency_ns: *v, index: i as u64 }).collect();
            all.sort_by(by_size);
            all.truncate(capacity);
            prop_assert_eq!(late.largest(), all);
        }
    }
}
