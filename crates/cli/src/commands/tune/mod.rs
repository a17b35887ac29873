//! `jitterlab tune`: which settings make a task more regular on this machine, tried and proven.

use std::path::PathBuf;

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::tune::TuneResult;
use jitterlab_host::Experiment;
use jitterlab_host::tune::{TuneRequest, Tuning, find_causes};
use jitterlab_model::{Error, Knob};
use jitterlab_report::progress;
use jitterlab_report::tune as words;

use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::output::{self, OutputArgs};
use crate::purpose_args::PurposeArgs;
use crate::task_args::TaskArgs;
use crate::{kept_files, kept_parts, measure_args, mistakes};

mod boots;

const BUDGET_NS: i64 = 1_800_000_000_000;

/// Find and prove the settings that make a task more regular
///
/// Settings are tried one at a time on the same start, the remedy of the main cause first; what helps is kept for the rest, and
/// the smallest set measured against the start in fresh blocks that alternate. Everything is put back after each block, on
/// Ctrl-C too, and after a kill by `jitterlab restore`. As root; an ordinary user can try what belongs to the task. Called again
/// after Ctrl-C it goes on.
/// What needs a restart is compared by --continue: called once in every start, it says when starts are enough to decide.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    purpose: PurposeArgs,
    #[command(flatten)]
    task: TaskArgs,
    /// Tune the thread of this name, which runs already, as it is: it is watched in every block, and never changed itself
    #[arg(long, value_name = "THREAD", conflicts_with_all = ["TaskArgs", "WaitArgs", "load"])]
    watch: Option<String>,
    /// The time that everything may take [default: 30m; with --continue 2m, of each start]
    #[arg(long, value_parser = mistakes::parse_duration, value_name = "TIME")]
    budget: Option<i64>,
    /// What runs beside the task, as for `run`; may be given several times
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Try these settings only, such as interrupts,other-threads [default: remedies of what makes the task late, and the usual
    /// first steps]
    #[arg(long, value_delimiter = ',', value_name = "SETTING,...")]
    only: Vec<Knob>,
    /// Compare two ways to start this machine: measure this start, beside those before a restart
    #[arg(long = "continue", conflicts_with_all = ["only", "keep"])]
    starts: bool,
    /// Call the way that this machine was started NAME: firmware settings are seen nowhere
    #[arg(long, value_name = "NAME", requires = "starts")]
    way: Option<String>,
    /// Write what helped as files below this directory (/ for this machine), with the measured gain
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn request_with_budget(&self, usual_ns: i64) -> Result<TuneRequest, Error> {
        let task = self.task.single_task(self.purpose.task())?;
        task.validate()?;
        Ok(TuneRequest {
            task,
            watch: self.watch.clone(),
            loads: measure_args::parse_loads(&self.load)?,
            wanted: if self.only.is_empty() { Knob::ALL.to_vec() } else { self.only.clone() },
            named: !self.only.is_empty(),
            why: None,
            running: None,
            budget_ns: self.budget.unwrap_or(usual_ns),
            purpose: self.purpose.purpose,
        })
    }

    /// Finds causes of the task's late starts and adds them to the request; `None` when interrupted. Settings that the
    /// user named are tried whatever the causes are.
    fn request_with_causes(&self, experiment: &mut Experiment<'_>) -> Result<Option<TuneRequest>, Error> {
        let mut request = self.request_with_budget(BUDGET_NS)?;
        if !self.only.is_empty() {
            return Ok(Some(request));
        }
        let interrupted = experiment.interrupted();
        let causes = experiment.next_part(|| {
            if !self.quiet {
                output::print_note(&progress::step_text(&TrialStep::Causes));
            }
            let why = find_causes(&mut request, interrupted)?;
            Ok::<_, Error>((why, request.budget_ns))
        })?;
        Ok(causes.map(|(why, budget_ns)| TuneRequest { why, budget_ns, ..request }))
    }

    fn measure(&self, experiment: &mut Experiment<'_>) -> Result<Option<TuneResult>, Error> {
        let Some(request) = self.request_with_causes(experiment)? else { return Ok(None) };
        let mut tuning = Tuning::prepare(request, experiment.interrupted())?;
        experiment.continue_in(kept_parts::open("tune", &tuning.knobs_to_try()));
        tuning.plan(experiment)?;
        if let Some(plan) = tuning.plan_in_use().filter(|_| !self.quiet) {
            let knobs: Vec<Knob> = tuning.knobs_to_try().iter().map(|offered| offered.knob).collect();
            output::print_note(&words::plan_sentence(&plan, tuning.percentile_name(), &knobs));
        }
        Ok(Some(tuning.measure(experiment)?))
    }

    /// Shows the result, and writes what helped below the directory of --keep.
    fn show_and_keep(&self, result: &TuneResult) -> CommandResult {
        let status = Status::from_fitness(self.output.show(result)?);
        if let Some(folder) = &self.keep {
            kept_files::keep_settings(folder, &words::kept_files::settings_files(result))?;
            words::kept_files::manual_steps(result).iter().for_each(|what| output::print_note(what));
        }
        Ok(status)
    }
}

/// Tries settings, proves those that help, and shows the result; with --starts measures this boot instead.
pub fn execute(args: &Args) -> CommandResult {
    if args.starts {
        return boots::execute(args);
    }
    let open = || kept_parts::open("tune-causes", &());
    run_experiment(
        open,
        args.quiet,
        |experiment| args.measure(experiment),
        |result| args.show_and_keep(&result),
    )
}
