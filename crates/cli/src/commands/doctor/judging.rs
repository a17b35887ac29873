//! Effect of a measurement on a motor or a loop.

use std::path::Path;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::Error;
use jitterlab_motion::doctor::JobMethod;
use jitterlab_motion::servo::{AssessmentOptions, Plant, ServoResult, SingleTaskLoop};
use jitterlab_motion::stepper::{Axis, AxisFacts, Motor, StepperQuestion, StepperResult};
use jitterlab_motion::{JudgedRun, catalog};
use jitterlab_runs::{Hints, OneTask, Run};

use crate::commands::stepper;
use crate::commands::stepper::axis::AxisArgs;

/// A motor that is usual where none is named: NEMA 23, 1.9 N m, on a screw of 5 mm.
const FRAME: u32 = 23;
const TORQUE_NM: f64 = 1.9;
const TRAVEL_MM: f64 = 5.0;
/// Length of the run's part that is played to the motor, in ns.
const SIMULATE_NS: i64 = 1_000_000_000;

/// Computes the effect of a run on the motor and the loop of a job, as far as it has them.
pub fn effects_of_run(
    way: &JobMethod,
    axis: &AxisArgs,
    run: &MeasuredRun,
) -> Result<(Option<StepperResult>, Option<ServoResult>), Error> {
    let (mut steps, mut turns) = (None, None);
    let Some(file) = &run.file else { return Ok((None, None)) };
    for purpose in way.served_purposes() {
        let task = JobMethod::task_for(purpose).name;
        let open = |path: &Path| OneTask::new(Run::open(path, &Hints::default())?, Some(&task), |_| 0);
        if purpose.name.starts_with("step-") && steps.is_none() {
            let question = StepperQuestion::new(axis_or_default(axis)?, None, None)?;
            steps = Some(stepper::assess_under_run(question, &open, (file, None), SIMULATE_NS)?);
        }
        if purpose.name.starts_with("robot-") && turns.is_none() {
            let run: OneTask = open(file)?;
            let plant: Plant = catalog::known_device("dc-servo")?;
            let question = SingleTaskLoop::new(plant, run.stats.period_ns());
            let question = SingleTaskLoop { overrun: run.spec().overrun.into(), ..question };
            let wishes = AssessmentOptions::default();
            turns = Some(ServoResult::under_run(&question, JudgedRun::from_task(&run), &run, &wishes)?);
        }
    }
    Ok((steps, turns))
}

/// The axis that options describe, or a usual one.
fn axis_or_default(axis: &AxisArgs) -> Result<Axis, Error> {
    if axis.names_a_motor() {
        return axis.axis();
    }
    let motor = Motor::from_frame(FRAME, TORQUE_NM)?;
    Axis::new(motor, None, AxisFacts { lead_mm: Some(TRAVEL_MM), ..AxisFacts::default() })
}
