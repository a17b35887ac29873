//! What isolating the CPUs changed.

use jitterlab_model::units::Human;
use jitterlab_model::{RunInfo, TimingStats};

use crate::table::columns;

/// The same tasks without and with isolation, side by side.
pub fn comparison(info: &RunInfo, without: &[TimingStats], with: Vec<&TimingStats>) -> String {
    let mut rows = Vec::new();
    for ((task, before), after) in info.tasks.iter().zip(without).zip(with) {
        let shown = |ns: Option<i64>| ns.map_or("-".into(), |ns| Human(ns as f64).to_string());
        let mut row = |name: &str, of: &dyn Fn(&TimingStats) -> Option<i64>| {
            let (a, b) = (of(before), of(after));
            let factor = match (a, b) {
                (Some(a), Some(b)) if a > 0 && b > 0 => format!("x {:.2}", b as f64 / a as f64),
                _ => "-".into(),
            };
            rows.push(vec![format!("{} {name}", task.spec.name), shown(a), shown(b), factor]);
        };
        row("p50", &|s| s.latency.quantile_ns(0.5));
        row("p99", &|s| s.latency.quantile_ns(0.99));
        row("p99.9", &|s| s.latency.quantile_ns(0.999));
        row("max", &|s| s.latency.max_ns());
        let missed = |s: &TimingStats| s.seen_missed().to_string();
        rows.push(vec![format!("{} missed", task.spec.name), missed(before), missed(after), String::new()]);
    }
    format!(
        "\nlatency without and with isolation, one after the other\n{}",
        columns(&["", "without", "with", ""], rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TaskSpec};

    #[test]
    fn both_stand_side_by_side_with_their_ratio() {
        let stats = |latency_ns: i64| {
            let mut stats = TimingStats::new(1_000_000);
            stats.push(&Activation { start_ns: latency_ns, end_ns: latency_ns, ..Activation::default() });
            stats
        };
        let info = RunInfo::new(
            jitterlab_model::Bench::Host,
            "monotonic",
            [TaskSpec { name: "servo".into(), ..TaskSpec::default() }],
        );
        let text = comparison(&info, &[stats(8_000)], vec![&stats(2_000)]);
        let line = text.lines().find(|line| line.contains("servo max")).unwrap();
        assert!(line.contains("8 us") && line.contains("2 us") && line.contains("x 0.25"), "{text}");
    }
}
