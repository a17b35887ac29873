//! A histogram without an end: signed, log-linear, mergeable.

/// Each power of two is split into this many bins, so a bin is at most 1/128 (0.8 %) of its values wide and
/// values below 256 ns have a bin of their own.
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
/// Bins for one sign: two linear blocks, then one block for each further power of two up to 2^63.
const HALF: usize = (((63 - SUB_BITS) as usize) + 1) * SUB as usize + SUB as usize;

/// One count for each bin of either sign; of known size, so that a loop over several histograms holds their addresses.
pub(crate) type Slots = [u64; 2 * HALF];

/// Counts of signed nanosecond values in log-linear bins from the whole `i64` range: no value falls outside.
///
/// Recording is a few instructions once [`MAX_SPARSE`] bins are occupied; the memory of all bins (114 KiB) is taken then, so that
/// thousands of histograms with few values take little. Merging adds counts, so any split of the data gives the same
/// result.
#[derive(Debug, Clone, Default)]
pub struct LogHistogram {
    /// Counts in order of value: first values < 0 (by magnitude - 1, mirrored), then values >= 0.
    dense: Option<Box<Slots>>,
    /// The occupied ones alone, with their places in order, as long as they are few.
    sparse: Vec<(u16, u64)>,
}

impl PartialEq for LogHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.occupied().eq(other.occupied())
    }
}

impl Eq for LogHistogram {}

/// Largest number of occupied bins that are kept by themselves.
const MAX_SPARSE: usize = 256;

/// Occupied bin: `low_ns..=high_ns` and the number of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin.
    pub low_ns: i64,
    /// Largest value of the bin.
    pub high_ns: i64,
    /// Values counted.
    pub count: u64,
}

/// The bin of a magnitude below 2^63, without a branch: random magnitudes would mispredict it.
#[inline]
fn bin_of(magnitude: u64) -> usize {
    let shift = 63 - (magnitude | SUB).leading_zeros() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (magnitude >> shift)) as usize
}

/// Slot in which a value is counted, computed without a branch: random signs would mispredict it.
#[inline]
fn slot_of(value_ns: i64) -> usize {
    let sign = value_ns >> 63; // 0, or all ones, which `^` turns into -x - 1
    let bin = bin_of((value_ns ^ sign) as u64) as isize;
    (HALF as isize + (bin ^ sign as isize)) as usize
}

/// [`slot_of`] in 32-bit steps that a compiler turns into vector instructions: the bits of a float are a
/// log-linear bin number already, once no rounding can carry into the bits that count.
#[inline(always)]
pub(crate) fn slot_of_i32(value_ns: i32) -> i32 {
    let sign = value_ns >> 31;
    let magnitude = value_ns ^ sign;
    // The bit below those that count is cleared, so the conversion never rounds into them.
    let cut = magnitude & !(magnitude >> (SUB_BITS + 1));
    let bits = ((cut as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - SUB_BITS)) as i32;
    let from_float = bits - ((127 + SUB_BITS as i32) << SUB_BITS) + SUB as i32;
    let bin = if magnitude < 2 * SUB as i32 { magnitude } else { from_float };
    HALF as i32 + (bin ^ sign)
}

/// The largest value of the bin that a value falls into.
#[must_use]
pub fn upper_edge(value_ns: i64) -> i64 {
    let sign = value_ns >> 63;
    let bin = bin_of((value_ns ^ sign) as u64);
    if sign == 0 { bin_high(bin) as i64 } else { -(bin_low(bin) as i64) - 1 }
}

fn bin_low(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * SUB {
        return bin;
    }
    let shift = (bin >> SUB_BITS) - 1;
    (SUB + (bin & (SUB - 1))) << shift
}

fn bin_high(bin: usize) -> u64 {
    if bin + 1 >= HALF { i64::MAX as u64 } else { bin_low(bin + 1) - 1 }
}

/// Creates all bins from the counts of a few.
#[cold]
fn dense_from_sparse(sparse: Vec<(u16, u64)>) -> Box<Slots> {
    // By way of a vector: an array would pass over the stack.
    let mut dense = vec![0; 2 * HALF].try_into().unwrap_or_else(|_| Box::new([0; 2 * HALF]));
    for (slot, count) in sparse {
        dense[usize::from(slot)] = count;
    }
    dense
}

impl LogHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        self.record_n(value_ns, 1);
    }

    /// Counts one value `n` times.
    #[inline]
    pub fn record_n(&mut self, value_ns: i64, n: u64) {
        self.count_in(slot_of(value_ns), n);
    }

    #[inline]
    fn count_in(&mut self, slot: usize, n: u64) {
        match &mut self.dense {
            Some(dense) => dense[slot] = dense[slot].saturating_add(n),
            None => self.count_in_sparse(slot, n),
        }
    }

    #[cold]
    fn count_in_sparse(&mut self, slot: usize, n: u64) {
        match self.sparse.binary_search_by_key(&slot, |(place, _)| usize::from(*place)) {
            Ok(found) => self.sparse[found].1 = self.sparse[found].1.saturating_add(n),
            Err(_) if n == 0 => {}
            Err(at) if self.sparse.len() < MAX_SPARSE => self.sparse.insert(at, (slot as u16, n)),
            Err(_) => self.slots_mut()[slot] = n,
        }
    }

    /// Counts `n` values from `first_ns` down in steps of `step_ns`; none of them is below 0. Takes at most
    /// as many steps as there are bins.
    pub(crate) fn record_descending(&mut self, first_ns: i64, step_ns: i64, n: u64) {
        if step_ns <= 0 {
            return self.record_n(first_ns, n);
        }
        let (mut value_ns, mut left) = (first_ns, n);
        while left > 0 && value_ns >= 0 {
            let low_ns = bin_low(bin_of(value_ns as u64)) as i64;
            let here = left.min(((value_ns - low_ns) / step_ns) as u64 + 1);
            self.record_n(value_ns, here);
            left -= here;
            value_ns = value_ns.saturating_sub(step_ns.saturating_mul(here as i64));
        }
    }

    /// The counts, by the numbers that [`slot_of_i32`] gives.
    #[inline]
    pub(crate) fn slots_mut(&mut self) -> &mut Slots {
        let sparse = &mut self.sparse;
        self.dense.get_or_insert_with(|| dense_from_sparse(std::mem::take(sparse)))
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &LogHistogram) {
        match &other.dense {
            None => other.sparse.iter().for_each(|(slot, count)| self.count_in(usize::from(*slot), *count)),
            Some(theirs) => {
                for (mine, theirs) in self.slots_mut().iter_mut().zip(theirs.iter()) {
                    *mine = mine.saturating_add(*theirs);
                }
            }
        }
    }

    /// Occupied slots with their counts, in order.
    fn occupied(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        // Most blocks are empty, and seen to be by a loop without a branch.
        let blocks = self.dense.iter().flat_map(|dense| dense.chunks(SUB as usize).enumerate());
        let occupied = blocks.filter(|(_, block)| block.iter().fold(0, |any, count| any | count) > 0);
        let dense = occupied.flat_map(|(n, block)| (n * SUB as usize..).zip(block.iter().copied()));
        let sparse = self.sparse.iter().map(|(slot, count)| (usize::from(*slot), *count));
        dense.filter(|(_, count)| *count > 0).chain(sparse)
    }

    /// All occupied bins, from the smallest value to the largest.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.occupied().map(|(slot, count)| {
            if slot < HALF {
                let bin = HALF - 1 - slot;
                Bin { low_ns: -(bin_high(bin) as i64) - 1, high_ns: -(bin_low(bin) as i64) - 1, count }
            } else {
                let bin = slot - HALF;
                Bin { low_ns: bin_low(bin) as i64, high_ns: bin_high(bin) as i64, count }
            }
        })
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.occupied().fold(0, |sum: u64, (_, count)| sum.saturating_add(count))
    }

    /// The upper edge of the bin that holds the `rank`-th smallest value (from 1), or `None` beyond the last.
    pub fn value_at_rank(&self, rank: u64) -> Option<i64> {
        let mut seen = 0;
        self.bins().find_map(|bin| {
            seen = bin.count.saturating_add(seen);
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
        fn the_vector_form_finds_the_same_slot(v in any::<i32>(), shift in 0u32..31) {
            for v in [v >> shift, i32::MAX >> shift, (i32::MAX >> shift) + i32::from(shift > 0), i32::MIN >> shift] {
                prop_assert_eq!(slot_of_i32(v) as usize, slot_of(i64::from(v)), "{}", v);
            }
        }

        #[test]
        fn few_bins_are_what_all_bins_are(values in prop::collection::vec(any::<i64>(), 0..600)) {
            let (mut sparse, mut dense) = (LogHistogram::new(), LogHistogram::new());
            dense.slots_mut();
            for v in values {
                sparse.record(v >> (v & 63));
                dense.record(v >> (v & 63));
            }
            prop_assert_eq!(&sparse, &dense);
            prop_assert_eq!(sparse.value_at_rank(3), dense.value_at_rank(3));
            let mut both = sparse.clone();
            both.merge(&dense);
            dense.merge(&sparse);
            prop_assert_eq!(both, dense);
        }

        #[test]
        fn neighbouring_bins_touch(bin in 0usize..HALF - 1) {
            prop_assert_eq!(bin_high(bin) + 1, bin_low(bin + 1));
            prop_assert_eq!(bin_of(bin_low(bin)), bin);
            prop_assert_eq!(bin_of(bin_high(bin)), bin);
        }

        #[test]
        fn merging_is_the_same_as_recording_all(a in prop::collection::vec(any::<i64>(), 0..50), b in prop::collection::vec(any::<i64>(), 0..50)) {
            let (mut left, mut right, mut dense) = (LogHistogram::new(), LogHistogram::new(), LogHistogram::new());
            a.iter().for_each(|v| { left.record(*v); dense.record(*v); });
            b.iter().for_each(|v| { right.record(*v); dense.record(*v); });
            left.merge(&right);
            prop_assert_eq!(left, dense);
        }
    }
}
