//! Assignment of tasks to the loops they close.

use super::design::Design;
use super::overrun::OverrunAction;
use super::plant::Plant;
use super::several::{LoopTask, Several};
use super::timing::TaskTiming;
use super::{PlantFault, ServoError};
use crate::error::MotionError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskThere {
    pub name: String,
    pub period_ns: i64,
    /// Action for a job that is not finished in time.
    pub overrun: OverrunAction,
}

/// A plant as it was asked for, and the task that closes all of it, where one is named.
pub type PlantAsked = (Option<String>, Plant);

/// Reads `LOOP=TASK`.
fn pair<'a>(text: &'a str, asked: &[PlantAsked]) -> Result<(&'a str, &'a str), MotionError> {
    let known: Vec<&str> =
        asked.iter().flat_map(|(_, plant)| &plant.loops).map(|l| l.name.as_str()).collect();
    let found = text.split_once('=').filter(|(name, task)| known.contains(name) && !task.is_empty());
    Ok(found.ok_or_else(|| ServoError::NotALoop { text: text.into(), loops: known.join(", ") })?)
}

/// Gives one of the plants another controller: `NAME=CONTROLLER`, of the task that closes a plant or of a loop of one.
///
/// # Errors
/// No plant or loop of that name, and as [`Design::parse`].
pub fn control(asked: &mut [PlantAsked], text: &str) -> Result<(), MotionError> {
    let names = asked.iter().flat_map(|(task, plant)| {
        task.as_deref().into_iter().chain(plant.loops.iter().map(|l| l.name.as_str()))
    });
    let fault =
        ServoError::WhoseController { text: text.into(), names: names.collect::<Vec<_>>().join(", ") };
    let Some((name, controller)) = text.split_once('=') else { return Err(fault.into()) };
    for (task, plant) in asked {
        if plant.loops.is_empty() && task.as_deref() == Some(name) {
            plant.design = Design::parse(controller, plant.outputs.len())?;
            return Ok(());
        }
        if let Some(l) = plant.loops.iter_mut().find(|l| l.name == name) {
            l.design = Design::parse(controller, 1)?;
            if l.design.of_states() {
                return Err(PlantFault::LoopOfStates.for_plant(&plant.name));
            }
            return Ok(());
        }
    }
    Err(fault.into())
}

impl Several {
    /// The plants with the tasks that close them; without tasks each loop has one of its own, of its usual period.
    pub fn bind(
        asked: &[PlantAsked],
        mapping: &[String],
        there: Option<&[TaskThere]>,
        timing: TaskTiming,
    ) -> Result<Vec<Several>, MotionError> {
        let mapping: Vec<(&str, &str)> =
            mapping.iter().map(|text| pair(text, asked)).collect::<Result<_, _>>()?;
        let bound: Vec<(Plant, Vec<LoopTask>)> = asked
            .iter()
            .map(|(task, plant)| Ok((plant.clone(), tasks_of(plant, task.as_deref(), &mapping, there)?)))
            .collect::<Result<_, MotionError>>()?;
        let all = bound.iter().enumerate().map(|(i, (plant, tasks))| {
            let mut others: Vec<LoopTask> = Vec::new();
            let elsewhere = bound.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, b)| &b.1);
            for other in elsewhere {
                if tasks.iter().chain(&others).all(|known| known.name != other.name) {
                    others.push(other.clone());
                }
            }
            Several { plant: plant.clone(), tasks: tasks.clone(), others, timing, design_delay_ns: 0 }
        });
        Ok(all.collect())
    }
}

fn tasks_of(
    plant: &Plant,
    whole: Option<&str>,
    mapping: &[(&str, &str)],
    there: Option<&[TaskThere]>,
) -> Result<Vec<LoopTask>, MotionError> {
    let found = |name: &str, of: &str| -> Result<TaskThere, MotionError> {
        let tasks = there.ok_or(ServoError::NoPeriod)?;
        let names = || tasks.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
        let lacks =
            || ServoError::LoopWithoutTask { plant: plant.name.clone(), name: of.into(), tasks: names() };
        Ok(tasks.iter().find(|task| task.name == name).cloned().ok_or_else(lacks)?)
    };
    let of = |task: TaskThere, loops: Vec<usize>| {
        let TaskThere { name, period_ns, overrun } = task;
        LoopTask { name, period_ns, overrun, loops }
    };
    if let Some(name) = whole {
        let task = found(name, name)?;
        return Ok(vec![of(task, (0..plant.loops.len()).collect())]);
    }
    if plant.loops.is_empty() {
        return Err(ServoError::PlantWithoutTask(plant.name.clone()).into());
    }
    let mut tasks: Vec<LoopTask> = Vec::new();
    for (number, l) in plant.loops.iter().enumerate() {
        let name = mapping.iter().find(|(name, _)| *name == l.name).map_or(l.name.as_str(), |(_, task)| task);
        let task = match there {
            Some(_) => found(name, &l.name)?,
            None => {
                TaskThere { name: name.into(), period_ns: l.period_ns, overrun: OverrunAction::default() }
            }
        };
        match tasks.iter_mut().find(|known| known.name == task.name) {
            Some(known) => known.loops.push(number),
            None => tasks.push(of(task, vec![number])),
        }
    }
    Ok(tasks)
}
