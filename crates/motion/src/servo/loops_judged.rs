//! Effect of a run on a plant that several tasks close.

use serde::Serialize;

use super::evaluate::Evaluation;
use super::mean_timing::MeanTiming;
use super::overrun_costs::ActionCost;
use super::plant_loop::PlantLoop;
use super::redesign::Redesign;
use super::reference_tracking::FollowedReference;
use super::several::{LoopTask, Several};
use super::verdict::Verdict;
use super::weakly_hard::UnderMisses;

/// A loop that a task closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopOfPlant {
    /// Its name; `None` where the plant has one controller.
    pub name: Option<String>,
    /// Its controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
}

/// A task and the loops it closes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskOfLoops {
    pub name: String,
    pub period_ns: i64,
    /// The loops, the outer ones first.
    pub loops: Vec<LoopOfPlant>,
    /// Its timing in short, where there is a run.
    pub timing: Option<MeanTiming>,
    /// The cost along the run if the plant's other tasks were punctual; `None` where there are none.
    pub alone: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PlantUnderRun {
    /// Verdict on closing its loops on this machine.
    pub verdict: Verdict,
    /// The tasks that close it, those of outer loops first.
    pub tasks: Vec<TaskOfLoops>,
    /// The common multiple of all tasks' periods: the length of a cycle in time.
    pub common_ns: i64,
    pub cycles: u64,
    /// Cycles whose map was computed; beyond some thousand only each second one, which counts twice, and so
    /// on.
    pub computed: u64,
    /// Cost of the timing.
    pub evaluation: Evaluation,
    /// Cost of each overrun action, if all of these tasks took it.
    pub actions: Vec<ActionCost>,
    /// Stability proved for any sequence with as many misses as the run has.
    pub misses_seen: Option<UnderMisses>,
    /// Stability proved for any sequence with the number of misses that was asked for.
    pub misses: Vec<UnderMisses>,
    /// The periods in which these are counted: one is missed where any of these tasks wrote less than it owes.
    pub misses_period_ns: i64,
    /// The cycles that it is proved of, evenly from all.
    pub shown: u64,
    /// Responses of the outer loops around the worst event.
    pub responses: Vec<FollowedReference>,
    /// Controllers redesigned for this timing, if that was asked for and one task closes the plant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redesigns: Vec<Redesign>,
}

impl Several {
    /// A task as a result names it.
    pub(super) fn described(&self, task: &LoopTask, timing: Option<MeanTiming>) -> TaskOfLoops {
        let loops: Vec<LoopOfPlant> = if self.plant.loops.is_empty() {
            let design = self.plant.design.name().into();
            vec![LoopOfPlant { name: None, controller: design }]
        } else {
            let of = |i: &usize| self.plant.loops.get(*i);
            let named = |l: &PlantLoop| LoopOfPlant {
                name: Some(l.name.clone()),
                controller: l.design.name().into(),
            };
            task.loops.iter().filter_map(of).map(named).collect()
        };
        TaskOfLoops { name: task.name.clone(), period_ns: task.period_ns, loops, timing, alone: None }
    }
}
