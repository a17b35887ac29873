//! Documents as the commands print them become sections with their figures.

use super::*;
use crate::chart::Terminal;

fn figures(text: &str) -> Vec<(&'static str, String)> {
    let terminal = Terminal { columns: 80, ascii: true, colour: false };
    section(text).unwrap().charts().map(|chart| (chart.name, terminal.figure(chart))).collect()
}

#[test]
fn a_stepper_gives_torque_and_rate() {
    let found = figures(
        r#"{"schema": 1, "answer": "Up to 3 rev/s.", "axis": {"motor": {"name": "NEMA 23", "step_angle_deg": 1.8}, "load_torque_nm": 0.4},
        "assessment": {"timing": {"jitter_ns": 20000}, "stepconf": {"mode": "double-step", "min_period_ns": 25000, "max_rate_hz": 40000.0},
        "unviolated": {"base_period_ns": 20000, "of": 10000}, "rows": [
        {"steps_per_s": 200.0, "torque_nm": 1.5, "jitter": {"linear_nm": 0.01, "early_nm": 0.011, "late_nm": -0.01}, "linear_share": 0.01, "exact_share": 0.02},
        {"steps_per_s": 2000.0, "torque_nm": 0.3, "jitter": null, "linear_share": 0.1, "exact_share": null}]}, "caveats": ["short"]}"#,
    );
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), ["torque", "torque", "step-rate"]);
    assert!(found[0].1.contains("left under the jitter") && found[2].1.contains("40 000"), "{found:?}");
}

#[test]
fn an_unstable_loop_has_no_cost_from_there_on() {
    let text = r#"{"answer": "NOT stable.", "plant": "DC servo", "controller": "PID", "margins": {}, "assessment": {"evaluation": {
        "ideal": {"cost": 2.0}, "mean_delay": {"cost": 2.2}, "jitter": {"cost": 2.3}, "independent": {"cost": null}, "clustered": {"cost": null}},
        "responses": [{"reference": "step", "ideal_points": [{"time_s": 0.0, "reference": 1.0, "outputs": [0.0]}, {"time_s": 0.1, "reference": 1.0, "outputs": [0.9]}],
        "recorded_points": [{"time_s": 0.0, "reference": 1.0, "outputs": [null]}]}]}}"#;
    let section = section(text).unwrap();
    let captions: Vec<&str> = section.charts().map(|chart| chart.caption.as_str()).collect();
    assert!(captions[0].contains("With missed, at random the loop is no longer stable"), "{captions:?}");
    assert_eq!(figures(text).len(), 2);
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
