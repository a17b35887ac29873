//! `jitterlab servo` with a plant for each task, or a plant that several tasks close.

use jitterlab_model::TaskSpec;
use jitterlab_motion::servo::{Plant, PlantAsked, PlantOfLoops, ServoLoops, Several, TaskThere};
use jitterlab_motion::{MotionError, catalog};
use jitterlab_runs::OneTask;

use super::Args;
use crate::exit::Failure;
use crate::run_args::{Recorded, judged as judged_run};

/// The plants that are judged together; `None` where it is one plant with one controller.
pub fn asked(args: &Args) -> Result<Option<Vec<PlantAsked>>, MotionError> {
    let read = |text: &String| -> Result<PlantAsked, MotionError> {
        let named = text.split_once('=').filter(|(task, _)| !task.is_empty() && !task.contains(['/', '.']));
        let (task, name) = named.map_or((None, text.as_str()), |(task, name)| (Some(task.to_owned()), name));
        Ok((task, catalog::known::<Plant>(name)?))
    };
    let plants: Vec<PlantAsked> = args.plant.iter().map(read).collect::<Result<_, _>>()?;
    let one = plants.len() < 2 && plants.iter().all(|(task, plant)| task.is_none() && plant.loops.is_empty());
    if one && args.loops.is_empty() {
        return Ok(None);
    }
    let refused = [
        (args.live.live, "--live"),
        (args.controller.is_some(), "--controller"),
        (args.design_delay != 0, "--design-delay"),
        (args.execution.is_some(), "--execution"),
        (args.overrun.is_some(), "--overrun"),
        (!args.misses.is_empty(), "--misses"),
        (args.redesign, "--redesign"),
        (!args.references.is_empty(), "--reference"),
        (args.svg.is_some(), "--svg"),
        (args.read.task.is_some(), "--task"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(MotionError::NotOfSeveral(option)),
        None => Ok(Some(plants)),
    }
}

/// What the loops stand, and what the run does to them where there is one.
pub fn judged(args: &Args, plants: &[PlantAsked]) -> Result<ServoLoops, Failure> {
    let Some(path) = &args.run else {
        let loops = Several::bind(plants, &args.loops, None, args.timing())?;
        let plants = loops.iter().map(PlantOfLoops::alone).collect::<Result<_, _>>()?;
        return Ok(ServoLoops { run: None, plants });
    };
    let there: Vec<TaskThere> =
        args.read.open(path)?.info().tasks.iter().map(|task| there(&task.spec)).collect();
    let loops = Several::bind(plants, &args.loops, Some(&there), args.timing())?;
    let mut tasks: Vec<OneTask> = Vec::new();
    for name in loops.iter().flat_map(|several| &several.tasks).map(|task| &task.name) {
        if tasks.iter().all(|task| task.name() != name) {
            tasks.push(OneTask::of(args.read.open(path)?, Some(name), |spec: &TaskSpec| spec.period_ns)?);
        }
    }
    let of = |several: &Several| -> Result<PlantOfLoops, Failure> {
        let record = |name: &str| tasks.iter().find(|task| task.name() == name).map(Recorded);
        let records: Vec<Recorded> = several.all_tasks().filter_map(|task| record(&task.name)).collect();
        PlantOfLoops::under_run(several, &records.iter().collect::<Vec<_>>())
    };
    let plants = loops.iter().map(of).collect::<Result<_, Failure>>()?;
    Ok(ServoLoops { run: tasks.first().map(judged_run), plants })
}

fn there(spec: &TaskSpec) -> TaskThere {
    TaskThere { name: spec.name.clone(), period_ns: spec.period_ns, overrun: spec.overrun.into() }
}
