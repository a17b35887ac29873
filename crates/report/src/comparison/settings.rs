//! Words for two settings by several runs of each.

use jitterlab_analysis::compare::{Power, SettingDifference, SettingsCompared};

use super::table::format_change;
use crate::section::{Cell, Piece, Table};
use crate::words::{list, share};

/// Table of the figures of two settings, with their runs, and the changes that more runs would show.
pub(super) fn settings_pieces(task: &str, compared: &SettingsCompared) -> Vec<Piece> {
    let runs = [("first", &compared.first.runs), ("with", &compared.other.runs)];
    let spread = "The run is the unit. Spread: standard deviation from run to run of one setting. Intervals of change hold \
                  all at once with 95 %.";
    let details = vec![Piece::facts("", runs.map(|(name, runs)| (name, runs.join(", "))))];
    vec![
        Piece::Table(table(task, compared)),
        Piece::details(format!("{task}: the runs of each setting"), details),
        Piece::note(spread),
        Piece::text(compared.power.as_ref().map_or_else(
            || {
                "How many runs would show which change is unknown: no spread from run to run of p99 is seen."
                    .into()
            },
            power_sentence,
        )),
    ]
}

fn power_sentence(power: &Power) -> String {
    let shows = power.shows.iter().map(|(runs, by)| format!("{runs} one of {}", format_change(*by)));
    format!(
        "By the spread of p99 seen, {} (with 80 % confidence at most {}), so many runs of each show a change of p99 in 90 of \
         100 comparisons: {}.",
        share(power.spread),
        share(power.spread_at_most),
        list(&shows.collect::<Vec<String>>())
    )
}

/// Each figure of the two settings.
pub(super) fn table(task: &str, compared: &SettingsCompared) -> Table {
    let caption = format!("Latency of {task}: mean of the runs, change, and its interval");
    let header = ["latency, µs", "first", "with", "change", "from", "to", "spread", "real?"];
    Table::new(caption, &header, compared.differences.iter().map(figure_row))
}

/// Lists the lower and the higher figures with the other setting; `None` if no difference is shown.
pub(super) fn lower_and_higher_figures(compared: &SettingsCompared) -> Option<String> {
    let real = |higher: bool| {
        let found = compared.differences.iter().filter(|d| d.real && is_higher(d) == higher);
        found
            .map(|d| format!("{} {}", d.statistic.name(), format_setting_change(d, d.change)))
            .collect::<Vec<String>>()
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
pub(super) fn difference_sentence(task: &str, d: &SettingDifference) -> String {
    let [low, high] = d.interval.map(|value| format_setting_change(d, value));
    let open = if d.real { "" } else { "; a larger effect is excluded" };
    format!(
        "{} of {task}: {} from {} and {} runs, between {low} and {high} with 95 % confidence{open}.",
        d.statistic.name(),
        format_setting_change(d, d.change),
        d.first.len(),
        d.other.len()
    )
}

/// Recommends the next step.
pub(super) fn next_step(compared: &SettingsCompared) -> String {
    let decided = compared.differences.iter().any(|of| of.real);
    match compared.in_turns {
        Some(true) if !decided => {
            "more runs of each, measured in turns (below: what more of them show)".into()
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
fn format_setting_change(d: &SettingDifference, value: f64) -> String {
    match d.relative {
        true => format!("{:+.1} %", 100.0 * (value - 1.0)),
        false => super::signed_difference(d.statistic, value),
    }
}

fn figure_row(d: &SettingDifference) -> Vec<Cell> {
    let mean =
        |values: &[f64]| super::figure_cell(d.statistic, values.iter().sum::<f64>() / values.len() as f64);
    let spread = if d.relative { Cell::Share(d.spread) } else { super::figure_cell(d.statistic, d.spread) };
    let word = match (d.real, is_higher(d)) {
        (false, _) => "not shown",
        (true, false) => "lower",
        (true, true) => "HIGHER",
    };
    vec![
        d.statistic.name().into(),
        mean(&d.first),
        mean(&d.other),
        format_setting_change(d, d.change).into(),
        format_setting_change(d, d.interval[0]).into(),
        format_setting_change(d, d.interval[1]).into(),
        spread,
        word.into(),
    ]
}
