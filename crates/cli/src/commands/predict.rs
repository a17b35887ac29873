//! `jitterlab predict`: how much worse it can get, and whether a requirement is met.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use jitterlab_analysis::predict::{Prediction, Reliability};
use jitterlab_analysis::require::{Evidence, Judgement, Outcome as Met, Plan, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::Warning;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_report::chart::{Chart, Terminal};
use jitterlab_report::prediction;
use jitterlab_runs::Run;
use serde::Serialize;

use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::result::SCHEMA;
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
    /// Print the result as JSON, one document for each file
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// What is said of one task.
#[derive(Serialize)]
struct TaskPrediction {
    task: String,
    prediction: Option<Prediction>,
    claims: Vec<Plan>,
    requirements: Vec<Judgement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reliability: Option<Reliability>,
    #[serde(skip)]
    figure: Option<Chart>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    file: &'a PathBuf,
    tasks: Vec<TaskPrediction>,
    warnings: Vec<Warning>,
}

/// Predicts, or decides the requirements, for each file.
pub fn execute(args: &Args) -> Outcome {
    if args.horizon.is_some_and(|ns| ns <= 0) {
        return Err(Failure::bad_use(anyhow!("--horizon is a time ahead: give one above 0, such as 24h")));
    }
    let mut outcomes = Vec::new();
    for path in &args.files {
        let run = args.run.open(path)?;
        let wanted = run.tasks(args.run.task.as_deref())?;
        let mut warnings = Vec::new();
        let tasks: Vec<TaskPrediction> = if let Some(window_ns) = args.backtest {
            wanted.into_iter().map(|task| backtest(&run, task, window_ns)).collect::<Result<_>>()?
        } else {
            let (scans, found) = run.scan()?.into_parts();
            warnings = found;
            let of_task = |task: usize| of_task(args, &run, task, &scans[task]);
            wanted.into_iter().map(of_task).collect::<Result<_>>()?
        };
        outcomes.extend(tasks.iter().flat_map(|t| &t.requirements).map(|judgement| judgement.outcome));
        output::print(&if args.json {
            serde_json::to_string_pretty(&Document { schema: SCHEMA, file: path, tasks, warnings })? + "\n"
        } else {
            text(&tasks, output::terminal(args.ascii)) + &jitterlab_report::summary::warnings(&warnings)
        })?;
    }
    Ok(if outcomes.contains(&Met::Fail) {
        Status::RequirementFailed
    } else if outcomes.contains(&Met::NotEnoughData) || outcomes.contains(&Met::Unknown) {
        Status::CouldNotMeasure
    } else {
        Status::Fine
    })
}

fn of_task(args: &Args, run: &Run, task: usize, scan: &TaskScan) -> Result<TaskPrediction> {
    let described = &run.info().tasks[task];
    let name = described.spec.name.clone();
    let asked = args.requirements.is_empty();
    let horizon_ns = args.horizon.map(|ns| ns as f64);
    let prediction = asked.then(|| Prediction::of(scan, described, run.info(), horizon_ns)).flatten();
    let judge = |requirement: &Requirement| -> Result<(Evidence, f64)> {
        Ok((run.evidence(task, scan, requirement)?, requirement.extremal_index(scan)))
    };
    let mut claims = Vec::new();
    for claim in &args.claims {
        let (evidence, theta) = judge(claim)?;
        let plan = claim.plan(evidence, theta, described.spec.period_ns);
        claims.push(plan.ok_or_else(|| {
            anyhow!(
                "no run, however long, supports {:?}, which allows no breach at all: claim a small share, such as \
                 \"p(latency > 100us) < 1e-6\"",
                claim.text
            )
        })?);
    }
    let mut requirements = Vec::new();
    for requirement in &args.requirements {
        requirements.push(run.judge(task, scan, requirement)?);
    }
    let figure = prediction.as_ref().and_then(|found| prediction::chart(&name, scan, found));
    Ok(TaskPrediction { task: name, prediction, claims, requirements, reliability: None, figure })
}

/// Predicts from every window of the run itself.
fn backtest(run: &Run, task: usize, window_ns: i64) -> Result<TaskPrediction> {
    Ok(TaskPrediction {
        task: run.info().tasks[task].spec.name.clone(),
        prediction: None,
        claims: Vec::new(),
        requirements: Vec::new(),
        reliability: Some(run.backtest(task, window_ns)?),
        figure: None,
    })
}

fn text(tasks: &[TaskPrediction], terminal: Terminal) -> String {
    let mut text = String::new();
    for task in tasks {
        match &task.prediction {
            Some(found) => {
                text.push_str(&prediction::text(found));
                text.push_str(&terminal.figures(&task.figure));
            }
            None if task.requirements.is_empty() && task.reliability.is_none() => {
                text.push_str(&format!("{}: nothing was measured\n", task.task));
            }
            None => {}
        }
        text.extend(task.reliability.iter().map(|found| prediction::reliability(&task.task, found)));
        text.extend(task.claims.iter().map(|plan| prediction::plan(&task.task, plan)));
        text.extend(task.requirements.iter().map(|j| prediction::judgement(&task.task, j)));
    }
    text
}
