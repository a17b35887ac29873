//! Status from a monitor's folder: whether the machine has served its purposes, and since when.

use std::time::{Duration, SystemTime};

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::{Bench, Error, Granted, Policy, RunInfo, TaskSpec, TimingStats};
use serde::Serialize;

use crate::folder::{self, Folder};
use crate::hour::{HourTask, Totals, WorstStart};

/// Counts of a monitor, and their verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    pub folder: String,
    /// First and last moment, in Unix time.
    pub utc_ns: (i64, i64),
    /// Time since the end of the last hour.
    pub age_ns: i64,
    /// True if a monitor writes into the folder now.
    pub is_running: bool,
    /// Time that nothing was measured of.
    pub gap_ns: i64,
    pub tasks: Vec<TaskStatus>,
    /// All hours as one run with its verdict.
    pub measured: MeasuredRun,
    /// Size of all files in the folder.
    pub bytes: u64,
}

/// Counts of a task.
#[derive(Debug, Clone, Serialize)]
pub struct TaskStatus {
    pub name: String,
    /// Due times: served, missed, without a record.
    pub due: u64,
    /// Due times missed.
    pub missed: u64,
    /// Activations without a record.
    pub lost: u64,
    /// Starts with the largest latencies.
    #[serde(rename = "latest")]
    pub worst_starts: Vec<WorstStart>,
}

/// Reads the counts in a folder, and judges them for one purpose or for all that its tasks test.
pub fn read_status(folder: &Folder, purpose: Option<&Purpose>, now_ns: i64) -> Result<Status, Error> {
    let totals = folder.read_totals()?;
    if totals.tasks.is_empty() {
        return Err(Error::bad_use(format!("{} holds no hour that is over", folder.path().display()))
            .remedy("start a monitor with `jitterlab monitor`, or name its place with --folder"));
    }
    let tasks = totals.tasks.iter().map(|task| TaskStatus {
        name: task.name.clone(),
        due: task.due_times(),
        missed: task.missed,
        lost: task.lost,
        worst_starts: task.worst_starts.clone(),
    });
    Ok(Status {
        folder: folder.path().display().to_string(),
        utc_ns: totals.utc_ns,
        age_ns: (now_ns - totals.utc_ns.1).max(0),
        is_running: folder.is_locked(),
        gap_ns: totals.gap_ns,
        tasks: tasks.collect(),
        measured: measured_run(&totals, purpose),
        bytes: folder.size_bytes(),
    })
}

/// Makes one run of all hours, with the verdict for one purpose or for all that its tasks test.
fn measured_run(totals: &Totals, purpose: Option<&Purpose>) -> MeasuredRun {
    let specs = totals.tasks.iter().map(|task| TaskSpec {
        name: task.name.clone(),
        period_ns: task.period_ns,
        ..TaskSpec::default()
    });
    let mut info = RunInfo::new(Bench::Host, "monotonic", specs);
    let mut all = Vec::new();
    for (run, task) in info.tasks.iter_mut().zip(&totals.tasks) {
        let mut stats = TimingStats::new(task.period_ns);
        task.add_to(&mut stats);
        run.granted = granted_policy(task);
        run.result = Some(task.task_result(0, totals.utc_ns.1 - totals.utc_ns.0));
        all.push(stats);
    }
    MeasuredRun::new(info, &all, None).with_verdict_for(purpose)
}

fn granted_policy(task: &HourTask) -> Option<Granted> {
    let policy: Policy = task.policy.parse().ok()?;
    Some(Granted { policy, cpus: Vec::new(), memory_locked: true, timer_slack_ns: None })
}

/// Unix time now.
pub fn unix_now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Writes an HTML page of the hour in a journal.
pub fn write_page(journal: &std::path::Path, page: &std::path::Path) -> Result<(), Error> {
    let run = jitterlab_runs::Run::open(journal, &Default::default())?;
    let runs = jitterlab_report::page::read_page_runs(std::slice::from_ref(&run), None)?;
    let html = jitterlab_report::page::render(&runs, &[])?;
    folder::write_durably(page, html.as_bytes())
}
