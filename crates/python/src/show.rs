//! Answers and runs as words, figures and a page.

use std::path::PathBuf;

use jitterlab_host::check::check_run;
use jitterlab_model::Warning;
use jitterlab_motion::servo::Judged;
use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{Content, Document, Extent};
use jitterlab_report::figure::{self, Figure};
use jitterlab_report::page::{self, PageRun};
use jitterlab_report::section::Section;
use jitterlab_report::{quantity, warnings};
use jitterlab_runs::{Run as Opened, RunsError};
use jitterlab_trace::place;
use pyo3::prelude::*;

use crate::aside::aside;
use crate::error::Said;
use crate::run::Run;

/// The words of the program.
#[pyfunction]
pub(crate) fn text(document: &str, extent: &str, columns: usize) -> PyResult<String> {
    let extent = if extent == "details" { Extent::Details } else { Extent::Answer };
    let terminal = Terminal { columns, ascii: false, colour: false };
    Ok(Document::read(document).said()?.told(extent, terminal))
}

/// The figures of an answer, each as SVG.
#[pyfunction]
pub(crate) fn figures(document: &str) -> PyResult<Vec<String>> {
    let sections = Document::read(document).said()?.sections();
    let charts = sections.iter().flat_map(Section::charts);
    charts.map(|chart| figure::svg(std::slice::from_ref(chart)).said()).collect()
}

/// What has to be known of the runs that an answer rests on.
#[pyfunction]
pub(crate) fn warnings_of(document: &str) -> PyResult<Vec<String>> {
    let warnings: Vec<Warning> = match Document::read(document).said()?.content {
        Content::Analysis(analysis) => analysis.run.warnings,
        Content::Prediction(outlook) => outlook.warnings,
        Content::Comparison(compared) => compared.warnings.into_iter().flat_map(|run| run.warnings).collect(),
        Content::Stepper(result) => result.run.map(|run| run.warnings).unwrap_or_default(),
        Content::Servo(result) => match result.judged {
            Judged::Run(judged) => judged.run.warnings,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    Ok(warnings.iter().map(warnings::sentence).collect())
}

/// A figure as PNG.
#[pyfunction]
pub(crate) fn png(svg: &str) -> PyResult<Vec<u8>> {
    figure::png(svg).said()
}

fn opened(runs: &[Bound<'_, Run>]) -> Vec<Opened> {
    runs.iter().map(|run| run.get().run.clone()).collect()
}

/// Runs as a page or a figure shows them.
fn page_runs(runs: &[Opened], task: Option<&str>) -> Result<Vec<PageRun>, RunsError> {
    let mut runs = page::read(runs, task)?;
    runs.iter_mut().for_each(|run| run.checks = check_run(&run.info));
    Ok(runs)
}

/// A figure of runs as SVG.
#[pyfunction]
pub(crate) fn plot(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    drawn: &str,
    of: &str,
    task: Option<String>,
) -> PyResult<String> {
    let (wanted, quantity): (Figure, _) = (drawn.parse().said()?, quantity::parse(of).said()?);
    let runs = opened(&runs);
    let runs = aside(py, move || page_runs(&runs, task.as_deref()))?;
    figure::svg(&wanted.charts(quantity, &runs, &[]).said()?).said()
}

/// Writes a page of runs and answers.
#[pyfunction]
pub(crate) fn write_page(
    py: Python<'_>,
    runs: Vec<Bound<'_, Run>>,
    documents: Vec<String>,
    task: Option<String>,
    path: PathBuf,
) -> PyResult<()> {
    let mut sections = Vec::new();
    for document in &documents {
        sections.extend(Document::read(document).said()?.sections());
    }
    let runs = opened(&runs);
    let runs = aside(py, move || page_runs(&runs, task.as_deref()))?;
    let html = aside(py, move || page::render(&runs, &sections))?;
    place::write(path, html.as_bytes(), false).said()
}
