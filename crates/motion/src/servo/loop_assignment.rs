//! Assignment of tasks to the loops they close.

use jitterlab_model::Error;

use super::design::Design;
use super::multi_task_loop::{LoopTask, MultiTaskLoop};
use super::overrun::OverrunAction;
use super::plant::Plant;
use super::timing::TaskTiming;
use crate::error;

/// A plant as it was asked for, and the task that closes all of it, where one is named.
pub type RequestedPlant = (Option<String>, Plant);

/// Splits `LOOP=TASK`, with a loop of one of the plants.
fn parse_assignment<'a>(text: &'a str, plants: &[RequestedPlant]) -> Result<(&'a str, &'a str), Error> {
    let known: Vec<&str> =
        plants.iter().flat_map(|(_, plant)| &plant.loops).map(|l| l.name.as_str()).collect();
    let found = text.split_once('=').filter(|(name, task)| known.contains(name) && !task.is_empty());
    let known = known.join(", ");
    found.ok_or_else(|| {
        Error::bad_use(format!("{text:?} names no loop and a task: write LOOP=TASK, with one of {known}"))
    })
}

/// Gives one of the plants another controller: `NAME=CONTROLLER`, of the task that closes a plant or of a loop of one.
pub fn set_controller(plants: &mut [RequestedPlant], text: &str) -> Result<(), Error> {
    let names = plants.iter().flat_map(|(task, plant)| {
        task.as_deref().into_iter().chain(plant.loops.iter().map(|l| l.name.as_str()))
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let fault = Error::bad_use(format!(
        "{text:?} does not say whose controller it is: write NAME=CONTROLLER, as x=pid:1.5:80ms:35ms, with one of {names}"
    ));
    let Some((name, controller)) = text.split_once('=') else { return Err(fault) };
    for (task, plant) in plants {
        if plant.loops.is_empty() && task.as_deref() == Some(name) {
            plant.design = Design::parse(controller, plant.outputs.len())?;
            return Ok(());
        }
        if let Some(l) = plant.loops.iter_mut().find(|l| l.name == name) {
            l.design = Design::parse(controller, 1)?;
            if l.design.needs_all_states() {
                return Err(error::not_a_loop_controller(&plant.name));
            }
            return Ok(());
        }
    }
    Err(fault)
}

impl MultiTaskLoop {
    /// The plants with the tasks that close them; without tasks each loop has one of its own, of its usual period.
    pub fn from_assignments(
        plants: &[RequestedPlant],
        mapping: &[String],
        run_tasks: Option<&[LoopTask]>,
        timing: TaskTiming,
    ) -> Result<Vec<MultiTaskLoop>, Error> {
        let mapping: Vec<(&str, &str)> =
            mapping.iter().map(|text| parse_assignment(text, plants)).collect::<Result<_, _>>()?;
        let bound: Vec<(Plant, Vec<LoopTask>)> = plants
            .iter()
            .map(|(task, plant)| {
                Ok((plant.clone(), assigned_tasks(plant, task.as_deref(), &mapping, run_tasks)?))
            })
            .collect::<Result<_, Error>>()?;
        let all = bound.iter().enumerate().map(|(i, (plant, tasks))| {
            let mut others: Vec<LoopTask> = Vec::new();
            let elsewhere = bound.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, b)| &b.1);
            for other in elsewhere {
                if tasks.iter().chain(&others).all(|known| known.name != other.name) {
                    others.push(other.clone());
                }
            }
            MultiTaskLoop { plant: plant.clone(), tasks: tasks.clone(), others, timing, design_delay_ns: 0 }
        });
        Ok(all.collect())
    }
}

fn assigned_tasks(
    plant: &Plant,
    whole: Option<&str>,
    mapping: &[(&str, &str)],
    run_tasks: Option<&[LoopTask]>,
) -> Result<Vec<LoopTask>, Error> {
    let found = |name: &str, of: &str| -> Result<LoopTask, Error> {
        let tasks = run_tasks.ok_or_else(error::no_period)?;
        let names = || tasks.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
        tasks.iter().find(|task| task.name == name).cloned().ok_or_else(|| {
            Error::bad_use(format!(
                "there is no task {of:?} to close {}: name one by --plant TASK=NAME, or of a plant with several loops by --loop \
                 LOOP=TASK; there are {}",
                plant.name,
                names()
            ))
        })
    };
    if let Some(name) = whole {
        let task = found(name, name)?;
        return Ok(vec![LoopTask { loops: (0..plant.loops.len()).collect(), ..task }]);
    }
    if plant.loops.is_empty() {
        return Err(Error::bad_use(format!(
            "several plants need their tasks: write --plant TASK={}",
            plant.name
        )));
    }
    let mut tasks: Vec<LoopTask> = Vec::new();
    for (number, l) in plant.loops.iter().enumerate() {
        let name = mapping.iter().find(|(name, _)| *name == l.name).map_or(l.name.as_str(), |(_, task)| task);
        let task = match run_tasks {
            Some(_) => found(name, &l.name)?,
            None => LoopTask::new(name, l.period_ns, OverrunAction::default()),
        };
        match tasks.iter_mut().find(|known| known.name == task.name) {
            Some(known) => known.loops.push(number),
            None => tasks.push(LoopTask { loops: vec![number], ..task }),
        }
    }
    Ok(tasks)
}
