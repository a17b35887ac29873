//! Questions of `doctor` to a person, for options that were not given.
use std::io::{self, BufRead as _, IsTerminal as _};

use jitterlab_host::Experiment;
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, LoadSpec};
use jitterlab_motion::doctor::{DoctorPlan, JOBS, Job, JobMethod, LEAST_NS, SavedExamination};
use jitterlab_report::doctor::words::{self, Question};

use super::Args;
use crate::{measure_args, output};

/// Answers to the questions.
pub struct Answers {
    pub job: &'static Job,
    pub way: &'static JobMethod,
    pub loads: Vec<LoadSpec>,
    pub plan: DoctorPlan,
}

const MINUTE_NS: i64 = 60_000_000_000;
/// Ten minutes, half an hour, a night.
const BUDGETS: [i64; 3] = [10 * MINUTE_NS, 30 * MINUTE_NS, 480 * MINUTE_NS];
/// Loads for a computer with other programs running, and for one without.
const LOADS: [&[&str]; 2] = [&["cpu", "mem:1,64M", "net:1"], &["cpu:1"]];

/// Takes the answers from options, an earlier call, a person, or defaults; `None` when interrupted.
pub fn collect_answers(
    args: &Args,
    earlier: Option<&SavedExamination>,
    experiment: &mut Experiment<'_>,
) -> Result<Option<Answers>, Error> {
    if let Some(earlier) = earlier {
        return answers_of_saved(earlier).map(Some);
    }
    let Some([job, way, busy, time]) = experiment.next_part(|| choose_numbers(args))? else {
        return Ok(None);
    };
    let job = JOBS.get(job).unwrap_or(&JOBS[0]);
    let loads: Vec<String> = match args.load.as_slice() {
        [] => LOADS[busy.min(1)].iter().map(|load| (*load).to_owned()).collect(),
        given => given.to_vec(),
    };
    Ok(Some(Answers {
        job,
        way: job.ways.get(way).unwrap_or(&job.ways[0]),
        loads: measure_args::parse_loads(&loads)?,
        plan: plan_of_options(args, time)?,
    }))
}

/// The answers of an earlier examination.
fn answers_of_saved(earlier: &SavedExamination) -> Result<Answers, Error> {
    let way = Job::by_name(&earlier.job).and_then(|job| Some((job, job.method(&earlier.way)?)));
    let (job, way) = way.ok_or_else(|| {
        Error::damaged(format!(
            "the earlier examination was of {} by {}, which there is not",
            earlier.job, earlier.way
        ))
    })?;
    let plan = DoctorPlan::for_budget(earlier.budget_ns).ok_or_else(|| too_short_error(earlier.budget_ns))?;
    Ok(Answers { job, way, loads: measure_args::parse_loads(&earlier.loads)?, plan })
}

/// Returns the numbers of job, way, load and time: by options, else by asking a person, else 0.
fn choose_numbers(args: &Args) -> Result<[usize; 4], Error> {
    let given = |text: &String| {
        let job = args.job.unwrap_or(&JOBS[0]);
        job.method(text).ok_or_else(|| {
            Error::bad_use(format!(
                "--by {text:?} is no way for {}: {}",
                job.name,
                job.ways.iter().map(|way| way.name).collect::<Vec<_>>().join(", ")
            ))
        })
    };
    let by = args.by.as_ref().map(given).transpose()?;
    let asks = !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut number = 0;
    let mut choose = |given: Option<usize>, question: Question, choices: usize| {
        number += 1;
        given.or_else(|| asks.then(|| ask_until_answered(number, question, choices))).unwrap_or(0)
    };
    let given = args.job.and_then(|job| JOBS.iter().position(|one| one == job));
    let at = choose(given, Question::Job, JOBS.len());
    let job = JOBS.get(at).unwrap_or(&JOBS[0]);
    let given = by.and_then(|by| job.ways.iter().position(|way| way == by));
    let only = (job.ways.len() == 1).then_some(0);
    let way = choose(given.or(only), Question::JobMethod(job), job.ways.len());
    let busy = choose((!args.load.is_empty()).then_some(0), Question::Busy, LOADS.len());
    let time = choose(args.budget.map(|_| 0), Question::Time, BUDGETS.len());
    Ok([at, way, busy, time])
}

/// Refuses too short a time and unknown loads, before anything is asked or kept.
pub(super) fn check_options(args: &Args) -> Result<(), Error> {
    measure_args::parse_loads(&args.load)?;
    plan_of_options(args, 0).map(|_| ())
}

/// Divides the time of --budget, or else the chosen one, among the steps; fails if it is too short.
fn plan_of_options(args: &Args, time: usize) -> Result<DoctorPlan, Error> {
    let budget_ns = args.budget.unwrap_or(BUDGETS[time.min(2)]);
    DoctorPlan::for_budget(budget_ns).ok_or_else(|| too_short_error(budget_ns))
}

fn too_short_error(budget_ns: i64) -> Error {
    Error::bad_use(format!("--budget {} is too short for any answer", Exact(budget_ns)))
        .remedy(format!("give {} or more", Exact(LEAST_NS)))
}

/// Asks until one of the choices is named, and returns its index; 0 for an empty line.
fn ask_until_answered(number: usize, question: Question, choices: usize) -> usize {
    output::print_note(&words::question_text(number, question));
    loop {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return 0,
            Ok(_) if line.trim().is_empty() => return 0,
            Ok(_) => {}
        }
        match line.trim().parse::<usize>() {
            Ok(chosen) if (1..=choices).contains(&chosen) => return chosen - 1,
            _ => output::print_note(&words::retry_text(choices)),
        }
    }
}
