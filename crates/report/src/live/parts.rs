//! What the views on a terminal are made of: the line of progress, the table of tasks, the course of the worst latency.

use jitterlab_analysis::measured::{SoFar, TaskSoFar};
use jitterlab_model::units::Human;

use super::time;
use crate::chart::Terminal;
use crate::printable::printable;
use crate::words::exact;

/// Columns of the table, with their widths; together they fit into 80.
const COLUMNS: [(&str, usize); 9] = [
    ("task", 9),
    ("period", 7),
    ("count", 9),
    ("rate", 8),
    ("missed", 6),
    ("min", 8),
    ("median", 8),
    ("p99", 8),
    ("max", 8),
];
pub(super) const BOLD: &str = "\x1b[1m";
pub(super) const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
pub(super) const YELLOW: &str = "\x1b[33m";
pub(super) const PLAIN: &str = "\x1b[0m";

/// Lines as this terminal takes them.
pub(super) fn spelled(lines: Vec<String>, terminal: Terminal) -> Vec<String> {
    let codes: &[&str] = if terminal.colour { &[] } else { &[BOLD, DIM, GREEN, YELLOW, PLAIN] };
    let plain = |line: String| codes.iter().fold(line, |line, code| line.replace(code, ""));
    lines.into_iter().map(|line| terminal.spelled(plain(line))).collect()
}

pub(super) fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// The titles of the table.
pub(super) fn titles(columns: usize) -> String {
    let titles = COLUMNS.map(|(title, _)| (title.to_owned(), ""));
    format!("{BOLD}{}{PLAIN}", row(&titles, columns))
}

/// A task's row of the table, under this name.
pub(super) fn task_row(name: &str, so_far: &SoFar, task: &TaskSoFar, columns: usize) -> String {
    row(&cells(name, so_far, task), columns)
}

/// Cells of a table's row, each with its colour, as far as they fit.
fn row(cells: &[(String, &str); 9], columns: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for (i, ((cell, colour), (_, width))) in cells.iter().zip(COLUMNS).enumerate() {
        let cell = clip(cell, width);
        let cell = if i == 0 { format!("{cell:width$}") } else { format!(" {cell:>width$}") };
        used += width + usize::from(i > 0);
        if used > columns {
            break;
        }
        text.push_str(&if colour.is_empty() { cell } else { format!("{colour}{cell}{PLAIN}") });
    }
    text
}

fn cells(name: &str, so_far: &SoFar, task: &TaskSoFar) -> [(String, &'static str); 9] {
    let latency = &task.stats.latency;
    let seconds = so_far.elapsed_ns as f64 / 1e9;
    let rate = if seconds > 0.0 { latency.count() as f64 / seconds } else { 0.0 };
    let missed = if task.stats.seen_missed() > 0 { YELLOW } else { "" };
    [
        (printable(name).into_owned(), ""),
        (exact(task.stats.period_ns()), ""),
        (latency.count().to_string(), ""),
        (format!("{rate:.0}/s"), ""),
        (task.stats.seen_missed().to_string(), missed),
        (time(latency.min_ns()), ""),
        (time(latency.quantile_ns(0.5)), ""),
        (time(latency.quantile_ns(0.99)), ""),
        (time(latency.max_ns()), ""),
    ]
}

/// How far the run is, what ends it, and a bar.
pub(super) fn progress_line(so_far: &SoFar, key: &str, columns: usize, ascii: bool) -> String {
    let elapsed = Human(so_far.elapsed_ns as f64);
    let (ratio, label) = match so_far.planned_ns {
        Some(planned) => {
            let left = Human((planned - so_far.elapsed_ns).max(0) as f64);
            let ratio = (so_far.elapsed_ns as f64 / planned.max(1) as f64).clamp(0.0, 1.0);
            (ratio, format!("{elapsed} of {}, {left} left; {key} ends early ", exact(planned)))
        }
        None => (0.0, format!("{elapsed}; {key} ends ")),
    };
    let label = clip(&label, columns);
    let bar = columns - label.chars().count();
    let done = (ratio * bar as f64) as usize;
    let (full, empty) = if ascii { ("=", "-") } else { ("\u{2501}", "\u{2500}") };
    format!("{label}{GREEN}{}{PLAIN}{}", full.repeat(done), empty.repeat(bar - done))
}

/// Values, one in each column, 0 as nothing. Logarithmic height: a spike stands out, and the ordinary values stay visible
/// beside it.
pub(super) fn sparkline(values: &[u64], ascii: bool) -> String {
    const STEPS: [[char; 9]; 2] = [
        [' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'],
        [' ', '_', '.', '-', ':', '=', '+', '*', '#'],
    ];
    let height = |ns: u64| (ns as f64 + 1.0).log2();
    let above_zero = || values.iter().copied().filter(|ns| *ns > 0).map(height);
    let floor = above_zero().fold(f64::INFINITY, f64::min) - 0.5;
    let range = above_zero().fold(0.0, f64::max) - floor;
    let step =
        |ns: u64| if ns == 0 { 0.0 } else { ((height(ns) - floor) / range * 8.0).round().clamp(1.0, 8.0) };
    values.iter().map(|ns| STEPS[usize::from(ascii)][step(*ns) as usize]).collect()
}
