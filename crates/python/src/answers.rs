//! What runs say: analysis, prediction, comparison.

use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::require::Requirement;
use jitterlab_report::document::{Content, Document};
use jitterlab_runs::{Ahead, CompareError, CompareOptions};
use pyo3::prelude::*;

use crate::aside::aside;
use crate::error::{PythonError, Said};
use crate::run::Run;
use crate::time::{Time, ns};

/// The JSON that Python makes its answer of.
pub(crate) fn document(content: Content) -> String {
    // A value that JSON cannot hold: never in practice.
    Document::new(content).json().unwrap_or_default()
}

/// What a run shows.
#[pyfunction]
pub(crate) fn analysis(
    py: Python<'_>,
    run: &Run,
    task: Option<String>,
    purpose: Option<String>,
) -> PyResult<String> {
    let run = run.run.clone();
    let named = |name: String| Purpose::named(&name).ok_or(PythonError::NoPurpose(name));
    let purpose = purpose.map(named).transpose().said()?;
    aside(py, move || {
        let analysis = run.analysis(task.as_deref(), Vec::new(), true, purpose)?;
        Ok::<_, jitterlab_runs::RunsError>(document(Content::Analysis(Box::new(analysis))))
    })
}

fn requirements(texts: &[String]) -> PyResult<Vec<Requirement>> {
    texts.iter().map(|text| text.parse().said()).collect()
}

/// How much worse it can get.
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
) -> PyResult<String> {
    let run = run.run.clone();
    let ahead = Ahead {
        horizon_ns: ns(horizon.as_ref())?,
        claims: requirements(&claims)?,
        requirements: requirements(&require)?,
        burst_at_most,
        backtest_ns: ns(backtest.as_ref())?,
    };
    aside(py, move || {
        run.outlook(task.as_deref(), &ahead).map(|outlook| document(Content::Prediction(outlook)))
    })
}

/// Which differences are real.
#[pyfunction]
pub(crate) fn comparison(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    of_other_setting: Vec<Bound<'_, Run>>,
    task: Option<String>,
    anyway: bool,
    tolerance: Option<f64>,
) -> PyResult<String> {
    if let Some(share) = tolerance.filter(|share| !(share.is_finite() && *share > 0.0)) {
        return Err(PythonError::NotAShare(share)).said();
    }
    let all = |runs: Vec<Bound<'_, Run>>| runs.iter().map(|run| run.get().run.clone()).collect::<Vec<_>>();
    let (runs, others) = (all(runs), all(of_other_setting));
    aside(py, move || {
        let options = CompareOptions { task: task.as_deref(), twente: false, anyway };
        let compared = jitterlab_runs::compare(&runs, &others, options)?.tolerating(tolerance);
        Ok::<_, CompareError>(document(Content::Comparison(compared)))
    })
}
