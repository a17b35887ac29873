//! What `jitterlab predict` says of a file: for each task its prediction, claims, requirements, or how predictions from its
//! windows turned out.

use jitterlab_model::{Activation, TaskRun, Warning};
use serde::{Deserialize, Serialize};

use crate::predict::{Prediction, Reliability};
use crate::require::{BreachCounter, Breaches, ClaimPlan, Judgement, Requirement};

/// What is said of the tasks of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlook {
    /// The file.
    pub file: String,
    /// Its tasks.
    pub tasks: Vec<TaskOutlook>,
    /// What a reader has to know of the file.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<Warning>,
}

/// What is said of one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskOutlook {
    /// The task's name.
    pub task: String,
    /// How much worse it can get; `None` where it was not asked for, or nothing was measured.
    pub prediction: Option<Prediction>,
    /// How long to run for each claim that was asked for.
    pub claims: Vec<ClaimPlan>,
    /// The outcome of each requirement that was asked for.
    pub requirements: Vec<Judgement>,
    /// How predictions from windows of the run turned out, where that was asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub reliability: Option<Reliability>,
}

impl TaskOutlook {
    /// The requirements of a task, decided by all its activations.
    #[must_use]
    pub fn decided(task: &TaskRun, activations: &[Activation], requirements: &[Requirement]) -> Self {
        let decide = |requirement: &Requirement| {
            let breaches = match requirement.gap(task) {
                Some(gap) => Breaches::untold(gap),
                None => {
                    let mut counter = BreachCounter::new(requirement, task.spec.period_ns);
                    activations.iter().for_each(|activation| counter.push(activation));
                    let counted = counter.breaches();
                    match &task.result {
                        Some(result) => counted.with_counters(result, requirement),
                        None => counted,
                    }
                }
            };
            requirement.judge(&breaches, None)
        };
        let requirements = requirements.iter().map(decide).collect();
        TaskOutlook { task: task.spec.name.clone(), requirements, ..TaskOutlook::default() }
    }
}
