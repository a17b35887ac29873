//! Tasks and the loops of a plant that they close.

use serde::Serialize;

use super::mean_timing::MeanTiming;
use super::plant_loop::PlantLoop;
use super::several::{LoopTask, Several};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopOfPlant {
    /// Its name; `None` where the plant has one controller.
    pub name: Option<String>,
    /// Its controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskOfLoops {
    pub name: String,
    pub period_ns: i64,
    /// The loops, the outer ones first.
    pub loops: Vec<LoopOfPlant>,
    pub timing: Option<MeanTiming>,
    /// The cost along the run if the plant's other tasks were punctual; `None` where there are none.
    pub alone: Option<f64>,
}

impl Several {
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
