//! Runs written out: the figures come back, other programs' own readers take the files, and what a format cannot hold is said.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::run::TaskResult;
use jitterlab_model::{Activation, Bench, Keep, RunInfo, TaskSpec};
use jitterlab_trace::RunWriter;
use serde_json::Value;
use tempfile::TempDir;

#[allow(dead_code, reason = "each test program uses a part of it")]
mod known;
use known::{answered, jitterlab, refused};

const FORMATS: [&str; 6] = ["csv", "arrow", "cyclictest", "hdr", "openmetrics", "markdown"];

/// A run of two tasks over 3 s, late by a few microseconds and, now and then, by up to 900; `early_ns` earlier than that.
fn run(folder: &Path, keep: Keep, early_ns: i64) -> PathBuf {
    let task = |name: &str, period_ns| TaskSpec { name: name.into(), period_ns, ..TaskSpec::default() };
    let mut info =
        RunInfo::new(Bench::Host, "monotonic", [task("base", 200_000), task("servo loop", 1_000_000)]);
    (info.keep, info.started, info.tool) = (keep, "2026-01-02T03:04:05Z".into(), "a \"tool\"".into());
    let path = folder.join("run.parquet");
    let mut writer = RunWriter::create(&path, &info).unwrap();
    for (number, count) in [(0, 15_000), (1, 3_000)] {
        let period_ns = info.tasks[number].spec.period_ns;
        let row = |k: u64| {
            let noise = (k + 77).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51;
            let spike = if k % 1_000 == 999 { 60_000 + 40 * (k as i64 % 3_000) } else { 0 };
            let due_ns = 5_000_000_123 + k as i64 * period_ns;
            let start_ns = due_ns + noise as i64 + spike - early_ns;
            Activation { index: k, due_ns, start_ns, end_ns: start_ns + 700, cpu: 3, ..Activation::default() }
        };
        let rows: Vec<Activation> = (0..count).map(row).collect();
        writer.append(number, &rows).unwrap();
        let (first_due_ns, last_end_ns) = (rows[0].due_ns, rows[rows.len() - 1].end_ns);
        info.tasks[number].result = Some(TaskResult {
            executed: count,
            first_due_ns,
            last_end_ns,
            min_latency_ns: rows.iter().map(Activation::latency_ns).min().unwrap(),
            max_latency_ns: rows.iter().map(Activation::latency_ns).max().unwrap(),
            ..TaskResult::default()
        });
    }
    writer.finish(info).unwrap().path
}

fn exported(folder: &Path, format: &str, from: &str) -> String {
    answered(folder, &["export", from, "--as", format, "-o", &format!("out.{format}")])
}

/// The summaries of a file's tasks.
fn summaries(folder: &Path, file: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(&answered(folder, &["analyze", file, "--json"])).unwrap();
    json["result"]["tasks"].as_array().unwrap().iter().map(|task| task["summary"].clone()).collect()
}

/// A program that a reader needs: skipped without it, unless everything is required.
fn has(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    assert!(
        found || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(),
        "{program} {arguments:?} is required"
    );
    if !found {
        eprintln!("skipped: {program} {arguments:?} does not work here (./test installs it)");
    }
    found
}

#[test]
fn a_table_gives_the_same_figures_again() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    exported(folder.path(), "csv", "run.parquet");
    let (before, after) = (summaries(folder.path(), "run.parquet"), summaries(folder.path(), "out.csv"));
    assert_eq!(before.len(), 2);
    for (before, after) in before.iter().zip(&after) {
        for figure in
            ["task", "period_ns", "executed", "latency", "period_error", "cycle_to_cycle", "execution"]
        {
            assert_eq!(before[figure], after[figure], "{figure}");
        }
    }
    let text = answered(folder.path(), &["export", "run.parquet", "--as", "csv", "--task", "servo loop"]);
    assert_eq!(text.lines().count(), 3_001);
    assert!(text.starts_with("task,index,due_ns,start_ns,end_ns,cpu,missed,flags\nservo loop,0,5000000123,"));
}

#[test]
fn a_table_for_people_has_the_figures() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    let text = answered(folder.path(), &["export", "run.parquet", "--as", "markdown"]);
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    for (summary, name) in
        summaries(folder.path(), "run.parquet").iter().zip(["base every 200us", "servo loop every 1ms"])
    {
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name}:\n{text}"));
        assert_eq!((row[1], row[column("missed")]), ("latency", "0"));
        assert_eq!(row[column("executed")], summary["executed"].to_string());
        for (figure, pointer) in [("min", "/min_ns"), ("p99", "/percentiles/p99"), ("max", "/max_ns")] {
            let ns = summary["latency"].pointer(pointer).unwrap().as_f64().unwrap();
            assert_eq!(row[column(figure)], format!("{:.3}", ns / 1e3), "{figure}");
        }
    }
}

#[test]
fn a_histogram_gives_the_same_figures_to_the_microsecond() {
    for keep in [Keep::All, Keep::Spikes { above_ns: 100_000 }] {
        let folder = TempDir::new().unwrap();
        run(folder.path(), keep, 0);
        exported(folder.path(), "cyclictest", "run.parquet");
        let (before, after) =
            (summaries(folder.path(), "run.parquet"), summaries(folder.path(), "out.cyclictest"));
        for (before, after) in before.iter().zip(&after) {
            let [before, after] = [before, after].map(|summary| &summary["latency"]);
            assert_eq!(before["count"], after["count"]);
            let apart = |pointer: &str| {
                let [before, after] =
                    [before, after].map(|of| of.pointer(pointer).unwrap().as_f64().unwrap());
                (after - before) / before.max(1.0)
            };
            // A microsecond of the format, and the 0.8 % of the bins where only they are kept.
            for figure in ["/min_ns", "/max_ns", "/percentiles/p50", "/percentiles/p99"] {
                let ns = before.pointer(figure).unwrap().as_f64().unwrap().max(1.0);
                assert!(apart(figure).abs() <= 1_000.0 / ns + 0.016, "{figure}: {before} {after}");
            }
        }
    }
}

/// The script of OSADL's latency plots, shortened: what gnuplot is fed with is the same.
const OSADL: &str = r##"set -e
max=$(grep "Max Latencies" out.cyclictest | tr " " "\n" | sort -n | tail -1 | sed s/^0*//)
grep -v -e "^#" -e "^$" out.cyclictest | tr " " "\t" >histogram
for i in 1 2; do cut -f1,$((i + 1)) histogram >histogram$i; done
{
    echo "set terminal dumb 100 30; set logscale y; set xrange [0:$max]; set yrange [0.8:*]"
    echo 'plot "histogram1" using 1:2 title "CPU0" with histeps, "histogram2" using 1:2 title "CPU1" with histeps'
} | gnuplot 2>&1
"##;

#[test]
fn gnuplot_draws_the_histogram_by_cyclictests_script() {
    if !has("gnuplot", &["--version"]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    exported(folder.path(), "cyclictest", "run.parquet");
    let output = Command::new("sh").args(["-c", OSADL]).current_dir(folder.path()).output().unwrap();
    let drawn = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && drawn.contains("CPU1") && !drawn.contains("warning"), "{drawn}");
    let points = fs::read_to_string(folder.path().join("histogram1")).unwrap();
    let counted: u64 =
        points.lines().map(|line| line.split('\t').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(counted, 15_000);
}

/// What the readers of Python's packages find, as JSON.
const READERS: &str = r#"
import json, sys
import pyarrow.feather, pyarrow.parquet
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client.openmetrics.parser import text_string_to_metric_families

table = pyarrow.feather.read_table("out.arrow")
stored = pyarrow.parquet.read_table("run.parquet")
assert table.column_names == stored.column_names
for name in table.column_names:
    assert table[name].to_pylist() == stored[name].to_pylist(), name
assert [str(t) for t in table.schema.types] == [str(t) for t in stored.schema.types]
assert json.loads(table.schema.metadata[b"jitterlab.run"])["tasks"][1]["spec"]["name"] == "servo loop"

found = {"hdr": {}, "metrics": {}, "intervals": 0}
reader = HistogramLogReader("out.hdr", HdrHistogram(1, 3_600_000_000_000, 3))
sums = {}
while (interval := reader.get_next_interval_histogram()) is not None:
    found["intervals"] += 1
    sums.setdefault(interval.get_tag(), HdrHistogram(1, 3_600_000_000_000, 3)).add(interval)
for tag, h in sums.items():
    found["hdr"][tag] = [h.get_total_count(), h.get_max_value(), h.get_value_at_percentile(50), h.get_value_at_percentile(99)]
for family in text_string_to_metric_families(open("out.openmetrics").read()):
    for s in family.samples:
        found["metrics"]["|".join([s.name, *(v for k, v in sorted(s.labels.items()))])] = s.value
print(json.dumps(found))
"#;

#[test]
fn the_readers_of_other_programs_find_the_same_figures() {
    let python = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    if !has(&python, &["-c", "import pyarrow, hdrh, prometheus_client"]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    for format in FORMATS {
        exported(folder.path(), format, "run.parquet");
    }
    let output = Command::new(python).args(["-c", READERS]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["intervals"], 6, "each task ran in three seconds of the clock");
    for (summary, tag) in summaries(folder.path(), "run.parquet").iter().zip(["base", "servo_loop"]) {
        let latency = &summary["latency"];
        let hdr: Vec<f64> =
            found["hdr"][tag].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(hdr[0], latency["count"].as_f64().unwrap());
        for (pointer, value) in
            [("/max_ns", hdr[1]), ("/percentiles/p50", hdr[2]), ("/percentiles/p99", hdr[3])]
        {
            let ns = latency.pointer(pointer).unwrap().as_f64().unwrap();
            assert!((value - ns).abs() <= 0.01 * ns, "{tag} {pointer}: {value} for {ns}");
        }
        let task = summary["task"].as_str().unwrap();
        let metric =
            |name: &str| found["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {found}"));
        for statistic in ["min", "mean", "max"] {
            let ns = latency[format!("{statistic}_ns")].as_f64().unwrap();
            let told = metric(&format!("jitterlab_timing_seconds|latency|{statistic}|{task}")) * 1e9;
            assert!((told - ns).abs() <= 1e-6 * ns, "{told} for {ns}");
        }
        assert_eq!(metric(&format!("jitterlab_latency_seconds_bucket|+Inf|{task}")), hdr[0]);
        assert_eq!(metric(&format!("jitterlab_activations_total|{task}")), hdr[0]);
        assert!(metric(&format!("jitterlab_latency_seconds_bucket|0.00002|{task}")) < hdr[0]);
    }
}

#[test]
fn prometheus_takes_the_text_into_its_database() {
    if Command::new("promtool").arg("--version").output().is_err() {
        eprintln!("skipped: promtool is not here (Debian's package prometheus, which also starts a server)");
        return;
    }
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    exported(folder.path(), "openmetrics", "run.parquet");
    let arguments = ["tsdb", "create-blocks-from", "openmetrics", "out.openmetrics", "database"];
    let output = Command::new("promtool").args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    run(folder, Keep::All, 10_000);
    let says = exported(folder, "cyclictest", "run.parquet");
    assert!(says.contains("below 0 (early wake-ups) as 0"), "{says}");
    let text = fs::read_to_string(folder.join("out.cyclictest")).unwrap();
    assert!(text.contains("# Min Latencies: 00000 00000"), "{text}");
    assert!(!exported(folder, "openmetrics", "run.parquet").contains("below 0"));
    assert!(!fs::read_to_string(folder.join("out.openmetrics")).unwrap().contains("_seconds_sum"));

    // Only a histogram is known of another tool's run: no activation is made up, and what it does not tell has no value.
    fs::remove_file(folder.join("run.parquet")).unwrap();
    run(folder, Keep::All, 0);
    exported(folder, "cyclictest", "run.parquet");
    refused(folder, &["export", "out.cyclictest", "--as", "csv"], 3, &["keeps only a histogram"]);
    let text = answered(folder, &["export", "out.cyclictest", "--as", "openmetrics"]);
    let lacks = ["jitterlab_missed_total", "\"execution\"", "\"period_error\"", "jitterlab_period_seconds{"];
    assert!(lacks.iter().all(|what| !text.contains(what)) && text.contains("\"latency\""), "{text}");

    fs::write(folder.join("table.csv"), "start_us,latency_us\n1000,2\n2001,3\n3001,3\n").unwrap();
    let text = answered(folder, &["export", "table.csv", "--as", "csv"]);
    assert!(text.starts_with("task,index,due_ns,start_ns"), "{text}");
    assert!(!text.contains("end_ns") && !text.contains("cpu"), "{text}");
    refused(folder, &["export", "table.csv", "--as", "xml"], 2, &["openmetrics"]);
}

#[test]
fn a_run_of_spikes_says_that_its_rows_are_those() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::Spikes { above_ns: 100_000 }, 0);
    assert!(
        exported(folder.path(), "csv", "run.parquet").contains("keeps its spikes and their neighbours alone")
    );
    assert!(!exported(folder.path(), "hdr", "run.parquet").contains("spikes"));
}

#[test]
fn an_export_never_replaces_a_measurement_and_leaves_nothing_half_written() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let before = fs::read(run(folder, Keep::All, 0)).unwrap();
    for format in FORMATS {
        refused(folder, &["export", "run.parquet", "--as", format, "-o", "run.parquet"], 3, &["--force"]);
    }
    assert_eq!(fs::read(folder.join("run.parquet")).unwrap(), before);
    // A run that turns out to be damaged replaces nothing.
    let mut damaged = before;
    damaged[2_000..4_000].fill(0xaa);
    fs::write(folder.join("damaged.parquet"), damaged).unwrap();
    fs::write(folder.join("out.csv"), "as it was").unwrap();
    refused(folder, &["export", "damaged.parquet", "--as", "csv", "-o", "out.csv"], 3, &["damaged"]);
    assert_eq!(fs::read_to_string(folder.join("out.csv")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 3);
    let output = jitterlab(folder, &["export", "run.parquet", "--as", "csv", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(3));
}
