//! Answers and runs as words, figures and a page.

use std::path::PathBuf;

use jitterlab_host::check::check_run;
use jitterlab_model::Error;
use jitterlab_report::document::Document;
use jitterlab_report::figure::Figure;
use jitterlab_report::page::{self, PageRun};
use jitterlab_report::quantity;
use jitterlab_runs::Run as Opened;
use jitterlab_trace::atomic_file;
use pyo3::prelude::*;

use crate::analysis_answers::Answer;
use crate::drawn::Drawn;
use crate::error::OrRaise;
use crate::interruptible::run_interruptibly;
use crate::run::Run;

fn open_runs(runs: &[Bound<'_, Run>]) -> Vec<Opened> {
    runs.iter().map(|run| run.get().run.clone()).collect()
}

/// Runs as a page or a figure shows them.
fn page_runs(runs: &[Opened], task: Option<&str>) -> Result<Vec<PageRun>, Error> {
    let mut runs = page::read_page_runs(runs, task)?;
    runs.iter_mut().for_each(|run| run.checks = check_run(&run.info));
    Ok(runs)
}

/// A figure of runs.
#[pyfunction]
pub(crate) fn plot(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    drawn: &str,
    of: &str,
    task: Option<String>,
) -> PyResult<Drawn> {
    let (wanted, quantity): (Figure, _) = (drawn.parse().or_raise()?, quantity::parse(of).or_raise()?);
    let runs = open_runs(&runs);
    let runs = run_interruptibly(py, move || page_runs(&runs, task.as_deref()))?;
    Ok(Drawn::new(&wanted.charts(quantity, &runs, &[]).or_raise()?))
}

/// Writes a page of runs and answers.
#[pyfunction]
pub(crate) fn write_page(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    answers: Vec<Bound<'_, Answer>>,
    task: Option<String>,
    path: PathBuf,
) -> PyResult<()> {
    let documents: Vec<Document> = answers.iter().map(|answer| answer.get().document.clone()).collect();
    let runs = open_runs(&runs);
    let runs = run_interruptibly(py, move || page_runs(&runs, task.as_deref()))?;
    let html = run_interruptibly(py, move || page::render(&runs, &documents))?;
    atomic_file::write(path, html.as_bytes(), false).or_raise()
}
