//! A distribution as other tools print it: counts of intervals, and perhaps extremes, mean and deviation.

use jitterlab_model::distribution::{Beyond, Lacks, Moments};
use jitterlab_model::{Distribution, TimingStats};

use super::Measured;
use super::text::us;

/// What an output tells of one quantity's values, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    /// (smallest, largest possible value, how many); the order does not matter.
    pub(super) intervals: Vec<(i64, i64, u64)>,
    pub(super) min_ns: Option<i64>,
    pub(super) max_ns: Option<i64>,
    pub(super) mean_ns: Option<f64>,
    pub(super) deviation_ns: Option<f64>,
    /// (bound, how many) of values that the tool only knows to be that or more.
    pub(super) beyond: Option<(i64, u64)>,
    /// Whether the intervals are between percentiles, and say nothing of what is in them.
    pub(super) wide: bool,
}

impl Histogram {
    /// Of so many values, cut to whole units, only smallest, largest and mean are known.
    pub(super) fn of_extremes([min, mean, max]: [f64; 3], count: u64, unit_ns: i64) -> Self {
        let ns = |value: f64| us(value * unit_ns as f64 / 1_000.0);
        let mut histogram = Histogram {
            min_ns: Some(ns(min)),
            max_ns: Some(ns(max).saturating_add(unit_ns - 1)),
            mean_ns: Some(mean * unit_ns as f64),
            ..Histogram::default()
        };
        histogram.add_overflow(ns(min), count);
        histogram
    }

    /// Counts `count` values of an interval.
    pub(super) fn add(&mut self, low_ns: i64, high_ns: i64, count: u64) {
        if count > 0 {
            // No tool counts further than this; damaged numbers that do would only overflow sums.
            self.intervals.push((low_ns, high_ns.max(low_ns), count.min(1 << 48)));
        }
    }

    pub(super) fn count(&self) -> u64 {
        let beyond = self.beyond.map_or(0, |(_, n)| n);
        self.intervals.iter().fold(beyond, |sum, (_, _, n)| sum.saturating_add(*n))
    }

    /// Counts values that the tool only knows to be `limit_ns` or more: they lie up to the maximum, if that is
    /// known.
    pub(super) fn add_overflow(&mut self, limit_ns: i64, count: u64) {
        if count > 0 {
            let (from_ns, before) = self.beyond.unwrap_or((limit_ns, 0));
            self.beyond = Some((from_ns.min(limit_ns), before + count.min(1 << 48)));
        }
    }

    /// The values, each counted as the largest it may have been; of those above the last bin only the bounds.
    pub(super) fn distribution(&self) -> Distribution {
        let highest = self.max_ns.unwrap_or(i64::MAX);
        let occupied =
            || self.intervals.iter().map(|(low, high, n)| (*low, (*high).min(highest).max(*low), *n));
        let count = self.count();
        let middle = |low: i64, high: i64| low as f64 + (high as f64 - low as f64) / 2.0;
        let by_intervals = |power: fn(f64) -> f64| {
            occupied().map(|(low, high, n)| power(middle(low, high)) * n as f64).sum::<f64>()
        };
        let sum = self.mean_ns.map_or_else(|| by_intervals(|v| v), |mean| mean * count as f64);
        let squares = match (self.mean_ns, self.deviation_ns) {
            // Where the mean is not known either, the sum stands at that of no values beyond: 0.
            (mean, Some(deviation)) => {
                let mean = mean.unwrap_or(sum / count.max(1) as f64);
                (mean * mean + deviation * deviation) * count as f64
            }
            _ => by_intervals(|v| v * v),
        };
        // Rounded figures may contradict each other by a little: no variance is below 0.
        let squares = if count > 0 { squares.max(sum * sum / count as f64) } else { 0.0 };
        let lowest = occupied().map(|(low, ..)| low).min();
        let moments = Moments {
            count,
            min_ns: self.min_ns.or(lowest).unwrap_or(0),
            max_ns: self.max_ns.or_else(|| occupied().map(|(_, high, _)| high).max()).unwrap_or(0),
            sum: sum as i128,
            sum_of_squares: squares.ceil() as u128,
        };
        let open = self.beyond.is_some();
        let lacks = Lacks {
            beyond: self.beyond.map(|(from_ns, count)| Beyond { count, from_ns, to_ns: self.max_ns }),
            min: self.min_ns.is_none() && lowest.is_none(),
            mean: self.mean_ns.is_none() && open,
            deviation: self.deviation_ns.is_none() && open,
            shape: self.wide,
        };
        Distribution::from_parts(moments, occupied().map(|(_, high, n)| (high, n))).lacking(lacks)
    }

    /// The figures of a task whose latencies these are.
    pub(super) fn latency(&self, period_ns: i64) -> Measured {
        let mut stats = TimingStats::new(period_ns);
        stats.latency = self.distribution();
        Measured::Distributions(Box::new(stats))
    }

    /// The figures of a task whose period errors these are.
    pub(super) fn period_error(&self, period_ns: i64) -> Measured {
        let mut stats = TimingStats::new(period_ns);
        stats.period_error = self.distribution();
        Measured::Distributions(Box::new(stats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Known;

    #[test]
    fn every_value_counts_as_the_largest_it_may_have_been_and_none_gets_lost() {
        let mut h = Histogram {
            max_ns: Some(741_999),
            min_ns: Some(9_000),
            mean_ns: Some(19_500.0),
            ..Histogram::default()
        };
        h.add(9_000, 9_999, 7);
        h.add(10_000, 10_999, 2);
        h.add_overflow(100_000, 1);
        let d = h.distribution();
        assert_eq!((d.count(), d.min_ns(), d.max_ns()), (10, Some(9_000), Some(741_999)));
        assert_eq!(d.mean_ns(), Some(19_500.0));
        assert!(d.quantile_ns(0.5).is_some_and(|v| (9_999..10_080).contains(&v)));
        assert_eq!((d.quantile_ns(1.0), d.standard_deviation_ns()), (Some(741_999), None));
        let mut open = h.clone();
        open.add_overflow(100_000, 1);
        let between = Known::Between { at_least: 100_000, at_most: 741_999 };
        assert_eq!(
            (open.distribution().quantile_ns(0.9), open.distribution().known_at_rank(10)),
            (None, between)
        );
    }

    #[test]
    fn rounded_figures_never_give_an_impossible_deviation() {
        let mut h = Histogram { mean_ns: Some(5_900.0), ..Histogram::default() };
        h.add(5_000, 5_999, 3);
        assert_eq!(h.distribution().standard_deviation_ns(), Some(0.0));
    }
}
