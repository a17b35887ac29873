//! The standing figures of one task, ready to be printed or stored as JSON.

use jitterlab_model::task::Overrun;
use jitterlab_model::{Distribution, TaskRun, TimingStats};
use serde::{Deserialize, Serialize};

/// Version of the JSON layout of [`Summary`]; it grows when a field changes its meaning or goes.
pub const SUMMARY_SCHEMA: u32 = 1;

/// One quantity's values in a few numbers, in nanoseconds.
///
/// A quantile is `None` where there are too few values to have one: the share 1 - 1/k needs at least k values,
/// or it would be the maximum under another name.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Number of values.
    pub count: u64,
    /// Smallest value, exact.
    pub min_ns: Option<i64>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation (divisor n).
    pub sd_ns: Option<f64>,
    /// Median: half of the values are not above it. Like all quantiles at most 0.8 % too high, never too low.
    pub p50_ns: Option<i64>,
    /// 90 % of the values are not above it; needs 10 values.
    pub p90_ns: Option<i64>,
    /// 99 % of the values are not above it; needs 100 values.
    pub p99_ns: Option<i64>,
    /// 99.9 % of the values are not above it; needs 1 000 values.
    pub p99_9_ns: Option<i64>,
    /// 99.99 % of the values are not above it; needs 10 000 values.
    pub p99_99_ns: Option<i64>,
    /// Largest value, exact.
    pub max_ns: Option<i64>,
}

impl Figures {
    /// The figures of a distribution.
    pub fn of(values: &Distribution) -> Self {
        // One value in `one_in` may be above it; in integers, since 0.9999 n may round up to the next rank.
        let quantile = |one_in: u64| {
            let above = values.count() / one_in;
            (above > 0).then(|| values.value_at_rank(values.count() - above)).flatten()
        };
        Figures {
            count: values.count(),
            min_ns: values.min_ns(),
            mean_ns: values.mean_ns(),
            sd_ns: values.standard_deviation_ns(),
            p50_ns: quantile(2),
            p90_ns: quantile(10),
            p99_ns: quantile(100),
            p99_9_ns: quantile(1_000),
            p99_99_ns: quantile(10_000),
            max_ns: values.max_ns(),
        }
    }

    /// The quantiles with their names and the number of values each needs, for tables.
    pub fn quantiles(&self) -> [(&'static str, u64, Option<i64>); 5] {
        [
            ("p50", 2, self.p50_ns),
            ("p90", 10, self.p90_ns),
            ("p99", 100, self.p99_ns),
            ("p99.9", 1_000, self.p99_9_ns),
            ("p99.99", 10_000, self.p99_99_ns),
        ]
    }
}

/// What one task's timing was like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// [`SUMMARY_SCHEMA`] of the writer.
    pub schema: u32,
    /// The task's name.
    pub task: String,
    /// T: the distance of its due times.
    pub period_ns: i64,
    /// What happened to due times that passed.
    pub overrun: Overrun,
    /// Activations that ran.
    pub executed: u64,
    /// Due times that passed unserved, those pending at the stop included.
    pub missed: u64,
    /// Activations that ran but whose records were lost. The figures below rest on `executed - dropped`
    /// activations, save `latency`'s extremes, which hold all.
    pub dropped: u64,
    /// Release latency, start - due, of each wake-up (raw; comparable with cyclictest).
    pub latency: Figures,
    /// Release latency of each due time: a missed one counts with its own age when the task could first have
    /// served it.
    pub corrected_latency: Figures,
    /// (w_k - w_{k-1}) - T: what LinuxCNC calls jitter.
    pub period_error: Figures,
    /// |T_{k+1} - T_k|: the difference of two successive periods.
    pub cycle_to_cycle: Figures,
    /// Execution time, end - start.
    pub execution: Figures,
}

impl Summary {
    /// The summary of a task from its description and its counted activations.
    ///
    /// Where the description holds the counters that the task's thread kept itself, they win: they hold even what
    /// was not recorded.
    pub fn of(task: &TaskRun, stats: &TimingStats) -> Self {
        let mut latency = Figures::of(&stats.latency);
        let mut corrected_latency = Figures::of(&stats.corrected());
        let (mut executed, mut missed, mut dropped) = (stats.executed(), stats.missed, 0);
        if let Some(result) = &task.result {
            executed = result.executed.max(executed);
            missed = result.missed.max(missed);
            dropped = executed - stats.executed();
            if dropped > 0 {
                for figures in [&mut latency, &mut corrected_latency] {
                    let wider = |old: Option<i64>, new: i64, pick: fn(i64, i64) -> i64| {
                        Some(old.map_or(new, |old| pick(old, new)))
                    };
                    figures.min_ns = wider(figures.min_ns, result.min_latency_ns, i64::min);
                    figures.max_ns = wider(figures.max_ns, result.max_latency_ns, i64::max);
                }
            }
        }
        Summary {
            schema: SUMMARY_SCHEMA,
            task: task.spec.name.clone(),
            period_ns: stats.period_ns(),
            overrun: task.spec.overrun,
            executed,
            missed,
            dropped,
            latency,
            corrected_latency,
            period_error: Figures::of(&stats.period_error),
            cycle_to_cycle: Figures::of(&stats.cycle_to_cycle),
            execution: Figures::of(&stats.execution),
        }
    }

    /// The quantities with the words that tables use for them.
    pub fn quantities(&self) -> [(&'static str, &Figures); 5] {
        [
            ("latency", &self.latency),
            ("latency, corrected", &self.corrected_latency),
            ("period error", &self.period_error),
            ("cycle to cycle", &self.cycle_to_cycle),
            ("execution", &self.execution),
        ]
    }

    /// The share of due times that were missed, 0 to 1.
    pub fn missed_share(&self) -> Option<f64> {
        let due = self.executed + self.missed;
        (due > 0).then(|| self.missed as f64 / due as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TaskResult, TaskSpec};

    fn task(result: Option<TaskResult>) -> TaskRun {
        TaskRun { spec: TaskSpec { period_ns: 1_000, ..TaskSpec::default() }, granted: None, result }
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
        let with = |count| Summary::of(&task(None), &stats(count)).latency;
        assert_eq!((with(9).p90_ns, with(10).p90_ns), (None, Some(9)));
        assert_eq!((with(9_999).p99_99_ns, with(10_000).p99_99_ns), (None, Some(100)));
        assert_eq!((with(1).p50_ns, with(1).max_ns, with(0).max_ns), (None, Some(1), None));
        assert_eq!((with(1_000).p50_ns, with(1_000).p99_ns), (Some(50), Some(99)));
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
        let summary = Summary::of(&task(Some(kept)), &stats(100));
        assert_eq!((summary.executed, summary.missed, summary.dropped), (120, 3, 20));
        assert_eq!((summary.latency.min_ns, summary.latency.max_ns), (Some(-5), Some(900)));
        assert_eq!(summary.latency.count, 100);
    }

    #[test]
    fn what_is_written_as_json_is_read_back() {
        let summary = Summary::of(&task(None), &stats(2_000));
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains("\"p99_9_ns\":100") && text.contains("\"p99_99_ns\":null"), "{text}");
        let again: Summary = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (again.latency, again.task, again.executed),
            (summary.latency, summary.task, summary.executed)
        );
    }
}
