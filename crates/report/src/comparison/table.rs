//! Runs side by side in one table, the largest difference first: the same on the terminal, on the page and in
//! Markdown.

use jitterlab_analysis::compare::{
    Basis, ComparedRun, Comparison, Difference, NoInterval, Statistic, TaskCompared,
};

use super::{figure_cell, no_interval_text};
use crate::section::{Cell, Table};
use crate::words::{MANY_TASKS, SHOWN_TASKS, list};

/// Names longer than this are written below the table, and letters in it.
const LONGEST_NAME: usize = 12;

/// Table of a task's runs: activations, then each figure, real differences first, then the largest.
pub(super) fn runs_table(task: &str, compared: &Comparison) -> Table {
    let runs = &compared.runs;
    let long = runs.iter().any(|run| run.name.chars().count() > LONGEST_NAME);
    let name = |(n, run): (usize, &ComparedRun)| if long { run_letter(n) } else { run.name.clone() };
    let mut ranked: Vec<Statistic> = Statistic::ALL.to_vec();
    ranked.retain(|statistic| runs.iter().any(|run| figure_value(run, *statistic).is_some()));
    ranked.sort_by(|a, b| largest_effect(compared, *b).total_cmp(&largest_effect(compared, *a)));
    let pair = runs.len() == 2;
    let mut header = vec!["latency, µs".to_owned()];
    header.extend(runs.iter().enumerate().map(name));
    let mut activations = vec![Cell::from("activations")];
    activations.extend(runs.iter().map(|run| Cell::Count(run.count)));
    if pair {
        header.extend(["change", "from", "to", "real?"].map(String::from));
        activations.extend(["", "", "", ""].map(Cell::from));
    }
    let figures = ranked.iter().map(|statistic| {
        let cells = (0..runs.len()).map(|n| run_cell(compared, n, *statistic));
        let tail = if pair { interval_cells(compared, *statistic) } else { Vec::new() };
        std::iter::once(statistic.name().into()).chain(cells).chain(tail).collect()
    });
    Table::new(
        format!("{task}: real differences first, then the largest.{}", legend(compared, long)),
        &header,
        std::iter::once(activations).chain(figures),
    )
}

/// More runs than these have a row each.
const FEW_RUNS: usize = 6;

/// A row for each of many runs, the highest first by the rarest quantile that all have; `None` of few.
pub(super) fn run_ranking(task: &str, compared: &Comparison) -> Option<Table> {
    let runs = &compared.runs;
    let of_all = |statistic: &Statistic| runs.iter().all(|run| figure_value(run, *statistic).is_some());
    let rank =
        [Statistic::P999, Statistic::P99, Statistic::P50, Statistic::Maximum].into_iter().find(of_all)?;
    let mut shown = vec![rank];
    let others = [Statistic::P50, Statistic::Maximum, Statistic::MissedShare];
    shown.extend(others.into_iter().filter(|other| *other != rank));
    let mut order: Vec<usize> = (0..runs.len()).collect();
    let key = |n: &usize| figure_value(&runs[*n], rank).unwrap_or(0.0);
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let row = |n: usize| {
        let run = &runs[n];
        let mut cells = vec![Cell::from(run.name.as_str())];
        cells.extend(
            shown.iter().map(|of| Cell::optional(figure_value(run, *of), |value| figure_cell(*of, value))),
        );
        cells.push(
            find_difference(compared, n, rank)
                .map_or_else(|| "the first".into(), |of| format_difference(of, of.difference).into()),
        );
        cells.push(find_difference(compared, n, rank).map_or("", verdict_word).into());
        cells
    };
    let mut header = vec!["latency, µs".to_owned()];
    header.extend(shown.iter().map(|of| of.name().to_owned()));
    header.extend(["change".to_owned(), "real?".to_owned()]);
    let first = &runs.first()?.name;
    let caption = format!(
        "{task}: {} runs, the highest {} first; change: {} against {first}",
        runs.len(),
        rank.name(),
        rank.name()
    );
    (runs.len() > FEW_RUNS).then(|| Table::new(caption, &header, order.into_iter().map(row)))
}

/// A row for each of many tasks of two runs: the figure that differs most; `None` for few tasks. Differences within the
/// bins of histograms do not count. The largest is on top; tasks without a difference are counted.
pub(super) fn task_table(tasks: &[TaskCompared]) -> Option<Table> {
    let of_task = |of: &TaskCompared| {
        of.mismatches.iter().all(|of| of.conditions.is_empty())
            && of.settings.is_none()
            && of.causes.is_none()
    };
    let pairs = || tasks.iter().filter_map(|of| Some((&of.task, of.comparison.as_ref()?)));
    let are_pairs = pairs().all(|(_, compared)| compared.runs.len() == 2);
    let fits = tasks.len() > SHOWN_TASKS || tasks.iter().all(of_task);
    if tasks.len() < MANY_TASKS || pairs().count() < tasks.len() || !are_pairs || !fits {
        return None;
    }
    let rank = |of: &Difference| (of.real, effect_size(of));
    let order = |a: &Difference, b: &Difference| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let most = |compared: &Comparison| {
        let all = compared.against_first.iter().flat_map(|against| &against.differences);
        all.filter(|of| is_notable(of)).max_by(|a, b| order(a, b)).copied()
    };
    let mut rows: Vec<(&String, &Comparison, Difference)> =
        pairs().filter_map(|(task, compared)| Some((task, compared, most(compared)?))).collect();
    rows.sort_by(|a, b| order(&b.2, &a.2));
    let alike = tasks.len() - rows.len();
    let alike = if alike == 0 { String::new() } else { format!(" {alike} of them in none.") };
    let names = tasks[0].comparison.as_ref().map(|of| [0, 1].map(|n| of.runs[n].name.clone()))?;
    let caption = format!(
        "{} tasks, {} against {}: the figure in which each differs most, real differences first.{alike}",
        tasks.len(),
        names[1],
        names[0]
    );
    let cells = rows.into_iter().map(|(task, compared, of)| {
        let values = (0..2).map(|n| run_cell(compared, n, of.statistic));
        let name = std::iter::once(Cell::from(format!("{task}: {}", of.statistic.name())));
        name.chain(values).chain(interval_cells(compared, of.statistic)).collect::<Vec<Cell>>()
    });
    let header = ["µs", "first", "here", "change", "from", "to", "real?"];
    Some(Table::new(caption, &header, cells))
}

/// True if a difference is larger than the uncertainty from the bins of histograms.
pub(super) fn is_notable(of: &Difference) -> bool {
    of.difference != 0.0 && of.refusal != Some(NoInterval::WithinBins)
}

/// Legend for letters and brackets, and the assumption behind intervals.
fn legend(compared: &Comparison, long: bool) -> String {
    let runs = &compared.runs;
    let mut legend = String::new();
    if long {
        let named = runs.iter().enumerate().map(|(n, run)| format!("{}: {}", run_letter(n), run.name));
        legend += &format!(" {}.", named.collect::<Vec<_>>().join(", "));
    }
    if runs.len() != 2 {
        legend += " In percent: what really differs from the first run. In brackets: no difference is shown.";
    }
    let unordered = runs.iter().filter(|run| run.basis == Basis::IfIndependent).map(|run| run.name.clone());
    let unordered: Vec<String> = unordered.collect();
    if !unordered.is_empty() {
        legend += &format!(
            " Of {} only a histogram is known: intervals, and what is real, hold if its latencies are independent of each other.",
            list(&unordered)
        );
    }
    legend
}

fn run_letter(n: usize) -> String {
    u8::try_from(n)
        .ok()
        .filter(|n| *n < 26)
        .map_or_else(|| (n + 1).to_string(), |n| char::from(b'A' + n).to_string())
}

pub(super) fn figure_value(run: &ComparedRun, statistic: Statistic) -> Option<f64> {
    run.estimates.iter().find(|of| of.statistic == statistic).map(|of| of.value)
}

fn find_difference(compared: &Comparison, n: usize, statistic: Statistic) -> Option<&Difference> {
    let against = compared.against_first.get(n.checked_sub(1)?)?;
    against.differences.iter().find(|of| of.statistic == statistic)
}

/// Size of the largest real difference of a figure, as the logarithm of its ratio; 0 if none is shown.
fn largest_effect(compared: &Comparison, statistic: Statistic) -> f64 {
    let of = (1..compared.runs.len()).filter_map(|n| find_difference(compared, n, statistic));
    of.filter(|of| of.real).map(effect_size).fold(0.0, f64::max)
}

/// The size of a difference: the logarithm of its ratio, whatever its direction.
pub(super) fn effect_size(of: &Difference) -> f64 {
    of.ratio.filter(|ratio| *ratio > 0.0).map_or(f64::MAX, |ratio| ratio.ln().abs())
}

fn run_cell(compared: &Comparison, n: usize, statistic: Statistic) -> Cell {
    let Some(value) = figure_value(&compared.runs[n], statistic) else { return Cell::Nothing };
    let cell = figure_cell(statistic, value);
    if n == 0 || compared.runs.len() == 2 {
        return cell;
    }
    let text = cell.to_text();
    match find_difference(compared, n, statistic) {
        Some(of) if of.real => format!("{text} {}", format_difference(of, of.difference)).into(),
        _ => format!("({text})").into(),
    }
}

/// Change, interval and word of the only other run.
fn interval_cells(compared: &Comparison, statistic: Statistic) -> Vec<Cell> {
    let Some(of) = find_difference(compared, 1, statistic) else { return vec![Cell::Nothing; 4] };
    let written = |value: f64| Cell::from(format_difference(of, value));
    let [from, to] = of.interval.map_or([Cell::Nothing, Cell::Nothing], |both| both.map(written));
    vec![written(of.difference), from, to, verdict_word(of).into()]
}

/// A difference as a share of the first run's value, else in the figure's own unit.
pub(super) fn format_difference(of: &Difference, value: f64) -> String {
    let first = of.ratio.map(|ratio| of.difference / (ratio - 1.0));
    match first.filter(|first| first.is_finite() && *first > 0.0) {
        Some(first) => format_change(value / first),
        None if value == 0.0 => "0 %".into(),
        None => super::signed_difference(of.statistic, value),
    }
}

/// A change with its sign in percent, to a hundredth of one at the finest; from twice as much on as a factor.
pub(super) fn format_change(relative_change: f64) -> String {
    if relative_change >= 1.0 {
        let factor = 1.0 + relative_change;
        let decimals = if factor < 9.995 { 2 } else { usize::from(factor < 99.95) };
        return format!("x{factor:.decimals$}");
    }
    let decimals = match relative_change.abs() {
        s if s < 0.01 => 2,
        s if s < 0.1 => 1,
        _ => 0,
    };
    format!("{:+.decimals$} %", 100.0 * relative_change)
}

pub(super) fn verdict_word(d: &Difference) -> &'static str {
    match (d.real, d.interval) {
        (true, _) if d.difference < 0.0 => "lower",
        (true, _) => "HIGHER",
        (false, Some(_)) => "not shown",
        (false, None) if d.statistic == Statistic::Maximum => "not shown",
        (false, None) => no_interval_text(d.refusal),
    }
}
