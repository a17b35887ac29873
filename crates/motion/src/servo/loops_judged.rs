//! What a run does to a plant that several tasks close.

use serde::{Deserialize, Serialize};

use super::evaluate::Evaluation;
use super::gather::MeanTiming;
use super::verdict::Verdict;

/// A loop that a task closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopOfPlant {
    /// Its name; `None` where the plant has one controller.
    pub name: Option<String>,
    /// Its controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
}

/// A task and the loops it closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskOfLoops {
    /// The task.
    pub name: String,
    /// Its period.
    pub period_ns: i64,
    /// The loops, the outer ones first.
    pub loops: Vec<LoopOfPlant>,
    /// Its timing in short, where there is a run.
    pub timing: Option<MeanTiming>,
    /// The cost along the run if the plant's other tasks were punctual; `None` where there are none.
    pub alone: Option<f64>,
}

/// A plant under a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlantUnderRun {
    /// Whether its loops may be closed on this machine.
    pub verdict: Verdict,
    /// The tasks that close it, those of outer loops first.
    pub tasks: Vec<TaskOfLoops>,
    /// The common multiple of all tasks' periods: the length of a cycle in time.
    pub common_ns: i64,
    /// Cycles that the run has.
    pub cycles: u64,
    /// Those whose map was computed; of more than some thousand, each second one counts twice, and so on.
    pub computed: u64,
    /// What the timing costs.
    pub evaluation: Evaluation,
}
