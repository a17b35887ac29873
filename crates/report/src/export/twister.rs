//! The report of Zephyr's test runner, `twister.json`: the run as a test suite on a platform, what was decided as its cases, and
//! the figures as its recording, named as Zephyr's own benchmarks name theirs.
//!
//! Keys and statuses are those that twister writes (`scripts/pylib/twister/twisterlib/reports.py`, `statuses.py`) and that its
//! conversion to JUnit and Zephyr's upload of results read; what is not known of a run is left out.

use std::io::{self, Write};

use jitterlab_analysis::Summary;
use jitterlab_model::{Fitness, RunInfo};
use jitterlab_runs::Run;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Asked, ExportError, Exported, verdicts};

pub(super) fn write(
    run: &Run,
    tasks: &[usize],
    asked: &Asked,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let cases = verdicts::cases(run, tasks, asked)?;
    let info = run.info();
    let facts = info.facts_before.as_ref();
    // The warnings of the run go with what was exported.
    let (stats, _) = run.timing()?.into_parts();
    let recording = tasks.iter().flat_map(|task| figures(&Summary::of(&info.tasks[*task], &stats[*task])));
    // As twister names a suite of a folder.
    let id = format!("jitterlab.{}", part(&run.path().file_stem().unwrap_or_default().to_string_lossy()));
    let testcases = cases.iter().map(|case| {
        let identifier = format!("{id}.{}.{}", part(&case.class), part(&case.name));
        let mut of = json!({ "identifier": identifier, "status": status(case.fitness) });
        if !matches!(case.fitness, Fitness::Good) {
            of["reason"] = case.said.clone().into();
        }
        of
    });
    let worst = cases.iter().max_by_key(|case| case.fitness);
    let mut suite = json!({
        "name": format!("jitterlab/{id}"),
        "arch": facts.and_then(|facts| facts.kernel.architecture.as_deref()).unwrap_or(UNKNOWN),
        "platform": platform(info),
        "path": run.path().display().to_string(),
        "run_id": run_id(info),
        "runnable": true,
        "retries": 0,
        "status": worst.map_or("none", |case| status(case.fitness)),
        "testcases": testcases.collect::<Vec<_>>(),
        "recording": recording.collect::<Vec<_>>(),
    });
    if let Some(worst) = worst.filter(|case| !matches!(case.fitness, Fitness::Good | Fitness::Limited)) {
        suite["reason"] = worst.said.clone().into();
    }
    if let Some(ns) = info.measured_ns() {
        suite["execution_time"] = format!("{:.2}", ns as f64 / 1e9).into();
    }
    let mut environment = Map::from_iter([("zephyr_version".to_owned(), Value::from("NA"))]);
    for (key, value) in [("run_date", &info.started), ("toolchain", &info.tool)] {
        if !value.is_empty() {
            environment.insert(key.into(), value.clone().into());
        }
    }
    let report = json!({ "environment": environment, "testsuites": [suite] });
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(Exported::decided(&cases, asked))
}

fn status(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good | Fitness::Limited => "passed",
        Fitness::CannotTell => "skipped",
        Fitness::Unfit => "failed",
    }
}

/// Text as a part of a dotted name.
fn part(text: &str) -> String {
    text.replace(|c: char| c.is_whitespace() || c == '.' || c == '/', "_")
}

/// What twister's readers want as a text.
const UNKNOWN: &str = "unknown";

/// Where it ran, as far as the run tells.
fn platform(info: &RunInfo) -> String {
    let model = info.facts_before.as_ref().and_then(|facts| facts.processor.model.clone());
    model.unwrap_or_else(|| info.bench.to_string())
}

/// The same for the same run, and another for every other.
fn run_id(info: &RunInfo) -> String {
    let mut of = Sha256::new();
    of.update(&info.started);
    for task in &info.tasks {
        of.update(&task.spec.name);
        if let Some(result) = &task.result {
            of.update(result.first_due_ns.to_le_bytes());
            of.update(result.executed.to_le_bytes());
        }
    }
    of.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The figures of a task, as `record` of a test's description makes them of what a benchmark prints.
fn figures(summary: &Summary) -> Vec<Value> {
    let task = &summary.task;
    let times = summary.quantities().into_iter().flat_map(|(quantity, of)| {
        let percentiles = of.percentiles().map(|(p, value)| (p.name, value.exactly()));
        let mean = of.mean_ns.map(|mean| mean.round() as i64);
        let all = [("min", of.min_ns), ("mean", mean), ("max", of.max_ns)].into_iter().chain(percentiles);
        let known = all.filter_map(|(statistic, ns)| Some((statistic, ns?))).collect::<Vec<_>>();
        known.into_iter().map(move |(statistic, ns)| (format!("{}.{statistic}", quantity.id()), ns))
    });
    let times = times
        .map(|(metric, ns)| json!({ "metric": format!("{task}.{metric}"), "nanoseconds": ns.to_string() }));
    let counts = [("executed", summary.executed), ("missed", summary.missed)];
    let counts = counts.into_iter().filter_map(|(metric, count)| {
        Some(json!({ "metric": format!("{task}.{metric}"), "count": count.exactly()?.to_string() }))
    });
    times.chain(counts).collect()
}
