//! Placement of threads: measurements of the same tasks on different CPUs under different conditions, and the
//! best placement with its probability.

use jitterlab_model::CpuSet;
use serde::{Deserialize, Serialize};

use crate::least_squares::median;
use crate::measured::MeasuredTask;
use crate::summary::Summary;

mod index;
mod observations;
mod plan;
mod recommend;

pub use index::{CellSetting, DoneCell, MatrixIndex, MatrixResult};
pub use observations::{Answer, ComparedPair, Observation, condition_effect, outlier_cpus, same_cpu_effect};
pub use plan::{Cell, CellPlan, Proposal, placements, propose};
pub use recommend::{PlacementFacts, Recommendation, recommend};

/// Timing of one task in one measurement, in nanoseconds; `None` if unknown, or if nothing ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CellTiming {
    /// Largest latency, in ns.
    pub max_ns: Option<f64>,
    /// The 99.9th percentile of the latency.
    pub p999_ns: Option<f64>,
    /// Largest absolute period error, called max jitter by LinuxCNC's latency test.
    pub period_error_ns: Option<f64>,
    /// Activations that ran.
    pub activations: u64,
    /// Due times that were missed.
    pub missed: u64,
}

/// One measurement of all tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(default)]
pub struct CellMeasurement {
    /// The CPU of each task.
    pub cpus: Vec<u16>,
    /// The loads during the measurement, and whether the tasks were isolated.
    pub condition: String,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Figures of each task.
    pub tasks: Vec<CellTiming>,
}

/// The figure of a task to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellStatistic {
    /// Largest latency.
    Max,
    /// 99.9th percentile of the latency.
    P999,
    /// Largest absolute period error.
    PeriodError,
}

impl CellTiming {
    /// Takes the figures of a task that a matrix keeps.
    #[must_use]
    pub fn from_task(task: &MeasuredTask) -> Self {
        let Summary { latency, period_error, missed, .. } = &task.summary;
        let errors = [period_error.min_ns, period_error.max_ns].into_iter().flatten();
        CellTiming {
            max_ns: latency.max_ns.map(|ns| ns as f64),
            p999_ns: task.latency_histogram().quantile_ns(0.999).map(|ns| ns as f64),
            period_error_ns: errors.map(|ns| ns.abs() as f64).reduce(f64::max),
            activations: latency.count,
            missed: missed.at_least().unwrap_or(0),
        }
    }
}

impl CellStatistic {
    /// Returns the figure in ns, if it is known.
    pub fn value_in(self, timing: &CellTiming) -> Option<f64> {
        match self {
            CellStatistic::Max => timing.max_ns,
            CellStatistic::P999 => timing.p999_ns,
            CellStatistic::PeriodError => timing.period_error_ns,
        }
    }
}

/// All measurements of a matrix.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Matrix {
    /// The names of the tasks. In the table the first one's CPU is the column, the second one's the row.
    pub tasks: Vec<String>,
    /// The measurements, in the order they were made.
    pub measurements: Vec<CellMeasurement>,
}

impl Matrix {
    /// Returns the conditions, in the order of their first measurement.
    pub fn conditions(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for m in &self.measurements {
            if !found.contains(&m.condition.as_str()) {
                found.push(&m.condition);
            }
        }
        found
    }

    /// Returns the placements, in ascending order.
    pub fn placements(&self) -> Vec<&[u16]> {
        let mut found: Vec<&[u16]> = self.measurements.iter().map(|m| m.cpus.as_slice()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the CPUs that a task was on.
    pub fn cpus_of(&self, task: usize) -> CpuSet {
        self.measurements.iter().filter_map(|m| m.cpus.get(task).copied()).collect()
    }

    /// Returns the measurements of one placement under one condition.
    pub fn cell<'a>(
        &'a self,
        cpus: &'a [u16],
        condition: &'a str,
    ) -> impl Iterator<Item = &'a CellMeasurement> {
        self.measurements.iter().filter(move |m| m.cpus == cpus && m.condition == condition)
    }

    /// Returns a task's values in a cell, one for each repetition that has one.
    pub fn values<'a>(
        &'a self,
        cpus: &'a [u16],
        condition: &'a str,
        task: usize,
        statistic: CellStatistic,
    ) -> impl Iterator<Item = f64> {
        self.cell(cpus, condition).filter_map(move |m| statistic.value_in(m.tasks.get(task)?))
    }

    /// Returns a task's value in a cell over its repetitions: the largest of maxima, or the median of percentiles.
    /// `None` without a value.
    pub fn over_repetitions(
        &self,
        cpus: &[u16],
        condition: &str,
        task: usize,
        statistic: CellStatistic,
    ) -> Option<f64> {
        let values = self.values(cpus, condition, task, statistic);
        match statistic {
            CellStatistic::Max | CellStatistic::PeriodError => values.reduce(f64::max),
            CellStatistic::P999 => median(&mut values.collect::<Vec<_>>()),
        }
    }
}

/// Returns the mean logarithm of a figure over the tasks; `None` if a task has no value. Its differences are ratios
/// with equal weight for every task, whatever its period. Values below a nanosecond count as one.
fn mean_log(m: &CellMeasurement, statistic: CellStatistic) -> Option<f64> {
    let logs: Option<Vec<f64>> =
        m.tasks.iter().map(|t| statistic.value_in(t).map(|value| value.max(1.0).ln())).collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some(logs.iter().sum::<f64>() / logs.len() as f64)
}

#[cfg(test)]
mod tests;
