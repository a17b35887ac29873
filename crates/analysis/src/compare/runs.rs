//! Every task that several runs have, compared: what `jitterlab compare` says.

use jitterlab_model::{Fitness, Warning};
use serde::Serialize;

use super::{
    CausesCompared, Comparison, Mismatch, PathsCompared, SettingsCompared, Tolerated, TwenteRun,
    USUAL_MOVE_NS,
};

/// Runs side by side, task by task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunsCompared {
    /// The files, the one that the others are compared with first.
    pub files: Vec<String>,
    /// The tasks that all runs have.
    pub tasks: Vec<TaskCompared>,
    /// What a reader has to know of each run.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<RunWarnings>,
    /// Whether any is worse than the first by more than is tolerated, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated: Option<Tolerated>,
    /// By how much a code path of the kernel may move in virtual time, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub move_tolerance_ns: Option<i64>,
}

impl RunsCompared {
    /// The same with a verdict on whether a figure is higher than in the first by more than this share.
    #[must_use]
    pub fn tolerating(mut self, tolerance: Option<f64>) -> Self {
        let tasks =
            self.tasks.iter().map(|of| (of.task.as_str(), of.comparison.as_ref(), of.settings.as_ref()));
        self.tolerated = tolerance.map(|tolerance| Tolerated::new(tasks, tolerance));
        self
    }

    /// Paths that differ by more than may be, of all tasks; `None` where no task's are known. Where it was not asked how far they may
    /// move, 100 ns.
    #[must_use]
    pub fn different_paths(&self) -> Option<usize> {
        let tolerance_ns = self.move_tolerance_ns();
        let known = self.tasks.iter().filter_map(|task| task.paths.as_ref());
        known.map(|paths| paths.different(tolerance_ns)).reduce(|a, b| a + b)
    }

    /// By how much a code path may move.
    #[must_use]
    pub fn move_tolerance_ns(&self) -> i64 {
        self.move_tolerance_ns.unwrap_or(USUAL_MOVE_NS)
    }

    /// The verdict that was asked for, if one was.
    #[must_use]
    pub fn asked(&self) -> Option<Fitness> {
        let moved = |different| if different > 0 { Fitness::Unfit } else { Fitness::Good };
        let of_paths = self.move_tolerance_ns.and(self.different_paths()).map(moved);
        self.tolerated.as_ref().map(|judged| judged.fitness).or(of_paths)
    }
}

/// One task of all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskCompared {
    /// Its name in the first run.
    pub task: String,
    /// How the conditions of each other run differ from the first's.
    pub mismatches: Vec<Differing>,
    /// The comparison run by run, unless another was asked for.
    pub comparison: Option<Comparison>,
    /// The comparison of two settings, where several runs of either were given.
    pub settings: Option<SettingsCompared>,
    /// The comparison that the University of Twente's report makes, where that was asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub twente: Option<Vec<TwenteRun>>,
    /// What delayed it in each run, where that is known of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub causes: Option<CausesCompared>,
    /// Its code paths, of two runs in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub paths: Option<PathsCompared>,
}

/// What differs between the conditions of the first run and another's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differing {
    /// What the first run is called.
    pub first: String,
    /// What the other is called.
    pub other: String,
    /// What differs, the gravest first.
    pub conditions: Vec<Mismatch>,
}

/// What a reader has to know of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunWarnings {
    /// What the run is called.
    pub run: String,
    /// Its warnings.
    pub warnings: Vec<Warning>,
}
