//! `jitterlab servo` with a plant for each task, or a plant that several tasks close.

use jitterlab_model::{Error, TaskSpec};
use jitterlab_motion::servo::{
    GivenTimes, LoopTask, MultiTaskLoop, OverrunPolicy, Plant, PlantResult, RequestedPlant, Schedule,
    ServoLoops, set_controller,
};
use jitterlab_motion::{JudgedRun, catalog};
use jitterlab_runs::OneTask;

use super::Args;

/// The plants judged together, `None` for one plant with one controller; refuses options for one loop.
pub fn requested_plants(args: &Args) -> Result<Option<Vec<RequestedPlant>>, Error> {
    let read = |text: &String| -> Result<RequestedPlant, Error> {
        let named = text.split_once('=').filter(|(task, _)| !task.is_empty() && !task.contains(['/', '.']));
        let (task, name) = named.map_or((None, text.as_str()), |(task, name)| (Some(task.to_owned()), name));
        Ok((task, catalog::known_device::<Plant>(name)?))
    };
    let mut plants: Vec<RequestedPlant> = args.plant.iter().map(read).collect::<Result<_, _>>()?;
    let one = plants.len() < 2 && plants.iter().all(|(task, plant)| task.is_none() && plant.loops.is_empty());
    if one && args.loops.is_empty() {
        return Ok(None);
    }
    let refused = [
        (args.live.live, "--live"),
        (args.design_delay != 0, "--design-delay"),
        // In nested loops, the gains of one loop decide how good the others are.
        (args.redesign && plants.iter().any(|(_, plant)| !plant.loops.is_empty()), "--redesign"),
        // On a grid that restarts, tasks are never due together again.
        (args.overrun.is_some_and(|action| action.policy == OverrunPolicy::RePhase), "--overrun re-phase"),
        // A recorded run is judged as it was; the table next to it shows the cost of other actions.
        (args.overrun.is_some() && args.run.is_some(), "--overrun"),
        (args.read.task.is_some(), "--task"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Error::bad_use(format!(
            "{option} is for one loop, and several are judged together: leave it out, or name one plant with one controller"
        ))),
        None => {
            args.controllers.iter().try_for_each(|text| set_controller(&mut plants, text))?;
            Ok(Some(plants))
        }
    }
}

/// Computes the margins of the loops, and the effect of the run or the given execution times on them.
pub fn assess_plants(args: &Args, plants: &[RequestedPlant]) -> Result<ServoLoops, Error> {
    let Some(path) = &args.run else { return assess_without_run(args, plants) };
    let there = |spec: &TaskSpec| LoopTask::new(&spec.name, spec.period_ns, spec.overrun.into());
    let there: Vec<LoopTask> =
        args.read.open(path)?.info().tasks.iter().map(|task| there(&task.spec)).collect();
    let loops = MultiTaskLoop::from_assignments(plants, &args.loops, Some(&there), args.timing())?;
    let mut tasks: Vec<OneTask> = Vec::new();
    for name in loops.iter().flat_map(|several| &several.tasks).map(|task| &task.name) {
        if tasks.iter().all(|task| task.name() != name) {
            tasks.push(OneTask::new(args.read.open(path)?, Some(name), |spec: &TaskSpec| spec.period_ns)?);
        }
    }
    let of = |several: &MultiTaskLoop| {
        let record = |name: &str| tasks.iter().find(|task| task.name() == name);
        let records: Vec<&OneTask> = several.all_tasks().filter_map(|task| record(&task.name)).collect();
        PlantResult::under_run(several, &records, &args.assessment_options())
    };
    let plants = loops.iter().map(of).collect::<Result<_, _>>()?;
    Ok(ServoLoops { run: tasks.first().map(JudgedRun::from_task), given: Vec::new(), plants })
}

fn assess_without_run(args: &Args, plants: &[RequestedPlant]) -> Result<ServoLoops, Error> {
    if args.execution.is_empty() {
        let loops = MultiTaskLoop::from_assignments(plants, &args.loops, None, args.timing())?;
        let plants = loops.iter().map(PlantResult::without_run).collect::<Result<_, _>>()?;
        return Ok(ServoLoops { run: None, given: Vec::new(), plants });
    }
    let given = args.execution.iter().map(|text| GivenTimes::parse(text, plants));
    let given: Vec<GivenTimes> = given.collect::<Result<_, _>>()?;
    let overrun = args.overrun.unwrap_or_default();
    let there: Vec<LoopTask> = given.iter().map(|g| LoopTask::new(&g.name, g.period_ns, overrun)).collect();
    let loops = MultiTaskLoop::from_assignments(plants, &args.loops, Some(&there), args.timing())?;
    let schedule = Schedule::new(&given)?;
    let of =
        |several: &MultiTaskLoop| PlantResult::under_schedule(several, &schedule, &args.assessment_options());
    let plants = loops.iter().map(of).collect::<Result<_, _>>()?;
    Ok(ServoLoops { run: None, given, plants })
}
