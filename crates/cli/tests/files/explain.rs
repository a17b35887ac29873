//! `analyze`, `predict` and `compare` on traces with a known truth, and on outputs of other tools.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files or start its program has failed")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use jitterlab_model::{Activation, RunInfo, TaskResult, TaskSpec};
use jitterlab_trace::RunFileWriter;
use serde_json::Value;

/// A run at 1 kHz with these latencies.
fn run_file(
    folder: &Path,
    name: &str,
    period_ns: i64,
    count: u64,
    latency_ns: impl Fn(u64) -> i64,
) -> PathBuf {
    let path = folder.join(name);
    let rows: Vec<Activation> = (0..count)
        .map(|index| {
            let due_ns = index as i64 * period_ns;
            let start_ns = due_ns + latency_ns(index);
            Activation { index, due_ns, start_ns, end_ns: start_ns + 100, ..Activation::default() }
        })
        .collect();
    let spec = TaskSpec { name: "servo".into(), period_ns, ..TaskSpec::default() };
    let mut info = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [spec]);
    info.load = jitterlab_model::Load::NONE;
    info.tasks[0].result = Some(TaskResult {
        executed: count,
        last_end_ns: rows.last().unwrap().end_ns,
        max_latency_ns: rows.iter().map(Activation::latency_ns).max().unwrap(),
        ..TaskResult::default()
    });
    let mut file = RunFileWriter::create(&path, 1).unwrap();
    file.append(0, &rows).unwrap();
    file.finish(&info).unwrap();
    path
}

/// An exponential latency that belongs to a place and looks random.
fn noise(place: u64, mean: f64) -> i64 {
    let mut z = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    (-mean * (1.0 - unit).ln()) as i64
}

fn jitterlab(args: &[&str], files: &[&Path]) -> (i32, String, String) {
    let output = Command::cargo_bin("jitterlab").unwrap().args(args).args(files).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    (output.status.code().unwrap_or(-1), out, err)
}

fn fine(args: &[&str], files: &[&Path]) -> String {
    let (code, out, err) = jitterlab(args, files);
    assert_eq!(code, 0, "{args:?}: {err}");
    assert!(
        out.lines().all(|l| args.contains(&"--json") || l.chars().count() <= 80 || l.starts_with("file:")),
        "{out}"
    );
    out
}

fn json(args: &[&str], files: &[&Path]) -> Value {
    serde_json::from_str(&fine(args, files)).unwrap()
}

#[test]
fn patterns_are_told_in_layers() {
    let folder = tempfile::tempdir().unwrap();
    let file = run_file(folder.path(), "ticks.parquet", 1_000_000, 60_000, |k| {
        2_000 + noise(k, 300.0) + if k % 400 == 11 { 80_000 + noise(k + 1, 900.0) } else { 0 }
    });
    let text = fine(&["analyze"], &[&file]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("every 400 ms") && text.contains("more: --details, --section spikes"), "{text}");
    let text = fine(&["analyze", "--details"], &[&file]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("--section: clusters,"), "{text}");
    for figure in ["over time: every extreme of its 60 000 latencies is drawn", "The curve of n latencies"] {
        assert!(text.contains(figure), "{text}");
    }
    let text = fine(&["analyze", "--section", "spikes,misses"], &[&file]);
    assert!(
        text.contains("at s") && text.contains("longest run of misses") && !text.contains("MTIE"),
        "{text}"
    );
    let text = fine(&["analyze", "--section", "all"], &[&file]);
    assert!(text.contains("MTIE") && text.contains("Which mode follows which"), "{text}");
    let all = json(&["analyze", "--json"], &[&file]);
    let task = &all["result"]["tasks"][0];
    assert_eq!(task["summary"]["executed"], 60_000);
    assert_eq!(task["patterns"]["clusters"].as_array().unwrap().len(), 2);
    assert_eq!(task["patterns"]["spikes"]["periodic"][0]["spikes"], 150);
    assert_eq!(task["transitions"]["counts"][0].as_array().unwrap().len(), 2);
    assert_eq!(
        (&all["kind"], &all["result"]["run"]["bench"]),
        (&Value::from("analysis"), &Value::from("host"))
    );
}

#[test]
fn a_steady_run_is_bounded_and_a_strange_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let steady = run_file(folder.path(), "steady.parquet", 1_000_000, 120_000, |k| 2_000 + noise(k, 900.0));
    let text = fine(&["predict", "--brief"], &[&steady]);
    assert!(text.starts_with("BOUNDED if no kind of event comes that did not come in these"), "{text}");
    let text = fine(&["predict", "--details"], &[&steady]);
    assert!(text.contains("within the next 20 min the largest latency"), "{text}");
    let text = fine(&["predict", "--horizon", "24h"], &[&steady]);
    assert!(text.contains("The horizon is 720 times the run"), "{text}");
    let found = json(&["predict", "--json"], &[&steady]);
    let prediction = &found["result"]["tasks"][0]["prediction"];
    let bound = prediction["bound"]["bound_ns"].as_f64().unwrap();
    assert!(bound > prediction["facts"]["observed_max_ns"].as_f64().unwrap());
    let two = run_file(folder.path(), "two.parquet", 1_000_000, 120_000, |k| {
        2_000 + noise(k, 300.0) + if k % 7_001 == 9 { 50_000 } else { 0 }
    });
    assert!(fine(&["predict", "--brief"], &[&two]).starts_with("CANNOT TELL the worst start of servo"));
    let text = fine(&["predict", "--details"], &[&two]);
    assert!(text.contains("no bound can be given") && text.contains("FAIL"), "{text}");
    let text = fine(&["predict", "--backtest", "31s"], &[&steady]);
    assert!(text.contains("windows with a whole horizon after them"), "{text}");
}

#[test]
fn requirements_end_with_the_status_scripts_rely_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = run_file(folder.path(), "run.parquet", 1_000_000, 40_000, |k| 2_000 + noise(k, 900.0));
    let status = |requirement: &str| jitterlab(&["predict", "--require", requirement], &[&file]);
    for (requirement, expected, says) in [
        ("p90 < 8us", 0, "p90 < 8us    pass"),
        ("p99.99 < 80us", 3, "--burst-at-most 1"),
        ("missed = 0", 0, "pass"),
        ("p50 < 1us", 1, "p50 < 1us    FAIL"),
        ("p99.9999 < 80us", 3, "not enough data"),
        ("response max < 1ms", 0, "pass"),
    ] {
        let (code, out, _) = status(requirement);
        assert_eq!(code, expected, "{requirement}: {out}");
        assert!(out.contains(says), "{out}");
    }
    let known = ["predict", "--require", "p99.99 < 80us", "--burst-at-most"];
    for (together, expected) in [("1", 0), ("2", 3)] {
        let (code, out, _) = jitterlab(&[&known[..], &[together]].concat(), &[&file]);
        assert_eq!(code, expected, "{out}");
    }
    let (code, _, err) = status("latency is good");
    assert!(code == 2 && err.contains("p99.99 < 80us"), "{err}");
    let text = fine(&["predict", "--claim", "p(latency > 100us) < 1e-6"], &[&file]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("A run of 49.9 min (2 995 733 values)"), "{text}");
    let (code, _, err) = jitterlab(&["predict", "--claim", "missed = 0"], &[&file]);
    assert!(code == 3 && err.contains("no breach at all"), "{err}");
    let (code, _, err) = jitterlab(&["predict", "--task", "base"], &[&file]);
    assert!(code == 2 && err.contains("it has servo"), "{err}");
}

#[test]
fn differences_are_told_with_their_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let before = run_file(folder.path(), "before.parquet", 1_000_000, 40_000, |k| 5_000 + noise(k, 900.0));
    let after = run_file(folder.path(), "after.parquet", 1_000_000, 40_000, |k| 3_000 + noise(k + 7, 900.0));
    let text = fine(&["compare", "--ascii"], &[&before, &after]);
    assert!(text.starts_with("BETTER: after against before: lower "), "{text}");
    assert!(text.contains("two runs of"), "{text}");
    assert!(fine(&["compare", "--details"], &[&before, &after]).contains("Shift of each quantile"));
    let found = json(&["compare", "--json"], &[&before, &after]);
    let differences =
        found["result"]["tasks"][0]["comparison"]["against_first"][0]["differences"].as_array().unwrap();
    let p50 = differences.iter().find(|d| d["statistic"] == "p50").unwrap();
    assert!(
        p50["real"].as_bool().unwrap() && (p50["difference"].as_f64().unwrap() + 2_000.0).abs() < 60.0,
        "{p50}"
    );
    // Lower is not worse; the other way round it is, by two thirds.
    let (code, out, _) = jitterlab(&["compare", "--fail-if-worse", "10%", "--brief"], &[&after, &before]);
    assert!(code == 1 && out.starts_with("WORSE than after by more than 10 %"), "{code}: {out}");
    let xml = folder.path().join("compare.xml");
    let junit = ["compare", "--fail-if-worse", "0.1", "--junit", xml.to_str().unwrap()];
    let (code, out, _) = jitterlab(&junit, &[&before, &after]);
    assert!(code == 0, "{code}: {out}");
    let xml = std::fs::read_to_string(xml).unwrap();
    assert!(xml.contains("name=\"p50 of servo\"/>") && xml.ends_with("</testsuites>\n"), "{xml}");
    let (code, table, _) = jitterlab(&["compare", "--markdown"], &[&before, &after]);
    assert!(code == 0 && table.contains("| p50 |") && table.contains("| lower |"), "{table}");
    let text = fine(&["compare", "--preset", "twente"], &[&before, &after]);
    assert!(text.contains("mean |error|") && text.contains("0.0 to 0.1"), "{text}");
    let fast = run_file(folder.path(), "fast.parquet", 250_000, 1_000, |k| 3_000 + noise(k, 900.0));
    let (code, _, err) = jitterlab(&["compare"], &[&before, &fast]);
    assert!(code == 2 && err.contains("period is 1ms in before and 250us in fast"), "{err}");
    fine(&["compare", "--anyway"], &[&before, &fast]);
}

#[test]
fn settings_are_compared_by_several_runs_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: String, base: i64, seed: u64| {
        run_file(folder.path(), &name, 1_000_000, 20_000, move |k| base + noise(k + 1_000_000 * seed, 900.0))
    };
    let a: Vec<PathBuf> = (0..3).map(|k| run(format!("a{k}.parquet"), 5_000 + 20 * k, k as u64)).collect();
    let b: Vec<PathBuf> =
        (0..3).map(|k| run(format!("b{k}.parquet"), 3_000 + 20 * k, 9 + k as u64)).collect();
    let all: Vec<&Path> = a
        .iter()
        .map(PathBuf::as_path)
        .chain([Path::new("--with")])
        .chain(b.iter().map(PathBuf::as_path))
        .collect();
    let text = fine(&["compare"], &all);
    assert!(
        text.starts_with("BETTER: --with against the first setting: lower")
            && text.contains("The run is the unit"),
        "{text}"
    );
    let found = json(&["compare", "--json"], &all);
    let task = &found["result"]["tasks"][0];
    assert!(task["comparison"].is_null() && task["settings"]["degrees"] == 4, "{task}");
    let (code, _, err) = jitterlab(&["compare"], &[&a[0], Path::new("--with"), &b[0]]);
    assert!(code == 2 && err.contains("one run of a setting"), "{err}");
    let (code, _, err) = jitterlab(&["compare"], &[&a[0]]);
    assert!(code == 2 && err.contains("another run"), "{err}");
}

#[test]
fn what_other_tools_print_is_read_as_well() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    let (histogram, each) = (peers.join("cyclictest-h.txt"), peers.join("cyclictest-v.txt"));
    for command in ["analyze", "predict"] {
        for file in [&histogram, &each] {
            let text = fine(&[command], &[file]);
            assert!(!text.is_empty(), "{command} {}", file.display());
        }
    }
    fine(&["analyze", "--section", "all"], &[&histogram]);
    // Also JSON, which `report` and `plot` take from jitterlab's own commands too.
    let json = peers.join("cyclictest.json");
    for file in [&histogram, &each, &json] {
        let text = fine(&["plot", "--figure", "percentiles", "--ascii"], &[file]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("wake-up unknown"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fine(&["report"], &[&histogram, &each, &json, Path::new("-o"), &page]);
    let html = std::fs::read_to_string(page).unwrap();
    assert!(
        ["cyclictest-h.txt", "cyclictest-v.txt", "cyclictest.json"].iter().all(|name| html.contains(name))
    );
    fine(&["compare", "--anyway"], &[&histogram, &each]);
    let (code, out, _) = jitterlab(&["predict", "--require", "max < 1ns"], &[&histogram]);
    assert!(code == 1 && out.contains("FAIL"), "{out}");
}
