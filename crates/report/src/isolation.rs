//! Changes made to isolate the CPUs.

use jitterlab_analysis::Summary;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_model::Known;

use crate::section::{Cell, Piece};

/// Table of the latencies of each task without and with isolation; `None` if the run was not isolated.
pub fn isolation_table(measured: &MeasuredRun) -> Option<Piece> {
    let mut rows = Vec::new();
    for (before, after) in measured.without_isolation.iter().zip(measured.summaries()) {
        let mut row = |name: &str, values: [Option<i64>; 2], cell: fn(i64) -> Cell| {
            let change = match values {
                [Some(a), Some(b)] if a > 0 && b > 0 => Cell::Change(b as f64 / a as f64 - 1.0),
                _ => Cell::Nothing,
            };
            let [without, with] = values.map(|value| Cell::optional(value, cell));
            rows.push(vec![Cell::Text(format!("{} {name}", before.task)), without, with, change]);
        };
        let time = |ns: i64| Cell::time(ns as f64);
        for percentile in [P50, P99, P99_9] {
            let value = |summary: &Summary| summary.latency.at(percentile).exactly();
            row(percentile.name, [value(before), value(after)], time);
        }
        row("max", [before.latency.max_ns, after.latency.max_ns], time);
        let missed = |known: Known<u64>| known.exactly().map(|missed| missed as i64);
        row("missed", [missed(before.missed), missed(after.missed)], |missed| {
            Cell::Count(missed.unsigned_abs())
        });
    }
    let caption = "Latency without and with isolation, one after the other";
    let header = ["µs", "without", "with", "change"];
    (!rows.is_empty()).then(|| Piece::table(caption, &header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Bench, RunInfo, TaskSpec};

    #[test]
    fn both_stand_side_by_side_with_their_change() {
        let measured = |latency_ns: i64| {
            let stats = crate::test_data::timing_stats(&[latency_ns]);
            let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
            MeasuredRun::new(RunInfo::new(Bench::Host, "monotonic", [spec]), &[stats], None)
        };
        let without_isolation = measured(8_000).summaries().cloned().collect();
        let table = isolation_table(&MeasuredRun { without_isolation, ..measured(2_000) });
        let Some(Piece::Table(table)) = table else { panic!("no table") };
        let row: Vec<String> = table.rows[3].iter().map(Cell::to_text).collect();
        assert_eq!(row, ["servo max", "8.00", "2.00", "-75 %"]);
        assert_eq!(isolation_table(&measured(2_000)), None);
    }
}
