//! What isolating the CPUs changed.

use jitterlab_analysis::Summary;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::summary::{P50, P99, P99_9};

use crate::table::columns;
use crate::words::{known_count, time};

/// The same tasks without and with isolation, side by side; nothing where the run was not isolated.
pub fn comparison(measured: &MeasuredRun) -> String {
    if measured.without_isolation.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    for (before, after) in measured.without_isolation.iter().zip(measured.summaries()) {
        let shown = |ns: Option<i64>| ns.map_or("-".into(), |ns| time(ns as f64));
        let mut row = |name: &str, a: Option<i64>, b: Option<i64>| {
            let factor = match (a, b) {
                (Some(a), Some(b)) if a > 0 && b > 0 => format!("x {:.2}", b as f64 / a as f64),
                _ => "-".into(),
            };
            rows.push(vec![format!("{} {name}", before.task), shown(a), shown(b), factor]);
        };
        for percentile in [P50, P99, P99_9] {
            let value = |summary: &Summary| summary.latency.at(percentile).exactly();
            row(percentile.name, value(before), value(after));
        }
        row("max", before.latency.max_ns, after.latency.max_ns);
        let missed = [before, after].map(|summary| known_count(summary.missed));
        rows.push(
            [format!("{} missed", before.task)].into_iter().chain(missed).chain([String::new()]).collect(),
        );
    }
    format!(
        "\nlatency without and with isolation, one after the other\n{}",
        columns(&["", "without", "with", ""], rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Bench, RunInfo, TaskSpec};

    #[test]
    fn both_stand_side_by_side_with_their_ratio() {
        let measured = |latency_ns: i64| {
            let stats = crate::sample::stats(&[latency_ns]);
            let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
            MeasuredRun::new(RunInfo::new(Bench::Host, "monotonic", [spec]), &[stats], None)
        };
        let without_isolation = measured(8_000).summaries().cloned().collect();
        let text = comparison(&MeasuredRun { without_isolation, ..measured(2_000) });
        let line = text.lines().find(|line| line.contains("servo max")).unwrap();
        assert!(line.contains("8 µs") && line.contains("2 µs") && line.contains("x 0.25"), "{text}");
        assert_eq!(comparison(&measured(2_000)), "");
    }
}
