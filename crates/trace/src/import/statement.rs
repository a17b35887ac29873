//! Statements of an output about one quantity of one task, and the one place where they are reconciled.
//!
//! An output often describes the same values several times: by bins, by totals below them, by lines that it refreshed while it
//! ran. The largest maximum and the largest count win, values that are in no bin keep their bounds, and statements that cannot
//! all be true are contradictions.

use jitterlab_model::Distribution;
use jitterlab_model::distribution::{Beyond, Moments, SourceGaps};
use jitterlab_model::warning::StatedQuantity;

use super::text::us;

/// One fact about the values of a quantity. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Statement {
    /// Number of all values, whether they are in bins or not.
    Count(u64),
    /// Number of all values at some time before the end.
    CountSoFar(u64),
    /// Number of the values in bins.
    Binned(u64),
    /// Smallest value.
    Min(i64),
    /// Smallest value at some time before the end.
    MinSoFar(i64),
    /// Largest value, cut to whole units where its tool does that.
    Max(i64),
    /// Largest value at some time before the end.
    MaxSoFar(i64),
    /// Mean.
    Mean(f64),
    /// Mean cut to whole units: less precise than bins.
    CutMean(f64),
    /// Standard deviation.
    Deviation(f64),
    /// Number of values from `low` to `high`.
    Bin {
        /// Smallest possible value.
        low: i64,
        /// Largest possible value.
        high: i64,
        /// Number of values, perhaps none.
        count: u64,
    },
    /// Number of values of `from` or more, which are in no bin.
    Overflow {
        /// The smallest they can be.
        from: i64,
        /// Number of values, perhaps none.
        count: u64,
    },
    /// An unknown number of values of `from` or more is in no bin.
    Open {
        /// The smallest they can be.
        from: i64,
    },
}

/// Everything that an output states of one quantity of one task.
#[derive(Debug, Clone)]
pub(super) struct Statements {
    all: Vec<Statement>,
    /// Values are cut to multiples of this.
    unit_ns: i64,
    /// True if bins are between percentiles, and do not show the distribution of the values within them.
    pub(super) wide: bool,
}

/// Statements that cannot both be true: their subject and their values.
pub(super) type Contradiction = (StatedQuantity, [i64; 2]);

/// Values of a quantity that agree with all its statements.
pub(super) struct Reconciled {
    pub(super) values: Distribution,
    pub(super) contradictions: Vec<Contradiction>,
    /// Values that the output counts, in no bin and not stated to be above the last one.
    pub(super) missing: u64,
    /// Values above the last bin.
    pub(super) above: u64,
    /// True if there are bins at all.
    pub(super) has_bins: bool,
}

impl Default for Statements {
    /// No statements yet, for values to the nanosecond.
    fn default() -> Self {
        Self::exact()
    }
}

/// Largest count of any tool: larger numbers are damaged, and would only overflow sums.
const MOST: u64 = 1 << 48;

impl Statements {
    /// No statements yet, for values that the tool cuts to whole units of this length.
    pub(super) fn with_unit(unit_ns: i64) -> Self {
        Statements { all: Vec::new(), unit_ns: unit_ns.max(1), wide: false }
    }

    /// No statements yet, for values to the nanosecond.
    pub(super) fn exact() -> Self {
        Self::with_unit(1)
    }

    /// Statements of the smallest, mean and largest of `count` values, in units.
    pub(super) fn from_extremes([min, mean, max]: [f64; 3], count: u64, unit_ns: i64) -> Self {
        let ns = |value: f64| us(value * unit_ns as f64 / 1_000.0);
        let mut statements = Statements::with_unit(unit_ns);
        statements.add([
            Statement::Count(count),
            Statement::Min(ns(min)),
            Statement::Mean(mean * unit_ns as f64),
            Statement::Max(ns(max)),
        ]);
        statements
    }

    pub(super) fn add(&mut self, more: impl IntoIterator<Item = Statement>) {
        self.all.extend(more);
    }

    pub(super) fn add_bin(&mut self, low: i64, high: i64, count: u64) {
        self.all.push(Statement::Bin { low, high: high.max(low), count: count.min(MOST) });
    }

    /// Adds the value at which the tool stopped, unless the stated maximum covers it.
    pub(super) fn add_stop_value(&mut self, value: i64) {
        if self.stated_max_ns().is_some_and(|max| self.upper_edge(max) >= value) {
            return;
        }
        for statement in &mut self.all {
            match *statement {
                Statement::Max(max) => *statement = Statement::MaxSoFar(max),
                Statement::Count(count) => *statement = Statement::CountSoFar(count),
                _ => {}
            }
        }
        self.add([Statement::MaxSoFar(value), Statement::Overflow { from: value, count: 1 }]);
    }

    /// Number of values in bins and above them.
    pub(super) fn binned_count(&self) -> u64 {
        let of_bins = self.all.iter().map(|statement| match statement {
            Statement::Bin { count, .. } | Statement::Overflow { count, .. } => (*count).min(MOST),
            _ => 0,
        });
        of_bins.fold(0, u64::saturating_add)
    }

    fn select<T>(&self, of: impl Fn(&Statement) -> Option<T>) -> impl Iterator<Item = T> {
        self.all.iter().filter_map(of)
    }

    /// The largest value that is stated of all values, as it is stated.
    pub(super) fn stated_max_ns(&self) -> Option<i64> {
        let stated = self.select(|s| match s {
            Statement::Max(max) | Statement::MaxSoFar(max) => Some(*max),
            _ => None,
        });
        stated.max()
    }

    /// The largest number that is stated of all values.
    pub(super) fn stated_count(&self) -> Option<u64> {
        self.select(|s| match s {
            Statement::Count(count) | Statement::CountSoFar(count) => Some((*count).min(MOST)),
            _ => None,
        })
        .max()
    }

    /// Largest value that its tool would cut to this one.
    fn upper_edge(&self, value: i64) -> i64 {
        value.saturating_add(self.unit_ns - 1)
    }

    /// Combines all statements into one distribution, and notes contradictions.
    pub(super) fn reconcile(&self) -> Reconciled {
        let mut contradictions = Vec::new();
        let mut bins: Vec<(i64, i64, u64)> = self
            .select(|s| match s {
                Statement::Bin { low, high, count } => Some((*low, *high, *count)),
                _ => None,
            })
            .collect();
        bins.sort_unstable();
        let has_bins = bins.iter().any(|(.., n)| *n > 0);
        let min = self.reconcile_min(&bins, &mut contradictions);
        let above = self
            .select(
                |s| if let Statement::Overflow { count, .. } = s { Some((*count).min(MOST)) } else { None },
            )
            .fold(0, u64::saturating_add);
        let missing = self.unbinned_count(&bins, above, &mut contradictions);
        let mut beyond = self.unbinned_tail(&bins, above, missing, min);
        let max = self.reconcile_max(&bins, &mut beyond, &mut contradictions);
        // Values after the first one that is in no bin have a rank only together with the others there.
        if let Some((from, count)) = &mut beyond
            && *count > 0
        {
            let (below, behind): (Vec<_>, Vec<_>) = bins.into_iter().partition(|(low, ..)| *low < *from);
            *count = behind.iter().fold(*count, |sum, (.., n)| sum.saturating_add(*n));
            bins = below;
        }
        bins.retain(|(.., n)| *n > 0);
        let beyond = beyond.map(|(from_ns, count)| Beyond { count, from_ns, to_ns: max });
        let mean = self.reconcile_mean(min, max, beyond.is_some(), &mut contradictions);
        let values = self.distribution(&bins, beyond, [min, max], mean);
        Reconciled { values, contradictions, missing, above, has_bins }
    }

    /// Smallest value by all statements; notes those that disagree.
    fn reconcile_min(
        &self,
        bins: &[(i64, i64, u64)],
        contradictions: &mut Vec<Contradiction>,
    ) -> Option<i64> {
        let last = || self.select(|s| if let Statement::Min(min) = s { Some(*min) } else { None });
        let before = self.select(|s| if let Statement::MinSoFar(min) = s { Some(*min) } else { None }).min();
        let (least, most) = (last().chain(before).min(), last().max().or(before));
        let lowest = bins.iter().find(|(.., n)| *n > 0);
        let in_bins = lowest.filter(|(_, high, _)| least.is_some_and(|least| *high < least));
        if let Some((least, most)) = least.zip(most)
            && (least != most || in_bins.is_some())
        {
            contradictions.push((StatedQuantity::Smallest, [in_bins.map_or(least, |bin| bin.0), most]));
        }
        match (least, in_bins) {
            (Some(least), None) => Some(least),
            _ => lowest.map(|bin| bin.0),
        }
    }

    /// Returns the number of values that are counted and neither in bins nor above them.
    fn unbinned_count(
        &self,
        bins: &[(i64, i64, u64)],
        above: u64,
        contradictions: &mut Vec<Contradiction>,
    ) -> u64 {
        let binned = bins.iter().fold(0, |sum: u64, (.., n)| sum.saturating_add(*n));
        let found = binned.saturating_add(above);
        // A total states its number of values; counts from before the end may be fewer.
        let totals = || {
            self.select(|s| match s {
                Statement::Count(count) => Some((*count).min(MOST)),
                Statement::Binned(count) => Some((*count).min(MOST).saturating_add(above)),
                _ => None,
            })
        };
        let all = [totals().max(), self.stated_count()].into_iter().flatten().max().unwrap_or(0).max(found);
        let contradicts =
            totals().min().filter(|least| *least < found || *least < totals().max().unwrap_or(0));
        if let Some(least) = contradicts {
            let [all, least] = [all, least].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
            contradictions.push((StatedQuantity::Count, [least, all]));
        }
        all - found
    }

    /// Lowest value from which values are in no bin, and their number (0 if unknown); `None` if all are in bins.
    fn unbinned_tail(
        &self,
        bins: &[(i64, i64, u64)],
        above: u64,
        missing: u64,
        min: Option<i64>,
    ) -> Option<(i64, u64)> {
        let overflow = self.select(|s| match s {
            Statement::Overflow { from, count } if *count > 0 => Some(*from),
            _ => None,
        });
        let open = self.select(|s| if let Statement::Open { from } = s { Some(*from) } else { None }).min();
        let gap = (missing > 0).then(|| {
            let lowest = min.or(bins.first().map(|bin| bin.0)).unwrap_or(i64::MIN / 4);
            bins.iter().fold(
                lowest,
                |from, (low, high, _)| {
                    if *low <= from { from.max(high.saturating_add(1)) } else { from }
                },
            )
        });
        let from = overflow.chain(gap).min();
        match (from, open) {
            (Some(from), None) => Some((from, above.saturating_add(missing))),
            (from, Some(open)) => Some((from.map_or(open, |from| from.min(open)), 0)),
            (None, None) => None,
        }
    }

    /// Largest value by all statements, `None` where it is unknown; notes those that disagree. Opens the end of a distribution that has fewer values
    /// than its maximum needs.
    fn reconcile_max(
        &self,
        bins: &[(i64, i64, u64)],
        beyond: &mut Option<(i64, u64)>,
        contradictions: &mut Vec<Contradiction>,
    ) -> Option<i64> {
        let last = || self.select(|s| if let Statement::Max(max) = s { Some(*max) } else { None });
        let before = self.select(|s| if let Statement::MaxSoFar(max) = s { Some(*max) } else { None }).max();
        let highest = bins.iter().rev().find(|(.., n)| *n > 0);
        let Some(stated) = last().max().max(before) else {
            // Whatever is above the bins has no end that is known.
            return if beyond.is_some() { None } else { highest.map(|bin| bin.1) };
        };
        let least = last().min().unwrap_or(stated);
        // A finer statement of the same value lies within the unit of the coarse one.
        let agree = self.upper_edge(least) >= stated;
        let upper = self.upper_edge(if agree { least } else { stated });
        let above = beyond.map(|(from, _)| from).filter(|from| *from > upper);
        let in_bins = highest.filter(|(low, ..)| *low > upper);
        if let Some(larger) = above.or(in_bins.map(|(low, ..)| *low)) {
            contradictions.push((StatedQuantity::Largest, [larger, least]));
            return in_bins.map(|(_, high, _)| *high).filter(|_| beyond.is_none());
        }
        if !agree {
            contradictions.push((StatedQuantity::Largest, [stated, least]));
        }
        // The bin of the maximum has to hold it.
        let top = highest.map(|bin| bin.1);
        if let Some(top) = top.filter(|top| beyond.is_none() && *top < stated) {
            contradictions.push((StatedQuantity::Largest, [stated, top]));
            *beyond = Some((top.saturating_add(1), 0));
        }
        Some(upper)
    }

    /// Mean by the most exact statement; `None` if it contradicts the extremes, or bins are more exact.
    fn reconcile_mean(
        &self,
        min: Option<i64>,
        max: Option<i64>,
        open: bool,
        contradictions: &mut Vec<Contradiction>,
    ) -> Option<f64> {
        let exact = self.select(|s| if let Statement::Mean(mean) = s { Some(*mean) } else { None }).last();
        let cut = self.select(|s| match s {
            Statement::CutMean(mean) => Some(mean + self.unit_ns as f64 / 2.0),
            _ => None,
        });
        let cut = cut.last();
        let mean = exact.or(cut)?;
        let unit = self.unit_ns as f64;
        let outside = min.filter(|min| mean + unit < *min as f64);
        if let Some(bound) = outside.or(max.filter(|max| mean - unit > *max as f64)) {
            contradictions.push((StatedQuantity::Mean, [mean as i64, bound]));
            return None;
        }
        exact.or(cut.filter(|_| open))
    }

    /// Distribution of the binned values, each as the largest it may have been, and bounds of the unbinned ones.
    fn distribution(
        &self,
        bins: &[(i64, i64, u64)],
        beyond: Option<Beyond>,
        [min, max]: [Option<i64>; 2],
        mean: Option<f64>,
    ) -> Distribution {
        let highest = max.unwrap_or(i64::MAX);
        let occupied = || bins.iter().map(|(low, high, n)| (*low, (*high).min(highest).max(*low), *n));
        let count = occupied().fold(beyond.map_or(0, |b| b.count), |sum, (.., n)| sum.saturating_add(n));
        let middle = |low: i64, high: i64| low as f64 + (high as f64 - low as f64) / 2.0;
        let by_bins = |power: fn(f64) -> f64| {
            occupied().map(|(low, high, n)| power(middle(low, high)) * n as f64).sum::<f64>()
        };
        let deviation = self.select(|s| if let Statement::Deviation(d) = s { Some(*d) } else { None }).last();
        let sum = mean.map_or_else(|| by_bins(|v| v), |mean| mean * count as f64);
        let squares = match deviation {
            // If the mean is unknown too, it comes from the bins alone: values beyond them count as 0.
            Some(deviation) => {
                let mean = mean.unwrap_or(sum / count.max(1) as f64);
                (mean * mean + deviation * deviation) * count as f64
            }
            None => by_bins(|v| v * v),
        };
        // Rounded figures may contradict each other by a little: no variance is below 0.
        let squares = if count > 0 { squares.max(sum * sum / count as f64) } else { 0.0 };
        let moments = Moments {
            count,
            min_ns: min.unwrap_or(0),
            max_ns: max.or_else(|| occupied().map(|(_, high, _)| high).max()).unwrap_or(0),
            sum: sum as i128,
            sum_of_squares: squares.ceil() as u128,
        };
        let open = beyond.is_some();
        let width = |(low, high, _): (i64, i64, u64)| if high > low { high - low + 1 } else { 0 };
        let bin_ns = if self.wide { 0 } else { occupied().map(width).max().unwrap_or(0) };
        let lacks = SourceGaps {
            beyond,
            min: min.is_none(),
            mean: mean.is_none() && open,
            // Values of one or two bins have no known deviation: it may be anything below a bin.
            deviation: deviation.is_none()
                && (open
                    || bin_ns > 0
                        && squares - sum * sum / count.max(1) as f64
                            <= (bin_ns as f64).powi(2) * count as f64),
            shape: self.wide,
            bin_ns,
        };
        Distribution::from_parts(moments, occupied().map(|(_, high, n)| (high, n))).with_gaps(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Known;

    fn reconciled(all: &[Statement]) -> Reconciled {
        let mut statements = Statements::with_unit(1_000);
        statements.add(all.iter().copied());
        statements.reconcile()
    }

    fn bin(low: i64, count: u64) -> Statement {
        Statement::Bin { low, high: low + 999, count }
    }

    #[test]
    fn every_value_counts_as_the_largest_it_may_have_been_and_none_gets_lost() {
        let mut all = vec![
            bin(9_000, 7),
            bin(10_000, 2),
            Statement::Overflow { from: 100_000, count: 1 },
            Statement::Max(741_000),
            Statement::Min(9_000),
            Statement::Mean(19_500.0),
        ];
        let d = reconciled(&all).values;
        assert_eq!((d.count(), d.min_ns(), d.max_ns()), (10, Some(9_000), Some(741_999)));
        assert_eq!(d.mean_ns(), Some(19_500.0));
        assert!(d.quantile_ns(0.5).is_some_and(|v| (9_999..10_080).contains(&v)));
        assert_eq!((d.quantile_ns(1.0), d.standard_deviation_ns()), (Some(741_999), None));
        all.push(Statement::Overflow { from: 100_000, count: 1 });
        let open = reconciled(&all).values;
        let between = Known::Between { at_least: 100_000, at_most: 741_999 };
        assert_eq!((open.quantile_ns(0.9), open.known_at_rank(10)), (None, between));
    }

    #[test]
    fn rounded_figures_never_give_an_impossible_deviation() {
        let (mean, deviation) = (Statement::Mean(5_900.0), Statement::Deviation(0.0));
        let found = |all: &[Statement]| reconciled(all).values.standard_deviation_ns();
        assert_eq!(found(&[mean, deviation, bin(5_000, 3)]), Some(0.0));
        assert_eq!(found(&[mean, bin(5_000, 3)]), None, "it may be anything below a bin");
    }

    #[test]
    fn rows_that_are_missing_lie_anywhere_behind_those_that_are_there() {
        let total = [bin(0, 0), bin(1_000, 0), bin(2_000, 70), Statement::Binned(100), Statement::Max(5_000)];
        let found = reconciled(&total);
        assert_eq!((found.missing, found.values.count(), found.contradictions.len()), (30, 100, 0));
        assert!(found.values.quantile_ns(0.7).is_some());
        assert_eq!(found.values.known_at_rank(71), Known::Between { at_least: 3_000, at_most: 5_999 });
        // Beyond a hole even values in bins may have any rank.
        let hole =
            reconciled(&[bin(2_000, 70), bin(4_000, 20), Statement::Count(100), Statement::Max(4_000)]);
        assert_eq!(hole.values.known_at_rank(95), Known::Between { at_least: 3_000, at_most: 4_999 });
    }

    #[test]
    fn of_two_maxima_the_larger_counts_and_that_is_said() {
        let said = |all: &[Statement]| {
            let found = reconciled(all);
            (found.values.max_ns(), found.contradictions)
        };
        let both = [Statement::Count(9), Statement::Max(24_000), Statement::Max(115_000)];
        assert_eq!(said(&both), (Some(115_999), vec![(StatedQuantity::Largest, [115_000, 24_000])]));
        let live = [Statement::Count(9), Statement::MaxSoFar(4_000), Statement::Max(25_000)];
        assert_eq!(said(&live), (Some(25_999), vec![]));
        // A bin above the maximum, a maximum that is in no bin, values above the bins without a maximum there.
        assert_eq!(said(&[bin(80_000, 1), Statement::Max(8_000)]).0, Some(80_999));
        let lost = reconciled(&[bin(8_000, 1), Statement::Max(80_000)]);
        assert_eq!((lost.values.max_ns(), lost.values.quantile_ns(0.5)), (Some(80_999), None));
        let above = [bin(8_000, 1), Statement::Overflow { from: 100_000, count: 1 }, Statement::Max(9_000)];
        assert_eq!((said(&above).0, said(&above).1.len()), (None, 1));
        assert_eq!(said(&[Statement::Count(3), Statement::Max(8_000), Statement::Mean(30_000.0)]).1.len(), 1);
    }

    #[test]
    fn fewer_than_there_are_is_a_contradiction_unless_it_was_before_the_end() {
        let count = |all: &[Statement]| {
            let found = reconciled(all);
            (found.values.count(), found.contradictions.len())
        };
        assert_eq!(count(&[bin(8_000, 10), Statement::Count(9)]), (10, 1));
        assert_eq!(count(&[bin(8_000, 10), Statement::CountSoFar(9)]), (10, 0));
        assert_eq!(count(&[bin(8_000, 10), Statement::CountSoFar(12)]), (12, 0));
    }
}
