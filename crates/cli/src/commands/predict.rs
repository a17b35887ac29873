//! `jitterlab predict`: how much worse it can get, and whether a requirement is met.

use std::path::PathBuf;

use anyhow::Result;
use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::require::{Evidence, Outcome, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::units::parse_duration_ns;
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
/// 1 if one is broken, 3 if the data do not suffice.
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
    let mut outcomes = Vec::new();
    for path in &args.files {
        let run = args.run.open(path)?;
        let wanted = run.tasks(args.run.task.as_deref())?.into_iter();
        let (tasks, warnings) = if let Some(window_ns) = args.backtest {
            let tasks = wanted.map(|task| backtest(&run, task, window_ns)).collect::<Result<Vec<_>>>()?;
            (tasks, run.info().warnings.clone())
        } else {
            let (scans, warnings) = run.scan()?.into_parts();
            let tasks = wanted.map(|task| of_task(args, &run, task, &scans[task]));
            (tasks.collect::<Result<Vec<_>>>()?, warnings)
        };
        outcomes.extend(tasks.iter().flat_map(|t| &t.requirements).map(|judgement| judgement.outcome));
        let outlook = Outlook { file: path.display().to_string(), tasks, warnings };
        args.output.show(Content::Prediction(outlook))?;
    }
    Ok(if outcomes.contains(&Outcome::Fail) {
        Status::RequirementFailed
    } else if outcomes.contains(&Outcome::NotEnoughData) || outcomes.contains(&Outcome::Unknown) {
        Status::CouldNotMeasure
    } else {
        Status::Fine
    })
}

fn of_task(args: &Args, run: &Run, task: usize, scan: &TaskScan) -> Result<TaskOutlook> {
    let described = &run.info().tasks[task];
    let horizon_ns = args.horizon.map(|ns| ns as f64);
    let predicted = || Prediction::of(scan, described, run.info(), horizon_ns);
    let judge = |requirement: &Requirement| -> Result<(Evidence, f64)> {
        Ok((run.evidence(task, scan, requirement)?, requirement.extremal_index(scan)))
    };
    let mut claims = Vec::new();
    for claim in &args.claims {
        let (evidence, theta) = judge(claim)?;
        let plan = claim.plan(evidence, theta, described.spec.period_ns);
        claims.push(plan.ok_or_else(|| CliError::Unsupportable(claim.clone()))?);
    }
    let mut requirements = Vec::new();
    for requirement in &args.requirements {
        requirements.push(run.judge(task, scan, requirement)?);
    }
    let prediction = args.requirements.is_empty().then(predicted).flatten();
    Ok(TaskOutlook { task: described.spec.name.clone(), prediction, claims, requirements, reliability: None })
}

/// Predicts from every window of the run itself.
fn backtest(run: &Run, task: usize, window_ns: i64) -> Result<TaskOutlook> {
    Ok(TaskOutlook {
        task: run.info().tasks[task].spec.name.clone(),
        reliability: Some(run.backtest(task, window_ns)?),
        ..TaskOutlook::default()
    })
}
