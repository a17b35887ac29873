//! Runs side by side in one table, what differs most first: the same on the terminal, on the page and in Markdown.

use jitterlab_analysis::compare::{Basis, ComparedRun, Comparison, Difference, Statistic};

use super::{figure, refusal};
use crate::words::{count, list};

/// Names longer than this are written below the table, and letters in it.
const LONGEST_NAME: usize = 12;

/// The runs of a task in one table.
pub(super) struct SideBySide {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// What letters and brackets stand for; may be empty.
    pub legend: String,
}

/// The table: activations, then each figure, what really differs first and of that what differs most.
pub(super) fn side_by_side(compared: &Comparison) -> SideBySide {
    let runs = &compared.runs;
    let long = runs.iter().any(|run| run.name.chars().count() > LONGEST_NAME);
    let name = |(n, run): (usize, &ComparedRun)| if long { letter(n) } else { run.name.clone() };
    let names: Vec<String> = runs.iter().enumerate().map(name).collect();
    let mut ranked: Vec<Statistic> = Statistic::ALL.to_vec();
    ranked.retain(|statistic| runs.iter().any(|run| value(run, *statistic).is_some()));
    ranked.sort_by(|a, b| effect(compared, *b).total_cmp(&effect(compared, *a)));
    let mut header = vec![String::new()];
    header.extend(names.iter().cloned());
    let counts = runs.iter().map(|run| count(run.count));
    let mut rows = vec![std::iter::once("activations".to_owned()).chain(counts).collect::<Vec<_>>()];
    let pair = runs.len() == 2;
    if pair {
        header.extend(["change", "from", "to", "real?"].map(String::from));
        rows[0].extend([const { String::new() }; 4]);
    }
    rows.extend(ranked.iter().map(|statistic| {
        let cells = (0..runs.len()).map(|n| cell(compared, n, *statistic));
        let tail = if pair { interval(compared, *statistic) } else { Vec::new() };
        std::iter::once(statistic.name().to_owned()).chain(cells).chain(tail).collect()
    }));
    let named = runs.iter().enumerate().map(|(n, run)| format!("{}: {}", letter(n), run.name));
    let mut legend: Vec<String> =
        if long { vec![named.collect::<Vec<_>>().join(", ") + "."] } else { Vec::new() };
    if !pair {
        legend.push(
            "In percent: what really differs from the first run. In brackets: no difference is shown.".into(),
        );
    }
    let unordered = runs.iter().filter(|run| run.basis == Basis::IfIndependent).map(|run| run.name.clone());
    let unordered: Vec<String> = unordered.collect();
    if !unordered.is_empty() {
        legend.push(format!(
            "Of {} only a histogram is known: intervals, and what is real, hold if its latencies are independent of each other.",
            list(&unordered)
        ));
    }
    SideBySide { header, rows, legend: legend.join(" ") }
}

fn letter(n: usize) -> String {
    u8::try_from(n)
        .ok()
        .filter(|n| *n < 26)
        .map_or_else(|| (n + 1).to_string(), |n| char::from(b'A' + n).to_string())
}

fn value(run: &ComparedRun, statistic: Statistic) -> Option<f64> {
    run.estimates.iter().find(|of| of.statistic == statistic).map(|of| of.value)
}

fn difference(compared: &Comparison, n: usize, statistic: Statistic) -> Option<&Difference> {
    let against = compared.against_first.get(n.checked_sub(1)?)?;
    against.differences.iter().find(|of| of.statistic == statistic)
}

/// How large the largest real difference of a figure is, as a factor in either direction; 0 where none is shown.
fn effect(compared: &Comparison, statistic: Statistic) -> f64 {
    let of = (1..compared.runs.len()).filter_map(|n| difference(compared, n, statistic));
    of.filter(|of| of.real).map(size).fold(0.0, f64::max)
}

/// The size of a difference: the logarithm of its ratio, whatever its direction.
pub(super) fn size(of: &Difference) -> f64 {
    of.ratio.filter(|ratio| *ratio > 0.0).map_or(f64::MAX, |ratio| ratio.ln().abs())
}

fn cell(compared: &Comparison, n: usize, statistic: Statistic) -> String {
    let Some(value) = value(&compared.runs[n], statistic) else { return "-".into() };
    let text = figure(statistic, value);
    if n == 0 || compared.runs.len() == 2 {
        return text;
    }
    match difference(compared, n, statistic) {
        Some(of) if of.real => format!("{text} {}", change(of, of.difference)),
        _ => format!("({text})"),
    }
}

/// Change, interval and word of the only other run.
fn interval(compared: &Comparison, statistic: Statistic) -> Vec<String> {
    let Some(of) = difference(compared, 1, statistic) else { return vec!["-".into(); 4] };
    let [from, to] = of.interval.map_or(["-".into(), "-".into()], |both| both.map(|value| change(of, value)));
    vec![change(of, of.difference), from, to, word(of).into()]
}

/// A difference as a share of the first run's value, else in the figure's own unit.
pub(super) fn change(of: &Difference, value: f64) -> String {
    let first = of.ratio.map(|ratio| of.difference / (ratio - 1.0));
    match first.filter(|first| first.is_finite() && *first > 0.0) {
        Some(first) => percent(value / first),
        None if value == 0.0 => "0 %".into(),
        None => super::signed(of.statistic, value),
    }
}

/// A change with its sign in percent, to a hundredth of one at the finest.
pub(super) fn percent(share: f64) -> String {
    let decimals = match share.abs() {
        s if s < 0.01 => 2,
        s if s < 0.1 => 1,
        _ => 0,
    };
    format!("{:+.decimals$} %", 100.0 * share)
}

/// The word for a difference.
pub(super) fn word(d: &Difference) -> &'static str {
    match (d.real, d.interval) {
        (true, _) if d.difference < 0.0 => "lower",
        (true, _) => "HIGHER",
        (false, Some(_)) => "not shown",
        (false, None) if d.statistic == Statistic::Maximum => "not shown",
        (false, None) => refusal(d.refusal),
    }
}
