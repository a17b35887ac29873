//! The report in a real browser: a run with a single spike among ten million activations, looked at as a person
//! would. Needs Chromium, and playwright and axe-core from PyPI; `./test` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its run has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use jitterlab_model::causes::{
    Cause, CauseClass, CauseSum, Evidence, ExecutionContext, ExecutionSpan, LateStart, LatencyPart,
    RunCauses, TaskCauses,
};
use jitterlab_model::{Activation, Policy, RunInfo, StopReason, SystemFacts, TaskResult, TaskSpec};
use jitterlab_trace::{RunFileWriter, RunWriter};
use serde_json::{Value, json};

const PERIOD_NS: i64 = 100_000;
/// Number of activations that the time limits refer to; without optimisation a tenth of it, which takes long
/// enough.
const ACTIVATIONS: u64 = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };

/// Held by the test that runs, since two browsers at once would print times of a busy machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Writes a run of `count` activations with one spike, and gives the spike. Every latency is `more_ns` later.
fn write_run(path: &Path, count: u64, more_ns: i64) -> Value {
    let (spike, latency_ns) = (count * 6 / 10 + 7, 4_321_987);
    let mut writer = RunFileWriter::create(path, 1).unwrap();
    let mut rows = Vec::new();
    for k in 0..count {
        // Noise that does not pack better than a real machine's.
        let mixed = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let noise = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let latency = more_ns + 2_500 + (noise >> 54) as i64 + (noise >> 44 & 0x3ff) as i64;
        let due_ns = 5_000_000_000 + k as i64 * PERIOD_NS;
        let start_ns = due_ns + if k == spike { latency_ns } else { latency };
        let missed = if k == spike { 43 } else { 0 };
        rows.push(Activation {
            index: k,
            due_ns,
            start_ns,
            end_ns: start_ns + 9_000 + (noise >> 56) as i64,
            missed,
            ..Activation::default()
        });
        if rows.len() == 1 << 16 {
            writer.append(0, &rows).unwrap();
            rows.clear();
        }
    }
    writer.append(0, &rows).unwrap();
    let spec = TaskSpec {
        name: "servo <loop> & \"co\"".into(),
        period_ns: PERIOD_NS,
        policy: Some("fifo:80".parse::<Policy>().unwrap()),
        ..TaskSpec::default()
    };
    let mut info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [spec]);
    info.command = ["jitterlab", "run", "--task", "name=it's,period=100us"].map(String::from).to_vec();
    info.load = jitterlab_model::Load::from_specs(["cpu:4".parse().unwrap(), "disk:1+36%".parse().unwrap()]);
    info.stop = Some(StopReason::Count);
    info.facts_before = Some(SystemFacts::default());
    info.tasks[0].result = Some(TaskResult {
        executed: count,
        missed: 43,
        first_due_ns: 5_000_000_000,
        last_end_ns: 5_000_000_000 + count as i64 * PERIOD_NS,
        min_latency_ns: more_ns + 2_500,
        max_latency_ns: latency_ns,
        ..TaskResult::default()
    });
    writer.finish(&info).unwrap();
    json!({ "index": spike, "latency_ns": latency_ns, "period_ns": PERIOD_NS, "shown": "4.321987 ms" })
}

fn jitterlab(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The browser and a Python that can drive it, or the reason why there is none.
fn browser() -> Result<(PathBuf, PathBuf), String> {
    let python = PathBuf::from(std::env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into()));
    let import = Command::new(&python).args(["-c", "import playwright, axe_playwright_python"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        return Err(format!("{} has no playwright and axe-playwright-python", python.display()));
    }
    let browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = browsers.iter().map(PathBuf::from).find(|path| path.exists());
    found.map(|browser| (python, browser)).ok_or_else(|| "there is no chromium".into())
}

/// Examines the page of these runs in a browser, if there is one.
fn examine(folder: &Path, page: &str, runs: &[&str], mut facts: Value) {
    let (python, browser) = match browser() {
        Ok(found) => found,
        Err(why) => {
            assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{why}");
            return println!("skipped: the browser, since {why}");
        }
    };
    facts["browser"] = json!(browser);
    let told = folder.join("facts.json");
    // Word for word: reading and writing numbers again may change their last digit.
    let documents: Vec<String> = runs.iter().map(|run| jitterlab(&["analyze", "--json", run])).collect();
    let text = facts.to_string().replacen('{', &format!("{{\"documents\": [{}],", documents.join(",")), 1);
    std::fs::write(&told, text).unwrap();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/browser/check.py");
    let mut command = Command::new("timeout");
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg("600").arg(python).args([
        check.as_os_str(),
        page.as_ref(),
        told.as_ref(),
    ]);
    if let Some(shots) = std::env::var_os("JITTERLAB_SCREENSHOTS") {
        let shots = Path::new(&shots).join(Path::new(page).file_stem().unwrap());
        std::fs::create_dir_all(&shots).unwrap();
        command.arg(shots);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_single_spike_in_a_long_run_is_found_in_the_browser() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (run, page) = (file("run.parquet"), file("long.html"));
    let spike = write_run(Path::new(&run), ACTIVATIONS, 0);
    let begun = Instant::now();
    jitterlab(&["report", &run, "-o", &page]);
    println!("report of {ACTIVATIONS} activations in {:.2} s", begun.elapsed().as_secs_f64());
    let size = std::fs::metadata(&page).unwrap().len();
    println!("the page has {:.2} MB", size as f64 / 1e6);
    assert!(size < 500_000, "{size}");
    examine(directory.path(), &page, &[&run], json!({ "spike": spike }));
}

#[test]
fn every_section_is_legible_and_open_to_everybody() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let runs = [file("first.parquet"), file("second.parquet")];
    write_run(Path::new(&runs[0]), 30_000, 0);
    write_run(Path::new(&runs[1]), 30_000, 700);
    let results = [file("compensate.json"), file("stepper.json"), file("servo.json"), file("check.json")];
    let motor = ["--frame", "23", "--torque", "1.9Nm"];
    let asked: [&[&str]; 4] = [
        &[
            "compensate",
            "--policy",
            "other",
            "--duration",
            "60ms",
            "--rounds",
            "6",
            "--no-file",
            "--json",
            "--quiet",
        ],
        &[&["stepper", "--json", &runs[0]], &motor[..]].concat(),
        &["servo", "--json", &runs[0]],
        // Its exit status depends on this machine's fitness, which is not tested here.
        &["check", "--json"],
    ];
    for (arguments, result) in asked.iter().zip(&results) {
        let output = Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(*arguments).output().unwrap();
        assert!(!output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(result, output.stdout).unwrap();
    }
    let (matrix, page) = (file("matrix"), file("all.html"));
    jitterlab(&["matrix", "--cpus", "0", "-r", "1", "-d", "100ms", "-o", &matrix]);
    let all: Vec<&str> = runs.iter().chain(&results).chain([&matrix]).map(String::as_str).collect();
    jitterlab(&[&["report", "-o", &page][..], &all].concat());
    let sections = [
        "answer",
        "series",
        "histogram",
        "percentiles",
        "pairs",
        "autocorrelation",
        "spectrum",
        "time-error",
        "prediction",
        "comparison",
        "compensation",
        "stepper",
        "servo",
        "check",
        "matrix",
        "facts",
        "reproduce",
        "data",
        "words",
    ];
    let shown: Vec<&str> = runs.iter().map(String::as_str).collect();
    examine(directory.path(), &page, &shown, json!({ "sections": sections }));
}

/// A run of three late starts with known causes and neighbours, and the page's expected contents: the
/// position of each, the bars of one from the lowest lane up, and the number of starts for each cause.
fn write_causes(path: &Path) -> Value {
    const LATE: [(u64, usize); 3] = [(70, 0), (150, 1), (230, 0)];
    let latency_ns = |index: u64| match LATE.iter().position(|(late, _)| *late == index) {
        Some(rank) => 400_000 - 50_000 * rank as i64,
        None => 9_000,
    };
    let spec = TaskSpec { name: "main".into(), period_ns: 1_000_000, ..TaskSpec::default() };
    let mut info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [spec]);
    info.tasks[0].result = Some(TaskResult {
        executed: 300,
        first_due_ns: 0,
        last_end_ns: 300_000_000,
        min_latency_ns: 9_000,
        max_latency_ns: 400_000,
        ..TaskResult::default()
    });
    let rows = (0..300).map(|index| {
        let due_ns = index as i64 * 1_000_000;
        let start_ns = due_ns + latency_ns(index);
        Activation { index, due_ns, start_ns, end_ns: start_ns + 5_000, ..Activation::default() }
    });
    let hog = Cause { class: CauseClass::Preempted, who: Some("hog".into()) };
    let disk = Cause { class: CauseClass::Interrupt, who: Some("24 disk".into()) };
    let latest = LATE.map(|(index, cause)| {
        let ns = latency_ns(index);
        let part =
            |cause, at_ns, ns| LatencyPart { cause, at_ns, ns, evidence: Evidence::Events, function: None };
        // The task runs from its start on; the lane below shows the thread that had the processor before.
        let ran = |context, name, at_ns, ns| ExecutionSpan { context, name, at_ns, ns };
        let spans = vec![
            ran(ExecutionContext::Task, 0, ns, 100_000),
            ran(ExecutionContext::Thread, 1, -200_000, 200_000),
            ran(ExecutionContext::Softirq, 2, 20_000, 60_000),
            ran(ExecutionContext::Interrupt, 3, 100_000, 80_000),
        ];
        let parts = vec![part(2, 0, 10_000), part(cause, 10_000, ns - 10_000)];
        LateStart { index, due_ns: index as i64 * 1_000_000, latency_ns: ns, cpu: 0, parts, spans }
    });
    let sums = [hog, disk, CauseClass::TypicalWakeUp.into()].map(|cause| {
        let mut sum = CauseSum::new(cause);
        sum.add_activation(400_000, 390_000, 390_000, 0);
        sum
    });
    let told = latest
        .iter()
        .map(|late| json!({ "at": [late.due_ns, late.latency_ns], "index": late.index.to_string() }));
    let facts = json!({
        "latest": told.collect::<Vec<_>>(),
        "lanes": [
            [300_000, 100_000, "main"],
            [-200_000, 200_000, "neighbour"],
            [20_000, 60_000, "NET_RX"],
            [100_000, 80_000, "24 disk"],
            [10_000, 290_000, "more urgent thread hog"],
        ],
        "causes": [["D interrupt 24 disk", 1], ["P more urgent thread hog", 2]],
    });
    let causes = TaskCauses {
        explained: 300,
        lateness_ns: 1_050_000,
        max_ns: 400_000,
        causes: sums.into(),
        worst_starts: latest.into(),
        names: ["main", "neighbour", "NET_RX", "24 disk"].map(String::from).into(),
        ..TaskCauses::default()
    };
    let mut writer = RunWriter::create(path, &info).unwrap();
    writer.append(0, &rows.collect::<Vec<_>>()).unwrap();
    writer.set_causes(&RunCauses { tasks: vec![causes], ..RunCauses::default() }).unwrap();
    writer.finish(info).unwrap();
    facts
}

#[test]
fn a_click_at_a_spike_shows_what_ran_around_it_also_on_a_phone_and_in_the_dark() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (run, page) = (file("run.parquet"), file("causes.html"));
    let facts = write_causes(Path::new(&run));
    jitterlab(&["report", &run, "-o", &page]);
    examine(directory.path(), &page, &[&run], json!({ "causes": facts, "sections": ["causes"] }));
}
