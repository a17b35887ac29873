//! Figures of a task, as every other command shows them, from the sums of its slices.

use std::collections::BTreeMap;

use jitterlab_analysis::Summary;
use jitterlab_model::distribution::{Beyond, Moments, SourceGaps};
use jitterlab_model::{Distribution, Gap, Granted, TaskResult, TaskRun, TaskSpec, TimingStats};

use crate::rows::{BEYOND_NS, BinRow, SliceRow};
use crate::tables::{Absorb, Tables, to_u64};

/// Sums of a task of a machine, of slices of one period, policy and source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskSum {
    /// Counts and exact sums of each quantity that has any; latency comes first.
    pub rows: Vec<SliceRow>,
    /// Bins of each quantity: upper edge and count, in order of value.
    pub bins: BTreeMap<i8, Vec<(i64, i64)>>,
}

impl TaskSum {
    /// Sums of each task in these tables.
    pub fn from_tables(tables: &Tables) -> Vec<TaskSum> {
        let mut sums = TaskSum::from_rows(tables.slices.iter().cloned());
        sums.iter_mut().for_each(|sum| sum.add_bins(&tables.bins));
        sums
    }

    /// Sums of each task in these rows; without bins, of which percentiles are made.
    pub fn from_rows(rows: impl Iterator<Item = SliceRow>) -> Vec<TaskSum> {
        let mut sums: BTreeMap<_, TaskSum> = BTreeMap::new();
        for row in rows {
            let terms = (row.period_ns, row.policy.clone(), row.overrun.clone(), row.unknown.clone());
            let sum = sums.entry((row.machine.clone(), row.task.clone(), terms)).or_default();
            match sum.rows.iter_mut().find(|known| known.quantity == row.quantity) {
                Some(known) => known.absorb(&row),
                None => sum.rows.push(row),
            }
        }
        sums.values_mut().for_each(|sum| sum.rows.sort_by_key(|row| row.quantity));
        sums.into_values().collect()
    }

    /// Adds the bins of the task among these.
    pub fn add_bins(&mut self, bins: &[BinRow]) {
        let Some(first) = self.rows.first() else { return };
        let mut sums: BTreeMap<(i8, i64), i64> = BTreeMap::new();
        for row in bins.iter().filter(|row| row.machine == first.machine && row.task == first.task) {
            *sums.entry((row.quantity, row.high_ns)).or_default() += row.n;
        }
        for ((quantity, high_ns), n) in sums {
            self.bins.entry(quantity).or_default().push((high_ns, n));
        }
    }

    /// The task's description, as far as slices tell it.
    pub fn task_run(&self) -> TaskRun {
        let Some(first) = self.rows.first() else { return TaskRun::new(TaskSpec::default()) };
        let policy = first.policy.parse().ok();
        let mut task = TaskRun::new(TaskSpec {
            name: first.task.clone(),
            period_ns: first.period_ns,
            policy,
            overrun: first.overrun.parse().unwrap_or_default(),
            ..TaskSpec::default()
        });
        task.granted = policy.filter(|_| !first.policy.is_empty()).map(|policy| Granted {
            policy,
            cpus: Vec::new(),
            memory_locked: false,
            timer_slack_ns: None,
        });
        task.unknown = first.unknown.split(',').filter_map(parse_gap).collect();
        task.result = (first.lost > 0).then(|| TaskResult {
            executed: to_u64(first.count + first.lost),
            missed: to_u64(first.missed.unwrap_or_default()),
            dropped: to_u64(first.lost),
            min_latency_ns: first.min_ns.unwrap_or(i64::MAX),
            max_latency_ns: first.max_ns.unwrap_or(i64::MIN),
            ..TaskResult::default()
        });
        task
    }

    /// Distributions of the task's quantities, as far as sums and bins tell.
    pub fn timing_stats(&self) -> TimingStats {
        let first = self.rows.first();
        let mut stats = TimingStats::new(first.map_or(0, |row| row.period_ns));
        stats.add_missed(first.and_then(|row| row.missed).map_or(0, to_u64));
        for (quantity, values) in stats.counted_mut().into_iter().enumerate() {
            let row = self.rows.iter().find(|row| usize::try_from(row.quantity) == Ok(quantity));
            if let Some(row) = row {
                *values = distribution(row, self.bins.get(&row.quantity).map_or(&[], Vec::as_slice));
            }
        }
        stats.drop_unknown(&self.task_run().unknown);
        stats
    }

    /// Figures of the task.
    pub fn summary(&self) -> Summary {
        Summary::new(&self.task_run(), &self.timing_stats())
    }
}

/// Distribution with these sums and bins.
fn distribution(row: &SliceRow, bins: &[(i64, i64)]) -> Distribution {
    let squares = row.squares_high.zip(row.squares_low);
    let squares = squares.map(|(high, low)| ((high.max(0) as u128) << 32) + low.max(0) as u128);
    let moments = Moments {
        count: to_u64(row.count),
        min_ns: row.min_ns.unwrap_or(i64::MIN),
        max_ns: row.max_ns.unwrap_or(i64::MAX),
        sum: row.sum_ns.unwrap_or_default().into(),
        sum_of_squares: squares.unwrap_or_default(),
    };
    let known = bins.iter().filter(|(high_ns, _)| *high_ns != BEYOND_NS);
    let last_ns = known.clone().map(|(high_ns, _)| *high_ns).max();
    let beyond = bins.iter().find(|(high_ns, _)| *high_ns == BEYOND_NS);
    let beyond = beyond.map(|(_, n)| Beyond {
        count: to_u64(*n),
        from_ns: last_ns.unwrap_or(i64::MIN),
        to_ns: row.max_ns,
    });
    let all = Distribution::from_parts(moments, known.map(|(high_ns, n)| (*high_ns, to_u64(*n))));
    all.with_gaps(SourceGaps {
        beyond,
        min: row.min_ns.is_none(),
        mean: row.sum_ns.is_none(),
        deviation: squares.is_none(),
        ..SourceGaps::default()
    })
}

/// Parses the JSON word of a gap; `None` for an unknown word.
fn parse_gap(word: &str) -> Option<Gap> {
    serde_json::from_value(serde_json::Value::String(word.into())).ok()
}
