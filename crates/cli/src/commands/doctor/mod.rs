//! `jitterlab doctor`: the computer's fitness for its job, and the changes that achieve it.

mod examination;
mod files;
mod judging;
mod questions;
mod settings_step;
mod steps;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_host::Experiment;
use jitterlab_host::facts::{self, Root};
use jitterlab_host::tune::current_boot_id;
use jitterlab_motion::doctor::{DoctorRequest, DoctorResult, JOBS, Job, SavedExamination};
use jitterlab_report::doctor::words;

use self::examination::Examination;
use super::stepper::axis::AxisArgs;
use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::output::{self, ForceArgs, OutputArgs};
use crate::{kept_parts, mistakes};

/// Path of sudo in every distribution.
const SUDO: &str = "/usr/bin/sudo";

/// Find out whether this computer is fit to drive your machine, and make it so
///
/// Asks four questions, then checks the computer, measures it beside a load, finds out why it is late, tries settings and
/// proves what helped, and writes one page. Everything is put back; Ctrl-C is safe at any time, and the same command goes on
/// from there. Exit status 0 when the computer is fit, 1 when it is not, 3 when that cannot be told.
#[derive(clap::Args)]
pub struct Args {
    /// What the computer drives [default: asked]
    #[arg(value_name = "WHAT", value_parser = job_parser())]
    job: Option<&'static Job>,
    /// How it does that: of cnc who makes the step pulses (unsure, software, card, fieldbus), of robot what closes the loops
    /// (unsure, loop, fieldbus), of plc its cycle (10ms, 1ms) [default: asked, else the first]
    #[arg(long, value_name = "HOW")]
    by: Option<String>,
    /// The time that everything may take, such as 1m, 10m or 8h [default: asked, else 10m]
    #[arg(long, value_parser = mistakes::parse_duration, value_name = "TIME")]
    budget: Option<i64>,
    /// What keeps the computer busy meanwhile, as for `run`; may be given several times [default: asked, else processors,
    /// memory and network]
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Ask nothing: what no option says is the default
    #[arg(short, long)]
    yes: bool,
    /// Examine again, after a restart or a change, what was examined last in this directory, and say what changed
    #[arg(long = "continue", conflicts_with_all = ["job", "by", "budget", "load"])]
    again: bool,
    /// Change no setting, not even for a moment
    #[arg(long)]
    no_tune: bool,
    /// The page to write [default: jitterlab-doctor.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArgs,
    #[command(flatten)]
    show: OutputArgs,
    #[command(flatten)]
    axis: AxisArgs,
}

fn job_parser() -> impl TypedValueParser<Value = &'static Job> {
    let each = JOBS.iter().map(|job| PossibleValue::new(job.name).help(words::job_name(job.name)));
    PossibleValuesParser::new(each)
        .try_map(|name| Job::by_name(&name).ok_or_else(|| format!("there is no job {name}")))
}

/// Goes through all steps, decides, and writes the page.
pub fn execute(args: &Args) -> CommandResult {
    questions::check_options(args)?;
    let earlier = if args.again { Some(files::read_saved_examination()?) } else { None };
    let measure = |experiment: &mut Experiment<'_>| {
        let answers = questions::collect_answers(args, earlier.as_ref(), experiment)?;
        let Some(answers) = answers else { return Ok(None) };
        let folder = files::create_folder(experiment.keeps_parts())?;
        let facts = facts::read(&Root::system());
        // Root of a container may lack the right.
        let privileged =
            facts.process.user_id == Some(0) && facts.process.can_use_any_priority() != Some(false);
        let asked = DoctorRequest {
            job: answers.job,
            way: answers.way,
            plan: answers.plan,
            privileged,
            sudo: Path::new(SUDO).exists(),
            kept: experiment.keeps_parts(),
        };
        let loads: Vec<String> = answers.loads.iter().map(ToString::to_string).collect();
        output::print_note(&words::introduction(&asked, &loads));
        let interrupted = experiment.interrupted();
        let mut examination = Examination::new(args, &asked, answers.loads, &folder, interrupted);
        let found = examination.examine(&facts, experiment)?;
        let boot = current_boot_id();
        let result = found
            .map(|found| DoctorResult::new(asked, found).with_changes_since(earlier.as_ref(), boot.as_ref()));
        let kept = examination.kept.take();
        Ok(result.map(|result| (SavedExamination::new(&result, boot, loads), result, folder, kept)))
    };
    // Each step shows its own progress.
    let open = || kept_parts::open("doctor", &());
    run_experiment(open, true, measure, |(left, result, folder, kept)| {
        let page = args.output.clone().unwrap_or_else(|| folder.join("jitterlab-doctor.html"));
        // The answer is not lost where a disk is full.
        let status = Status::from_fitness(args.show.show(&result)?);
        let settings = files::write_settings(&page, &result)?;
        files::write_page(&page, args.force.force, &result)?;
        files::save_examination(&folder, &left)?;
        if !args.show.is_json() {
            output::print_note(&words::files_message(&page, settings.as_deref()));
        }
        if let Some(kept) = kept {
            kept_parts::close(true, |complete| kept.close(complete));
        }
        Ok(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_host::check::{check, cpus_to_check};

    #[test]
    fn every_first_step_of_a_job_is_a_check() {
        let facts = jitterlab_model::SystemFacts::default();
        let report = check(&facts, &cpus_to_check(&facts));
        for (job, id) in JOBS.iter().flat_map(|job| job.first_steps.iter().map(move |id| (job.name, id))) {
            assert!(report.checks.iter().any(|check| check.id == *id), "{id} of {job}");
        }
    }
}
