//! Every cell of a matrix: tables in the layout of the Athlon report, and heat maps.

use std::fmt::Write as _;

use jitterlab_analysis::matrix::{CellStatistic, Matrix};

use crate::chart::{Axis, Cells, Chart, Layer, Shape};
use crate::printable::SHADES;
use crate::words::plural;
use crate::wrap::wrap;

/// What a number of a cell is called.
pub(super) fn name(statistic: CellStatistic) -> &'static str {
    match statistic {
        CellStatistic::P999 => "p99.9",
        CellStatistic::Max => "largest latency",
        CellStatistic::PeriodError => "largest period error",
    }
}

/// With a capital letter at its beginning.
fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The tables of every condition, one for each of these numbers with its title. Cells are coloured from green for the best of a table to red for the worst.
pub fn tables(matrix: &Matrix, statistics: &[(&str, CellStatistic)], colours: bool) -> String {
    let mut text = String::new();
    for condition in matrix.conditions() {
        let repetitions =
            matrix.measurements.iter().filter(|m| m.condition == condition).map(|m| m.repetition);
        let times = repetitions.max().map_or(0, |last| last + 1);
        let _ = writeln!(text, "\nload: {condition}, {}", plural(times.into(), "repetition"));
        for (title, statistic) in statistics {
            text.push_str(&table(matrix, condition, title, *statistic, colours));
        }
    }
    text
}

/// The rows and columns of a table: for one task there is one row.
fn axes(matrix: &Matrix) -> (Vec<u16>, Vec<u16>) {
    let columns = matrix.cpus_of(0).iter().collect();
    let rows = if matrix.tasks.len() > 1 { matrix.cpus_of(1).iter().collect() } else { vec![0] };
    (columns, rows)
}

/// The values of all tasks in a cell, in microseconds.
fn values(
    matrix: &Matrix,
    condition: &str,
    column: u16,
    row: u16,
    statistic: CellStatistic,
) -> Option<Vec<f64>> {
    let mut cpus = vec![row; matrix.tasks.len()];
    *cpus.first_mut()? = column;
    let value = |task| matrix.joint(&cpus, condition, task, statistic).map(|ns| ns / 1e3);
    (0..matrix.tasks.len()).map(value).collect()
}

/// How bad a cell is: the geometric mean over the tasks, as a logarithm.
fn badness(values: &[f64]) -> f64 {
    values.iter().map(|us| us.max(1e-3).ln()).sum::<f64>() / values.len().max(1) as f64
}

/// Where each cell lies between the best (0) and the worst (1) of its table.
fn scale(cells: &[Option<Vec<f64>>]) -> Vec<Option<f64>> {
    let bad: Vec<Option<f64>> = cells.iter().map(|cell| cell.as_deref().map(badness)).collect();
    let low = bad.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = bad.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    bad.iter().map(|b| b.map(|b| if high > low { (b - low) / (high - low) } else { 0.0 })).collect()
}

fn microseconds(us: f64) -> String {
    match us.abs() {
        v if v < 99.95 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

fn table(matrix: &Matrix, condition: &str, title: &str, statistic: CellStatistic, colours: bool) -> String {
    let (columns, rows) = axes(matrix);
    let cells: Vec<Option<Vec<f64>>> = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| (*row, *column)))
        .map(|(row, column)| values(matrix, condition, column, row, statistic))
        .collect();
    if cells.iter().all(Option::is_none) {
        return String::new();
    }
    let shades = scale(&cells);
    let shown: Vec<String> = cells
        .iter()
        .map(|cell| match cell {
            Some(values) => values.iter().map(|us| microseconds(*us)).collect::<Vec<_>>().join("/"),
            None => "-".into(),
        })
        .collect();
    let width = shown.iter().map(|cell| cell.chars().count()).max().unwrap_or(1).max(5);
    let names = matrix.tasks.join(" / ");
    let mut text = format!("  {title} in µs, {names}");
    if let [first, second, ..] = matrix.tasks.as_slice() {
        let _ = write!(text, "; columns: CPU of {first}, rows: CPU of {second}");
    }
    let mut text = wrap(&text);
    // As many columns at once as 80 characters hold.
    let at_once = ((80 - 8) / (width + 2)).max(1);
    for first in (0..columns.len()).step_by(at_once) {
        let part = first..(first + at_once).min(columns.len());
        let _ = write!(text, "  {:>4}", "CPU");
        for column in part.clone() {
            let _ = write!(text, "  {:>width$}", columns[column]);
        }
        text.push('\n');
        for (r, row) in rows.iter().enumerate() {
            let head = if matrix.tasks.len() > 1 { row.to_string() } else { String::new() };
            let _ = write!(text, "  {head:>4}");
            for column in part.clone() {
                let at = r * columns.len() + column;
                let cell = format!("{:>width$}", shown[at]);
                let _ = write!(text, "  {}", shaded(&cell, shades[at], colours));
            }
            text.push('\n');
        }
    }
    text
}

/// From green over yellow to red, as background.
fn shaded(cell: &str, shade: Option<f64>, colours: bool) -> String {
    match shade.filter(|_| colours) {
        Some(shade) => {
            let colour = SHADES[((shade * 4.0).round() as usize).min(4)];
            format!("\x1b[30;48;5;{colour}m{cell}\x1b[0m")
        }
        None => cell.into(),
    }
}

/// A heat map of a number for each condition. `caption` says what it rests on.
pub fn charts(matrix: &Matrix, statistic: CellStatistic, caption: &str) -> Vec<Chart> {
    let (columns, rows) = axes(matrix);
    let names = matrix.tasks.join(" / ");
    let named = name(statistic);
    let chart = |condition: &str| {
        let places = rows
            .iter()
            .enumerate()
            .flat_map(|(r, row)| columns.iter().enumerate().map(move |(c, column)| (r, *row, c, *column)));
        let places: Vec<_> = places.collect();
        let found: Vec<Option<Vec<f64>>> = places
            .iter()
            .map(|(_, row, _, column)| values(matrix, condition, *column, *row, statistic))
            .collect();
        let cells = places.iter().zip(&found).zip(scale(&found)).filter_map(|((place, values), shade)| {
            let words = values.as_ref()?.iter().map(|us| microseconds(*us)).collect::<Vec<_>>().join(" / ");
            // The first row stands at the top.
            Some(([place.2 as f64, (rows.len() - 1 - place.0) as f64], shade?, words))
        });
        let cells = Cells {
            size: [1.0, 1.0],
            cells: cells.collect(),
            labelled: true,
            key: (named.into(), vec![(0.0, "smallest".into()), (1.0, "largest".into())]),
        };
        let cpu = |cpu: &u16| format!("CPU {cpu}");
        let (first, second) = (matrix.tasks.first().map_or("", String::as_str), matrix.tasks.get(1));
        Chart {
            name: "matrix".into(),
            caption: format!(
                "{} of {names} in µs, load {condition}. {caption} Colour: the mean of the tasks on a logarithmic scale.",
                sentence_case(named)
            ),
            x: Axis::names(format!("processor of {first}, load {condition}"), columns.iter().map(cpu)),
            y: match second {
                Some(second) => Axis::names(format!("processor of {second}"), rows.iter().rev().map(cpu)),
                None => Axis::names("", [""]),
            },
            layers: vec![Layer::new("", 0, Shape::Cells(cells))],
            height: 130 + 46 * rows.len() as u32,
        }
    };
    matrix.conditions().into_iter().map(chart).collect()
}
