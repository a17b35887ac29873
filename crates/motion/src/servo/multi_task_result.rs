//! Result of `servo` for several loops.

use serde::Serialize;

use jitterlab_model::Error;

use super::assessment::{AssessmentOptions, LoopAssessment};
use super::markov_chain::Stationary;
use super::multi_task_loop::MultiTaskLoop;
use super::record::Record;
use super::schedule::{GivenTimes, Schedule};
use super::task_summary::TaskSummary;
use crate::judged_run::JudgedRun;

#[derive(Debug, Clone, Serialize)]
pub struct PlantResult {
    pub plant: String,
    pub tasks: Vec<TaskSummary>,
    /// The longest constant delay of each task's outputs with the others punctual; `None` up to its whole period.
    pub stands_ns: Vec<Option<i64>>,
    /// All of them punctual, with no work to do.
    pub ideal: Stationary,
    pub outputs: Vec<String>,
    /// Under the run or the given execution times; `None` without either.
    pub under: Option<LoopAssessment>,
    /// The periods in which misses are counted: one is missed where any of these tasks wrote less than it owes.
    pub misses_period_ns: i64,
}

/// Margins of several loops, and the effect of a run on them.
#[derive(Debug, Clone, Serialize)]
pub struct ServoLoops {
    /// The run, as its first task shows it; `None` without one.
    pub run: Option<JudgedRun>,
    /// Execution times that were given in place of a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<GivenTimes>,
    pub plants: Vec<PlantResult>,
}

impl PlantResult {
    /// Judges a plant by a run's records of all tasks, in the order of [`MultiTaskLoop::all_tasks`].
    pub fn under_run<R: Record + ?Sized>(
        multi_task: &MultiTaskLoop,
        records: &[&R],
        wishes: &AssessmentOptions,
    ) -> Result<Self, Error> {
        let (under, tasks) = multi_task.under_run(records, wishes)?;
        Ok(PlantResult { tasks, under: Some(under), ..PlantResult::without_run(multi_task)? })
    }

    pub fn under_schedule(
        multi_task: &MultiTaskLoop,
        schedule: &Schedule,
        wishes: &AssessmentOptions,
    ) -> Result<Self, Error> {
        let (under, tasks) = multi_task.under_schedule(schedule, wishes)?;
        Ok(PlantResult { tasks, under: Some(under), ..PlantResult::without_run(multi_task)? })
    }

    pub fn without_run(multi_task: &MultiTaskLoop) -> Result<Self, Error> {
        Ok(PlantResult {
            plant: multi_task.plant.name.clone(),
            tasks: multi_task.tasks.iter().map(|task| multi_task.task_summary(task, None)).collect(),
            ideal: multi_task.ideal_stationary()?,
            stands_ns: multi_task.tolerated_delays_ns()?,
            outputs: multi_task.followed_outputs()?,
            under: None,
            misses_period_ns: multi_task.outputs_per_period()?.period_ns,
        })
    }
}

impl ServoLoops {
    /// The plants that were judged, with their results; none without a run.
    pub fn assessed_plants(&self) -> impl Iterator<Item = (&PlantResult, &LoopAssessment)> {
        self.plants.iter().filter_map(|plant| Some((plant, plant.under.as_ref()?)))
    }

    /// The plant with the worst verdict, and its results.
    pub fn worst_plant(&self) -> Option<(&PlantResult, &LoopAssessment)> {
        self.assessed_plants().max_by_key(|(_, under)| under.verdict.fitness)
    }
}
