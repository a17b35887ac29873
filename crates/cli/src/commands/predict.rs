//! `jitterlab predict`: how much worse it can get, and whether a requirement is met.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use jitterlab_analysis::predict::{
    Backtest, DEFAULT_HORIZON, Prediction, Reliability, machine_events, predict,
};
use jitterlab_analysis::require::{Evidence, EvidenceCounter, Judgement, Outcome as Met, Plan, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::TaskRun;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_report::chart::{Chart, Terminal};
use jitterlab_report::prediction;
use jitterlab_trace::Columns;
use serde::Serialize;

use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::result::SCHEMA;
use crate::source::{ImportArgs, Source};

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
    /// Only this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Print the result as JSON, one document for each file
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    import: ImportArgs,
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
}

/// Predicts, or decides the requirements, for each file.
pub fn execute(args: &Args) -> Outcome {
    if args.horizon.is_some_and(|ns| ns <= 0) {
        return Err(Failure::bad_use(anyhow!("--horizon is a time ahead: give one above 0, such as 24h")));
    }
    let mut outcomes = Vec::new();
    for path in &args.files {
        let source = Source::open(path, &args.import)?;
        let wanted = source.tasks_named(args.task.as_deref())?;
        let tasks: Vec<TaskPrediction> = if let Some(window_ns) = args.backtest {
            wanted.into_iter().map(|task| backtest(&source, task, window_ns)).collect::<Result<_>>()?
        } else {
            let scans = source.scans()?;
            let of_task = |task: usize| of_task(args, &source, task, &scans[task]);
            wanted.into_iter().map(of_task).collect::<Result<_>>()?
        };
        outcomes.extend(tasks.iter().flat_map(|t| &t.requirements).map(|judgement| judgement.outcome));
        output::print(&if args.json {
            serde_json::to_string_pretty(&Document { schema: SCHEMA, file: path, tasks })? + "\n"
        } else {
            text(&tasks, output::terminal(args.ascii))
        })?;
    }
    Ok(if outcomes.contains(&Met::Fail) {
        Status::RequirementFailed
    } else if outcomes.contains(&Met::NotEnoughData) {
        Status::CouldNotMeasure
    } else {
        Status::Fine
    })
}

fn of_task(args: &Args, source: &Source, task: usize, scan: &TaskScan) -> Result<TaskPrediction> {
    let run = &source.info().tasks[task];
    let name = run.spec.name.clone();
    let prediction = match scan.tail() {
        Some(tail) if args.requirements.is_empty() => {
            let horizon_ns = args.horizon.map_or(DEFAULT_HORIZON * tail.run_ns(), |ns| ns as f64);
            Some(predict(&name, &tail, horizon_ns, &machine_events(source.info(), run)))
        }
        _ => None,
    };
    let judge = |requirement: &Requirement| -> Result<(Evidence, f64)> {
        let evidence = evidence(source, task, scan, requirement)?;
        Ok((evidence, requirement.extremal_index(scan)))
    };
    let mut claims = Vec::new();
    for claim in &args.claims {
        let (evidence, theta) = judge(claim)?;
        let plan = claim.plan(evidence, theta, run.spec.period_ns);
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
        let (evidence, theta) = judge(requirement)?;
        requirements.push(requirement.judge(evidence, theta));
    }
    let figure = prediction.as_ref().and_then(|found| prediction::chart(&name, scan, found));
    Ok(TaskPrediction { task: name, prediction, claims, requirements, reliability: None, figure })
}

/// Predicts from every window of the run itself.
fn backtest(source: &Source, task: usize, window_ns: i64) -> Result<TaskPrediction> {
    let run = &source.info().tasks[task];
    let period_ns = run.spec.period_ns.max(1);
    anyhow::ensure!(
        source.has_activations(task),
        "--backtest needs every activation, and {} holds only distributions: measure with --keep all",
        source.path().display()
    );
    let window = u64::try_from(window_ns / period_ns).unwrap_or(0);
    let mut backtest = Backtest::new(period_ns, window, DEFAULT_HORIZON as usize);
    source.visit(task, Columns::ALL, |rows| backtest.push_all(rows))?;
    Ok(TaskPrediction {
        task: run.spec.name.clone(),
        prediction: None,
        claims: Vec::new(),
        requirements: Vec::new(),
        reliability: Some(backtest.finish()),
        figure: None,
    })
}

/// What the run shows of a requirement: from the histograms where they decide it, else by counting activations.
fn evidence(source: &Source, task: usize, scan: &TaskScan, requirement: &Requirement) -> Result<Evidence> {
    let run: &TaskRun = &source.info().tasks[task];
    let of_histograms = Evidence::of(scan, requirement);
    let evidence = match of_histograms {
        Some(evidence) if evidence.broke == evidence.may_have_broken => evidence,
        _ if source.has_activations(task) => {
            let mut counter = EvidenceCounter::new(requirement, run.spec.period_ns);
            source.visit(task, Columns::TIMING, |rows| rows.iter().for_each(|a| counter.push(a)))?;
            counter.evidence()
        }
        Some(evidence) => evidence,
        None => anyhow::bail!(
            "{:?} needs every activation, and {} holds only distributions: measure with --keep all",
            requirement.text,
            source.path().display()
        ),
    };
    Ok(run.result.as_ref().map_or(evidence, |counters| evidence.with_counters(counters, requirement)))
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
