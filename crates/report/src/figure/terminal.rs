//! The same figures for the terminal.

use std::fmt::Write as _;

use jitterlab_model::Distribution;
use jitterlab_model::units::Human;

use super::series::columns;
use super::{Kind, Quantity};
use crate::histogram::terminal_histogram;
use crate::page::{PageRun, PageTask};

/// Lines of a figure, axes not counted.
const LINES: usize = 14;
/// Columns left of the figure, for the values.
const LABEL: usize = 10;

/// The figure of every task, as wide as `width` columns. `ascii` uses plain characters only.
pub fn text(kind: Kind, quantity: Quantity, runs: &[PageRun], width: usize, ascii: bool) -> String {
    let tasks = runs.iter().flat_map(|run| run.tasks.iter().map(move |task| (run, task)));
    let figures = tasks.map(|(run, task)| {
        let values = quantity.of(task);
        let head =
            format!("{quantity} of {} in {}, n = {}\n", task.figures.summary.task, run.label, values.count());
        head + &match kind {
            Kind::Histogram => terminal_histogram(values, ascii),
            Kind::Series => series(task, quantity, width, ascii),
            Kind::Percentiles => percentiles(values, width, ascii),
        }
    });
    figures.collect::<Vec<_>>().join("\n")
}

/// Smallest to largest value of each column over time.
fn series(task: &PageTask, quantity: Quantity, width: usize, ascii: bool) -> String {
    let number = Quantity::ALL.iter().position(|q| *q == quantity).unwrap_or(0);
    let columns = columns(&task.series, number, width.saturating_sub(LABEL + 2).max(10));
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return "nothing was measured\n".into();
    };
    let ranges: Vec<(f64, f64)> =
        columns.iter().map(|c| (c.extent.min_ns as f64, c.extent.max_ns as f64)).collect();
    let end = Human((last.due_ns - first.due_ns) as f64).to_string();
    grid(&ranges, ("0 s", &end), ascii)
}

/// The value that a share of all values does not exceed, each ten columns of a decade further out.
fn percentiles(values: &Distribution, width: usize, ascii: bool) -> String {
    let n = values.count();
    let columns = width.saturating_sub(LABEL + 2).max(10);
    let decades = (n as f64).log10().max(1.0);
    let at = |column: usize| {
        let above = (n as f64 / 10f64.powf(decades * column as f64 / (columns - 1) as f64)) as u64;
        values.value_at_rank(n.saturating_sub(above).max(1)).map(|v| v as f64)
    };
    let mut curve: Vec<f64> = (0..columns).filter_map(at).collect();
    let (Some(last), Some(max)) = (curve.last_mut(), values.max_ns()) else {
        return "nothing was measured\n".into();
    };
    *last = max as f64;
    let ranges: Vec<(f64, f64)> = curve
        .iter()
        .scan(curve.first().copied(), |before, value| {
            let from = before.replace(*value)?;
            Some((from.min(*value), *value))
        })
        .collect();
    grid(&ranges, ("0 %: the smallest", &format!("the largest of {n}")), ascii)
}

/// A bar from low to high in every column, half lines told apart.
pub(crate) fn grid(ranges: &[(f64, f64)], ends: (&str, &str), ascii: bool) -> String {
    let low = ranges.iter().map(|r| r.0).fold(f64::INFINITY, f64::min);
    let high = ranges.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
    let span = (high - low).max(1.0);
    let half = |value: f64| (((value - low) / span) * (2 * LINES - 1) as f64).round() as usize;
    let mut text = String::new();
    for line in (0..LINES).rev() {
        let value = if line == LINES - 1 { high } else { low + span * line as f64 / (LINES - 1) as f64 };
        let label = if line % 4 == 1 || line == 0 || line == LINES - 1 {
            Human(value).to_string()
        } else {
            String::new()
        };
        let _ = write!(text, "{label:>LABEL$} {}", if ascii { '|' } else { '│' });
        for &(from, to) in ranges {
            let covers = |at: usize| (half(from)..=half(to)).contains(&at);
            text.push(match (covers(2 * line + 1), covers(2 * line), ascii) {
                (true, true, false) => '█',
                (true, false, false) => '▀',
                (false, true, false) => '▄',
                (false, false, _) => ' ',
                (_, _, true) => '#',
            });
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let rule = if ascii { "-" } else { "─" };
    let gap = ranges.len().saturating_sub(ends.0.chars().count() + ends.1.chars().count());
    let _ = writeln!(text, "{:LABEL$} {}{}", "", if ascii { "+" } else { "└" }, rule.repeat(ranges.len()));
    let _ = writeln!(text, "{:LABEL$}  {}{}{}", "", ends.0, " ".repeat(gap), ends.1);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_spike_has_its_column() {
        let mut ranges = vec![(2_000.0, 3_000.0); 60];
        ranges[17] = (2_000.0, 900_000.0);
        let text = grid(&ranges, ("0 s", "10 s"), true);
        let top = text.lines().next().unwrap();
        assert_eq!(top.chars().filter(|c| *c == '#').count(), 1, "{text}");
        assert_eq!(top.find('#'), Some(LABEL + 2 + 17), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= LABEL + 2 + 60) && text.is_ascii());
    }

    #[test]
    fn percentiles_rise_to_the_largest() {
        let mut values = Distribution::new();
        (0..10_000).for_each(|v| values.record(v));
        values.record(1_000_000);
        let text = percentiles(&values, 80, false);
        assert!(text.lines().next().unwrap().trim_end().ends_with(['█', '▀', '▄']), "{text}");
        assert!(text.contains("1 ms") && text.contains("the largest of 10001"), "{text}");
    }
}
