//! The report in a real browser: a run with a single spike among ten million activations, looked at as a person
//! would. Needs Chromium, and playwright and axe-core from PyPI; `./test` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its run has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use jitterlab_model::{Activation, Policy, RunInfo, StopReason, TaskResult, TaskSpec};
use jitterlab_trace::RunFileWriter;
use serde_json::{Value, json};

const PERIOD_NS: i64 = 100_000;
/// What the bars are about; without optimisation a tenth of it, which takes long enough.
const ACTIVATIONS: u64 = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };

/// Writes a run of `count` activations with one spike, and gives the spike.
fn write_run(path: &Path, count: u64) -> Value {
    let (spike, latency_ns) = (count * 6 / 10 + 7, 4_321_987);
    let mut writer = RunFileWriter::create(path, 1).unwrap();
    let mut rows = Vec::new();
    for k in 0..count {
        let noise = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let latency = 2_500 + (noise >> 54) as i64 + (noise >> 44 & 0x3ff) as i64;
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
    let mut info = RunInfo::new("host", "CLOCK_MONOTONIC", [spec]);
    info.command = ["jitterlab", "run", "--task", "name=it's,period=100us"].map(String::from).to_vec();
    info.load = "cpu:4 disk:1+36%".into();
    info.stop = Some(StopReason::Count);
    info.tasks[0].result = Some(TaskResult {
        executed: count,
        missed: 43,
        first_due_ns: 5_000_000_000,
        last_end_ns: 5_000_000_000 + count as i64 * PERIOD_NS,
        min_latency_ns: 2_500,
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

/// The browser and a Python that can drive it, or why there is none.
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

#[test]
fn a_single_spike_in_a_long_run_is_found_in_the_browser() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (run, page) = (file("run.parquet"), file("report.html"));
    let spike = write_run(Path::new(&run), ACTIVATIONS);
    let begun = Instant::now();
    jitterlab(&["report", &run, "-o", &page]);
    println!("report of {ACTIVATIONS} activations in {:.2} s", begun.elapsed().as_secs_f64());
    let size = std::fs::metadata(&page).unwrap().len();
    println!("the page has {:.2} MB", size as f64 / 1e6);
    assert!(size < 6_000_000, "{size}");

    let (python, browser) = match browser() {
        Ok(found) => found,
        Err(why) if std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some() => panic!("{why}"),
        Err(why) => return println!("skipped the browser: {why}"),
    };
    // Word for word: reading and writing numbers again may change their last digit.
    let document = jitterlab(&["analyze", "--json", &run]);
    let facts = format!(r#"{{"documents": [{document}], "spike": {spike}, "browser": {}}}"#, json!(browser));
    std::fs::write(file("facts.json"), facts).unwrap();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.py");
    let mut command = Command::new("timeout");
    command.arg("480").arg(python).args([check.as_os_str(), page.as_ref(), file("facts.json").as_ref()]);
    if let Some(shots) = std::env::var_os("JITTERLAB_SCREENSHOTS") {
        command.arg(shots);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
