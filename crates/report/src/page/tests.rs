//! The page as a whole: everything is in it, and nothing foreign can break out of its place.

use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::{Activation, Quantity, RunInfo, TaskSpec};
use jitterlab_motion::stepper::StepperDevices;

use super::{PageRun, PageTask, render};
use crate::chart::Layer;
use crate::document::Document;
use crate::figure::Figure;
use crate::section::{Piece, Section};
use jitterlab_analysis::scan::series::{SeriesBuilder, Share};

const HOSTILE: &str = "</script><script>alert(1)</script>";

fn run(label: &str) -> PageRun {
    late_once(label, 2_000)
}

/// A run with one start this late.
fn late_once(label: &str, worst_ns: i64) -> PageRun {
    let spec = TaskSpec { name: HOSTILE.into(), period_ns: 1_000_000, ..TaskSpec::default() };
    let mut info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [spec]);
    info.command = vec!["jitterlab".into(), HOSTILE.into()];
    let rows: Vec<Activation> = (0..2_000i64)
        .map(|k| {
            let due_ns = k * 1_000_000;
            let late_ns = if k == 1_000 { worst_ns } else { 2_000 + k * 7_919 % 613 };
            let start_ns = due_ns + late_ns;
            Activation { index: k as u64, due_ns, start_ns, end_ns: start_ns + 900, ..Activation::default() }
        })
        .collect();
    let mut series = SeriesBuilder::new(1_000_000, Share { expected: 2_000, total: 2_000 });
    series.push_all(&rows);
    let mut scan = TaskScan::new(1_000_000, 2_000);
    scan.push_all(&rows);
    let task = PageTask::new(0, series.finish(), scan, &info);
    PageRun { label: label.into(), file: HOSTILE.into(), info, checks: None, tasks: vec![task], why: None }
}

#[test]
fn foreign_text_stays_text() {
    let html = render(&[run(HOSTILE)], &[]).unwrap();
    assert!(!html.contains("<script>alert"), "a name became code");
    let scripts = html.matches("<script").count();
    assert_eq!(scripts, html.matches("</script>").count());
    assert_eq!(scripts, 4);
}

#[test]
fn sections_appear_when_their_data_exist() {
    let torque = Section::new(
        "torque",
        "Torque",
        "What is left.",
        vec![Piece::table("Torque", &["rate", "torque"], [vec!["1 kHz", "0.5 Nm"]])],
    );
    let document = Document { sections: vec![torque], ..Document::new(&StepperDevices::from_catalog()) };
    let without = render(&[run("a.parquet")], &[]).unwrap();
    let with = render(&[run("a.parquet"), run("b.parquet")], &[document]).unwrap();
    assert!(!without.contains("id=\"torque\"") && with.contains("id=\"torque\"") && with.contains("0.5 Nm"));
    assert!(
        with.contains("id=\"pairs\"")
            && with.contains("id=\"autocorrelation\"")
            && with.contains("id=\"time-error\"")
            && with.contains("id=\"spectrum\"")
            && with.contains("id=\"prediction\"")
    );
    assert!(with.contains("b.parquet") && with.contains("jitterlab report b.parquet"));
}

#[test]
fn the_first_screen_draws_the_limits_that_the_verdict_quotes() {
    let run = late_once("a.parquet", 700_000);
    let conclusion = crate::conclusion::run::measurement_conclusion(&run.measured_run()).unwrap();
    let html = render(std::slice::from_ref(&run), &[]).unwrap();
    let purpose = "servo-thread";
    assert!(
        conclusion.number.contains(&format!("{purpose}: good up to 100 µs, usable up to 500 µs")),
        "{conclusion:?}"
    );
    let first = html.split("<h2 id=\"more\">").next().unwrap();
    for part in
        ["class=\"tile\"", "Worst period", "class=\"usable\"", "usable up to 500\u{a0}µs", "1.4 × the limit"]
    {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    let limits = |quantity| {
        let charts = Figure::SERIES.charts(quantity, std::slice::from_ref(&run), &[]).unwrap();
        let layers = charts.into_iter().flat_map(|chart| chart.layers);
        layers.filter(|layer| layer.colour > Layer::PERIOD).map(|layer| layer.name).collect::<Vec<_>>()
    };
    let drawn = limits(Quantity::PeriodError);
    assert!(drawn.iter().any(|name| name == "servo-thread: usable up to 500 µs"), "{drawn:?}");
    assert!(limits(Quantity::Latency).iter().all(|name| name.starts_with("fieldbus-1ms: ")));
}

#[test]
fn many_runs_are_rows_the_worst_first() {
    let late = [20_000, 900_000, 300_000, 40_000, 50_000, 60_000, 70_000, 80_000];
    let runs: Vec<PageRun> = late.iter().map(|ns| late_once(&format!("late-{ns}"), *ns)).collect();
    let html = render(&runs, &[]).unwrap();
    let (_, table) = html.split_once("<table class=\"rows\">").unwrap();
    let table = table.split("</table>").next().unwrap();
    let rows: Vec<&str> =
        table.split("<th scope=\"row\">").skip(1).map(|row| row.split('<').next().unwrap()).collect();
    assert_eq!(rows[..3], ["late-900000", "late-300000", "late-80000"], "{rows:?}");
    assert_eq!((rows.len(), table.matches("<svg").count()), (8, 8));
    assert!(
        html.contains("NOT FIT for servo-thread: 1 of 8 runs"),
        "{}",
        &html[..html.find("<table").unwrap()]
    );
    assert!(!html.contains("id=\"histogram\"") && html.contains("id=\"series\""));
}

#[test]
fn two_results_of_one_kind_are_told_apart() {
    let devices = || Document::new(&StepperDevices::from_catalog());
    let name = devices().sections[0].id.clone();
    let html = render(&[run("a.parquet")], &[devices(), devices()]).unwrap();
    for wanted in [format!("section id=\"{name}\""), format!("section id=\"{name}-2\"")] {
        assert_eq!(html.matches(&wanted).count(), 1, "{wanted}");
    }
    assert!(html.contains(&format!("href=\"#{name}-2\"")));
}

#[test]
fn the_figures_are_carried_for_programs() {
    let run = run("a.parquet");
    let html = render(std::slice::from_ref(&run), &[]).unwrap();
    let (_, rest) = html.split_once("id=\"documents\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    assert_eq!(json.replace("\\u003c", "<"), serde_json::to_string(&[run.measured_run()]).unwrap());
}

#[test]
fn a_report_of_nothing_says_so() {
    assert!(render(&[], &[]).unwrap_err().to_string().contains("at least one run"));
}

/// The page forbids every script but its own, which it names by its hash.
#[test]
fn only_its_own_script_may_run() {
    let html = render(&[run("a.parquet")], &[]).unwrap();
    let script = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let allowed = super::content_security_policy(script).replace('\'', "&#x27;");
    assert!(html.contains(&allowed), "{allowed}");
    assert!(!html.contains(" onclick=") && !html.contains(" onload="));
}

/// Paper and browsers without scripts have every figure.
#[test]
fn every_figure_is_in_the_document_as_it_is_written() {
    let runs = [late_once("a.parquet", 700_000), run("b.parquet")];
    for runs in [&runs[..1], &runs] {
        let html = render(runs, &[]).unwrap();
        let figures: Vec<&str> = html.split("<figure id=").skip(1).collect();
        assert!(figures.len() > 5, "{}", figures.len());
        for figure in figures {
            let (drawn, _) = figure.split_once("<figcaption>").unwrap();
            let (_, svg) = drawn.split_once("<svg class=\"still\"").unwrap_or_else(|| panic!("{drawn}"));
            assert!(svg.matches("<path").count() > 2 && svg.contains("<text"), "{drawn}");
        }
    }
}
