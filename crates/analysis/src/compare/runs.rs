//! Comparison of every task that several runs have: the result of `jitterlab compare`.

use jitterlab_model::{Fitness, Warning};
use serde::Serialize;

use super::{
    CausesCompared, Comparison, Mismatch, PathsCompared, SettingsCompared, ToleranceVerdict, TwenteRun,
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
    /// Warnings on each run.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<RunWarnings>,
    /// Verdict on whether any run is worse than the first by more than the tolerance, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated: Option<ToleranceVerdict>,
    /// Tolerance for the move of a kernel code path in virtual time, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub move_tolerance_ns: Option<i64>,
}

impl RunsCompared {
    /// Adds the verdict on whether a figure is higher than in the first run by more than this share; none for `None`.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: Option<f64>) -> Self {
        let tasks =
            self.tasks.iter().map(|of| (of.task.as_str(), of.comparison.as_ref(), of.settings.as_ref()));
        self.tolerated = tolerance.map(|tolerance| ToleranceVerdict::new(tasks, tolerance));
        self
    }

    /// Returns the number of code paths that differ beyond the tolerance, over all tasks; `None` if none are known.
    #[must_use]
    pub fn different_path_count(&self) -> Option<usize> {
        let tolerance_ns = self.move_tolerance_ns();
        let known = self.tasks.iter().filter_map(|task| task.paths.as_ref());
        known.map(|paths| paths.count_different(tolerance_ns)).reduce(|a, b| a + b)
    }

    /// Returns the tolerance for the move of a code path, in ns.
    #[must_use]
    pub fn move_tolerance_ns(&self) -> i64 {
        self.move_tolerance_ns.unwrap_or(USUAL_MOVE_NS)
    }

    /// Returns the verdict on figures or on moved paths, if a tolerance for either was given.
    #[must_use]
    pub fn tolerance_verdict(&self) -> Option<Fitness> {
        let moved = |different| if different > 0 { Fitness::Unfit } else { Fitness::Good };
        let of_paths = self.move_tolerance_ns.and(self.different_path_count()).map(moved);
        self.tolerated.as_ref().map(|judged| judged.fitness).or(of_paths)
    }
}

/// One task of all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskCompared {
    /// Its name in the first run.
    pub task: String,
    /// Differences between the conditions of each other run and the first.
    pub mismatches: Vec<ConditionDifferences>,
    /// Comparison run by run, unless another kind was asked for.
    pub comparison: Option<Comparison>,
    /// Comparison of two settings, if several runs of either were given.
    pub settings: Option<SettingsCompared>,
    /// Comparison of the University of Twente's report, if asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub twente: Option<Vec<TwenteRun>>,
    /// Causes that delayed it in each run, if they are known for all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub causes: Option<CausesCompared>,
    /// Its code paths, of two runs in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub paths: Option<PathsCompared>,
}

/// Differences between the conditions of the first run and another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Differing")]
pub struct ConditionDifferences {
    /// Name of the first run.
    pub first: String,
    /// Name of the other run.
    pub other: String,
    /// The differences, the gravest first.
    pub conditions: Vec<Mismatch>,
}

/// Warnings on a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunWarnings {
    /// Name of the run.
    pub run: String,
    /// Warnings.
    pub warnings: Vec<Warning>,
}
