//! Outputs of other tools. Those in `peers/` came from the tools themselves (rt-tests 2.4, stress-ng 0.15); the others are
//! written as the tools' sources write them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

mod common;

use std::path::{Path, PathBuf};

use common::quick_directory;
use jitterlab_model::{Gap, Known, TimingStats};
use jitterlab_trace::{Hints, Import, Measured, TraceError, import};
use proptest::prelude::*;

const US: i64 = 1_000;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

fn read(path: &Path) -> Import {
    import(path, &Hints::default()).unwrap()
}

fn read_text(name: &str, text: impl AsRef<[u8]>) -> Result<Import, TraceError> {
    let directory = quick_directory();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    import(&path, &Hints::default())
}

fn stats(import: &Import, task: usize) -> TimingStats {
    import.tasks[task].stats(&import.info.tasks[task])
}

/// Count, minimum and maximum of a task's latencies.
fn latency(import: &Import, task: usize) -> (u64, i64, i64) {
    let stats = stats(import, task);
    (stats.latency.count(), stats.latency.min_ns().unwrap(), stats.latency.max_ns().unwrap())
}

fn warnings(import: &Import) -> String {
    format!("{:?}", import.info.warnings)
}

#[test]
fn cyclictest_histograms_keep_what_overflowed() {
    let plain = read(&sample("cyclictest-h.txt"));
    assert_eq!(plain.tasks.len(), 2);
    assert_eq!(latency(&plain, 0), (2_000, 4 * US, 152 * US + 999));
    assert_eq!(latency(&plain, 1), (2_000, 6 * US, 1_799 * US + 999));
    assert!(warnings(&plain).contains("AboveHistogram { task: \"thread0\", count: 2 }"));
    let d = stats(&plain, 0).latency;
    // 141 of the 2000 are in the bins 4 and 5: the first percentile and the median lie in bins 5 and 10.
    assert!((5 * US..6 * US + 50).contains(&d.quantile_ns(0.01).unwrap()));
    assert!((10 * US..11 * US + 100).contains(&d.quantile_ns(0.5).unwrap()));

    let summed = read(&sample("cyclictest-H.txt"));
    assert_eq!(summed.tasks.len(), 2, "the column of sums is no thread");
    assert_eq!((latency(&summed, 0).0, latency(&summed, 1)), (1_000, (1_000, 6 * US, 1_152 * US + 999)));
}

#[test]
fn cyclictest_in_new_versions_leaves_out_rows_of_zeros_and_totals() {
    let text = "# Histogram\n000009 000002\t000001\n000031 000001\t000004\n\
        # Min Latencies: 00009 00009\n# Avg Latencies: 00019 00023\n# Max Latencies: 00031 07521\n\
        # Histogram Overflows: 00000 00003\n# Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1: 1 2 3\n";
    let import = read_text("hist", text).unwrap();
    assert_eq!(latency(&import, 0), (3, 9 * US, 31 * US + 999));
    assert_eq!(latency(&import, 1), (8, 9 * US, 7_521 * US + 999));
}

#[test]
fn cyclictest_json_in_both_units() {
    let us = read(&sample("cyclictest.json"));
    assert_eq!(latency(&us, 0), (1_000, 4 * US, 209 * US + 999));
    assert_eq!(us.info.tasks[0].spec.period_ns, 1_000_000);
    assert_eq!(us.info.tool, "cyclictest 2.40");
    assert!((stats(&us, 0).latency.mean_ns().unwrap() - 10_620.0).abs() < 1.0);
    assert!(warnings(&us).contains("AboveHistogram"));

    let ns = read(&sample("cyclictest-ns.json"));
    assert_eq!(latency(&ns, 0), (500, 4_153, 109_756));
    assert_eq!(ns.info.tasks[0].spec.period_ns, 500_000);
}

#[test]
fn oslat_bins_are_upper_edges_and_the_last_is_open() {
    let import = read(&sample("oslat.json"));
    let d = stats(&import, 0).latency;
    assert_eq!((d.count(), d.max_ns()), (1_518_573, Some(360_038 * US + 999)));
    assert!(d.quantile_ns(0.999_95).unwrap() <= 7 * US + 60);
    assert!(
        matches!(d.known_at_rank(d.count() - 15), Known::Between { at_most, .. } if Some(at_most) == d.max_ns())
    );
}

#[test]
fn cyclictest_verbose_is_a_row_per_activation() {
    let import = read(&sample("cyclictest-v.txt"));
    // Started with -i 1000 and the usual distance of 500 us; the printed intervals are one distance too long.
    assert_eq!(import.info.tasks[0].spec.period_ns, 1_000_000);
    assert_eq!(import.info.tasks[1].spec.period_ns, 1_500_000);
    let Measured::Rows(rows) = &import.tasks[0] else { panic!("no rows") };
    assert_eq!((rows[1].index, rows[1].due_ns, rows[1].latency_ns()), (1, 1_000_000, 13 * US));
    let stats = stats(&import, 0);
    assert_eq!(
        (stats.latency.count(), stats.execution.count(), stats.period_error.count()),
        (rows.len() as u64, 0, 0)
    );
    assert_eq!(stats.missed(), Known::Unknown);
}

#[test]
fn stress_ng_log() {
    let import = read(&sample("stress-ng.txt"));
    let d = stats(&import, 0).latency;
    assert_eq!((d.count(), d.min_ns(), d.max_ns()), (10_000, Some(3_579), Some(1_423_206)));
    assert!((d.mean_ns().unwrap() - 5_388.77).abs() < 0.5);
    assert!((d.standard_deviation_ns().unwrap() - 14_632.09).abs() < 0.5);
    assert_eq!(import.info.tasks[0].spec.period_ns, 100_000);
    assert!(warnings(&import).contains("--cyclic-samples needed"));
}

#[test]
fn rtla_stages_are_never_added() {
    let text = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:10:00\n\
        Index   IRQ-000   Thr-000   IRQ-003   Thr-003\n0        276489         0    300000         0\n\
        5        323513    500000    300002    600000\n10            0    100000         0         0\n\
        over:         0         2         0         0\ncount:   600002    600002    600002    600000\n\
        min:          0         1         0         5\navg:          2         8         2         6\n\
        max:          9       143         8         9\nALL:        IRQ       Thr\ncount: 1 1\n";
    let import = read_text("timerlat", text).unwrap();
    let names: Vec<_> = import.info.tasks.iter().map(|t| (&t.spec.name[..], t.spec.cpu)).collect();
    assert_eq!(
        names,
        [("irq-000", Some(0)), ("thr-000", Some(0)), ("irq-003", Some(3)), ("thr-003", Some(3))]
    );
    assert_eq!(latency(&import, 0), (600_002, 0, 9 * US + 999));
    assert_eq!(latency(&import, 1), (600_002, US, 143 * US + 999));
    // Bins are 5 us wide: half of all is in the bin from 5 on, below 10.
    assert!((9 * US..10 * US + 80).contains(&stats(&import, 1).latency.quantile_ns(0.5).unwrap()));
}

#[test]
fn jitterdebugger_results_and_samples() {
    let results = r#"{"version":3,"sysinfo":{"sysname":"Linux","resolution_in_ns":1000},
        "cpu":{"0":{"histogram":{"3":3678,"4":20},"count":3700,"min":3,"max":2500,"avg":3.9}}}"#;
    let import = read_text("results.json", results).unwrap();
    assert_eq!(latency(&import, 0), (3_700, 3 * US, 2_500 * US + 999));
    assert!(warnings(&import).contains("task: \"cpu0\", count: 2"));

    let directory = quick_directory();
    let mut raw = Vec::new();
    for k in 0..50u64 {
        let latency = 3 + k % 4;
        raw.extend(1u32.to_le_bytes());
        raw.extend(7i64.to_le_bytes());
        raw.extend(((k * 1_000 + latency) as i64 * US).to_le_bytes());
        raw.extend(latency.to_le_bytes());
    }
    std::fs::write(directory.path().join("samples.raw"), raw).unwrap();
    std::fs::write(directory.path().join("results.json"), results).unwrap();
    let import = read(directory.path());
    assert_eq!(latency(&import, 0), (50, 3 * US, 6 * US));
    assert_eq!(import.info.tasks[0].spec.period_ns, 1_000_000);
    assert_eq!(stats(&import, 0).period_error.max_ns(), Some(US));
}

#[test]
fn xenomai_counts_are_one_too_high_between_two_rows_of_nothing() {
    let text = "# 00:00:10 (periodic user-mode task, 100 us period, priority 99)\n\
        # ----lat min|----lat avg|----lat max|-overrun|---msw|\n#      -1.250|      0.800|      3.100|       0|     0|\n\
        # Xenomai version: 3.2\n-2.5 1\n-1.5 11\n-0.5 1\n0.5 51\n1.5 31\n2.5 2\n3.5 1\n";
    let import = read_text("histo", text).unwrap();
    assert_eq!(latency(&import, 0), (10 + 50 + 30 + 1, -1_250, 3_100));
    assert_eq!(import.info.tasks[0].spec.period_ns, 100_000);
    assert_eq!(stats(&import, 0).latency.quantile_ns(0.1), Some(-1_001));

    let console = "RTT|  00:00:01  (periodic user-mode task, 1000 us period, priority 99)\n\
        RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst\n\
        RTD|     -0.344|      0.512|      4.100|       0|     0|     -0.344|      4.100\n\
        RTD|     -0.100|      0.600|      9.250|       3|     0|     -0.344|      9.250\n";
    let import = read_text("latency", console).unwrap();
    assert_eq!(latency(&import, 0), (2_000, -344, 9_250));
    assert_eq!(stats(&import, 0).missed(), Known::Exactly(3));
    assert!((stats(&import, 0).latency.mean_ns().unwrap() - 556.0).abs() < 1.0);
}

#[test]
fn latmus_has_lower_edges_and_an_open_end() {
    let text = "# test started on: Sat Nov 21 18:33:48 2026\n# Linux version 6.1\n# sampling period: 500 microseconds\n\
        # OVERRUNS: 1\n# min latency: 0.150\n# avg latency: 1.200\n# max latency: 312.000\n# sample count: 1003\n\
        0 400\n1 600\n2 0\n200 3+\n";
    let import = read_text("latmus", text).unwrap();
    assert_eq!(latency(&import, 0), (1_003, 150, 312 * US));
    assert_eq!(
        (import.info.tasks[0].spec.period_ns, stats(&import, 0).missed()),
        (500_000, Known::Exactly(1))
    );
}

#[test]
fn linuxcnc_jitter_is_a_period_error() {
    let text = "    1 s   base min:  -4.100 us max:   5.000 us sdev:   0.300 us\n\
        \x20   1 s  servo min:  -9.000 us max:  11.500 us sdev:   0.800 us\n\
        \x20   2 s   base min:  -8.120 us max:  10.301 us sdev:   0.412 us\n\
        \x20   2 s  servo min:  -9.000 us max:  12.500 us sdev:   0.850 us\n";
    let import = read_text("nox", text).unwrap();
    let base = stats(&import, 0).period_error;
    assert_eq!((base.count(), base.min_ns(), base.max_ns()), (80_000, Some(-8_120), Some(10_301)));
    assert!((base.standard_deviation_ns().unwrap() - 412.0).abs() < 1.0);
    assert_eq!(stats(&import, 1).period_error.max_ns(), Some(12_500));

    let import = read_text(".latency", "14523\n").unwrap();
    assert_eq!(stats(&import, 0).period_error.max_ns(), Some(14_523));
}

#[test]
fn rttest_and_zephyr() {
    let text = "iteration timestamp latency minor_pagefaults major_pagefaults\n0 0 5012 1 0\n1 1000000 -120 0 0\n2 2000000 7000 0 1\n";
    let import = read_text("rttest", text).unwrap();
    assert_eq!(latency(&import, 0), (3, -120, 7_000));
    let result = import.info.tasks[0].result.as_ref().unwrap();
    assert_eq!((result.minor_faults, result.major_faults), (Some(1), Some(1)));

    let text = "I: run\nRECORD: {\"testcase\":\"jitter_drift_timer\",\"mechanism\":\"builtin\",\"stats_count\":10000,\
        \"mean_us\":1000.01,\"stddev_us\":0.5,\"min_us\":998.0,\"max_us\":1003.5}\n";
    let import = read_text("handler.log", text).unwrap();
    let error = stats(&import, 0).period_error;
    assert_eq!((error.count(), error.min_ns(), error.max_ns()), (10_000, Some(-2_000), Some(3_500)));
}

#[test]
fn extremes_and_a_mean_give_no_percentile_no_deviation_and_no_misses() {
    let text = r#"{"file_version": 1, "cmdline:": "cyclictest -q -i 1000 --json=a", "rt_test_version:": "2.40",
        "thread": {"0": {"cycles": 1000, "min": 4, "max": 209, "avg": 10.62, "cpu": 0}}}"#;
    let import = read_text("bare.json", text).unwrap();
    let found = stats(&import, 0);
    assert_eq!(latency(&import, 0), (1_000, 4 * US, 209 * US + 999));
    assert_eq!((found.latency.quantile_ns(0.5), found.latency.standard_deviation_ns()), (None, None));
    assert_eq!(
        found.latency.known_at_rank(500),
        Known::Between { at_least: 4 * US, at_most: 209 * US + 999 }
    );
    assert_eq!((found.missed(), found.corrected()), (Known::Unknown, None));
    let task = &import.info.tasks[0];
    assert_eq!(task.unknown, [Gap::Lost, Gap::Execution, Gap::Settings, Gap::Missed]);
    assert_eq!((task.overrun(), task.period_ns()), (Known::Unknown, Known::Exactly(1_000_000)));

    let text = "# Histogram\n000009 000002\n# Min Latencies: 00009\n# Avg Latencies: 00019\n\
        # Max Latencies: 00031\n# Histogram Overflows: 00001\n";
    let import = read_text("hist", text).unwrap();
    assert_eq!(import.info.tasks[0].period_ns(), Known::Unknown, "the period is only assumed");
}

#[test]
fn what_is_not_known_or_wrong_is_said() {
    let error = read_text("letter", "Dear Sir").unwrap_err();
    assert!(matches!(error, TraceError::UnknownOutput { .. }) && error.to_string().contains("cyclictest -h"));
    let error =
        read_text("rttest", "iteration timestamp latency\n0 0 5012\n1 x 3\n").unwrap_err().to_string();
    assert!(error.contains("rttest") && error.contains("line 3"), "{error}");
}

proptest! {
    #[test]
    fn changed_outputs_never_panic(which in 0usize..6, at in any::<prop::sample::Index>(), with in "[-0-9.:|a-z \n]{0,6}") {
        let names = ["cyclictest-h.txt", "cyclictest-H.txt", "cyclictest.json", "cyclictest-v.txt", "stress-ng.txt", "oslat.json"];
        let mut text = std::fs::read_to_string(sample(names[which])).unwrap();
        let at = at.index(text.len());
        text.replace_range(at..(at + 3).min(text.len()), &with);
        if let Ok(import) = read_text("changed", text) {
            (0..import.tasks.len()).for_each(|task| drop(stats(&import, task)));
        }
    }

    #[test]
    fn small_outputs_of_any_numbers_never_panic(rows in prop::collection::vec((any::<i64>(), any::<i64>()), 0..6)) {
        let rows: String = rows.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
        for head in ["# test started on: x\n", "# ----lat min|\n", "iteration timestamp latency\n", "# Histogram\n# Min Latencies: 1\n"] {
            let _ = read_text("numbers", format!("{head}{rows}"));
        }
    }
}
