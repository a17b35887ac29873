//! Result of `servo` for several loops.

use serde::Serialize;

use jitterlab_model::Error;

use super::assessment::{LoopAssessment, Wishes};
use super::loops_judged::TaskOfLoops;
use super::markov_chain::Stationary;
use super::record::Record;
use super::schedule::{GivenTimes, Schedule};
use super::several::Several;
use crate::judged_run::JudgedRun;

#[derive(Debug, Clone, Serialize)]
pub struct PlantOfLoops {
    pub plant: String,
    pub tasks: Vec<TaskOfLoops>,
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
    pub plants: Vec<PlantOfLoops>,
}

impl PlantOfLoops {
    /// Judges a plant by a run's records of all tasks, in the order of [`Several::all_tasks`].
    pub fn under_run<R: Record + ?Sized>(
        several: &Several,
        records: &[&R],
        wishes: &Wishes,
    ) -> Result<Self, Error> {
        let (under, tasks) = several.under_run(records, wishes)?;
        Ok(PlantOfLoops { tasks, under: Some(under), ..PlantOfLoops::alone(several)? })
    }

    pub fn under_schedule(several: &Several, schedule: &Schedule, wishes: &Wishes) -> Result<Self, Error> {
        let (under, tasks) = several.under_schedule(schedule, wishes)?;
        Ok(PlantOfLoops { tasks, under: Some(under), ..PlantOfLoops::alone(several)? })
    }

    pub fn alone(several: &Several) -> Result<Self, Error> {
        Ok(PlantOfLoops {
            plant: several.plant.name.clone(),
            tasks: several.tasks.iter().map(|task| several.described(task, None)).collect(),
            ideal: several.ideal()?,
            stands_ns: several.stands()?,
            outputs: several.followed_outputs()?,
            under: None,
            misses_period_ns: several.owed()?.period_ns,
        })
    }
}

impl ServoLoops {
    /// The plants that were judged, with their results; none without a run.
    pub fn judged(&self) -> impl Iterator<Item = (&PlantOfLoops, &LoopAssessment)> {
        self.plants.iter().filter_map(|plant| Some((plant, plant.under.as_ref()?)))
    }

    /// The plant with the worst verdict, and its results.
    pub fn worst(&self) -> Option<(&PlantOfLoops, &LoopAssessment)> {
        self.judged().max_by_key(|(_, under)| under.verdict.fitness)
    }
}
