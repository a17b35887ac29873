//! A histogram without an end: signed, log-linear, mergeable.

/// Each power of two is split into this many bins, so a bin is at most 1/128 (0.8 %) of its values wide and
/// values below 256 ns have a bin of their own.
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
/// Bins for one sign: two linear blocks, then one block for each further power of two up to 2^63.
const HALF: usize = (((63 - SUB_BITS) as usize) + 1) * SUB as usize + SUB as usize;

/// Counts of signed nanosecond values in log-linear bins from the whole `i64` range: no value falls outside.
///
/// Recording is a few instructions and never allocates; merging adds counts, so any split of the data gives
/// the same result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHistogram {
    /// Counts for bins of value >= 0, then of value < 0 (by magnitude - 1). Empty until first needed.
    positive: Vec<u64>,
    negative: Vec<u64>,
}

/// One occupied bin: `low_ns..=high_ns` and how many values it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin.
    pub low_ns: i64,
    /// Largest value of the bin.
    pub high_ns: i64,
    /// Values counted.
    pub count: u64,
}

impl Default for LogHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn bin_of(magnitude: u64) -> usize {
    if magnitude < SUB {
        return magnitude as usize;
    }
    let shift = 63 - magnitude.leading_zeros() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (magnitude >> shift)) as usize
}

fn low_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * SUB {
        return bin;
    }
    let shift = (bin >> SUB_BITS) - 1;
    (SUB + (bin & (SUB - 1))) << shift
}

fn high_of(bin: usize) -> u64 {
    if bin + 1 >= HALF { i64::MAX as u64 } else { low_of(bin + 1) - 1 }
}

impl LogHistogram {
    /// An empty histogram. Its memory (about 116 KiB, 58 KiB for each sign) is taken here, so that recording never allocates.
    pub fn new() -> Self {
        LogHistogram { positive: vec![0; HALF], negative: vec![0; HALF] }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        self.record_n(value_ns, 1);
    }

    /// Counts one value `n` times.
    #[inline]
    pub fn record_n(&mut self, value_ns: i64, n: u64) {
        let (side, magnitude) = if value_ns >= 0 {
            (&mut self.positive, value_ns as u64)
        } else {
            (&mut self.negative, (-(value_ns + 1)) as u64)
        };
        side[bin_of(magnitude)] += n;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &LogHistogram) {
        for (mine, theirs) in [(&mut self.positive, &other.positive), (&mut self.negative, &other.negative)] {
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a += b;
            }
        }
    }

    /// All occupied bins, from the smallest value to the largest.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let below = self.negative.iter().enumerate().rev().filter(|(_, c)| **c > 0).map(|(i, c)| Bin {
            low_ns: -(high_of(i) as i64) - 1,
            high_ns: -(low_of(i) as i64) - 1,
            count: *c,
        });
        let above = self.positive.iter().enumerate().filter(|(_, c)| **c > 0).map(|(i, c)| Bin {
            low_ns: low_of(i) as i64,
            high_ns: high_of(i) as i64,
            count: *c,
        });
        below.chain(above)
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.positive.iter().chain(&self.negative).sum()
    }

    /// The upper edge of the bin that holds the `rank`-th smallest value (from 1), or `None` beyond the last.
    pub fn value_at_rank(&self, rank: u64) -> Option<i64> {
        let mut seen = 0;
        self.bins().find_map(|bin| {
            seen += bin.count;
            (seen >= rank).then_some(bin.high_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_the_range_have_bins() {
        let mut h = LogHistogram::new();
        for v in [i64::MIN, -1, 0, 1, 255, 256, i64::MAX] {
            h.record(v);
        }
        assert_eq!(h.count(), 7);
        let bins: Vec<_> = h.bins().collect();
        assert_eq!(bins.first().map(|b| b.low_ns), Some(i64::MIN));
        assert_eq!(bins.last().map(|b| b.high_ns), Some(i64::MAX));
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bin_and_the_bin_is_narrow(v in any::<i64>()) {
            let mut h = LogHistogram::new();
            h.record(v);
            let bin = h.bins().next().unwrap();
            prop_assert!(bin.low_ns <= v && v <= bin.high_ns);
            let width = i128::from(bin.high_ns) - i128::from(bin.low_ns);
            prop_assert!(width * 128 <= i128::from(v).abs().max(127));
        }

        #[test]
        fn neighbouring_bins_touch(bin in 0usize..HALF - 1) {
            prop_assert_eq!(high_of(bin) + 1, low_of(bin + 1));
            prop_assert_eq!(bin_of(low_of(bin)), bin);
            prop_assert_eq!(bin_of(high_of(bin)), bin);
        }

        #[test]
        fn merging_is_the_same_as_recording_all(a in prop::collection::vec(any::<i64>(), 0..50), b in prop::collection::vec(any::<i64>(), 0..50)) {
            let (mut left, mut right, mut all) = (LogHistogram::new(), LogHistogram::new(), LogHistogram::new());
            a.iter().for_each(|v| { left.record(*v); all.record(*v); });
            b.iter().for_each(|v| { right.record(*v); all.record(*v); });
            left.merge(&right);
            prop_assert_eq!(left, all);
        }
    }
}
