//! Runs as figures and the page show them: every question answered from one scan, and the whole series.

mod read;

use std::path::PathBuf;

use jitterlab_analysis::causes::RunWhy;
use jitterlab_analysis::measured::{MeasuredRun, MeasuredTask};
use jitterlab_analysis::patterns::Patterns;
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_analysis::scan::series::Series;
use jitterlab_model::RunInfo;
use jitterlab_model::check::CheckReport;

use crate::parallel::run_in_parallel;

pub use read::read_page_runs;

#[derive(Debug)]
pub struct PageRun {
    /// Name of the run on the page: its file's name.
    pub label: String,
    pub info: RunInfo,
    /// The file it was read from.
    pub file: PathBuf,
    /// Result of `check` for its machine before the run; `None` if the run does not describe it.
    pub checks: Option<CheckReport>,
    /// Tasks in the order of the description.
    pub tasks: Vec<PageTask>,
    /// Causes of late starts of the tasks; `None` where they were not recorded.
    pub why: Option<RunWhy>,
}

#[derive(Debug)]
pub struct PageTask {
    /// Number of the task in the run's description.
    pub number: usize,
    pub measured: MeasuredTask,
    pub series: Series,
    /// Everything gathered for the questions below.
    pub scan: TaskScan,
    pub patterns: Patterns,
    /// Prediction of its largest latency; `None` if nothing ran.
    pub prediction: Option<Prediction>,
}

impl PageRun {
    /// The run with its figures, as the page carries it for programs.
    pub(crate) fn measured_run(&self) -> MeasuredRun {
        let tasks = self.tasks.iter().map(|task| task.measured.clone()).collect();
        MeasuredRun { tasks, ..MeasuredRun::new(self.info.clone(), &[], Some(self.file.clone())) }
            .with_verdict_for(None)
    }

    /// Due time of the first activation of all, from which the page and its figures count the time.
    pub(crate) fn origin_ns(&self) -> i64 {
        let first = |series: &Series| {
            let step = series.steps.first().map(|s| s.due_ns);
            step.into_iter().chain(series.exact.first().map(|e| e.due_ns)).min()
        };
        self.tasks.iter().filter_map(|task| first(&task.series)).min().unwrap_or(0)
    }
}

impl PageTask {
    /// Makes a task of the run that `info` describes, with the results of its scan.
    pub fn new(number: usize, series: Series, scan: TaskScan, info: &RunInfo) -> Self {
        let measured = MeasuredTask::new(&info.tasks[number], &scan.timing, info);
        let (patterns, prediction) = run_in_parallel(
            || Patterns::from_scan(&scan),
            || Prediction::new(&scan, &info.tasks[number], info, None),
        );
        PageTask { number, measured, series, scan, patterns, prediction }
    }
}
