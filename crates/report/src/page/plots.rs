//! Data for the page's script: every chart, and the finer detail of the series.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::html::with_nonbreaking_spaces;
use super::pack::{PackedColumn, Packer, gzip_base64};
use super::{PageRun, PageTask, page_data_error};
use crate::chart::{Chart, SHADES};
use crate::figure::STATUS;
use crate::parallel::run_in_parallel;
use crate::section::{Piece, Section, SeriesDetail};
use jitterlab_analysis::scan::series::{COLUMNS, ExactRow, Extent, Step};
use jitterlab_model::Error;

/// Data for the script, with the packed columns.
#[derive(Debug)]
pub struct PlotData {
    /// Charts and their detail, compressed and in base64.
    pub charts: String,
    /// The columns of all series, compressed and in base64.
    pub columns: String,
}

/// The figures of one piece of a section.
#[derive(Serialize)]
struct Figure<'a> {
    id: String,
    options: Vec<Choice<'a>>,
}

/// Charts that are seen at a time.
#[derive(Serialize)]
struct Choice<'a> {
    charts: &'a [Chart],
    caption: String,
    detail: Option<&'a SeriesDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<[f64; 2]>,
}

/// Identifier of a piece's figures, in the script and on the page.
pub fn figure_id(name: &str, piece: usize) -> String {
    format!("{name}-{piece}")
}

/// Figures of the pieces of the section or part of this name, folded ones included.
fn piece_figures<'a>(name: &str, pieces: &'a [Piece]) -> Vec<Figure<'a>> {
    let figures = pieces.iter().enumerate().flat_map(|(number, piece)| {
        let id = figure_id(name, number);
        match piece {
            Piece::Details { pieces, .. } => piece_figures(&id, pieces),
            _ => piece_choices(piece).map(|options| Figure { id, options }).into_iter().collect(),
        }
    });
    figures.collect()
}

/// Packs the charts, and the series of the runs, as data for the page's script.
pub fn plot_data(runs: &[PageRun], sections: &[&Section]) -> Result<PlotData, Error> {
    let mut packer = Packer::default();
    let packed = runs.iter().map(|run| {
        let tasks = run.tasks.iter().map(|task| task_data(run, task, &mut packer));
        json!({ "label": run.label, "tasks": tasks.collect::<Vec<_>>() })
    });
    let runs: Vec<Value> = packed.collect();
    let figures: Vec<Figure<'_>> =
        sections.iter().flat_map(|section| piece_figures(&section.id, &section.pieces)).collect();
    let all = json!({ "figures": figures, "runs": runs, "shades": SHADES, "status": STATUS });
    let charts = serde_json::to_vec(&all).map_err(page_data_error)?;
    let (charts, columns) = run_in_parallel(|| gzip_base64(&charts), || packer.compress());
    Ok(PlotData { charts: charts.map_err(page_data_error)?, columns: columns.map_err(page_data_error)? })
}

fn piece_choices(piece: &Piece) -> Option<Vec<Choice<'_>>> {
    match piece {
        Piece::Figure(chart) => Some(vec![choice(std::slice::from_ref(chart), None, None)]),
        Piece::Choice { figures, .. } => Some(
            figures
                .iter()
                .map(|shown| choice(&shown.charts, shown.detail.as_ref(), shown.selecting_point))
                .collect(),
        ),
        _ => None,
    }
}

fn choice<'a>(charts: &'a [Chart], detail: Option<&'a SeriesDetail>, at: Option<[f64; 2]>) -> Choice<'a> {
    Choice { charts, caption: joined_captions(charts), detail, at }
}

/// Captions of charts that are seen together.
pub fn joined_captions(charts: &[Chart]) -> String {
    let captions = charts.iter().map(|chart| chart.caption.as_str()).filter(|text| !text.is_empty());
    with_nonbreaking_spaces(&captions.collect::<Vec<_>>().join(" "))
}

fn task_data(run: &PageRun, task: &PageTask, packer: &mut Packer) -> Value {
    let PageTask { measured, series, .. } = task;
    let origin_ns = run.origin_ns();
    let result = run.info.tasks.get(task.number).and_then(|t| t.result.as_ref());
    let last =
        series.exact.last().map(|e| e.due_ns).into_iter().chain(series.steps.last().map(|s| s.due_ns)).max();
    let end_ns = result.map(|r| r.last_end_ns).or(last).unwrap_or(origin_ns);
    json!({
        "name": measured.summary.task,
        "period_ns": measured.summary.period_ns,
        "length_ns": end_ns.saturating_sub(origin_ns),
        "complete": series.complete,
        "steps": step_columns(&series.steps, origin_ns, packer),
        "exact": activation_columns(&series.exact, origin_ns, packer),
    })
}

/// Columns of the steps; for each quantity its minimum, mean and maximum.
fn step_columns(steps: &[Step], origin_ns: i64, packer: &mut Packer) -> Value {
    let due = packer.push_advancing(steps.iter().map(|s| s.due_ns - origin_ns));
    let executed = packer.push_column(steps.iter().map(|s| Some(s.executed as i64)));
    let missed = packer.push_column(steps.iter().map(|s| Some(s.missed as i64)));
    let extents = COLUMNS.iter().enumerate().map(|(i, name)| {
        let some = |value: fn(&Extent) -> i64| {
            steps.iter().map(move |s| Some(&s.extents[i]).filter(|e| e.count > 0).map(value))
        };
        let mean = steps.iter().map(|s| s.extents[i].mean_ns());
        (
            *name,
            [
                packer.push_column(some(|e| e.min_ns)),
                packer.push_column(mean),
                packer.push_column(some(|e| e.max_ns)),
            ],
        )
    });
    let extents: BTreeMap<&str, [PackedColumn; 3]> = extents.collect();
    json!({ "due": due, "executed": executed, "missed": missed, "extents": extents })
}

/// Columns of single activations.
fn activation_columns(rows: &[ExactRow], origin_ns: i64, packer: &mut Packer) -> Value {
    let due = packer.push_advancing(rows.iter().map(|e| e.due_ns - origin_ns));
    let index = packer.push_advancing(rows.iter().map(|e| e.index as i64));
    let missed = packer.push_column(rows.iter().map(|e| Some(e.missed.into())));
    let values = COLUMNS.iter().enumerate();
    let values = values.map(|(i, name)| (*name, packer.push_column(rows.iter().map(|e| e.values_ns[i]))));
    let values: BTreeMap<&str, PackedColumn> = values.collect();
    json!({ "due": due, "index": index, "missed": missed, "values": values })
}
