//! Two settings by several runs of each, for the terminal.

use jitterlab_analysis::compare::{SettingDifference, SettingsCompared, Statistic};

use crate::table::columns;
use crate::words::{list, microseconds, time};
use crate::wrap::wrap;

/// Runs of each setting that are advised: with fewer a change of a fifth is often missed.
const ADVISED: usize = 5;

/// The verdict, then each figure with its runs.
pub(super) fn text(compared: &SettingsCompared) -> String {
    let mut text: String = verdict(compared).iter().map(|sentence| wrap(sentence)).collect();
    let rows = compared.differences.iter().map(row);
    text.push_str("\nmean of the runs in µs, change, and its interval\n");
    text.push_str(&columns(&["", "first", "with", "change", "from", "to", "spread", "real?"], rows));
    let runs = |runs: &[String]| runs.join(", ");
    text.push_str(&wrap(&format!("first: {}", runs(&compared.first.runs))));
    text.push_str(&wrap(&format!("with: {}", runs(&compared.other.runs))));
    text + &wrap(
        "The run is the unit. Spread: standard deviation from run to run of one setting. Intervals of change hold all at \
         once with 95 %.",
    )
}

/// What is said of two settings, and what limits it.
pub(super) fn verdict(compared: &SettingsCompared) -> Vec<String> {
    let real = |higher: bool| {
        let found = compared.differences.iter().filter(|d| d.real && is_higher(d) == higher);
        found.map(|d| format!("{} ({})", d.statistic.name(), change(d, d.change))).collect::<Vec<String>>()
    };
    let (lower, higher) = (real(false), real(true));
    let sides = [
        (!lower.is_empty()).then(|| format!("lower {}", list(&lower))),
        (!higher.is_empty()).then(|| format!("HIGHER {}", list(&higher))),
    ];
    let sides = sides.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let fewest = compared.first.runs.len().min(compared.other.runs.len());
    let mut sentences = Vec::new();
    sentences.push(match (sides.is_empty(), compared.in_turns) {
        (true, _) => "No difference between the two settings is shown.".to_owned(),
        (false, Some(false)) => format!(
            "The runs of the two settings differ, but one setting was measured after the other: a machine that changed \
             meanwhile looks the same. With --with: {sides}."
        ),
        (false, _) => format!("The two settings differ. With --with: {sides}."),
    });
    if compared.in_turns != Some(true) {
        let unknown = if compared.in_turns.is_none() { " (when these began is not known)" } else { "" };
        sentences.push(format!("Measure the two in turns, A B A B{unknown}."));
    }
    if sides.is_empty() && fewest < ADVISED {
        sentences.push(format!(
            "{fewest} runs of a setting show large differences only: give {ADVISED} or more of each."
        ));
    }
    sentences
}

fn is_higher(d: &SettingDifference) -> bool {
    d.change > if d.relative { 1.0 } else { 0.0 }
}

/// A change with its sign: in percent, or in the figure's unit.
fn change(d: &SettingDifference, value: f64) -> String {
    let sign = |v: f64| if v > 0.0 { "+" } else { "" };
    match d.statistic {
        _ if d.relative => format!("{:+.1} %", 100.0 * (value - 1.0)),
        Statistic::MissedShare => format!("{}{value:.1e}", sign(value)),
        _ => format!("{}{}", sign(value), time(value)),
    }
}

fn row(d: &SettingDifference) -> Vec<String> {
    let mean = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if d.statistic == Statistic::MissedShare { format!("{mean:.2e}") } else { microseconds(mean) }
    };
    let spread = match d.statistic {
        _ if d.relative => format!("{:.1} %", 100.0 * d.spread),
        Statistic::MissedShare => format!("{:.1e}", d.spread),
        _ => time(d.spread),
    };
    let word = match (d.real, is_higher(d)) {
        (false, _) => "not shown",
        (true, false) => "lower",
        (true, true) => "HIGHER",
    };
    vec![
        d.statistic.name().into(),
        mean(&d.first),
        mean(&d.other),
        change(d, d.change),
        change(d, d.interval[0]),
        change(d, d.interval[1]),
        spread,
        word.into(),
    ]
}

/// The rows of the page's table.
pub(super) fn rows(compared: &SettingsCompared) -> Vec<Vec<String>> {
    compared.differences.iter().map(row).collect()
}
