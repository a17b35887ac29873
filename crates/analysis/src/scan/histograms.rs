//! A trace's latencies in histograms, one for each of many equal parts: what resampling needs to respect that neighbours
//! are alike, and what shows the median over time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jitterlab_model::LogHistogram;
use jitterlab_model::histogram::Bin;

/// The latencies of one part of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// Occupied bins in order of value.
    pub bins: Vec<Bin>,
    /// Activations that ran.
    pub count: u64,
    /// Due times missed.
    pub missed: u64,
    /// Sum of the latencies.
    pub sum_ns: i128,
    /// Sum of their squares (saturating).
    pub sum_of_squares: u128,
}

impl Part {
    /// Mean latency.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Variance of the latency (divisor n), in ns^2.
    pub fn variance(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        Some((self.sum_of_squares as f64 / self.count as f64 - mean * mean).max(0.0))
    }

    /// Adds what another part holds.
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
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// The quantile `p`, interpolated within its bin: finer than a bin, as comparing levels over time needs.
    pub fn quantile_ns(&self, p: f64) -> Option<f64> {
        let wanted = p * self.count as f64;
        let mut seen = 0.0;
        for bin in &self.bins {
            let count = bin.count as f64;
            if seen + count >= wanted {
                let (low, high) = (bin.low_ns as f64 - 0.5, bin.high_ns as f64 + 0.5);
                return Some(low + (high - low) * (wanted - seen) / count);
            }
            seen += count;
        }
        None
    }
}

/// The histograms of at most `limit` parts of equal length on the task's grid, which doubles as the run grows. Edges are
/// multiples of the length, so any split of the trace gives the same parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHistograms {
    limit: usize,
    shift: u32,
    parts: BTreeMap<u64, Part>,
    number: u64,
    current: Part,
    histogram: LogHistogram,
}

impl PartHistograms {
    /// Nothing seen yet, with parts of at least the length (in due times) that a run of `expected` due times needs.
    pub fn new(limit: usize, expected: u64) -> Self {
        let limit = limit.max(2);
        let shift = (expected / limit as u64).checked_ilog2().unwrap_or(0);
        PartHistograms {
            limit,
            shift,
            parts: BTreeMap::new(),
            number: 0,
            current: Part::default(),
            histogram: LogHistogram::new(),
        }
    }

    /// Sees the next activation: its place on the grid, its latency, and the due times missed after it.
    #[inline]
    pub fn push(&mut self, index: u64, latency_ns: i64, missed: u32) {
        if index >> self.shift != self.number {
            self.store();
            self.shrink();
            self.number = index >> self.shift;
        }
        self.current.count += 1;
        self.current.missed += u64::from(missed);
        self.current.sum_ns += i128::from(latency_ns);
        let size = u128::from(latency_ns.unsigned_abs());
        self.current.sum_of_squares = self.current.sum_of_squares.saturating_add(size * size);
        self.histogram.record(latency_ns);
    }

    fn store(&mut self) {
        if self.current.count > 0 {
            let mut part = std::mem::take(&mut self.current);
            part.bins = self.histogram.bins().collect();
            self.histogram.clear();
            self.parts.entry(self.number).or_default().merge(&part);
        }
    }

    fn shrink(&mut self) {
        while let (Some((first, _)), Some((last, _))) =
            (self.parts.first_key_value(), self.parts.last_key_value())
        {
            if last - first < self.limit as u64 {
                break;
            }
            self.lengthen(self.shift + 1);
        }
    }

    fn lengthen(&mut self, shift: u32) {
        let by = shift - self.shift;
        let mut longer: BTreeMap<u64, Part> = BTreeMap::new();
        for (number, part) in std::mem::take(&mut self.parts) {
            longer.entry(number >> by).or_default().merge(&part);
        }
        (self.parts, self.shift) = (longer, shift);
    }

    /// Sees what another part of the trace has seen.
    pub fn merge(&mut self, other: &PartHistograms) {
        let mut other = other.clone();
        other.store();
        self.store();
        let shift = self.shift.max(other.shift);
        self.lengthen(shift);
        other.lengthen(shift);
        for (number, part) in &other.parts {
            self.parts.entry(*number).or_default().merge(part);
        }
        self.shrink();
        self.number = u64::MAX;
    }

    /// The parts' length in due times, and all parts in order of time with their numbers; the last may be shorter.
    pub fn parts(&self) -> (u64, Vec<(u64, Part)>) {
        let mut whole = self.clone();
        whole.store();
        whole.shrink();
        (1 << whole.shift, whole.parts.into_iter().collect())
    }

    /// The parts that are at least 90 % full.
    pub fn full_parts(&self) -> Vec<Part> {
        let (length, parts) = self.parts();
        parts.into_iter().map(|p| p.1).filter(|p| (p.count + p.missed) * 10 >= length * 9).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_split_gives_the_same_parts(
            steps in prop::collection::vec((1u64..4, -500i64..5_000), 1..150), cut in 0usize..150, expected in 0u64..400
        ) {
            let new = || PartHistograms::new(8, expected);
            let (mut whole, mut early, mut late) = (new(), new(), new());
            let mut index = 0;
            for (i, (step, latency)) in steps.iter().enumerate() {
                whole.push(index, *latency, (*step - 1) as u32);
                if i < cut { &mut early } else { &mut late }.push(index, *latency, (*step - 1) as u32);
                index += step;
            }
            early.merge(&late);
            prop_assert_eq!(early.parts(), whole.parts());
            let (_, parts) = whole.parts();
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
    }
}
