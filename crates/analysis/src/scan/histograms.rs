//! A trace's latencies in histograms, one for each of many equal parts: for resampling that respects the
//! similarity of neighbours, and for the median over time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jitterlab_model::TimingStats;
use jitterlab_model::histogram::Bin;

/// Largest distance of a value from the median, in multiples of the larger distance of a quartile; values
/// farther away are moved there (3.4 standard deviations of a normal law).
const FAR: f64 = 5.0;

/// The latencies of one part of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// Occupied bins in order of value.
    pub bins: Vec<Bin>,
    /// Activations that ran.
    pub count: u64,
    /// Due times missed.
    pub missed: u64,
    /// Sum of the latencies, in ns.
    pub sum_ns: i128,
    /// Sum of their squares, in ns^2 (saturating).
    pub sum_of_squares: u128,
    /// Sum of the execution times, in ns.
    pub execution_sum_ns: i128,
}

impl Part {
    /// Returns the mean latency in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Returns the mean execution time in ns.
    pub fn mean_execution_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.execution_sum_ns as f64 / self.count as f64)
    }

    /// Returns the variance of the latency (divisor n), in ns^2.
    pub fn variance(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        Some((self.sum_of_squares as f64 / self.count as f64 - mean * mean).max(0.0))
    }

    /// Creates a part of everything counted.
    pub fn from_stats(stats: &TimingStats) -> Self {
        let moments = stats.latency.moments();
        Part {
            bins: stats.latency.bins().collect(),
            count: moments.count,
            missed: stats.least_missed(),
            sum_ns: moments.sum,
            sum_of_squares: moments.sum_of_squares,
            execution_sum_ns: stats.execution.moments().sum,
        }
    }

    /// Returns the counts since an earlier state of them.
    fn minus(mut self, before: &Part) -> Part {
        let mut earlier = before.bins.iter().peekable();
        for bin in &mut self.bins {
            // Counts only grow: every bin of the earlier state is still there.
            if let Some(seen) = earlier.next_if(|e| e.low_ns == bin.low_ns) {
                bin.count -= seen.count.min(bin.count);
            }
        }
        self.bins.retain(|bin| bin.count > 0);
        self.count -= before.count;
        self.missed -= before.missed;
        self.sum_ns -= before.sum_ns;
        self.execution_sum_ns -= before.execution_sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_sub(before.sum_of_squares);
        self
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &Part) {
        let mut merged = Vec::with_capacity(self.bins.len().max(other.bins.len()));
        let (mut mine, mut theirs) = (&self.bins[..], &other.bins[..]);
        while let ([a, rest_a @ ..], [b, rest_b @ ..]) = (mine, theirs) {
            let both = Bin { count: a.count + b.count, ..*a };
            let (next, left_a, left_b) = match a.low_ns.cmp(&b.low_ns) {
                Ordering::Less => (*a, rest_a, theirs),
                Ordering::Greater => (*b, mine, rest_b),
                Ordering::Equal => (both, rest_a, rest_b),
            };
            merged.push(next);
            (mine, theirs) = (left_a, left_b);
        }
        merged.extend_from_slice(mine);
        merged.extend_from_slice(theirs);
        self.bins = merged;
        self.count += other.count;
        self.missed += other.missed;
        self.sum_ns += other.sum_ns;
        self.execution_sum_ns += other.execution_sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Returns the bin of the quantile `p`, and the position in it; `None` without values.
    pub fn quantile_position(&self, p: f64) -> Option<BinPosition> {
        let wanted = p * self.count as f64;
        let mut seen = 0.0;
        for (bin, Bin { count, .. }) in self.bins.iter().enumerate() {
            let count = *count as f64;
            if seen + count >= wanted {
                return Some(BinPosition { bin, within: (wanted - seen) / count });
            }
            seen += count;
        }
        None
    }

    /// Returns the quantile `p` in ns, interpolated within its bin: finer than a bin, for comparing levels over time.
    pub fn quantile_ns(&self, p: f64) -> Option<f64> {
        let place = self.quantile_position(p)?;
        let bin = self.bins[place.bin];
        let (low, high) = (bin.low_ns as f64 - 0.5, bin.high_ns as f64 + 0.5);
        Some(low + (high - low) * place.within)
    }

    /// Returns the level in ns: the mean, with outlying values moved nearer to the median. Exact however
    /// coarse the bins are, for a level that drifts over many of them.
    pub fn level_ns(&self) -> Option<f64> {
        let place = self.quantile_position(0.5)?;
        let width = (self.bins[place.bin].high_ns - self.bins[place.bin].low_ns + 1) as f64;
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|p| self.quantile_ns(p));
        let (low, middle, high) = (low?, middle?, high?);
        let reach = FAR * (middle - low).max(high - middle).max(width);
        let off = |bin: &Bin| {
            let value = (bin.low_ns as f64 + bin.high_ns as f64) / 2.0;
            (value - value.clamp(middle - reach, middle + reach)) * bin.count as f64
        };
        Some((self.sum_ns as f64 - self.bins.iter().map(off).sum::<f64>()) / self.count as f64)
    }

    /// Returns the number of values above the position `within` (0 to 1) the bin that begins at `edge_ns`.
    pub fn count_above(&self, edge_ns: i64, within: f64) -> f64 {
        let from = &self.bins[self.bins.partition_point(|bin| bin.low_ns < edge_ns)..];
        let all: u64 = from.iter().map(|bin| bin.count).sum();
        let on = from.first().filter(|bin| bin.low_ns == edge_ns).map_or(0, |bin| bin.count);
        all as f64 - within * on as f64
    }
}

/// A position in a [`Part`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinPosition {
    /// The number of the bin.
    pub bin: usize,
    /// Share of the bin's values below it, 0 to 1.
    pub within: f64,
}

/// Histograms of at most `limit` parts of equal length on the task's grid; the length doubles as the run
/// grows. Edges are multiples of the length, so any split of the trace gives the same parts.
///
/// A part is the difference of the cumulative counts at its end and at its beginning: nothing is counted twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHistograms {
    limit: usize,
    shift: u32,
    parts: BTreeMap<u64, Part>,
    number: u64,
    /// The cumulative counts at the beginning of the current part.
    before: Part,
}

impl PartHistograms {
    /// Creates empty histograms, with parts long enough for a run of `expected` due times.
    pub fn new(limit: usize, expected: u64) -> Self {
        let limit = limit.max(2);
        let shift = (expected / limit as u64).checked_ilog2().unwrap_or(0);
        PartHistograms { limit, shift, parts: BTreeMap::new(), number: u64::MAX, before: Part::default() }
    }

    /// Moves to the part of this position, if it is another, and returns the first position behind it. `so_far` has
    /// everything counted before.
    pub fn enter_part(&mut self, index: u64, so_far: &TimingStats) -> u64 {
        if index >> self.shift != self.number {
            self.end_part(so_far);
            self.shrink();
            self.number = index >> self.shift;
        }
        self.number.saturating_add(1) << self.shift
    }

    /// Moves to a stretch that is known by its counts only: no part may be shorter than it.
    pub fn enter_stretch(&mut self, index: u64, due_times: u64, so_far: &TimingStats) {
        let needed = due_times.max(1).next_power_of_two().trailing_zeros();
        if needed > self.shift {
            self.end_part(so_far);
            self.lengthen_parts_to(needed);
        }
        self.enter_part(index, so_far);
    }

    /// Ends the current part; the next one begins with the counts from here on.
    pub fn end_part(&mut self, so_far: &TimingStats) {
        let counts_before = Part::from_stats(so_far);
        let part = counts_before.clone().minus(&self.before);
        if part.count > 0 {
            self.parts.entry(self.number).or_default().merge(&part);
        }
        self.begin_part(counts_before);
    }

    fn begin_part(&mut self, counts_before: Part) {
        (self.before, self.number) = (counts_before, u64::MAX);
    }

    /// Doubles the parts' length until they fit the limit.
    fn shrink(&mut self) {
        while let (Some((first, _)), Some((last, _))) =
            (self.parts.first_key_value(), self.parts.last_key_value())
        {
            if last - first < self.limit as u64 {
                break;
            }
            self.lengthen_parts_to(self.shift + 1);
        }
    }

    fn lengthen_parts_to(&mut self, shift: u32) {
        let by = shift - self.shift;
        let mut longer: BTreeMap<u64, Part> = BTreeMap::new();
        for (number, part) in std::mem::take(&mut self.parts) {
            longer.entry(number >> by).or_default().merge(&part);
        }
        (self.parts, self.shift) = (longer, shift);
    }

    /// Adds the parts of another part of the trace. Both must have been stored before; `so_far` has
    /// everything counted in both.
    pub fn merge(&mut self, other: &PartHistograms, so_far: &TimingStats) {
        let mut other = other.clone();
        let shift = self.shift.max(other.shift);
        self.lengthen_parts_to(shift);
        other.lengthen_parts_to(shift);
        for (number, part) in &other.parts {
            self.parts.entry(*number).or_default().merge(part);
        }
        self.shrink();
        self.begin_part(Part::from_stats(so_far));
    }

    /// Returns the parts' length in due times, and the numbered parts in order of time; the last may be shorter.
    pub fn parts(&self, so_far: &TimingStats) -> (u64, Vec<(u64, Part)>) {
        let mut whole = self.clone();
        whole.end_part(so_far);
        whole.shrink();
        (1 << whole.shift, whole.parts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Activation;
    use proptest::prelude::*;

    struct Counted(PartHistograms, TimingStats);

    impl Counted {
        fn new(expected: u64) -> Self {
            Counted(PartHistograms::new(8, expected), TimingStats::new(1_000))
        }

        fn push(&mut self, index: u64, start_ns: i64) {
            self.0.enter_part(index, &self.1);
            self.1.push(&Activation { index, start_ns, end_ns: start_ns, ..Activation::default() });
        }
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_parts(
            steps in prop::collection::vec((1u64..4, -500i64..5_000), 1..150), cut in 0usize..150, expected in 0u64..400
        ) {
            let (mut whole, mut early, mut late) =
                (Counted::new(expected), Counted::new(expected), Counted::new(expected));
            let mut index = 0;
            for (i, (step, latency)) in steps.iter().enumerate() {
                whole.push(index, *latency);
                if i < cut { &mut early } else { &mut late }.push(index, *latency);
                index += step;
            }
            early.0.end_part(&early.1);
            late.0.end_part(&late.1);
            early.1.merge(&late.1);
            early.0.merge(&late.0, &early.1);
            prop_assert_eq!(early.0.parts(&early.1), whole.0.parts(&whole.1));
            let (_, parts) = whole.0.parts(&whole.1);
            prop_assert!(parts.len() <= 9);
            prop_assert_eq!(parts.iter().map(|p| p.1.count).sum::<u64>(), steps.len() as u64);
            let counted: u64 = parts.iter().flat_map(|p| &p.1.bins).map(|b| b.count).sum();
            prop_assert_eq!(counted, steps.len() as u64);
        }
    }

    #[test]
    fn a_quantile_is_finer_than_its_bin() {
        let bin = |low_ns, high_ns, count| Bin { low_ns, high_ns, count };
        let part =
            Part { bins: vec![bin(1_000, 1_009, 50), bin(1_010, 1_019, 50)], count: 100, ..Part::default() };
        assert_eq!(part.quantile_ns(0.5), Some(1_009.5));
        assert_eq!(part.quantile_ns(0.25), Some(1_004.5));
        assert_eq!(Part::default().quantile_ns(0.5), None);
        assert_eq!(Part::default().level_ns(), None);
    }

    #[test]
    fn a_level_is_finer_than_bins_and_not_that_of_spikes() {
        let level = |values: &dyn Fn(i64) -> i64| {
            let mut stats = TimingStats::new(1_000);
            let rows = (0..200).map(|k| Activation { start_ns: values(k), ..Activation::default() });
            rows.for_each(|a| stats.push(&a));
            Part::from_stats(&stats).level_ns().unwrap()
        };
        // Bins are 4096 ns wide here.
        let at = |ns: i64| level(&|k| ns + k);
        assert!((at(900_300) - at(900_000) - 300.0).abs() < 1.0, "{} {}", at(900_000), at(900_300));
        let spiky = level(&|k| if k == 77 { 90_000_000 } else { 900_000 + k });
        assert!((spiky - 900_100.0).abs() < 5_000.0, "{spiky}");
    }
}
