//! `jitterlab servo`: what a run's timing means for a control loop.

mod live;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use jitterlab_model::units::parse_duration_ns;
use jitterlab_motion::servo::{
    Actuation, Design, Plant, Question, Reference, Sampling, ServoResult, TaskTiming,
};
use jitterlab_motion::{MotionError, catalog};
use jitterlab_report::document::Content;
use jitterlab_report::{figure, motion};

use self::live::LiveArgs;
use crate::exit::{Ending, Failure, Status};
use crate::output::{self, OutputArgs};
use crate::run_args::{RunArgs, judged};

/// Say what a run's timing means for a servo loop: its cost, its stability, what would help
///
/// Without a run, what the loop stands: its margins, and its cost under constant delays.
#[derive(clap::Args)]
pub struct Args {
    /// The run to judge
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    read: RunArgs,

    /// The plant: a name from --list, or a TOML file [default: dc-servo, with --live jiwy]
    #[arg(long, value_name = "NAME|FILE")]
    plant: Option<String>,
    /// Another controller than the plant's file names: pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg
    #[arg(long, value_name = "CONTROLLER")]
    controller: Option<String>,
    /// Constant delay that the controller's design takes into account
    #[arg(long, value_parser = parse_duration_ns, default_value = "0ns", value_name = "TIME")]
    design_delay: i64,
    /// When the sensors are read: at the start of the task, or by hardware when it is due
    #[arg(long, default_value = "start", value_name = "start|due", conflicts_with = "live")]
    sampling: Sampling,
    /// When the output is written: at the end of the task, at its start, at the next start, or by hardware when
    /// the next is due
    #[arg(
        long,
        default_value = "end",
        value_name = "end|start|next-start|next-due",
        conflicts_with = "live"
    )]
    actuation: Actuation,
    /// What to follow in the time-domain simulation: step:1, sine:1:0.5Hz or ramp:2, in the output's unit; may be
    /// given several times [default: a step of 1 and a slow sine]
    #[arg(long = "reference", value_name = "REFERENCE")]
    references: Vec<Reference>,

    #[command(flatten)]
    live: LiveArgs,

    /// Draw the responses into an SVG file
    #[arg(long, value_name = "FILE", requires = "run", conflicts_with = "live")]
    svg: Option<PathBuf>,
    /// List plants, the shipped and your own, and the directory for your own
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Most activations judged, around the worst latency; longer runs are cut.
const MOST_ACTIVATIONS: u64 = 5_000_000;

/// Judges and prints.
pub fn execute(args: &Args) -> Ending {
    if args.list {
        args.output.show(Content::Plants(catalog::devices::<Plant, _>("dc-servo")))?;
        return Ok(Status::Fine);
    }
    args.read.check_task(args.run.as_deref())?;
    if args.live.live {
        let question = args.question(args.read.period.unwrap_or(live::PERIOD_NS))?;
        let seen = args.live.execute(&question, &args.references)?;
        args.output.show(Content::ServoLive(Box::new(seen)))?;
        return Ok(Status::Fine);
    }
    let result = match &args.run {
        Some(path) => args.under_run(path)?,
        None => args.alone()?,
    };
    if let Some(file) = &args.svg {
        let svg = figure::svg(&motion::servo_charts::responses(&result))?;
        output::write_file(file, svg.as_bytes())?;
    }
    let is_stable = result.is_stable();
    args.output.show(Content::Servo(Box::new(result)))?;
    Ok(if is_stable { Status::Fine } else { Status::RequirementFailed })
}

impl Args {
    fn question(&self, period_ns: i64) -> Result<Question, MotionError> {
        let usual = if self.live.live { live::PLANT } else { "dc-servo" };
        let mut plant: Plant = catalog::known(self.plant.as_deref().unwrap_or(usual))?;
        if let Some(text) = &self.controller {
            plant.design = Design::parse(text, plant.outputs.len())?;
        }
        let timing = TaskTiming { sampling: self.sampling, actuation: self.actuation };
        let question = Question { plant, period_ns, timing, design_delay_ns: self.design_delay };
        question.ideal()?;
        Ok(question)
    }

    /// A loop under a run.
    fn under_run(&self, path: &Path) -> Result<ServoResult, Failure> {
        // The task that closes the loop is the one with the longest period.
        let run = self.read.one_task(path, |spec| Reverse(spec.period_ns))?;
        let question = self.question(run.stats.period_ns())?;
        let trace = run.activations(run.rows_around_worst(MOST_ACTIVATIONS / 2, MOST_ACTIVATIONS / 2)?)?;
        Ok(ServoResult::under_run(&question, judged(&run), &trace, &self.references)?)
    }

    /// A loop without a run: what it stands.
    fn alone(&self) -> Result<ServoResult, MotionError> {
        ServoResult::alone(&self.question(self.read.period.ok_or(MotionError::NoPeriod)?)?)
    }
}
