//! Documents as the commands print them become sections with their figures.

use super::*;
use crate::chart::Terminal;

fn figures(text: &str) -> Vec<(&'static str, String)> {
    let terminal = Terminal { columns: 80, ascii: true, colour: false };
    section(text).unwrap().charts().map(|chart| (chart.name, terminal.figure(chart))).collect()
}

#[test]
fn compensation_shows_before_and_after() {
    let way = |p99: i64| {
        format!(
            r#"{{"executed": 1000, "deviation": {{"count": 1000, "min_ns": 1, "mean_ns": 2.0, "sd_ns": 1.0, "percentiles": {{"p50": 5, "p90": 9, "p99": {p99}, "p99.9": null, "p99.99": null}}, "max_ns": 90000}}, "load": 0.02}}"#
        )
    };
    let text = format!(
        r#"{{"period_ns": 500000, "service": {{"often_ns": 5000.0}}, "load_curve": [{{"every_ns": 50000, "measured": 0.17, "polled": 0.1, "equation_1": 0.19, "mean_poll": 0.14}}],
        "margins": [{{"margin_ns": 20000, "expected_polled": 0.01, "measured_polled": 0.012, "expected_late": 0.1, "measured_late": 0.12}}],
        "proof": {{"before": {}, "after": {}}}, "warnings": []}}"#,
        way(40_000),
        way(80)
    );
    let names: Vec<&str> = figures(&text).into_iter().map(|f| f.0).collect();
    assert_eq!(names, ["compensation", "load-curve", "margin"]);
}

#[test]
fn anything_else_is_refused_with_a_remedy() {
    assert!(section("{}").unwrap_err().to_string().contains("compensate"));
    assert!(section("PAR1").unwrap_err().to_string().contains("cannot be read"));
}
