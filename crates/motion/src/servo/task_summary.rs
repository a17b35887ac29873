//! Tasks and the loops of a plant that they close.

use serde::Serialize;

use super::mean_timing::MeanTiming;
use super::multi_task_loop::{LoopTask, MultiTaskLoop};
use super::plant_loop::PlantLoop;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopSummary {
    /// Its name; `None` where the plant has one controller.
    pub name: Option<String>,
    /// Its controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskSummary {
    pub name: String,
    pub period_ns: i64,
    /// The loops, the outer ones first.
    pub loops: Vec<LoopSummary>,
    pub timing: Option<MeanTiming>,
    /// The cost along the run if the plant's other tasks were punctual; `None` where there are none.
    pub alone: Option<f64>,
}

impl MultiTaskLoop {
    pub(super) fn task_summary(&self, task: &LoopTask, timing: Option<MeanTiming>) -> TaskSummary {
        let loops: Vec<LoopSummary> = if self.plant.loops.is_empty() {
            let design = self.plant.design.name().into();
            vec![LoopSummary { name: None, controller: design }]
        } else {
            let of = |i: &usize| self.plant.loops.get(*i);
            let named = |l: &PlantLoop| LoopSummary {
                name: Some(l.name.clone()),
                controller: l.design.name().into(),
            };
            task.loops.iter().filter_map(of).map(named).collect()
        };
        TaskSummary { name: task.name.clone(), period_ns: task.period_ns, loops, timing, alone: None }
    }
}
