//! Slices: figures of one second of one task, for runs that keep only spikes.
//!
//! In a journal a slice is, compressed by zstd and with the numbers of [`crate::codec`]: s(start_ns), s(first_due_ns),
//! s(last_end_ns), v(missed), then the five quantities: each v(count) and, if not 0, s(min), s(max), sum as i128, sum of squares as
//! u128, v(number of bins), for each bin s(high_ns - that of the bin before), then for each bin v(count).

use std::cell::RefCell;

use jitterlab_model::Error;
use jitterlab_model::bounds::{COUNT, EARLIEST_NS, LATEST_NS, check_moments};
use jitterlab_model::distribution::Moments;
use jitterlab_model::{Distribution, Quantity, TimingStats, varint};
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

/// Length of a slice. Slices begin at whole multiples of it on the run's clock, so slices of all tasks line up.
pub(crate) const SLICE_NS: i64 = 1_000_000_000;

/// Most bytes of a slice: five histograms with every bin occupied stay below.
const LARGEST_BYTES: usize = 4 << 20;

thread_local! {
    /// Contexts of zstd for all slices of a thread. A new one asks for the processor's properties, and in a virtual machine
    /// each such question goes to the host: most of the time of packing a slice.
    static PACKING: RefCell<Compressor<'static>> = RefCell::default();
    /// Contexts of zstd for reading slices, as [`PACKING`] for writing.
    static UNPACKING: RefCell<Decompressor<'static>> = RefCell::default();
}

/// A distribution as it is stored: its exact part, and its occupied bins as (upper edge, count).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredDistribution {
    /// Count, extremes, sums.
    pub moments: Moments,
    /// Occupied bins in order of value: largest value of the bin in nanoseconds, and how many values it holds.
    pub bins: Vec<(i64, u64)>,
}

impl From<&Distribution> for StoredDistribution {
    fn from(distribution: &Distribution) -> Self {
        let bins = distribution.bins().map(|b| (b.high_ns, b.count)).collect();
        StoredDistribution { moments: distribution.moments(), bins }
    }
}

impl StoredDistribution {
    /// Adds stored distributions, in the order of [`Quantity::COUNTED`], to those of their task.
    pub fn add_all(stored: &[StoredDistribution], stats: &mut TimingStats) {
        for (all, StoredDistribution { moments, bins }) in stats.counted_mut().into_iter().zip(stored) {
            all.merge_parts(*moments, bins.iter().copied());
        }
    }
}

/// Figures of one task in one second (the last slice of a run may be shorter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Number of the task in the run's description.
    pub task: usize,
    /// The second it covers: due times from `start_ns` on, below `start_ns` + 1 s.
    pub start_ns: i64,
    /// Due time of its first activation.
    pub first_due_ns: i64,
    /// End of its last activation.
    pub last_end_ns: i64,
    /// Due times missed.
    pub missed: u64,
    /// The distributions, in the order of [`Quantity::COUNTED`].
    pub(crate) stored: [StoredDistribution; Quantity::COUNTED.len()],
}

impl Slice {
    pub(crate) fn new(
        task: usize,
        start_ns: i64,
        first_due_ns: i64,
        last_end_ns: i64,
        stats: &TimingStats,
    ) -> Self {
        let stored = stats.counted().map(StoredDistribution::from);
        Slice { task, start_ns, first_due_ns, last_end_ns, missed: stats.least_missed(), stored }
    }

    /// Activations that ran.
    pub fn executed(&self) -> u64 {
        self.stored[0].moments.count
    }

    /// The stored distribution of a quantity; `None` for one that is not counted itself. The exact part is always the slice's own; in a run file the bins of
    /// period error, cycle-to-cycle jitter and execution time are kept by the minute: the last slice of a
    /// minute holds those of all its slices, the others none.
    pub fn of(&self, quantity: Quantity) -> Option<&StoredDistribution> {
        Quantity::COUNTED.iter().zip(&self.stored).find_map(|(q, stored)| (*q == quantity).then_some(stored))
    }

    /// Adds the slice's figures to those of its task. All slices of a run, added in any order, give exactly the same
    /// figures as a count of the activations themselves.
    pub fn add_to(&self, stats: &mut TimingStats) {
        stats.add_missed(self.missed);
        StoredDistribution::add_all(&self.stored, stats);
        stats.break_sequence();
    }

    /// Checks the slice against the bounds of the model.
    pub(crate) fn check_bounds(&self) -> Result<(), Error> {
        let times = [self.start_ns, self.first_due_ns, self.last_end_ns];
        let bins = || self.stored.iter().flat_map(|stored| &stored.bins);
        let possible = self.missed <= COUNT
            && times.iter().all(|ns| (EARLIEST_NS..=LATEST_NS).contains(ns))
            && bins().all(|(_, count)| *count <= COUNT)
            && self.stored.iter().all(|stored| stored.bins.is_sorted_by(|a, b| a.0 < b.0));
        if !possible {
            return Err(Error::damaged(format!(
                "the second from {} ns on holds times or counts out of all bounds",
                self.start_ns
            )));
        }
        self.stored.iter().try_for_each(|stored| check_moments(stored.moments))
    }

    /// Number of occupied bins of all its distributions.
    pub(crate) fn bin_count(&self) -> usize {
        self.stored.iter().map(|s| s.bins.len()).sum()
    }

    /// Appends the slice as bytes for the journal; [`Slice::decode`] is the reverse.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut plain = Vec::new();
        self.encode_plain(&mut plain);
        // Compressing into memory cannot fail; if it did, an empty payload would be noticed as damage.
        out.extend(PACKING.with_borrow_mut(|packing| packing.compress(&plain)).unwrap_or_default());
    }

    fn encode_plain(&self, out: &mut Vec<u8>) {
        varint::put_signed(out, self.start_ns);
        varint::put_signed(out, self.first_due_ns);
        varint::put_signed(out, self.last_end_ns);
        varint::put(out, self.missed);
        for StoredDistribution { moments, bins } in &self.stored {
            varint::put(out, moments.count);
            if moments.count == 0 {
                continue;
            }
            varint::put_signed(out, moments.min_ns);
            varint::put_signed(out, moments.max_ns);
            out.extend(moments.sum.to_le_bytes());
            out.extend(moments.sum_of_squares.to_le_bytes());
            varint::put(out, bins.len() as u64);
            // Edges and counts apart: the distances of edges repeat, which compresses to almost nothing.
            let mut previous = 0i64;
            for (high_ns, _) in bins {
                varint::put_signed(out, high_ns.wrapping_sub(previous));
                previous = *high_ns;
            }
            bins.iter().for_each(|(_, count)| varint::put(out, *count));
        }
    }

    /// Reads the bytes of [`Slice::encode`]; `None` if they are not such.
    pub(crate) fn decode(task: usize, bytes: &[u8]) -> Option<Slice> {
        let plain = UNPACKING.with_borrow_mut(|unpacking| unpacking.decompress(bytes, LARGEST_BYTES)).ok()?;
        let input = &mut &plain[..];
        let start_ns = varint::take_signed(input)?;
        let first_due_ns = varint::take_signed(input)?;
        let last_end_ns = varint::take_signed(input)?;
        let missed = varint::take(input)?;
        let mut stored: [StoredDistribution; Quantity::COUNTED.len()] = Default::default();
        for StoredDistribution { moments, bins } in &mut stored {
            moments.count = varint::take(input)?;
            if moments.count == 0 {
                continue;
            }
            moments.min_ns = varint::take_signed(input)?;
            moments.max_ns = varint::take_signed(input)?;
            moments.sum = i128::from_le_bytes(take_array(input)?);
            moments.sum_of_squares = u128::from_le_bytes(take_array(input)?);
            let mut high_ns = 0i64;
            for _ in 0..varint::take(input)? {
                high_ns = high_ns.wrapping_add(varint::take_signed(input)?);
                bins.push((high_ns, 0));
            }
            for (_, count) in bins {
                *count = varint::take(input)?;
            }
        }
        input.is_empty().then_some(Slice { task, start_ns, first_due_ns, last_end_ns, missed, stored })
    }

    /// Adds a later piece of the same second of the same task.
    pub(crate) fn merge_later(&mut self, later: &Slice, scratch: &mut TimingStats) {
        let _ = scratch.take();
        self.add_to(scratch);
        later.add_to(scratch);
        *self = Slice::new(self.task, self.start_ns, self.first_due_ns, later.last_end_ns, scratch);
    }
}

fn take_array<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::any_rows;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slices_come_back_and_add_up_to_the_whole(rows in any_rows(), cut in 0usize..60) {
            // Differences of times out of all bounds overflow in the statistics, which are not under test here.
            let rows: Vec<_> = rows.into_iter()
                .filter(|a| a.start_ns.abs() < 1 << 50 && a.end_ns.abs() < 1 << 50 && a.due_ns.abs() < 1 << 50 && a.missed < 5).collect();
            let (mut whole, mut running) = (TimingStats::new(1_000), TimingStats::new(1_000));
            rows.iter().for_each(|a| whole.push(a));
            whole.break_sequence();
            let mut pieces = Vec::new();
            for part in [&rows[..cut.min(rows.len())], &rows[cut.min(rows.len())..]] {
                part.iter().for_each(|a| running.push(a));
                pieces.push(Slice::new(1, 0, 3, 9, &running.take()));
            }
            let mut sum = TimingStats::new(1_000);
            for piece in &mut pieces {
                let mut bytes = Vec::new();
                piece.encode(&mut bytes);
                let back = Slice::decode(1, &bytes);
                prop_assert_eq!(back.as_ref(), Some(&*piece));
                piece.add_to(&mut sum);
            }
            prop_assert_eq!(&sum, &whole);
            let (first, second) = pieces.split_at_mut(1);
            first[0].merge_later(&second[0], &mut TimingStats::new(1_000));
            prop_assert_eq!(&first[0], &Slice::new(1, 0, 3, 9, &whole));
        }

        #[test]
        fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Slice::decode(0, &bytes);
        }
    }
}
