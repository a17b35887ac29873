//! Two settings by several runs of each, for the terminal.

use jitterlab_analysis::compare::{SettingDifference, SettingsCompared, Statistic};

use crate::table::columns;
use crate::words::{list, microseconds, share, time};
use crate::wrap::wrap;

/// Runs of each setting that are advised: with fewer a change of a fifth is often missed.
const ADVISED: usize = 5;

/// The headings of its table.
pub(super) const HEADER: [&str; 8] = ["", "first", "with", "change", "from", "to", "spread", "real?"];

/// Each figure with its runs.
pub(super) fn text(task: &str, compared: &SettingsCompared) -> String {
    let mut text = wrap(&format!("latency of {task}, mean of the runs in µs, change, and its interval"));
    text.push_str(&columns(&HEADER, rows(compared)));
    let runs = |runs: &[String]| runs.join(", ");
    text.push_str(&wrap(&format!("first: {}", runs(&compared.first.runs))));
    text.push_str(&wrap(&format!("with: {}", runs(&compared.other.runs))));
    text + &wrap(
        "The run is the unit. Spread: standard deviation from run to run of one setting. Intervals of change hold all at \
         once with 95 %.",
    )
}

/// What is lower and what is higher with the other setting; `None` where no difference is shown.
pub(super) fn sides(compared: &SettingsCompared) -> Option<String> {
    let real = |higher: bool| {
        let found = compared.differences.iter().filter(|d| d.real && is_higher(d) == higher);
        found.map(|d| format!("{} {}", d.statistic.name(), change(d, d.change))).collect::<Vec<String>>()
    };
    let sides = [("lower", real(false)), ("higher", real(true))];
    let said: Vec<String> = sides
        .iter()
        .filter(|(_, of)| !of.is_empty())
        .map(|(how, of)| format!("{how} {}", list(of)))
        .collect();
    (!said.is_empty()).then(|| said.join(", but "))
}

/// A figure of two settings in a sentence.
pub(super) fn sentence(task: &str, d: &SettingDifference) -> String {
    let [low, high] = d.interval.map(|value| change(d, value));
    let open = if d.real { "" } else { "; more than that is excluded" };
    format!(
        "{} of {task}: {} from {} and {} runs, between {low} and {high} with 95 % confidence{open}.",
        d.statistic.name(),
        change(d, d.change),
        d.first.len(),
        d.other.len()
    )
}

/// What to do next.
pub(super) fn next(compared: &SettingsCompared) -> String {
    let fewest = compared.first.runs.len().min(compared.other.runs.len());
    match compared.in_turns {
        Some(true) if fewest < ADVISED => {
            format!("{ADVISED} or more runs of each: {fewest} show large differences only")
        }
        Some(true) => "jitterlab report, with all runs: the histograms side by side".into(),
        Some(false) => "measure the two in turns, A B A B".into(),
        None => "measure the two in turns, A B A B (when these began is not known)".into(),
    }
}

pub(super) fn is_higher(d: &SettingDifference) -> bool {
    d.change > if d.relative { 1.0 } else { 0.0 }
}

/// A change with its sign: in percent, or in the figure's unit.
fn change(d: &SettingDifference, value: f64) -> String {
    let sign = |v: f64| if v > 0.0 { "+" } else { "" };
    match d.statistic {
        _ if d.relative => format!("{:+.1} %", 100.0 * (value - 1.0)),
        Statistic::MissedShare => format!("{}{}", sign(value), share(value)),
        _ => format!("{}{}", sign(value), time(value)),
    }
}

fn row(d: &SettingDifference) -> Vec<String> {
    let mean = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if d.statistic == Statistic::MissedShare { share(mean) } else { microseconds(mean) }
    };
    let spread = match d.statistic {
        _ if d.relative => format!("{:.1} %", 100.0 * d.spread),
        Statistic::MissedShare => share(d.spread),
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

/// The rows of the table.
pub(super) fn rows(compared: &SettingsCompared) -> Vec<Vec<String>> {
    compared.differences.iter().map(row).collect()
}
