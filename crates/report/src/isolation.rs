//! What isolating the CPUs changed.

use jitterlab_analysis::Summary;
use jitterlab_analysis::run_timing::TaskTiming;
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_model::units::Human;

use crate::table::columns;
use crate::words::known_count;

/// The same tasks without and with isolation, side by side; nothing where nothing was isolated.
pub fn comparison(without: &[Summary], with: &[TaskTiming]) -> String {
    if without.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    for (before, TaskTiming { summary: after, .. }) in without.iter().zip(with) {
        let shown = |ns: Option<i64>| ns.map_or("-".into(), |ns| Human(ns as f64).to_string());
        let mut row = |name: &str, of: &dyn Fn(&Summary) -> Option<i64>| {
            let (a, b) = (of(before), of(after));
            let factor = match (a, b) {
                (Some(a), Some(b)) if a > 0 && b > 0 => format!("x {:.2}", b as f64 / a as f64),
                _ => "-".into(),
            };
            rows.push(vec![format!("{} {name}", after.task), shown(a), shown(b), factor]);
        };
        for percentile in [P50, P99, P99_9] {
            row(percentile.name, &|s| s.latency.at(percentile).exactly());
        }
        row("max", &|s| s.latency.max_ns);
        let missed = |s: &Summary| known_count(s.missed);
        rows.push(vec![format!("{} missed", after.task), missed(before), missed(after), String::new()]);
    }
    format!(
        "\nlatency without and with isolation, one after the other\n{}",
        columns(&["", "without", "with", ""], rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec, TimingStats};

    #[test]
    fn both_stand_side_by_side_with_their_ratio() {
        let info = RunInfo::new(
            Bench::Host,
            "monotonic",
            [TaskSpec { name: "servo".into(), ..TaskSpec::default() }],
        );
        let timing = |latency_ns: i64| {
            let mut stats = TimingStats::new(1_000_000);
            stats.push(&Activation { start_ns: latency_ns, end_ns: latency_ns, ..Activation::default() });
            TaskTiming::of(&info.tasks[0], &stats, &info)
        };
        let text = comparison(&[timing(8_000).summary], &[timing(2_000)]);
        let line = text.lines().find(|line| line.contains("servo max")).unwrap();
        assert!(line.contains("8 us") && line.contains("2 us") && line.contains("x 0.25"), "{text}");
    }
}
