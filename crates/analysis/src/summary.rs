//! Main figures of one task, ready to be printed or stored as JSON.

use std::collections::BTreeMap;

use jitterlab_model::task::Overrun;
use jitterlab_model::{Distribution, Gap, Known, Quantity, TaskRun, TimingStats};
use serde::{Deserialize, Serialize};

/// A percentile: its name, and the number of values needed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// Name, such as `p99.9`.
    pub name: &'static str,
    /// One value in this many may lie above it; with fewer values there is no such percentile.
    pub one_in: u64,
}

/// The median.
pub const P50: Percentile = Percentile { name: "p50", one_in: 2 };
/// 90 % of the values are not above it.
pub const P90: Percentile = Percentile { name: "p90", one_in: 10 };
/// 99 % of the values are not above it.
pub const P99: Percentile = Percentile { name: "p99", one_in: 100 };
/// 99.9 % of the values are not above it.
pub const P99_9: Percentile = Percentile { name: "p99.9", one_in: 1_000 };
/// 99.99 % of the values are not above it.
pub const P99_99: Percentile = Percentile { name: "p99.99", one_in: 10_000 };

/// Every percentile shown, in the order of tables: the terminal, JSON and the page all use this list.
pub const PERCENTILES: [Percentile; 5] = [P50, P90, P99, P99_9, P99_99];

/// The values of [`PERCENTILES`] in nanoseconds. In JSON an object with their names.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "BTreeMap<String, Known<i64>>"))]
#[serde(from = "BTreeMap<String, Known<i64>>", into = "BTreeMap<String, Known<i64>>")]
pub struct Percentiles([Known<i64>; PERCENTILES.len()]);

impl From<BTreeMap<String, Known<i64>>> for Percentiles {
    fn from(named: BTreeMap<String, Known<i64>>) -> Self {
        Percentiles(PERCENTILES.map(|p| named.get(p.name).copied().unwrap_or_default()))
    }
}

impl From<Percentiles> for BTreeMap<String, Known<i64>> {
    fn from(percentiles: Percentiles) -> Self {
        PERCENTILES.iter().zip(percentiles.0).map(|(p, value)| (p.name.to_owned(), value)).collect()
    }
}

/// Statistics of the values of one quantity, in nanoseconds.
///
/// A percentile is unknown if there are too few values: the share 1 - 1/k needs at least k values, or it would
/// be the maximum under another name. If a source has only bounds of its largest values, it lies between them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// Number of values.
    pub count: u64,
    /// Smallest value, exact, in ns.
    pub min_ns: Option<i64>,
    /// Arithmetic mean, in ns.
    pub mean_ns: Option<f64>,
    /// Standard deviation (divisor n).
    pub sd_ns: Option<f64>,
    /// The percentiles, at most 0.8 % too high, never too low.
    pub percentiles: Percentiles,
    /// Largest value, exact, in ns.
    pub max_ns: Option<i64>,
}

impl Statistics {
    /// Computes the statistics of a distribution.
    pub fn from_values(values: &Distribution) -> Self {
        // One value in `one_in` may be above it; in integers, since 0.9999 n may round up to the next rank.
        let percentile = |p: Percentile| {
            let above = values.count() / p.one_in;
            if above > 0 { values.known_at_rank(values.count() - above) } else { Known::Unknown }
        };
        Statistics {
            count: values.count(),
            min_ns: values.min_ns(),
            mean_ns: values.mean_ns(),
            sd_ns: values.standard_deviation_ns(),
            percentiles: Percentiles(PERCENTILES.map(percentile)),
            max_ns: values.max_ns(),
        }
    }

    /// Returns a percentile, as far as it is known; unknown if it is none of [`PERCENTILES`].
    pub fn at(&self, percentile: Percentile) -> Known<i64> {
        self.percentiles().find(|(p, _)| *p == percentile).map_or(Known::Unknown, |(_, value)| value)
    }

    /// Returns the percentiles with their values, for tables.
    pub fn percentiles(&self) -> impl Iterator<Item = (Percentile, Known<i64>)> + use<> {
        PERCENTILES.into_iter().zip(self.percentiles.0)
    }

    /// Sets the exact value of this percentile, if it is one of [`PERCENTILES`].
    #[must_use]
    pub fn with_percentile(mut self, percentile: Percentile, value_ns: i64) -> Self {
        for (p, value) in PERCENTILES.iter().zip(&mut self.percentiles.0) {
            if *p == percentile {
                *value = Known::Exactly(value_ns);
            }
        }
        self
    }
}

/// Timing of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The task's name.
    pub task: String,
    /// The period T: distance of its due times, in ns.
    pub period_ns: i64,
    /// Data that its source does not have; `period_ns` is an assumption if the period is among it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Gap>,
    /// Policy for due times that passed.
    pub overrun: Known<Overrun>,
    /// Activations that ran.
    pub executed: Known<u64>,
    /// Due times that passed unserved, those pending at the stop included.
    pub missed: Known<u64>,
    /// Activations that ran but whose records were lost. The figures below exclude them, except `latency`'s
    /// extremes, which include all that the task's own thread counted.
    pub dropped: Known<u64>,
    /// Latency, start - due, of each wake-up (raw; comparable with cyclictest).
    pub latency: Statistics,
    /// Latency of each due time: a missed one counts with its own age when the task could first have served
    /// it. No values if missed due times are unknown.
    pub corrected_latency: Statistics,
    /// Period error, (w_k - w_{k-1}) - T, called jitter in LinuxCNC.
    pub period_error: Statistics,
    /// |T_{k+1} - T_k|: the difference of two successive periods.
    pub cycle_to_cycle: Statistics,
    /// Execution time, end - start.
    pub execution: Statistics,
}

impl Summary {
    /// True if its source states this property.
    pub fn knows(&self, gap: Gap) -> bool {
        !self.unknown.contains(&gap)
    }

    /// True if records were or may have been lost.
    pub(crate) fn has_lost_records(&self) -> bool {
        !self.knows(Gap::Unseen) || self.dropped.at_least().is_some_and(|records| records > 0)
    }

    /// Creates the summary of a task from its description and its counted activations.
    ///
    /// Counters that the task's thread kept itself take precedence if the description has them: they include
    /// activations that were not recorded.
    pub fn new(task: &TaskRun, stats: &TimingStats) -> Self {
        let mut latency = Statistics::from_values(&stats.latency);
        let mut corrected_latency =
            stats.corrected_latency().map_or_else(Statistics::default, |d| Statistics::from_values(&d));
        let seen = stats.executed().max(stats.period_error.count());
        let (mut executed, mut missed, mut dropped) = (seen, stats.missed(), 0);
        if let Some(result) = &task.result {
            executed = result.executed.max(executed);
            missed = missed.map(|seen| seen.max(result.missed));
            dropped = executed - seen;
            if dropped > 0 {
                for statistics in [&mut latency, &mut corrected_latency] {
                    let wider = |old: Option<i64>, new: i64, pick: fn(i64, i64) -> i64| {
                        Some(old.map_or(new, |old| pick(old, new)))
                    };
                    statistics.min_ns = wider(statistics.min_ns, result.min_latency_ns, i64::min);
                    statistics.max_ns = wider(statistics.max_ns, result.max_latency_ns, i64::max);
                }
            }
        }
        let known = |gap, value| if task.knows(gap) { Known::Exactly(value) } else { Known::Unknown };
        Summary {
            task: task.spec.name.clone(),
            period_ns: stats.period_ns(),
            unknown: task.unknown.clone(),
            overrun: task.overrun(),
            executed: known(Gap::Count, executed),
            missed,
            dropped: known(Gap::Lost, dropped),
            latency,
            corrected_latency,
            period_error: Statistics::from_values(&stats.period_error),
            cycle_to_cycle: Statistics::from_values(&stats.cycle_to_cycle),
            execution: Statistics::from_values(&stats.execution),
        }
    }

    /// Returns the statistics, in the order of [`Quantity::SHOWN`].
    pub fn quantities(&self) -> [(Quantity, &Statistics); Quantity::SHOWN.len()] {
        [
            (Quantity::Latency, &self.latency),
            (Quantity::CorrectedLatency, &self.corrected_latency),
            (Quantity::PeriodError, &self.period_error),
            (Quantity::CycleToCycle, &self.cycle_to_cycle),
            (Quantity::Execution, &self.execution),
        ]
    }

    /// Returns the share of due times that were missed, 0 to 1, if both counts are known.
    pub fn missed_share(&self) -> Option<f64> {
        let (executed, missed) = (self.executed.exactly()?, self.missed.exactly()?);
        let due = executed + missed;
        (due > 0).then(|| missed as f64 / due as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TaskResult, TaskSpec};

    fn task(result: Option<TaskResult>) -> TaskRun {
        TaskRun { result, ..TaskRun::new(TaskSpec { period_ns: 1_000, ..TaskSpec::default() }) }
    }

    fn stats(count: u64) -> TimingStats {
        let mut stats = TimingStats::new(1_000);
        for index in 0..count {
            let due_ns = index as i64 * 1_000;
            let start_ns = due_ns + (index % 100) as i64 + 1;
            stats.push(&Activation {
                index,
                due_ns,
                start_ns,
                end_ns: start_ns + 7,
                ..Activation::default()
            });
        }
        stats
    }

    #[test]
    fn a_quantile_without_support_is_not_the_maximum_again() {
        let with = |count| Summary::new(&task(None), &stats(count)).latency;
        assert_eq!((with(9).at(P90), with(10).at(P90)), (Known::Unknown, Known::Exactly(9)));
        assert_eq!((with(9_999).at(P99_99), with(10_000).at(P99_99)), (Known::Unknown, Known::Exactly(100)));
        assert_eq!((with(1).at(P50), with(1).max_ns, with(0).max_ns), (Known::Unknown, Some(1), None));
        assert_eq!((with(1_000).at(P50), with(1_000).at(P99)), (Known::Exactly(50), Known::Exactly(99)));
    }

    #[test]
    fn records_that_were_lost_do_not_hide_the_worst_case() {
        let kept = TaskResult {
            executed: 120,
            missed: 3,
            dropped: 20,
            min_latency_ns: -5,
            max_latency_ns: 900,
            ..TaskResult::default()
        };
        let summary = Summary::new(&task(Some(kept)), &stats(100));
        assert_eq!(
            (summary.executed, summary.missed, summary.dropped),
            (Known::Exactly(120), Known::Exactly(3), Known::Exactly(20))
        );
        assert_eq!((summary.latency.min_ns, summary.latency.max_ns), (Some(-5), Some(900)));
        assert_eq!(summary.latency.count, 100);
    }

    #[test]
    fn what_is_written_as_json_is_read_back() {
        let summary = Summary::new(&task(None), &stats(2_000));
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains("\"p99.9\":100") && text.contains("\"p99.99\":null"), "{text}");
        let again: Summary = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (again.latency, again.task, again.executed),
            (summary.latency, summary.task, summary.executed)
        );
    }

    #[test]
    fn what_a_source_does_not_tell_is_unknown_and_not_zero() {
        let mut task = task(None);
        task.unknown = vec![Gap::Missed, Gap::Execution, Gap::Overrun];
        let mut stats = stats(1_000);
        stats.drop_unknown(&task.unknown);
        let summary = Summary::new(&task, &stats);
        assert_eq!((summary.missed, summary.overrun), (Known::Unknown, Known::Unknown));
        assert_eq!((summary.execution, summary.corrected_latency.count), (Statistics::default(), 0));
        assert_eq!((summary.missed_share(), summary.executed), (None, Known::Exactly(1_000)));
    }
}
