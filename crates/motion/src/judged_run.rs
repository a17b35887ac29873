//! The run whose timing is judged.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::{Gap, Warning};
use jitterlab_runs::OneTask;
use serde::Serialize;

/// A task of a run, as far as an answer about a motor or a loop names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedRun {
    /// The file.
    pub file: String,
    /// The task.
    pub task: String,
    /// The run's other tasks, where none was asked for and this one was taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Its period.
    pub period_ns: i64,
    /// Activations of it that ran.
    pub executed: u64,
    /// Facts about the task that the source does not report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Gap>,
    /// Warnings of the run file itself.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<Warning>,
    /// Reasons to doubt the run's figures.
    pub caveats: Vec<Caveat>,
    /// True if lost records may have held its earliest or its latest activation.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub has_lost_extremes: bool,
    /// Verdict on its timing alone, without a motor or a loop; `None` where there is none.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub timing_alone: Option<Verdict>,
}

impl JudgedRun {
    pub fn from_task(task: &OneTask) -> Self {
        JudgedRun {
            file: task.run().path().display().to_string(),
            task: task.name().into(),
            others: task.other_tasks().to_vec(),
            period_ns: task.stats.period_ns(),
            executed: task.stats.executed(),
            unknown: task.unknown().to_vec(),
            warnings: task.warnings.clone(),
            caveats: task.caveats.clone(),
            has_lost_extremes: task.has_lost_extremes(),
            timing_alone: task.verdict(),
        }
    }

    /// A task that was assumed instead of measured, with `by` as its name and file.
    pub fn assumed(by: String, period_ns: i64, executed: u64) -> Self {
        JudgedRun {
            task: by.clone(),
            file: by,
            others: Vec::new(),
            period_ns,
            executed,
            unknown: Vec::new(),
            warnings: Vec::new(),
            caveats: Vec::new(),
            has_lost_extremes: false,
            timing_alone: None,
        }
    }

    /// True if the number of activations is known; a source that reports only extremes may leave it out.
    pub fn is_counted(&self) -> bool {
        !self.warnings.iter().any(|w| matches!(w, Warning::CountUnknown))
    }
}
