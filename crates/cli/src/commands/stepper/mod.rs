//! `jitterlab stepper`: the effect of a run's timing on a stepper axis.

pub mod axis;

use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_motion::stepper::{StepperDevices, StepperQuestion, StepperResult, checked_simulation_ns};
use jitterlab_motion::{JudgedRun, error};
use jitterlab_runs::OneTask;

use self::axis::AxisArgs;
use crate::exit::{CommandResult, Status};
use crate::output::{self, OutputArgs};
use crate::run_args::RunArgs;

/// Say how fast a stepper motor may go with a run's timing
///
/// Only a motor is needed: a data sheet's name, or a frame size and a holding torque. What else is not given is
/// assumed, and listed with --details. Exit status 0 when software can step it, 1 when it cannot, 3 when that cannot be
/// told.
#[derive(clap::Args)]
pub struct Args {
    /// The run to judge, or the output of another tool such as cyclictest's histogram [default: the jitter given by
    /// --jitter]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    read: RunArgs,
    /// Without a run: latencies assumed to spread over this much
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME", conflicts_with = "run")]
    jitter: Option<i64>,
    /// A second run, such as one with compensation, to simulate beside the first
    #[arg(long, value_name = "RUN", requires = "run", conflicts_with = "jitter")]
    beside: Option<PathBuf>,

    #[command(flatten)]
    axis: AxisArgs,
    /// Base period of the step generator [default: the run's period up to 200us, else StepConf's]
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    base_period: Option<i64>,

    /// Speeds for the table: 5rev/s, 300rpm, 600mm/min, 8kHz (pulses), 1000steps/s; a list with commas, or a range
    /// 1rev/s..10rev/s [default: ten, up to the fastest at which the motor carries its load]
    #[arg(long, value_name = "SPEEDS")]
    speed: Option<String>,
    /// Longest time to simulate, around the worst event
    #[arg(long, value_parser = parse_duration_ns, default_value = "20s", value_name = "TIME")]
    simulate: i64,

    /// List motors and drives, the shipped and your own, and the directory for your own
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges the axis, and prints the result.
pub fn execute(args: &Args) -> CommandResult {
    if args.list {
        args.output.show(&StepperDevices::from_catalog())?;
        return Ok(Status::Fine);
    }
    args.read.check_task(args.run.as_deref())?;
    let simulate_ns = checked_simulation_ns(args.simulate)?;
    let axis = args.axis.axis()?;
    let question = StepperQuestion::new(axis, args.speed.as_deref(), args.base_period)?;
    let result = match &args.run {
        Some(path) => {
            // The task that makes the steps is the one with the shortest period.
            let open = |path: &Path| args.read.one_task(path, |spec| spec.period_ns);
            assess_under_run(question, &open, (path, args.beside.as_deref()), simulate_ns)?
        }
        None => question.under_jitter(args.jitter.ok_or_else(error::no_stepper_timing)?)?,
    };
    Ok(Status::from_fitness(args.output.show(&result)?))
}

/// Computes the effect of a run on an axis, and of a second one for comparison if there is one.
pub fn assess_under_run(
    question: StepperQuestion,
    open: &dyn Fn(&Path) -> Result<OneTask, Error>,
    (path, beside): (&Path, Option<&Path>),
    simulate_ns: i64,
) -> Result<StepperResult, Error> {
    let run = open(path)?;
    let beside = beside.map(open).transpose()?;
    let mut result = question.under_run(JudgedRun::from_task(&run), &run.stats)?;
    result.simulate(&run, beside.as_ref(), simulate_ns, &mut |name, length_ns, speeds| {
        // Longer stretches take seconds to play at every speed.
        if length_ns > 5_000_000_000 {
            output::print_note(&format!("simulating {name} at {speeds} speeds"));
        }
    });
    Ok(result)
}
