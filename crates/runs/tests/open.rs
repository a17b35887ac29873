//! Opening everything that holds a run; properties that it leaves open are unknown, never 0.

#![expect(clippy::unwrap_used, reason = "a test without its files has failed")]

#[path = "open/statements.rs"]
mod statements;

use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_analysis::Summary;
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::require::{Outcome, Requirement};
use jitterlab_analysis::summary::P99;
use jitterlab_model::{
    Activation, Bench, Gap, Keep, Known, Load, Overrun, RunInfo, TaskResult, TaskSpec, Warning,
};
use jitterlab_runs::{CompareOptions, Hints, Missing, OneTask, Run, compare};
use jitterlab_trace::{RunWriter, journal_path};
use tempfile::TempDir;

const HISTOGRAM: &str = "# Histogram\n000001 000010\n000002 000100\n000003 000050\n# Total: 000000160\n\
    # Min Latencies: 00001\n# Avg Latencies: 00002\n# Max Latencies: 00041\n# Histogram Overflows: 00002\n";

fn histogram(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("histogram.txt");
    fs::write(&path, HISTOGRAM).unwrap();
    path
}

fn rows() -> Vec<Activation> {
    let row = |index: i64| {
        let due_ns = index * 1_000_000;
        let start_ns = due_ns + 1_000 + index * 7_919 % 613 + if index % 500 == 499 { 50_000 } else { 0 };
        Activation { index: index as u64, due_ns, start_ns, end_ns: start_ns + 900, ..Activation::default() }
    };
    (0..20_000).map(row).collect()
}

fn written(path: &Path, keep: Keep) -> RunWriter {
    let info = RunInfo { keep, ..RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]) };
    let mut writer = RunWriter::create(path, &info).unwrap();
    writer.append(0, &rows()).unwrap();
    writer
}

fn requirement(text: &str) -> Requirement {
    text.parse().unwrap()
}

#[test]
fn what_another_tool_does_not_tell_is_unknown_and_no_requirement_on_it_passes() {
    let folder = TempDir::new().unwrap();
    let run = Run::open(histogram(&folder), &Hints::default()).unwrap();
    let (scans, warnings) = run.scan().unwrap().into_parts();
    assert!(warnings.contains(&Warning::UnitAssumed { unit_ns: 1_000 }), "{warnings:?}");
    assert!(warnings.contains(&Warning::PeriodAssumed { period_ns: 1_000_000 }), "{warnings:?}");
    let task = &run.info().tasks[0];
    let summary = Summary::new(task, &scans[0].timing);
    assert_eq!(
        (summary.missed, summary.dropped, summary.overrun),
        (Known::Unknown, Known::Unknown, Known::Exactly(Overrun::Skip))
    );
    assert_eq!((summary.execution.count, summary.corrected_latency.count), (0, 0));
    assert_eq!(summary.latency.at(P99), Known::Between { at_least: 4_000, at_most: 41_999 });
    assert_eq!((summary.latency.sd_ns, summary.latency.max_ns), (None, Some(41_999)));
    let judged = |text: &str| {
        let requirement = requirement(text);
        requirement.judge(&run.breaches(&[&requirement]).unwrap()[0][0], None)
    };
    assert_eq!(judged("missed = 0").outcome, Outcome::Unknown);
    assert_eq!(judged("missed = 0").unknown, Some(Gap::Missed));
    assert_eq!(judged("execution max < 1ms").unknown, Some(Gap::Execution));
    // Two of 162 lie above 4 us, nobody knows how far.
    assert_eq!(judged("max < 10us").outcome, Outcome::Fail);
    assert_eq!(judged("max < 50us").outcome, Outcome::Pass);
    let evidence = judged("p99 < 10us").evidence;
    assert_eq!((evidence.broke, evidence.may_have_broken), (1, 2), "the maximum breaks it, the other may");
}

#[test]
fn hints_fill_in_what_an_output_leaves_out_for_one_task_too() {
    let folder = TempDir::new().unwrap();
    let hints = Hints { periods_ns: vec![250_000], unit_ns: Some(1), ..Hints::default() };
    let one = OneTask::new(Run::open(histogram(&folder), &hints).unwrap(), None, |_| 0).unwrap();
    assert_eq!((one.stats.latency.max_ns(), one.stats.period_ns()), (Some(41), 250_000));
    assert!(!one.warnings.iter().any(|w| matches!(w, Warning::UnitAssumed { .. })), "{:?}", one.warnings);
    let guessed =
        OneTask::new(Run::open(histogram(&folder), &Hints::default()).unwrap(), None, |_| 0).unwrap();
    assert!(guessed.warnings.contains(&Warning::UnitAssumed { unit_ns: 1_000 }), "{:?}", guessed.warnings);
    assert!(one.rows_around_worst(1, 1).is_err_and(|e| e.is(Missing::Activations)));
}

#[test]
fn a_journal_is_read_as_it_lies_and_says_the_same_as_the_run_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.parquet");
    let writer = written(&path, Keep::All);
    drop(writer);
    let journal = Run::open(journal_path(&path), &Hints::default()).unwrap();
    let (of_journal, warnings) = journal.scan().unwrap().into_parts();
    assert_eq!(warnings, [Warning::NotClosed]);
    let worst = OneTask::new(journal, None, |_| 0).unwrap();
    let around = worst.activations(worst.rows_around_worst(1, 2).unwrap()).unwrap();
    assert!(journal_path(&path).exists(), "reading leaves the journal alone");
    jitterlab_trace::recover(&path).unwrap();
    let file = Run::open(&path, &Hints::default()).unwrap();
    let (of_file, _) = file.scan().unwrap().into_parts();
    assert_eq!(of_file[0].timing, of_journal[0].timing);
    assert_eq!(of_file[0].tail(), of_journal[0].tail());
    let worst = OneTask::new(file, None, |_| 0).unwrap();
    assert_eq!(around, worst.activations(worst.rows_around_worst(1, 2).unwrap()).unwrap());
    assert_eq!((around.len(), around[1].latency_ns()), (3, worst.stats.latency.max_ns().unwrap()));
}

#[test]
fn lost_records_hide_extremes_unless_the_recorded_ones_are_as_large() {
    let folder = TempDir::new().unwrap();
    let hides = |name: &str, dropped, max_latency_ns, unknown: &[Gap]| {
        let path = folder.path().join(name);
        let writer = written(&path, Keep::All);
        let mut info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        let executed = 20_000 + dropped;
        let counters =
            TaskResult { executed, dropped, min_latency_ns: 1_000, max_latency_ns, ..TaskResult::default() };
        (info.tasks[0].result, info.tasks[0].unknown) = (Some(counters), unknown.to_vec());
        writer.finish(info).unwrap();
        OneTask::new(Run::open(&path, &Hints::default()).unwrap(), None, |_| 0).unwrap().has_lost_extremes()
    };
    assert!(!hides("whole.parquet", 0, 51_000, &[]));
    assert!(!hides("bounded.parquet", 3, 51_000, &[]), "the thread's own extremes are among the rows");
    assert!(hides("worse.parquet", 3, 400_000, &[]));
    assert!(hides("watched.parquet", 3, 51_000, &[Gap::Missed, Gap::Unseen]));
}

#[test]
fn a_run_that_kept_spikes_predicts_and_keeps_its_worst_latencies() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("spikes.parquet");
    let writer = written(&path, Keep::Spikes { above_ns: 40_000 });
    let info = RunInfo {
        keep: Keep::Spikes { above_ns: 40_000 },
        ..RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()])
    };
    writer.finish(info).unwrap();
    let run = Run::open(&path, &Hints::default()).unwrap();
    assert!(!run.keeps_all_rows(0));
    let (scans, _) = run.scan().unwrap().into_parts();
    assert_eq!(scans[0].peaks.largest().len(), 40);
    assert!(Prediction::new(&scans[0], &run.info().tasks[0], run.info(), None).is_some());
    assert!(run.backtest(0, 1_000_000_000).is_err_and(|e| e.is(Missing::Activations)));
}

#[test]
fn run_files_of_format_1_still_open() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1.parquet");
    let run = Run::open(path, &Hints::default()).unwrap();
    let info = run.info();
    assert_eq!((info.format, info.bench), (1, Bench::Host));
    assert_eq!(info.load, Load::from_specs(["cpu:1".parse().unwrap()]));
    assert_eq!(info.tasks[0].period_ns(), Known::Exactly(2_000_000));
    let (scans, _) = run.scan().unwrap().into_parts();
    let summary = Summary::new(&info.tasks[0], &scans[0].timing);
    assert!(summary.missed.exactly().is_some() && summary.executed.exactly().is_some_and(|n| n > 0));
}

#[test]
fn a_wrong_name_lists_the_right_ones() {
    let folder = TempDir::new().unwrap();
    let run = Run::open(histogram(&folder), &Hints::default()).unwrap();
    let error = run.task_numbers(Some("servo")).unwrap_err().to_string();
    assert!(error.contains("servo") && error.contains("thread0"), "{error}");
}

#[test]
fn a_task_that_is_named_is_compared_with_the_only_one_of_another_tool() {
    let folder = TempDir::new().unwrap();
    let two = HISTOGRAM.replace("000010\n", "000010\t000010\n").replace("000100\n", "000100\t000100\n");
    let two = two.replace("000050\n", "000050\t000050\n").replace("00001\n#", "00001 00001\n#");
    let two = two.replace("00041\n", "00041 00041\n").replace("00002\n#", "00002 00002\n#");
    let path = folder.path().join("two.txt");
    fs::write(&path, two).unwrap();
    let runs = [histogram(&folder), path].map(|path| Run::open(path, &Hints::default()).unwrap());
    let compared = |task| compare(&runs, &[], CompareOptions { task, ..CompareOptions::default() });
    assert_eq!(runs[1].info().tasks.len(), 2);
    assert_eq!(compared(Some("thread1")).unwrap().tasks.len(), 1);
    assert!(compared(Some("thread2")).is_err());
}
