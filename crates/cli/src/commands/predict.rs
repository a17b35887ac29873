//! `jitterlab predict`: how much worse it can get, and whether a requirement is met.

use std::path::PathBuf;

use anyhow::Result;
use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::require::{Breaches, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{TaskRun, Warning};
use jitterlab_report::document::Content;
use jitterlab_runs::Run;

use crate::error::CliError;
use crate::exit::{Ending, Status};
use crate::output::OutputArgs;
use crate::run_args::RunArgs;

/// Say how much worse it can get, or whether a requirement is met
///
/// Facts that hold for any distribution always; an upper bound of the largest latency only if the run passes every
/// condition of an extrapolation. With --require: exit status 0 if every requirement is met with 95 % confidence,
/// 1 if one is broken, 3 if the data do not suffice. What comes in bursts is counted by bursts; a run with fewer than five
/// cannot say how large they are, and a requirement passes then only with --burst-at-most.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How far to look ahead, such as 24h [default: 10 times the run]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    horizon: Option<i64>,
    /// Say how long to run to support this claim, such as "p(latency > 100us) < 1e-6"; may be given several times
    #[arg(long = "claim", value_name = "CLAIM")]
    claims: Vec<Requirement>,
    /// Only decide this requirement, such as "p99.99 < 80us" or "missed = 0"; may be given several times
    #[arg(long = "require", value_name = "REQUIREMENT")]
    requirements: Vec<Requirement>,
    /// Known of this machine: no more than so many values that break a requirement ever come together. Counts where the run
    /// has too few of them to say so itself
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    burst_at_most: Option<u64>,
    /// Check predictions against what came next: cut the run into windows of this length, predict 10 windows ahead from
    /// each, and count which bounds held
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME", conflicts_with_all = ["horizon", "claims", "requirements"])]
    backtest: Option<i64>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Predicts, or decides the requirements, for each file.
pub fn execute(args: &Args) -> Ending {
    if args.horizon.is_some_and(|ns| ns <= 0) {
        return Err(CliError::HorizonNotAhead.into());
    }
    let mut statuses = Vec::new();
    for path in &args.files {
        let run = args.run.open(path)?;
        let wanted = run.tasks(args.run.task.as_deref())?.into_iter();
        let (tasks, warnings) = if let Some(window_ns) = args.backtest {
            let tasks = wanted.map(|task| backtest(&run, task, window_ns)).collect::<Result<Vec<_>>>()?;
            (tasks, run.info().warnings.clone())
        } else {
            let asked: Vec<&Requirement> = args.requirements.iter().chain(&args.claims).collect();
            let breaches = run.breaches(&asked)?;
            let (predictions, warnings) = predictions(args, &run)?;
            let tasks = wanted.map(|task| of_task(args, &run, task, &breaches[task], predictions.get(task)));
            (tasks.collect::<Result<Vec<_>>>()?, warnings)
        };
        let outlook = Outlook { file: path.display().to_string(), tasks, warnings };
        statuses.push(Status::of(args.output.show(Content::Prediction(outlook))?));
    }
    Ok(Status::worst(statuses))
}

/// What is predicted of each task, unless only requirements are to be decided, which takes no scan.
fn predictions(args: &Args, run: &Run) -> Result<(Vec<Option<Prediction>>, Vec<Warning>)> {
    if !args.requirements.is_empty() {
        return Ok((Vec::new(), run.info().warnings.clone()));
    }
    let (scans, warnings) = run.scan()?.into_parts();
    let horizon_ns = args.horizon.map(|ns| ns as f64);
    let of = |(scan, task): (&TaskScan, &TaskRun)| Prediction::of(scan, task, run.info(), horizon_ns);
    Ok((scans.iter().zip(&run.info().tasks).map(of).collect(), warnings))
}

fn of_task(
    args: &Args,
    run: &Run,
    task: usize,
    breaches: &[Breaches],
    prediction: Option<&Option<Prediction>>,
) -> Result<TaskOutlook> {
    let described = &run.info().tasks[task];
    let (of_requirements, of_claims) = breaches.split_at(args.requirements.len());
    let judged = args.requirements.iter().zip(of_requirements).map(|(r, b)| r.judge(b, args.burst_at_most));
    let plan = |(claim, breaches): (&Requirement, &Breaches)| {
        let plan = claim.plan(breaches, args.burst_at_most, described.spec.period_ns);
        plan.ok_or_else(|| CliError::Unsupportable(claim.clone()))
    };
    Ok(TaskOutlook {
        task: described.spec.name.clone(),
        prediction: prediction.cloned().flatten(),
        claims: args.claims.iter().zip(of_claims).map(plan).collect::<Result<_, _>>()?,
        requirements: judged.collect(),
        reliability: None,
    })
}

/// Predicts from every window of the run itself.
fn backtest(run: &Run, task: usize, window_ns: i64) -> Result<TaskOutlook> {
    Ok(TaskOutlook {
        task: run.info().tasks[task].spec.name.clone(),
        reliability: Some(run.backtest(task, window_ns)?),
        ..TaskOutlook::default()
    })
}
