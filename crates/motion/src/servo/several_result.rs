//! Result of `servo` for several loops.

use serde::Serialize;

use jitterlab_model::Error;

use super::assessment::Wishes;
use super::loops_judged::{PlantUnderRun, TaskOfLoops};
use super::markov_chain::Stationary;
use super::record::Record;
use super::schedule::{GivenTimes, Schedule};
use super::several::Several;
use crate::judged_run::JudgedRun;

/// Margins of a plant of several loops.
#[derive(Debug, Clone, Serialize)]
pub struct PlantOfLoops {
    pub plant: String,
    /// The tasks that close it, or would.
    pub tasks: Vec<TaskOfLoops>,
    /// The longest constant delay of each task's outputs with the others punctual; `None` up to its whole period.
    pub stands_ns: Vec<Option<i64>>,
    /// All of them punctual, with no work to do.
    pub ideal: Stationary,
    /// Names of the outputs that follow a reference.
    pub outputs: Vec<String>,
    /// Under the run or the given execution times; `None` without either.
    pub under: Option<PlantUnderRun>,
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
        let under = several.under_run(records, wishes)?;
        Ok(PlantOfLoops { tasks: under.tasks.clone(), under: Some(under), ..PlantOfLoops::alone(several)? })
    }

    /// Judges a plant by jobs that a schedule makes.
    pub fn under_schedule(several: &Several, schedule: &Schedule, wishes: &Wishes) -> Result<Self, Error> {
        let under = several.under_schedule(schedule, wishes)?;
        Ok(PlantOfLoops { tasks: under.tasks.clone(), under: Some(under), ..PlantOfLoops::alone(several)? })
    }

    /// Computes the margins of a plant, without a run.
    pub fn alone(several: &Several) -> Result<Self, Error> {
        Ok(PlantOfLoops {
            plant: several.plant.name.clone(),
            tasks: several.tasks.iter().map(|task| several.described(task, None)).collect(),
            ideal: several.ideal()?,
            stands_ns: several.stands()?,
            outputs: several.followed_outputs()?,
            under: None,
        })
    }
}

impl ServoLoops {
    /// The plant with the worst verdict, and its results; `None` without a run.
    pub fn worst(&self) -> Option<(&PlantOfLoops, &PlantUnderRun)> {
        let judged = self.plants.iter().filter_map(|plant| Some((plant, plant.under.as_ref()?)));
        judged.max_by_key(|(_, under)| under.verdict.fitness)
    }
}
