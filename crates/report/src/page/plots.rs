//! Data for the page's script: every chart, and the finer detail of the series.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::html::whole;
use super::not_written;
use super::pack::{Column, Packer, compressed};
use super::{PageRun, PageTask};
use crate::chart::{Chart, SHADES};
use crate::figure::STATUS;
use crate::section::{Detail, Piece, Section};
use crate::side_by_side::side_by_side;
use jitterlab_analysis::scan::series::{COLUMNS, ExactRow, Extent, Step};
use jitterlab_model::Error;

/// Data for the script, with the packed columns.
#[derive(Debug)]
pub struct Plots {
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
    detail: Option<&'a Detail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<[f64; 2]>,
}

/// Name of a piece's figures in the script, and the identifier of their place on the page.
pub fn id(name: &str, piece: usize) -> String {
    format!("{name}-{piece}")
}

/// The figures of pieces of whatever has this name, folded ones included.
fn figures<'a>(name: &str, pieces: &'a [Piece]) -> Vec<Figure<'a>> {
    let figures = pieces.iter().enumerate().flat_map(|(number, piece)| {
        let id = id(name, number);
        match piece {
            Piece::Details { pieces, .. } => figures(&id, pieces),
            _ => options(piece).map(|options| Figure { id, options }).into_iter().collect(),
        }
    });
    figures.collect()
}

/// Makes the script's data.
pub fn data(runs: &[PageRun], sections: &[&Section]) -> Result<Plots, Error> {
    let mut packer = Packer::default();
    let packed = runs.iter().map(|run| {
        let tasks = run.tasks.iter().map(|task| self::task(run, task, &mut packer));
        json!({ "label": run.label, "tasks": tasks.collect::<Vec<_>>() })
    });
    let runs: Vec<Value> = packed.collect();
    let figures: Vec<Figure<'_>> =
        sections.iter().flat_map(|section| figures(&section.id, &section.pieces)).collect();
    let all = json!({ "figures": figures, "runs": runs, "shades": SHADES, "status": STATUS });
    let charts = serde_json::to_vec(&all).map_err(not_written)?;
    let (charts, columns) = side_by_side(|| compressed(&charts), || packer.packed());
    Ok(Plots { charts: charts.map_err(not_written)?, columns: columns.map_err(not_written)? })
}

fn options(piece: &Piece) -> Option<Vec<Choice<'_>>> {
    match piece {
        Piece::Figure(chart) => Some(vec![choice(std::slice::from_ref(chart), None, None)]),
        Piece::Choice { figures, .. } => Some(
            figures
                .iter()
                .map(|shown| choice(&shown.charts, shown.detail.as_ref(), shown.stands_at))
                .collect(),
        ),
        _ => None,
    }
}

fn choice<'a>(charts: &'a [Chart], detail: Option<&'a Detail>, at: Option<[f64; 2]>) -> Choice<'a> {
    Choice { charts, caption: captions(charts), detail, at }
}

/// Captions of charts that are seen together.
pub fn captions(charts: &[Chart]) -> String {
    let captions = charts.iter().map(|chart| chart.caption.as_str()).filter(|text| !text.is_empty());
    whole(&captions.collect::<Vec<_>>().join(" "))
}

fn task(run: &PageRun, task: &PageTask, packer: &mut Packer) -> Value {
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
        "steps": steps(&series.steps, origin_ns, packer),
        "exact": exact(&series.exact, origin_ns, packer),
    })
}

/// Columns of the steps; for each quantity its minimum, mean and maximum.
fn steps(steps: &[Step], origin_ns: i64, packer: &mut Packer) -> Value {
    let due = packer.advancing(steps.iter().map(|s| s.due_ns - origin_ns));
    let executed = packer.column(steps.iter().map(|s| Some(s.executed as i64)));
    let missed = packer.column(steps.iter().map(|s| Some(s.missed as i64)));
    let extents = COLUMNS.iter().enumerate().map(|(i, name)| {
        let some = |value: fn(&Extent) -> i64| {
            steps.iter().map(move |s| Some(&s.extents[i]).filter(|e| e.count > 0).map(value))
        };
        let mean = steps.iter().map(|s| s.extents[i].mean_ns());
        (*name, [packer.column(some(|e| e.min_ns)), packer.column(mean), packer.column(some(|e| e.max_ns))])
    });
    let extents: BTreeMap<&str, [Column; 3]> = extents.collect();
    json!({ "due": due, "executed": executed, "missed": missed, "extents": extents })
}

/// Columns of single activations.
fn exact(rows: &[ExactRow], origin_ns: i64, packer: &mut Packer) -> Value {
    let due = packer.advancing(rows.iter().map(|e| e.due_ns - origin_ns));
    let index = packer.advancing(rows.iter().map(|e| e.index as i64));
    let missed = packer.column(rows.iter().map(|e| Some(e.missed.into())));
    let values = COLUMNS.iter().enumerate();
    let values = values.map(|(i, name)| (*name, packer.column(rows.iter().map(|e| e.values_ns[i]))));
    let values: BTreeMap<&str, Column> = values.collect();
    json!({ "due": due, "index": index, "missed": missed, "values": values })
}
