//! Where should my threads run? Measurements of the same tasks on different CPUs under different conditions: what
//! they show, which placement they speak for, and how surely.

use jitterlab_model::CpuSet;
use serde::{Deserialize, Serialize};

mod observations;
mod plan;
mod recommend;

pub use observations::{Answer, Observation, condition_effect, exceptions, same_cpu};
pub use plan::{Cell, Plan, Proposal, placements, propose};
pub use recommend::{Recommendation, recommend};

/// The figures of one task in one measurement, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskFigures {
    /// Largest latency, or whatever maximum a table of others has.
    pub max_ns: f64,
    /// The latency that all but one in a thousand keep below.
    pub p999_ns: Option<f64>,
    /// Largest period error either way: what LinuxCNC's latency test calls max jitter.
    pub jitter_ns: Option<f64>,
    /// Activations that ran.
    pub activations: u64,
    /// Due times that were missed.
    pub missed: u64,
}

/// One measurement of all tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Measurement {
    /// The CPU of each task.
    pub cpus: Vec<u16>,
    /// What ran beside the tasks, and whether they were isolated.
    pub condition: String,
    /// The how-manieth of its kind, from 0.
    pub repetition: u32,
    /// The figures of each task.
    pub tasks: Vec<TaskFigures>,
}

/// Which figure of a task is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Largest latency.
    Max,
    /// 99.9th percentile of the latency.
    P999,
    /// Largest period error.
    Jitter,
}

impl Quantity {
    /// The figure, where it is known.
    pub fn of(self, figures: &TaskFigures) -> Option<f64> {
        match self {
            Quantity::Max => Some(figures.max_ns),
            Quantity::P999 => figures.p999_ns,
            Quantity::Jitter => figures.jitter_ns,
        }
    }
}

/// All measurements of a matrix.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matrix {
    /// The names of the tasks; the first one's CPU is the column of the table, the second one's the row.
    pub tasks: Vec<String>,
    /// In the order they were made.
    pub measurements: Vec<Measurement>,
}

impl Matrix {
    /// The conditions, in the order they first came.
    pub fn conditions(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for m in &self.measurements {
            if !found.contains(&m.condition.as_str()) {
                found.push(&m.condition);
            }
        }
        found
    }

    /// The placements, in ascending order.
    pub fn placements(&self) -> Vec<&[u16]> {
        let mut found: Vec<&[u16]> = self.measurements.iter().map(|m| m.cpus.as_slice()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The CPUs that a task was on.
    pub fn cpus_of(&self, task: usize) -> CpuSet {
        self.measurements.iter().filter_map(|m| m.cpus.get(task).copied()).collect()
    }

    /// The measurements of one placement under one condition.
    pub fn cell<'a>(&'a self, cpus: &'a [u16], condition: &'a str) -> impl Iterator<Item = &'a Measurement> {
        self.measurements.iter().filter(move |m| m.cpus == cpus && m.condition == condition)
    }

    /// The largest value of a task in a cell: for maxima, that of all repetitions together.
    pub fn largest(&self, cpus: &[u16], condition: &str, task: usize, quantity: Quantity) -> Option<f64> {
        let values = self.cell(cpus, condition).filter_map(|m| quantity.of(m.tasks.get(task)?));
        values.reduce(f64::max)
    }

    /// The median of a task's values in a cell.
    pub fn median(&self, cpus: &[u16], condition: &str, task: usize, quantity: Quantity) -> Option<f64> {
        let values = self.cell(cpus, condition).filter_map(|m| quantity.of(m.tasks.get(task)?));
        crate::line::median(&mut values.collect::<Vec<_>>())
    }
}

/// The mean logarithm of a figure over the tasks: differences of it are ratios that count every task alike,
/// whatever its period. Values below a nanosecond count as one. `None` if a task lacks the figure.
fn score(m: &Measurement, quantity: Quantity) -> Option<f64> {
    let logs: Option<Vec<f64>> =
        m.tasks.iter().map(|t| quantity.of(t).map(|value| value.max(1.0).ln())).collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some(logs.iter().sum::<f64>() / logs.len() as f64)
}

/// Random numbers that are the same in every run (Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// A number from 0 to below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests;
