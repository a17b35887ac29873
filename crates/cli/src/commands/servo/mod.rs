//! `jitterlab servo`: the effect of a run's timing on a control loop.

mod live;
mod multi_task;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_motion::servo::{
    Actuation, AssessmentOptions, Design, OverrunAction, Plant, Redesign, Reference, Sampling, ServoResult,
    SingleTaskLoop, TaskTiming, TimingSource, WeaklyHard,
};
use jitterlab_motion::{JudgedRun, catalog, error};
use jitterlab_report::chart::{Chart, Drawing};
use jitterlab_report::motion;

use self::live::LiveArgs;
use crate::exit::{CommandResult, Status};
use crate::kept_parts;
use crate::output::{self, OutputArgs};
use crate::run_args::RunArgs;

/// Say whether a control loop may be closed with a run's timing
///
/// Without a run, what given execution times would cost (--execution), or what the loop tolerates: its margins, and its cost
/// under constant delays.
#[derive(clap::Args)]
pub struct Args {
    /// The run to judge
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    read: RunArgs,

    /// The plant: a name from --list, a TOML file, or what python-control or MATLAB wrote: a JSON file, or a directory of
    /// A.csv, B.csv and C.csv [default: dc-servo, with --live jiwy]
    /// With TASK=NAME the loop of that task of the run; may be given several times
    #[arg(long, value_name = "[TASK=]NAME|FILE")]
    plant: Vec<String>,
    /// Which task closes a loop of a plant with several; one of the loop's name by default
    #[arg(long = "loop", value_name = "LOOP=TASK", conflicts_with = "live")]
    loops: Vec<String>,
    /// Another controller than the plant's file names: pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg
    /// With NAME=CONTROLLER that of the plant of this task, or of this loop of a plant; may be given several times
    #[arg(long = "controller", value_name = "[NAME=]CONTROLLER")]
    controllers: Vec<String>,
    /// Constant delay that the controller's design takes into account
    #[arg(long, value_parser = parse_duration_ns, default_value = "0ns", value_name = "TIME")]
    design_delay: i64,
    /// Judge these execution times in place of a run: TIME[:SHARE[:BURST]], with commas between. TIME is 0.8h (of a
    /// period), 3.2ms, 1h+1ns or a range 0.8h..1.2h; BURST the mean length of its rows, as in 0.8h:0.9,1.2h:0.1:2
    /// With TASK[@PERIOD]=TIMES those of a task of several, on one processor; once for each
    #[arg(long, value_name = "[TASK[@PERIOD]=]TIMES", conflicts_with_all = ["run", "live"])]
    execution: Vec<String>,
    /// Without a run: starts that are late by anything up to this, all alike likely
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME", conflicts_with_all = ["run", "live", "execution"])]
    jitter: Option<i64>,
    /// What happens to a job that is not done in time: skip, catch-up, re-phase or kill; skip/zero, skip/predict,
    /// kill/zero or kill/predict for the output meanwhile [default: as the run's task has it, else skip]
    #[arg(long, value_name = "ACTION")]
    overrun: Option<OverrunAction>,
    /// Prove that the loop is stable with at most so many missed periods in so many in a row, as 2/10, in any order;
    /// may be given several times
    #[arg(long = "misses", value_name = "M/K", conflicts_with_all = ["live", "jitter"])]
    misses: Vec<WeaklyHard>,
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
    /// Design the controller anew for the timing that was measured, and say what that would recover
    #[arg(long, requires = "run", conflicts_with = "live")]
    redesign: bool,
    /// Write the numbers of the controllers designed anew to a file: .json, .toml (of the best) or .hal (LinuxCNC's pid)
    #[arg(long, requires = "redesign", value_name = "FILE")]
    gains: Option<PathBuf>,
    /// What to follow in the time-domain simulation: step:1, sine:1:0.5Hz, ramp:2 or move:1:200ms (from rest to
    /// rest), in the output's unit; may be given several times, and the first is judged [default: a move of 1 and a slow sine]
    #[arg(long = "reference", value_name = "REFERENCE")]
    references: Vec<Reference>,

    #[command(flatten)]
    live: LiveArgs,

    /// Draw the responses into this file, .svg or .png; replaced if it exists
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    figure: Option<PathBuf>,
    /// List plants, the shipped and your own, and the directory for your own
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges the loop, and prints the result.
pub fn execute(args: &Args) -> CommandResult {
    if args.list {
        args.output.show(&catalog::devices_with_example::<Plant, _>("dc-servo"))?;
        return Ok(Status::Fine);
    }
    args.read.check_task(args.run.as_deref())?;
    if let Some(file) = &args.figure {
        output::check_figure_name(file, "--figure")?;
    }
    if let Some(plants) = multi_task::requested_plants(args)? {
        let result = multi_task::assess_plants(args, &plants)?;
        args.draw(&motion::servo_charts::loop_response_charts(&result))?;
        let under = result.plants.iter().filter_map(|plant| plant.under.as_ref());
        args.write_gains(&under.map(|under| under.redesigns.as_slice()).collect::<Vec<_>>())?;
        return Ok(Status::from_fitness(args.output.show(&result)?));
    }
    if args.live.live {
        let question = args.requested_loop(args.read.period()?.unwrap_or(live::PERIOD_NS), None)?;
        let (seen, parts) = args.live.execute(&question, &args.references)?;
        args.output.show(&seen)?;
        kept_parts::close(true, |complete| parts.close(complete));
        return Ok(Status::Fine);
    }
    let result = match (&args.run, args.execution.as_slice(), args.jitter) {
        (Some(path), ..) => args.assess_under_run(path)?,
        (None, [_, more, ..], _) => return Err(error::invalid_given_times(more)),
        // Jobs without given times are punctual and have nothing to do, but for the missed ones.
        (None, times, _) if !times.is_empty() || !args.misses.is_empty() => {
            let times = times.first().map_or("0ns", String::as_str);
            ServoResult::under_execution(&args.loop_without_run()?, times, &args.misses)?
        }
        (None, _, Some(jitter_ns)) => {
            ServoResult::under_jitter(&args.loop_without_run()?, jitter_ns, &args.assessment_options())?
        }
        (None, _, None) => ServoResult::without_run(&args.loop_without_run()?)?,
    };
    args.draw(&motion::servo_charts::response_charts(&result))?;
    if let TimingSource::Run(under) = &result.judged {
        args.write_gains(&[&under.assessment.redesigns])?;
    }
    Ok(Status::from_fitness(args.output.show(&result)?))
}

impl Args {
    fn requested_loop(
        &self,
        period_ns: i64,
        measured: Option<OverrunAction>,
    ) -> Result<SingleTaskLoop, Error> {
        let usual = if self.live.live { live::PLANT } else { "dc-servo" };
        let mut plant: Plant = catalog::known_device(self.plant.first().map_or(usual, String::as_str))?;
        match self.controllers.as_slice() {
            [] => {}
            [text] => plant.design = Design::parse(text, plant.outputs.len())?,
            [_, more, ..] => return Err(error::not_a_controller(more)),
        }
        let question = SingleTaskLoop {
            timing: self.timing(),
            overrun: self.overrun.or(measured).unwrap_or_default(),
            design_delay_ns: self.design_delay,
            ..SingleTaskLoop::new(plant, period_ns)
        };
        question.ideal_stationary()?;
        Ok(question)
    }

    fn timing(&self) -> TaskTiming {
        TaskTiming { sampling: self.sampling, actuation: self.actuation }
    }

    /// Computes the margins and cost of the loop under a run.
    fn assess_under_run(&self, path: &Path) -> Result<ServoResult, Error> {
        // The task that closes the loop is the one with the longest period.
        let run = self.read.one_task(path, |spec| Reverse(spec.period_ns))?;
        let question = self.requested_loop(run.stats.period_ns(), Some(run.spec().overrun.into()))?;
        ServoResult::under_run(&question, JudgedRun::from_task(&run), &run, &self.assessment_options())
    }

    /// Draws responses into the file of --figure, if that is given; fails if there are none.
    fn draw(&self, responses: &[Chart]) -> Result<(), Error> {
        match &self.figure {
            Some(_) if responses.is_empty() => Err(error::nothing_to_draw()),
            Some(file) => output::write_figure(file, &Drawing::new(responses)),
            None => Ok(()),
        }
    }

    /// Writes the numbers of the redesigned controllers of each plant, if that is asked for.
    fn write_gains(&self, of_plants: &[&[Redesign]]) -> Result<(), Error> {
        let Some(file) = &self.gains else { return Ok(()) };
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let text = motion::servo_redesign::gains_file(of_plants, &extension);
        let text = text.ok_or_else(|| error::unsupported_gains_file(&extension))?;
        output::write_file(file, text.as_bytes())
    }

    fn assessment_options(&self) -> AssessmentOptions {
        let (references, misses) = (self.references.clone(), self.misses.clone());
        AssessmentOptions { references, misses, redesign: self.redesign }
    }

    /// The requested loop with the period of --period; fails without one.
    fn loop_without_run(&self) -> Result<SingleTaskLoop, Error> {
        self.requested_loop(self.read.period()?.ok_or_else(error::no_period)?, None)
    }
}
