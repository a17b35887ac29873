//! What a matrix is to measure and what of it was measured: the index that a directory of cells holds, and its result.

use jitterlab_model::{CpuSet, LoadRun, LoadSpec, StopReason, SystemFacts, TaskSpec, Warning};
use serde::{Deserialize, Serialize};

use super::{CellMeasurement, CellPlan, CellTiming, Matrix, Recommendation, placements, recommend};

/// A condition that cells are measured under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSetting {
    /// What the cells call it.
    pub name: String,
    /// What runs beside the tasks.
    pub loads: Vec<LoadSpec>,
    /// The CPUs that are isolated.
    pub isolate: Option<CpuSet>,
}

/// A cell that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoneCell {
    /// Its place in the plan.
    pub cell: usize,
    /// Its run file, in the index's directory.
    pub file: String,
    /// The loads with what they achieved.
    pub loads: Vec<LoadRun>,
    /// What a reader of the numbers has to know.
    pub warnings: Vec<Warning>,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// What was measured of each task.
    pub tasks: Vec<CellTiming>,
}

/// What is to be measured, and what was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixIndex {
    /// [`MatrixIndex::FORMAT`] of the writer.
    pub format: u32,
    /// The tasks, without CPUs.
    pub tasks: Vec<TaskSpec>,
    /// The conditions.
    pub settings: Vec<CellSetting>,
    /// Length of each cell.
    pub duration_ns: i64,
    /// The cells, in the order of measuring.
    pub plan: CellPlan,
    /// Those that were measured.
    pub done: Vec<DoneCell>,
}

impl MatrixIndex {
    /// Version of the layout; readers refuse another.
    pub const FORMAT: u32 = 2;

    /// Nothing measured yet of these tasks on every choice of these CPUs under each condition: so many rounds of cells of
    /// this length, in an order that `seed` decides.
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

    /// The number of cells not measured yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.plan.cells.len().saturating_sub(self.done.len())
    }

    /// What was measured.
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

/// What `jitterlab matrix` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixResult {
    /// The placement that the measurements speak for; `None` before anything was measured.
    pub recommendation: Option<Recommendation>,
    /// What was measured.
    pub matrix: Matrix,
    /// The plan, and what became of each of its cells.
    pub index: MatrixIndex,
}

impl MatrixResult {
    /// What an index shows; `facts` are those of the machine it was measured on, where they are known.
    #[must_use]
    pub fn new(index: MatrixIndex, facts: Option<&SystemFacts>) -> Self {
        let matrix = index.matrix();
        MatrixResult { recommendation: recommend(&matrix, facts), matrix, index }
    }
}
