use super::*;
use crate::chart::Terminal;
use crate::document;
use crate::terminal::Extent;
use jitterlab_analysis::compare::{
    CodePath, PathChange, PathsCompared, compare, compare_settings, twente_runs,
};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::{Activation, Fitness};

fn scan(base_ns: i64) -> TaskScan {
    let mut scan = TaskScan::new(1_000_000, 20_000);
    let rows: Vec<Activation> = (0..20_000u64)
        .map(|index| {
            let due_ns = index as i64 * 1_000_000;
            let noise = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as i64;
            let start_ns = due_ns + base_ns + noise;
            Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
        })
        .collect();
    scan.push_all(&rows);
    scan
}

fn of_task(task: TaskCompared) -> RunsCompared {
    let (files, warnings) = (Vec::new(), Vec::new());
    RunsCompared { files, tasks: vec![task], warnings, tolerated: None, move_tolerance_ns: None }
}

fn nothing() -> TaskCompared {
    TaskCompared { task: "main".into(), ..TaskCompared::default() }
}

fn of_runs(runs: &[(&str, &TaskScan)]) -> RunsCompared {
    let runs: Vec<(String, &TaskScan)> =
        runs.iter().map(|(name, scan)| ((*name).to_owned(), *scan)).collect();
    of_task(TaskCompared { comparison: Some(compare(&runs)), ..nothing() })
}

fn shown(compared: &RunsCompared, columns: usize, extent: Extent) -> String {
    document::terminal_text(compared, extent, Terminal { columns, ascii: true, colour: false })
}

fn said(runs: &[(&str, &TaskScan)]) -> String {
    shown(&of_runs(runs), 80, Extent::Answer)
}

#[test]
fn the_conclusion_comes_first_and_says_that_these_are_runs() {
    let (a, b) = (scan(9_000), scan(3_000));
    let text = said(&[("before", &a), ("after", &b)]);
    assert!(text.replace("\n  ", " ").contains("every tenth part of after than in any of before"), "{text}");
    assert!(text.starts_with("BETTER: after against before: lower p99 4.0"), "{text}");
    assert!(text.contains("two runs of one setting") && text.contains("--with B1 B2 B3"), "{text}");
    assert!(said(&[("before", &b), ("after", &a)]).starts_with("WORSE: after against before: higher"));
}

#[test]
fn five_runs_stand_in_one_table() {
    let runs = [9_000, 9_000, 3_000, 9_400, 12_000].map(scan);
    let long = "jitterlab-20261122T202801Z";
    let text = said(&[(long, &runs[0]), ("b", &runs[1]), ("c", &runs[2]), ("d", &runs[3]), ("e", &runs[4])]);
    assert!(text.starts_with("MIXED against jitterlab-20261122T202801Z: "), "{text}");
    assert!(text.replace("\n  ", " ").contains("; cannot tell of b."), "{text}");
    let p50 = text.lines().rfind(|line| line.starts_with("  p50 ")).unwrap();
    assert!(p50.contains("(9.5") && p50.contains("3.5") && p50.contains("-63 %"), "{p50}");
    assert!(text.replace("\n  ", " ").contains("A: jitterlab-20261122T202801Z, B: b"), "{text}");
}

#[test]
fn a_comparison_is_a_test() {
    let (a, b) = (scan(5_000), scan(6_000));
    let compared = of_runs(&[("before", &a), ("a<b", &b)]);
    let judged = compared.with_tolerance(Some(0.1));
    let conclusion = conclusion::comparison_conclusion(&judged).unwrap();
    assert!(
        conclusion.asked && conclusion.verdict.starts_with("WORSE than before by more than 10 % in"),
        "{conclusion:?}"
    );
    let xml = junit(judged.tolerated.as_ref().unwrap());
    assert!(xml.contains("classname=\"a&lt;b\" name=\"p50 of main\"><failure message=\"p50"), "{xml}");
    let note = markdown(&judged);
    assert!(note.starts_with("**WORSE than") && note.contains("| p50 | 5.5"), "{note}");
}

#[test]
fn two_runs_fit_every_terminal() {
    let (a, b) = (scan(9_000), scan(3_000));
    let compared = of_runs(&[("before", &a), ("after", &b)]);
    insta::assert_snapshot!(shown(&compared, 40, Extent::Answer));
    insta::assert_snapshot!(shown(&compared, 80, Extent::Answer));
    insta::assert_snapshot!(shown(&compared, 120, Extent::Details));
}

#[test]
fn what_cannot_be_said_is_said_with_what_would_help() {
    // The level rises all the time: the runs hold one piece of it.
    let rising = |by: i64| {
        let mut scan = TaskScan::new(1_000_000, 20_000);
        let rows: Vec<Activation> = (0..20_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let start_ns = due_ns + 3_000 + index as i64 * by / 100 + (index as i64 * 37 % 101);
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        scan
    };
    let (a, b) = (rising(30), rising(31));
    let text = said(&[("a", &a), ("b", &b)]);
    assert!(
        text.contains("How large a lasting change is cannot be told") && text.contains("or longer"),
        "{text}"
    );
    assert!(text.contains("too dependent"), "{text}");
}

#[test]
fn intervals_of_histograms_say_what_they_rest_on() {
    let run = scan(9_000);
    // As of another tool's output: the same values, in no order.
    let mut histogram = TaskScan::new(1_000_000, 20_000);
    histogram.push_figures(0, &run.timing);
    let text = said(&[("run", &run), ("import", &histogram)]).replace("\n  ", " ");
    assert!(text.contains("larger one is (95 %, if latencies are independent of each other)"), "{text}");
    assert!(text.contains("Of import only a histogram is known"), "{text}");
    assert!(!said(&[("a", &run), ("b", &run)]).contains("independent"));
}

#[test]
fn settings_are_compared_by_their_runs() {
    let runs = [9_000, 9_200, 9_100].map(scan);
    let others = [3_000, 3_100, 2_950].map(scan);
    let named = |name: &str, scans: &[TaskScan; 3]| -> Vec<String> {
        (1..=scans.len()).map(|k| format!("{name}{k}")).collect()
    };
    fn of<'a>(names: &[String], scans: &'a [TaskScan; 3]) -> Vec<(String, &'a TaskScan)> {
        names.iter().cloned().zip(scans).collect()
    }
    let (a, b) = (named("a", &runs), named("b", &others));
    let times = |order: [&str; 3]| order.map(String::from);
    let compared = |began: [&[String]; 2]| {
        let found = compare_settings([&of(&a, &runs), &of(&b, &others)], began).unwrap();
        shown(&of_task(TaskCompared { settings: Some(found), ..nothing() }), 80, Extent::Details)
    };
    let turns = compared([&times(["1", "3", "5"]), &times(["2", "4", "6"])]);
    assert!(turns.starts_with("BETTER: --with against the first setting: lower mean -63.3 %"), "{turns}");
    assert!(turns.lines().all(|line| line.chars().count() <= 80), "{turns}");
    let after = compared([&times(["1", "2", "3"]), &times(["4", "5", "6"])]);
    assert!(after.contains("a machine that changed") && after.contains("in turns"), "{after}");
}

#[test]
fn of_many_runs_the_verdict_counts_those_that_differ() {
    let slow = scan(9_000);
    let fast = scan(3_000);
    let others: Vec<String> = (1..=5).map(|k| format!("b{k}")).collect();
    let mut runs = vec![("a", &slow)];
    runs.extend(others.iter().map(|name| (name.as_str(), &fast)));
    let text = said(&runs);
    assert!(text.starts_with("BETTER against a: 5 better: b1, b2, b3"), "{text}");
}

#[test]
fn a_refusal_names_the_difference() {
    let period = Mismatch {
        what: "period".into(),
        first: "1ms".into(),
        other: "250us".into(),
        weight: Weight::Refuse,
    };
    let text = crate::terminal::plain(mismatch_pieces("a", "b", &[period]));
    assert!(text.contains("not comparable:\n  period  1ms in a, 250us in b"), "{text}");
}

#[test]
fn loops_are_shown_as_the_report_does() {
    let a = scan(3_000);
    let text = crate::terminal::plain(twente::loop_tables("main", &twente_runs(&[("plain".to_owned(), &a)])));
    assert!(text.contains("0.0 to 0.1") && text.contains("1.0000"), "{text}");
}

#[test]
fn code_paths_decide_where_that_is_asked_or_nothing_else_does() {
    let path = CodePath { count: 1, share: 0.9, min_ns: 4_000, median_ns: 4_000, max_ns: 4_000 };
    let scan = scan(5_000);
    let conclusion = |changes: Vec<PathChange>, move_tolerance_ns| {
        let paths = Some(PathsCompared { changes, steps: Vec::new() });
        let comparison = of_runs(&[("a", &scan), ("b", &scan)]).tasks.remove(0).comparison;
        let compared = of_task(TaskCompared { comparison, paths, ..nothing() });
        conclusion::comparison_conclusion(&RunsCompared { move_tolerance_ns, ..compared }).unwrap()
    };
    let asked = conclusion(vec![PathChange::Appeared { new: path }], Some(100));
    assert_eq!((asked.fitness, asked.asked), (Fitness::Unfit, true));
    assert_eq!(asked.verdict, "DIFFERENT: 1 code path taken by 1 % of the activations or more.");
    let same = conclusion(Vec::new(), None);
    assert_eq!((same.fitness, same.asked), (Fitness::Good, false));
    assert!(same.verdict.starts_with("SAME: no code path"), "{}", same.verdict);
}
