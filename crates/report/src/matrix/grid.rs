//! Every cell of a matrix: tables in the layout of the Athlon report, and heat maps.

use jitterlab_analysis::matrix::{CellStatistic, Matrix};

use crate::chart::{Axis, Cells, Chart, Layer, Shape};
use crate::section::{Cell, Piece};
use crate::words::{capitalize, plural};

pub(super) fn statistic_name(statistic: CellStatistic) -> &'static str {
    match statistic {
        CellStatistic::P999 => "p99.9",
        CellStatistic::Max => "largest latency",
        CellStatistic::PeriodError => "largest period error",
    }
}

/// Tables of a figure of each cell, one for each condition, or several if 80 columns are too few. Cells are shaded from
/// the best of a condition to its worst.
pub fn tables(matrix: &Matrix, title: &str, statistic: CellStatistic) -> Vec<Piece> {
    matrix.conditions().into_iter().flat_map(|condition| table(matrix, condition, title, statistic)).collect()
}

/// CPUs of a table's columns and rows: for one task there is one row.
fn axes(matrix: &Matrix) -> (Vec<u16>, Vec<u16>) {
    let columns = matrix.cpus_of(0).iter().collect();
    let rows = if matrix.tasks.len() > 1 { matrix.cpus_of(1).iter().collect() } else { vec![0] };
    (columns, rows)
}

/// The values of all tasks in a cell, in microseconds; `None` if one of them was not measured.
fn cell_values(
    matrix: &Matrix,
    condition: &str,
    column: u16,
    row: u16,
    statistic: CellStatistic,
) -> Option<Vec<f64>> {
    let mut cpus = vec![row; matrix.tasks.len()];
    *cpus.first_mut()? = column;
    let value = |task| matrix.over_repetitions(&cpus, condition, task, statistic).map(|ns| ns / 1e3);
    (0..matrix.tasks.len()).map(value).collect()
}

/// Badness of a cell: the geometric mean over the tasks, as a logarithm.
fn badness(values: &[f64]) -> f64 {
    values.iter().map(|us| us.max(1e-3).ln()).sum::<f64>() / values.len().max(1) as f64
}

fn badness_range(cells: &[Option<Vec<f64>>]) -> (f64, f64) {
    let bad = cells.iter().flatten().map(|values| badness(values));
    bad.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), bad| (low.min(bad), high.max(bad)))
}

/// Position of a cell between these bounds: 0 for the best, 1 for the worst.
fn shade(values: &[f64], (low, high): (f64, f64)) -> f64 {
    if high > low { (badness(values) - low) / (high - low) } else { 0.0 }
}

fn format_microseconds(us: f64) -> String {
    match us.abs() {
        v if v < 99.95 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

fn table(matrix: &Matrix, condition: &str, title: &str, statistic: CellStatistic) -> Vec<Piece> {
    let (columns, rows) = axes(matrix);
    let places = rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column)));
    let cells: Vec<Option<Vec<f64>>> =
        places.map(|(row, column)| cell_values(matrix, condition, column, row, statistic)).collect();
    if cells.iter().all(Option::is_none) {
        return Vec::new();
    }
    let written =
        |values: &Vec<f64>| values.iter().map(|us| format_microseconds(*us)).collect::<Vec<_>>().join("/");
    let bounds = badness_range(&cells);
    let cell = |values: &Option<Vec<f64>>| {
        Cell::optional(values.as_ref(), |values| Cell::Shaded {
            shade: shade(values, bounds),
            text: written(values),
        })
    };
    let cells: Vec<Cell> = cells.iter().map(cell).collect();
    let repetitions = matrix.measurements.iter().filter(|m| m.condition == condition).map(|m| m.repetition);
    let repetitions = plural(repetitions.max().map_or(0, |last| last + 1).into(), "repetition");
    let mut caption =
        format!("load: {condition}, {repetitions}; {title} in µs, {}", matrix.tasks.join(" / "));
    let name = |row: u16| match matrix.tasks.as_slice() {
        [_, _, ..] => row.to_string(),
        tasks => tasks.concat(),
    };
    if let [first, second, ..] = matrix.tasks.as_slice() {
        caption += &format!("; columns: CPU of {first}, rows: CPU of {second}");
    }
    let name_width = rows.iter().map(|row| name(*row).chars().count()).max().unwrap_or(0).max("CPU".len());
    let width = cells.iter().map(|cell| cell.to_text().chars().count()).max().unwrap_or(0);
    let at_once = (80usize.saturating_sub(name_width + 4) / (width + 2)).max(1);
    let part = |first: usize| {
        let part = first..(first + at_once).min(columns.len());
        let header: Vec<String> =
            std::iter::once("CPU".into()).chain(columns[part.clone()].iter().map(u16::to_string)).collect();
        let row = |(at, row): (usize, &u16)| {
            let cells = &cells[at * columns.len()..][part.clone()];
            std::iter::once(Cell::Text(name(*row))).chain(cells.iter().cloned()).collect()
        };
        let caption = if first == 0 { caption.clone() } else { String::new() };
        Piece::table::<Cell>(caption, &header, rows.iter().enumerate().map(row))
    };
    (0..columns.len()).step_by(at_once).map(part).collect()
}

/// A heat map of a number for each condition, all in one scale. `caption` explains the data.
pub fn charts(matrix: &Matrix, statistic: CellStatistic, caption: &str) -> Vec<Chart> {
    let (columns, rows) = axes(matrix);
    let names = matrix.tasks.join(" / ");
    let named = statistic_name(statistic);
    let of = if statistic == CellStatistic::P999 { "the median" } else { "the largest" };
    let places = rows
        .iter()
        .enumerate()
        .flat_map(|(r, row)| columns.iter().enumerate().map(move |(c, column)| (r, *row, c, *column)));
    let places: Vec<_> = places.collect();
    let found = |condition: &str| -> Vec<Option<Vec<f64>>> {
        let value = |(_, row, _, column): &(usize, u16, usize, u16)| {
            cell_values(matrix, condition, *column, *row, statistic)
        };
        places.iter().map(value).collect()
    };
    let all: Vec<Option<Vec<f64>>> = matrix.conditions().into_iter().flat_map(found).collect();
    let bounds = badness_range(&all);
    let at = |shade: f64| {
        let us = (bounds.0 + shade * (bounds.1 - bounds.0)).exp();
        (shade, format!("{} µs", format_microseconds(us)))
    };
    let chart = |condition: &str| {
        let found = found(condition);
        let cells = places.iter().zip(&found).filter_map(|(place, values)| {
            let values = values.as_ref()?;
            let words = values.iter().map(|us| format_microseconds(*us)).collect::<Vec<_>>().join(" / ");
            // The first row is at the top.
            Some(([place.2 as f64, (rows.len() - 1 - place.0) as f64], shade(values, bounds), words))
        });
        let cells = Cells {
            size: [1.0, 1.0],
            cells: cells.collect(),
            labelled: true,
            key: (named.into(), [0.0, 0.5, 1.0].map(at).into()),
        };
        let cpu = |cpu: &u16| format!("CPU {cpu}");
        let (first, second) = (matrix.tasks.first().map_or("", String::as_str), matrix.tasks.get(1));
        Chart {
            name: "matrix".into(),
            caption: format!(
                "{} of {names} in µs, load {condition}. {caption} Each field is {of} of its repetitions. Colour: the mean of the tasks on a logarithmic scale.",
                capitalize(named)
            ),
            x: Axis::names(format!("processor of {first}, load {condition}"), columns.iter().map(cpu)),
            y: match second {
                Some(second) => Axis::names(format!("processor of {second}"), rows.iter().rev().map(cpu)),
                None => Axis::names("", [""]),
            },
            layers: vec![Layer::new("", 0, Shape::Cells(cells))],
            height: 160 + 46 * rows.len() as u32,
        }
    };
    matrix.conditions().into_iter().map(chart).collect()
}
