//! Index of a directory of matrix cells: the plan and the finished cells; and the result of a matrix.

use jitterlab_model::{CpuSet, LoadRun, LoadSpec, StopReason, SystemFacts, TaskSpec, Warning};
use serde::{Deserialize, Serialize};

use super::{CellMeasurement, CellPlan, CellTiming, Matrix, Recommendation, placements, recommend};

/// A condition that cells are measured under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSetting {
    /// Name in the cells.
    pub name: String,
    /// Loads that run during the measurement.
    pub loads: Vec<LoadSpec>,
    /// The CPUs that are isolated.
    pub isolate: Option<CpuSet>,
}

/// A cell that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoneCell {
    /// Position in the plan.
    pub cell: usize,
    /// Run file, in the index's directory.
    pub file: String,
    /// The loads with their achieved rates.
    pub loads: Vec<LoadRun>,
    /// Warnings on the numbers.
    pub warnings: Vec<Warning>,
    /// Reason for its end.
    pub stop: Option<StopReason>,
    /// Figures of each task.
    pub tasks: Vec<CellTiming>,
}

/// Plan of a matrix, and its finished cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixIndex {
    /// [`MatrixIndex::FORMAT`] of the writer.
    pub format: u32,
    /// The tasks, without CPUs.
    pub tasks: Vec<TaskSpec>,
    /// The conditions.
    pub settings: Vec<CellSetting>,
    /// Length of each cell, in ns.
    pub duration_ns: i64,
    /// The cells, in the order of measuring.
    pub plan: CellPlan,
    /// The finished cells.
    pub done: Vec<DoneCell>,
}

impl MatrixIndex {
    /// Version of the layout; readers refuse another.
    pub const FORMAT: u32 = 2;

    /// Creates an index without measurements: these tasks on every choice of these CPUs under each condition.
    /// It has `rounds` rounds of cells of this length, in an order drawn with `seed`.
    #[must_use]
    pub fn new(
        tasks: Vec<TaskSpec>,
        settings: Vec<CellSetting>,
        cpus: &CpuSet,
        rounds: u32,
        duration_ns: i64,
        seed: u64,
    ) -> Self {
        let names: Vec<String> = settings.iter().map(|setting| setting.name.clone()).collect();
        let plan = CellPlan::new(&placements(cpus, tasks.len()), &names, rounds, seed);
        MatrixIndex { format: Self::FORMAT, tasks, settings, duration_ns, plan, done: Vec::new() }
    }

    /// Returns the number of cells not measured yet.
    #[must_use]
    pub fn cells_left(&self) -> usize {
        self.plan.cells.len().saturating_sub(self.done.len())
    }

    /// Returns the measurements of the finished cells.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        let measurements = self.done.iter().filter_map(|done| {
            let cell = self.plan.cells.get(done.cell)?;
            Some(CellMeasurement {
                cpus: cell.cpus.clone(),
                condition: cell.condition.clone(),
                repetition: cell.repetition,
                tasks: done.tasks.clone(),
            })
        });
        Matrix {
            tasks: self.tasks.iter().map(|t| t.name.clone()).collect(),
            measurements: measurements.collect(),
        }
    }
}

/// Result of `jitterlab matrix`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixResult {
    /// The best placement by the measurements; `None` before the first measurement.
    pub recommendation: Option<Recommendation>,
    /// The measurements.
    pub matrix: Matrix,
    /// The plan, with the finished cells.
    pub index: MatrixIndex,
}

impl MatrixResult {
    /// Creates the result of an index; `facts` are those of the measured machine, if they are known.
    #[must_use]
    pub fn new(index: MatrixIndex, facts: Option<&SystemFacts>) -> Self {
        let matrix = index.matrix();
        MatrixResult { recommendation: recommend(&matrix, facts), matrix, index }
    }
}
