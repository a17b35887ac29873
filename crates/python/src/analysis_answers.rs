//! Answers about runs: analysis, prediction, comparison.

use jitterlab_analysis::causes::ListedEvents;
use jitterlab_analysis::purposes::{PURPOSES, Purpose};
use jitterlab_analysis::require::Requirement;
use jitterlab_model::{Error, Warning};
use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{self, Document, Extent, Present};
use jitterlab_report::section::Section;
use jitterlab_report::warnings;
use jitterlab_runs::{CompareOptions, OutlookRequest};
use pyo3::prelude::*;

use crate::drawn::Drawn;
use crate::error::OrRaise;
use crate::interruptible::run_interruptibly;
use crate::run::Run;
use crate::time::{Time, optional_ns};

/// An answer that Python holds, with the warnings of the runs that it rests on.
#[pyclass(frozen)]
pub(crate) struct Answer {
    pub(crate) document: Document,
    warnings: Vec<Warning>,
    /// Writes the result itself, whatever its type.
    json: Box<dyn Fn() -> Result<String, Error> + Send + Sync>,
}

impl Answer {
    pub(crate) fn new<R: Present + Send + Sync + 'static>(result: R, warnings: Vec<Warning>) -> Answer {
        let document = Document::new(&result);
        Answer { document, warnings, json: Box::new(move || document::to_json(&result)) }
    }
}

#[pymethods]
impl Answer {
    /// The JSON that the program prints with --json.
    fn json(&self) -> PyResult<String> {
        (self.json)().or_raise()
    }

    /// The words of the program.
    fn text(&self, extent: &str, columns: usize) -> String {
        let extent = if extent == "details" { Extent::Details } else { Extent::Answer };
        self.document.terminal_text(extent, Terminal { columns, ascii: false, colour: false })
    }

    /// Figures of all sections.
    fn figures(&self) -> Vec<Drawn> {
        let charts = self.document.sections.iter().flat_map(Section::charts);
        charts.map(|chart| Drawn::new(std::slice::from_ref(chart))).collect()
    }

    /// Warnings about the runs that it rests on, a sentence each.
    fn warnings(&self) -> Vec<String> {
        self.warnings.iter().map(warnings::warning_sentence).collect()
    }
}

/// Analyses a run.
#[pyfunction]
pub(crate) fn analysis(
    py: Python<'_>,
    run: &Run,
    task: Option<String>,
    purpose: Option<String>,
) -> PyResult<Answer> {
    let run = run.run.clone();
    let named = |name: String| {
        Purpose::by_name(&name).ok_or_else(|| {
            Error::bad_use(format!("{name:?} is no purpose")).remedy(format!(
                "choose one of {}",
                PURPOSES.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
            ))
        })
    };
    let purpose = purpose.map(named).transpose().or_raise()?;
    run_interruptibly(py, move || {
        let analysis = run.analysis(task.as_deref(), Vec::new(), true, purpose)?;
        let warnings = analysis.run.warnings.clone();
        Ok::<_, Error>(Answer::new(analysis, warnings))
    })
}

/// Number of late activations that are listed one by one.
const MAX_LISTED: usize = 10;

/// Finds the causes of late starts.
#[pyfunction]
pub(crate) fn why(py: Python<'_>, run: &Run, task: Option<String>) -> PyResult<Answer> {
    let run = run.run.clone();
    run_interruptibly(py, move || {
        let why = run.why(task.as_deref(), ListedEvents::Worst(MAX_LISTED))?;
        let warnings = why.run.warnings.clone();
        Ok::<_, Error>(Answer::new(why, warnings))
    })
}

fn parse_requirements(texts: &[String]) -> PyResult<Vec<Requirement>> {
    texts.iter().map(|text| text.parse().or_raise()).collect()
}

/// Predicts the latency of a run, or decides requirements.
#[pyfunction]
pub(crate) fn outlook(
    py: Python<'_>,
    run: &Run,
    task: Option<String>,
    horizon: Option<Time>,
    claims: Vec<String>,
    require: Vec<String>,
    burst_at_most: Option<u64>,
    backtest: Option<Time>,
) -> PyResult<Answer> {
    let run = run.run.clone();
    let ahead = OutlookRequest {
        horizon_ns: optional_ns(horizon.as_ref())?,
        claims: parse_requirements(&claims)?,
        requirements: parse_requirements(&require)?,
        burst_at_most,
        backtest_ns: optional_ns(backtest.as_ref())?,
    };
    run_interruptibly(py, move || {
        let outlook = run.outlook(task.as_deref(), &ahead)?;
        let warnings = outlook.warnings.clone();
        Ok::<_, Error>(Answer::new(outlook, warnings))
    })
}

/// Compares runs.
#[pyfunction]
pub(crate) fn comparison(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    of_other_setting: Vec<Bound<'_, Run>>,
    task: Option<String>,
    anyway: bool,
    tolerance: Option<f64>,
) -> PyResult<Answer> {
    if let Some(share) = tolerance.filter(|share| !(share.is_finite() && *share > 0.0)) {
        return Err(Error::bad_use(format!("{share} is not a share"))
            .remedy("give one above 0, such as 0.1 for 10 %"))
        .or_raise();
    }
    let all = |runs: Vec<Bound<'_, Run>>| runs.iter().map(|run| run.get().run.clone()).collect::<Vec<_>>();
    let (runs, others) = (all(runs), all(of_other_setting));
    run_interruptibly(py, move || {
        let options = CompareOptions { task: task.as_deref(), anyway, ..CompareOptions::default() };
        let compared = jitterlab_runs::compare(&runs, &others, options)?.with_tolerance(tolerance);
        let warnings = compared.warnings.iter().flat_map(|run| run.warnings.clone()).collect();
        Ok::<_, Error>(Answer::new(compared, warnings))
    })
}
