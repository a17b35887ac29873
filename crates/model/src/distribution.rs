//! Distribution of a quantity's values: count, extremes, moments, quantiles. Exact where it can be, always mergeable.

use serde::{Deserialize, Serialize};

use crate::activation::Ages;
use crate::histogram::{Bin, LogHistogram, Slots};
use crate::known::Known;

/// Number of values in a block. With a magnitude below [`SMALL`] (134 ms) the sum of their squares is below 2^62.
pub(crate) const BLOCK: usize = 128;
/// See [`BLOCK`].
pub(crate) const SMALL: i32 = 1 << 27;

/// The distribution of one quantity in nanoseconds.
///
/// Count, minimum, maximum, sum and sum of squares are kept as exact integers, so merging in any order gives
/// the same bits; quantiles come from a [`LogHistogram`], within 0.8 %.
///
/// ```
/// use jitterlab_model::Distribution;
///
/// let mut latencies = Distribution::new();
/// (1..=1_000).for_each(|us| latencies.record(us * 1_000));
/// assert_eq!((latencies.max_ns(), latencies.mean_ns()), (Some(1_000_000), Some(500_500.0)));
/// assert!((990_000..998_000).contains(&latencies.quantile_ns(0.99).unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    count: u64,
    min_ns: i64,
    max_ns: i64,
    sum: i128,
    sum_of_squares: u128,
    histogram: LogHistogram,
    lacks: SourceGaps,
}

/// Properties of a distribution that its source leaves open; none where the values themselves were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceGaps {
    /// Values with known bounds only. They are in the count, but in no bin.
    pub beyond: Option<Beyond>,
    /// The smallest value is not known.
    pub min: bool,
    /// The mean is not known.
    pub mean: bool,
    /// The standard deviation is not known.
    pub deviation: bool,
    /// Its bins are wide: a value may lie anywhere between the last bin and its own, so that they show no modes.
    pub shape: bool,
    /// The source counted values in bins of up to this width, and each value here is the upper edge of its bin; 0 where values
    /// themselves were counted.
    pub bin_ns: i64,
}

/// The largest values of a distribution, where only their number and bounds are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beyond {
    /// Number of values; 0 where it is unknown too, and every quantile may be larger than it seems.
    pub count: u64,
    /// Lower bound of all of them, in nanoseconds.
    pub from_ns: i64,
    /// The largest of them, if that is known.
    pub to_ns: Option<i64>,
}

/// The exact part of a [`Distribution`], enough with its bins to rebuild it (see [`Distribution::from_parts`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Smallest value; 0 when there is none.
    pub min_ns: i64,
    /// Largest value; 0 when there is none.
    pub max_ns: i64,
    /// Sum of the values.
    pub sum: i128,
    /// Sum of the squared values (saturating).
    pub sum_of_squares: u128,
}

impl Distribution {
    /// An empty distribution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (value_ns, value_ns);
        } else {
            self.min_ns = self.min_ns.min(value_ns);
            self.max_ns = self.max_ns.max(value_ns);
        }
        self.count += 1;
        self.sum += i128::from(value_ns);
        let magnitude = u128::from(value_ns.unsigned_abs());
        self.sum_of_squares = self.sum_of_squares.saturating_add(magnitude * magnitude);
        self.histogram.record(value_ns);
    }

    /// Counts a block of values in all but the histogram, whose slots the caller counts. See
    /// [`Distribution::slots_mut`]. Plain loops over few operations, which become short vector code.
    #[inline(always)]
    pub(crate) fn record_moments(&mut self, values_ns: &[i32; BLOCK]) {
        const LIMIT: i64 = SMALL as i64;
        let low = if self.count == 0 { LIMIT } else { self.min_ns.clamp(-LIMIT, LIMIT) } as i32;
        let high = if self.count == 0 { -LIMIT } else { self.max_ns.clamp(-LIMIT, LIMIT) } as i32;
        // Shifted to be positive they need no sign extension; the shift is subtracted exactly, since the result
        // fits into 64 bits and all arithmetic is modulo 2^64.
        let (mut sum, mut squares) = (0u64, 0u64);
        for pair in values_ns.as_chunks::<2>().0 {
            let packed = u64::from((pair[0] + SMALL) as u32) | u64::from((pair[1] + SMALL) as u32) << 32;
            let (even, odd) = (packed & u64::from(u32::MAX), packed >> 32);
            sum += even + odd;
            squares = squares.wrapping_add((even * even).wrapping_add(odd * odd));
        }
        if values_ns.iter().fold(0, |outside, v| outside | (v - low) | (high - v)) < 0 {
            let (min, max) = values_ns.iter().fold((low, high), |(min, max), v| (min.min(*v), max.max(*v)));
            self.min_ns = if self.count == 0 { min.into() } else { self.min_ns.min(min.into()) };
            self.max_ns = if self.count == 0 { max.into() } else { self.max_ns.max(max.into()) };
        }
        let (n, shift) = (BLOCK as u64, SMALL as u64);
        let squares =
            squares.wrapping_sub(sum.wrapping_mul(2 * shift)).wrapping_add(n.wrapping_mul(shift * shift));
        self.count += n;
        self.sum += i128::from(sum) - i128::from(n * shift);
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(squares));
    }

    /// Counts ages of missed due times; takes no longer than there are bins, however many ages there are.
    pub(crate) fn record_descending(&mut self, ages: Ages) {
        let Ages { first_ns, step_ns, count: n } = ages;
        if n == 0 {
            return;
        }
        // The sums of k and of k^2 for k below n.
        let (count, first, step) = (i128::from(n), i128::from(first_ns), i128::from(step_ns));
        let sum_k = count * (count - 1) / 2;
        let sum_of_squares = (|| {
            let steps = step.checked_mul(step)?.checked_mul(sum_k.checked_mul(2 * count - 1)? / 3)?;
            let mixed = (2 * first).checked_mul(step)?.checked_mul(sum_k)?;
            let whole = first.checked_mul(first)?.checked_mul(count)?;
            u128::try_from(whole.checked_sub(mixed)?.checked_add(steps)?).ok()
        })();
        self.merge_moments(Moments {
            count: n,
            min_ns: i64::try_from(first - step * (count - 1)).unwrap_or(0),
            max_ns: first_ns,
            sum: count * first - step * sum_k,
            sum_of_squares: sum_of_squares.unwrap_or(u128::MAX),
        });
        self.histogram.record_descending(first_ns, step_ns, n);
    }

    /// The histogram's counts, for the other part of [`Distribution::record_moments`].
    #[inline]
    pub(crate) fn slots_mut(&mut self) -> &mut Slots {
        self.histogram.slots_mut()
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        self.merge_moments(other.moments());
        self.histogram.merge(&other.histogram);
        self.lacks.min |= other.lacks.min;
        self.lacks.mean |= other.lacks.mean;
        self.lacks.deviation |= other.lacks.deviation;
        self.lacks.shape |= other.lacks.shape;
        self.lacks.bin_ns = self.lacks.bin_ns.max(other.lacks.bin_ns);
        self.lacks.beyond = match (self.lacks.beyond, other.lacks.beyond) {
            (Some(a), Some(b)) => Some(Beyond {
                count: a.count.saturating_add(b.count),
                from_ns: a.from_ns.min(b.from_ns),
                to_ns: a.to_ns.zip(b.to_ns).map(|(a, b)| a.max(b)),
            }),
            (a, b) => a.or(b),
        };
    }

    /// Rebuilds a distribution from its exact part and its bins (only each bin's `high_ns` and `count` matter).
    pub fn from_parts(moments: Moments, bins: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut all = Distribution::new();
        all.merge_parts(moments, bins);
        all
    }

    /// Returns the distribution with these properties marked as unknown from its source.
    #[must_use]
    pub fn with_gaps(mut self, lacks: SourceGaps) -> Self {
        self.lacks = lacks;
        self
    }

    /// Returns true if its bins show the shape of its distribution, and not only extremes or percentiles.
    pub fn has_shape(&self) -> bool {
        self.has_bins() && !self.lacks.shape
    }

    /// Returns true if most of its values are in bins, and not only between bounds.
    pub fn has_bins(&self) -> bool {
        self.count > 0 && self.lacks.beyond.is_none_or(|beyond| beyond.count <= self.count / 2)
    }

    /// Returns true if its bins hold the percentiles up to a share. False where an unknown number of values
    /// lies above them.
    pub fn has_percentiles(&self) -> bool {
        self.has_bins() && self.lacks.beyond.is_none_or(|beyond| beyond.count > 0)
    }

    /// Bin width of its source, in nanoseconds: a value lies at most this far below the one that represents it.
    pub fn bin_width_ns(&self) -> i64 {
        self.lacks.bin_ns
    }

    /// Number and bounds of the values that are in no bin; `None` if all are in bins.
    pub fn values_beyond_bins(&self) -> Option<Beyond> {
        self.lacks.beyond
    }

    /// Adds the values of a stored distribution, at the cost of its occupied bins only. The same as
    /// [`Distribution::merge`] with one that is rebuilt by [`Distribution::from_parts`].
    pub fn merge_parts(&mut self, moments: Moments, bins: impl IntoIterator<Item = (i64, u64)>) {
        self.merge_moments(moments);
        for (value_ns, count) in bins {
            self.histogram.record_n(value_ns, count);
        }
    }

    fn merge_moments(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (other.min_ns, other.max_ns);
        } else {
            self.min_ns = self.min_ns.min(other.min_ns);
            self.max_ns = self.max_ns.max(other.max_ns);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Exact moments and extremes, for storing.
    pub fn moments(&self) -> Moments {
        let &Distribution { count, min_ns, max_ns, sum, sum_of_squares, .. } = self;
        Moments { count, min_ns, max_ns, sum, sum_of_squares }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Smallest value, exact; `None` where there is none or it is not known.
    pub fn min_ns(&self) -> Option<i64> {
        (self.count > 0 && !self.lacks.min).then_some(self.min_ns)
    }

    /// Largest value, exact; `None` where there is none or it is not known.
    pub fn max_ns(&self) -> Option<i64> {
        let known = self.lacks.beyond.is_none_or(|beyond| beyond.to_ns.is_some());
        (self.count > 0 && known).then_some(self.max_ns)
    }

    /// Largest minus smallest value, exact; `None` if either is unknown. It is the *release jitter* when the
    /// quantity is latency.
    pub fn peak_to_peak_ns(&self) -> Option<i64> {
        Some(self.max_ns()?.saturating_sub(self.min_ns()?))
    }

    /// Arithmetic mean in nanoseconds; `None` where it is not known.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0 && !self.lacks.mean).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation (divisor n) in nanoseconds; `None` where it is not known.
    pub fn standard_deviation_ns(&self) -> Option<f64> {
        if self.count == 0 || self.lacks.deviation {
            return None;
        }
        let n = u128::from(self.count);
        // n * sum(x^2) - sum(x)^2 in integers where it fits, since the difference of two large floats would not do.
        let magnitude = self.sum.unsigned_abs();
        let exact = n
            .checked_mul(self.sum_of_squares)
            .zip(magnitude.checked_mul(magnitude))
            .and_then(|(a, b)| a.checked_sub(b));
        let variance = match exact {
            Some(difference) => difference as f64 / (n as f64 * n as f64),
            None => {
                let mean = self.sum as f64 / n as f64;
                (self.sum_of_squares as f64 / n as f64 - mean * mean).max(0.0)
            }
        };
        Some(variance.sqrt())
    }

    /// The smallest value that the share `p` (0 to 1) of all does not exceed; `None` if it is not known. It
    /// is the upper edge of its bin (at most 0.8 % too high, never too low), and never above the exact
    /// maximum.
    pub fn quantile_ns(&self, p: f64) -> Option<i64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((p.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        self.value_at_rank(rank)
    }

    /// The `rank`-th smallest value (from 1), by its bin's upper edge; `None` if not known or past the last.
    /// Where only bounds are known, see [`Distribution::known_at_rank`].
    pub fn value_at_rank(&self, rank: u64) -> Option<i64> {
        self.known_at_rank(rank).exactly()
    }

    /// The `rank`-th smallest value (from 1), as far as it is known: exact, or between bounds. Exact as in
    /// [`Distribution::value_at_rank`]; the bounds are those of the largest values.
    pub fn known_at_rank(&self, rank: u64) -> Known<i64> {
        match self.lacks.beyond {
            Some(Beyond { count: 0, .. }) => {
                self.binned_value_at_rank(rank).map_or(Known::Unknown, |at_least| Known::AtLeast { at_least })
            }
            Some(Beyond { count, from_ns, to_ns })
                if rank <= self.count && rank > self.count.saturating_sub(count) =>
            {
                match to_ns {
                    Some(max_ns) if rank == self.count || max_ns == from_ns => Known::Exactly(max_ns),
                    Some(at_most) => Known::Between { at_least: from_ns, at_most },
                    None => Known::AtLeast { at_least: from_ns },
                }
            }
            _ => self.binned_value_at_rank(rank).into(),
        }
    }

    fn binned_value_at_rank(&self, rank: u64) -> Option<i64> {
        let value = if rank == 0 { None } else { self.histogram.value_at_rank(rank) };
        value.map(|v| v.clamp(self.min_ns, self.max_ns))
    }

    /// The occupied bins of the histogram, in order of value.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.histogram.bins()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_values(values: &[i64]) -> Distribution {
        let mut d = Distribution::new();
        values.iter().for_each(|v| d.record(*v));
        d
    }

    #[test]
    fn nothing_is_none() {
        let d = Distribution::new();
        assert_eq!((d.min_ns(), d.max_ns(), d.quantile_ns(0.5)), (None, None, None));
        assert_eq!((d.mean_ns(), d.standard_deviation_ns(), d.peak_to_peak_ns()), (None, None, None));
    }

    #[test]
    fn values_of_unknown_number_above_leave_every_quantile_open() {
        let open = Beyond { count: 0, from_ns: 400, to_ns: None };
        let d = from_values(&[1, 2, 3]).with_gaps(SourceGaps { beyond: Some(open), ..SourceGaps::default() });
        assert_eq!((d.quantile_ns(0.5), d.max_ns(), d.min_ns()), (None, None, Some(1)));
        assert_eq!(d.known_at_rank(2), Known::AtLeast { at_least: 2 });
    }

    #[test]
    fn a_small_spread_on_a_large_mean_is_not_lost() {
        let d = from_values(&[1_000_000_000_000_000, 1_000_000_000_000_002]);
        assert_eq!(d.standard_deviation_ns(), Some(1.0));
    }

    proptest! {
        #[test]
        fn quantiles_are_never_below_the_true_one_nor_1_percent_above(
            mut values in prop::collection::vec(-5_000_000i64..5_000_000, 1..200), p in 0.0f64..=1.0
        ) {
            let d = from_values(&values);
            values.sort_unstable();
            let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = values[rank - 1];
            let found = d.quantile_ns(p).unwrap();
            prop_assert!(found >= truth);
            prop_assert!(found - truth <= truth.abs() / 127 + 1);
        }

        #[test]
        fn ages_at_once_are_ages_one_by_one(
            first_ns in 0i64..3_000_000, step_ns in 0i64..40_000, most in 1u64..4_000
        ) {
            let fit = if step_ns == 0 { most } else { most.min((first_ns / step_ns) as u64 + 1) };
            let mut at_once = Distribution::new();
            at_once.record_descending(Ages { first_ns, step_ns, count: fit });
            let each: Vec<i64> = (0..fit).map(|k| first_ns - k as i64 * step_ns).collect();
            prop_assert_eq!(at_once, from_values(&each));
        }

        #[test]
        fn a_merge_in_any_split_is_the_same(values in prop::collection::vec(any::<i64>(), 0..100), cut in 0usize..100) {
            let cut = cut.min(values.len());
            let mut left = from_values(&values[..cut]);
            left.merge(&from_values(&values[cut..]));
            prop_assert_eq!(&left, &from_values(&values));
        }

        #[test]
        fn parts_rebuild_the_whole(values in prop::collection::vec(any::<i64>(), 0..100)) {
            let d = from_values(&values);
            let again = Distribution::from_parts(d.moments(), d.bins().map(|b| (b.high_ns, b.count)));
            prop_assert_eq!(d, again);
        }
    }
}
