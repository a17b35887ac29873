//! Result of `jitterlab predict` on a file: for each task its prediction, claims, requirements, and the
//! reliability of predictions from its windows.

use jitterlab_model::{Activation, TaskRun, Warning};
use serde::Serialize;

use crate::predict::{Prediction, Reliability};
use crate::require::{BreachCounter, Breaches, ClaimPlan, Requirement, RequirementResult};

/// Predictions and decisions on the tasks of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlook {
    /// The file.
    pub file: String,
    /// Its tasks.
    pub tasks: Vec<TaskOutlook>,
    /// Warnings on the file.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<Warning>,
}

/// Predictions and decisions on one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskOutlook {
    /// The task's name.
    pub task: String,
    /// Prediction of the worst case; `None` if it was not asked for, or nothing was measured.
    pub prediction: Option<Prediction>,
    /// Length of the run needed for each claim asked for.
    pub claims: Vec<ClaimPlan>,
    /// Judgement of each requirement asked for.
    pub requirements: Vec<RequirementResult>,
    /// Reliability of predictions from windows of the run, if it was asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub reliability: Option<Reliability>,
}

impl TaskOutlook {
    /// Judges the requirements of a task by all its activations.
    #[must_use]
    pub fn from_activations(
        task: &TaskRun,
        activations: &[Activation],
        requirements: &[Requirement],
    ) -> Self {
        let decide = |requirement: &Requirement| {
            let breaches = match requirement.missing_data(task) {
                Some(gap) => Breaches::from_gap(gap),
                None => {
                    let mut counter = BreachCounter::new(requirement, task.spec.period_ns);
                    activations.iter().for_each(|activation| counter.push(activation));
                    counter.breaches().with_counters(task, requirement)
                }
            };
            requirement.judge(&breaches, None)
        };
        let requirements = requirements.iter().map(decide).collect();
        TaskOutlook { task: task.spec.name.clone(), requirements, ..TaskOutlook::default() }
    }
}
