//! Markdown: the figures of each task as a table, for an issue, a merge request or a notebook. What is not known is a blank cell.

use std::io::Write;

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::{PERCENTILES, Statistics};
use jitterlab_model::Known;
use jitterlab_model::units::Exact;
use jitterlab_runs::Run;

use super::{ExportError, Exported};

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, ExportError> {
    let info = run.info();
    // The warnings of the run go with what was exported.
    let (stats, _) = run.timing()?.into_parts();
    let percentiles = PERCENTILES.map(|percentile| percentile.name);
    let columns = [&["task", "in µs", "min", "mean", "sd"][..], &percentiles, &["max", "executed", "missed"]];
    let columns: Vec<&str> = columns.concat();
    writeln!(out, "| {} |", columns.join(" | "))?;
    writeln!(out, "|---|---|{}", "---:|".repeat(columns.len() - 2))?;
    let mut values = 0;
    for task in tasks {
        let summary = Summary::of(&info.tasks[*task], &stats[*task]);
        values += stats[*task].latency.count();
        let counts = [summary.executed, summary.missed].map(|count| known(count, |count| count.to_string()));
        let period = known(info.tasks[*task].period_ns(), |ns| format!(" every {}", Exact(ns)));
        let name = format!("{}{period}", summary.task.replace(char::is_control, " ").replace('|', "\\|"));
        for (row, (quantity, statistics)) in summary.quantities().into_iter().enumerate() {
            // What is of the task stands in its first row.
            let [task, executed, missed] = match row {
                0 => [&*name, &*counts[0], &*counts[1]],
                _ => [""; 3],
            };
            let cells = cells(statistics).join(" | ");
            let quantity = quantity.id().replace('_', " ");
            writeln!(out, "| {task} | {quantity} | {cells} | {executed} | {missed} |")?;
        }
    }
    Ok(Exported { values, ..Exported::default() })
}

fn known<T: Copy>(value: Known<T>, text: impl Fn(T) -> String) -> String {
    value.exactly().map_or_else(String::new, text)
}

fn cells(of: &Statistics) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{:.3}", ns / 1e3));
    let whole = |ns: Option<i64>| us(ns.map(|ns| ns as f64));
    let before = [whole(of.min_ns), us(of.mean_ns), us(of.sd_ns)];
    let percentiles = of.percentiles().map(|(_, value)| whole(value.exactly()));
    before.into_iter().chain(percentiles).chain([whole(of.max_ns)]).collect()
}
