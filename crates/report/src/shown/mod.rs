//! Runs as figures and the page show them: every question answered from one scan, and the whole series.

mod read;
pub mod series;

use jitterlab_analysis::patterns::Patterns;
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::RunInfo;
use jitterlab_model::check::CheckReport;

use crate::summary::TaskFigures;
pub use read::read;
use series::Series;

/// One run of the page.
#[derive(Debug)]
pub struct PageRun {
    /// What the run is called on the page: its file's name.
    pub label: String,
    /// Its description.
    pub info: RunInfo,
    /// What `analyze --json` prints for it: the page carries it word for word, since reading and writing numbers
    /// again may change their last digit.
    pub document: String,
    /// What `check` says of its machine as it was before the run; `None` where the run does not describe it.
    pub checks: Option<CheckReport>,
    /// Its tasks, in the order of the description.
    pub tasks: Vec<PageTask>,
}

/// One task of a run of the page.
#[derive(Debug)]
pub struct PageTask {
    /// Its number in the run's description.
    pub number: usize,
    /// Its figures.
    pub figures: TaskFigures,
    /// Its series.
    pub series: Series,
    /// Everything gathered for the questions below.
    pub scan: TaskScan,
    /// What pattern its latency has.
    pub patterns: Patterns,
    /// How much worse it can get; `None` if nothing ran.
    pub prediction: Option<Prediction>,
}

impl PageRun {
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
    /// A task of the run that `info` describes, with what its scan says.
    pub fn new(number: usize, figures: TaskFigures, series: Series, scan: TaskScan, info: &RunInfo) -> Self {
        let patterns = Patterns::of(&scan);
        let prediction = info.tasks.get(number).and_then(|task| Prediction::of(&scan, task, info, None));
        PageTask { number, figures, series, scan, patterns, prediction }
    }
}
