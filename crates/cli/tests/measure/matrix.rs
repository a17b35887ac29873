//! `jitterlab matrix` and `reproduce athlon` as a user meets them, on the real machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

fn jitterlab(folder: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// The finished cells with their contents.
fn cells(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_str().unwrap().to_owned());
    names
        .filter(|name| name.starts_with("cell-") && name.ends_with(".parquet"))
        .map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap()))
        .collect()
}

#[test]
fn a_killed_matrix_goes_on_without_repeating_what_is_done() {
    let folder = TempDir::new().unwrap();
    let args = ["matrix", "--cpus", "0", "--load", "none", "--load", "cpu:1@0", "-r", "4", "-d", "200ms"];
    let mut first = Command::new(PROGRAM)
        .args(args)
        .args(["-o", "m"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let directory = folder.path().join("m");
    let begun = Instant::now();
    while cells(&directory).len() < 3 && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let index = fs::read_to_string(directory.join("index.json")).unwrap();
    let done = cells(&directory).into_iter().filter(|(name, _)| index.contains(name.as_str()));
    let done: BTreeMap<_, _> = done.collect();
    assert!(done.len() >= 2, "{:?}", done.keys());
    let output = jitterlab(folder.path(), &["matrix", "-o", "m", "--figure", "m.svg"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let after = cells(&directory);
    assert_eq!(after.len(), 8);
    assert!(done.iter().all(|(name, content)| after[name] == *content), "a finished cell was measured again");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("How sure: ") && text.contains("load: cpu:1@0, 4 repetitions"), "{text}");
    assert!(fs::read_to_string(folder.path().join("m.svg")).unwrap().contains("8 cells of 200 ms"));
}

#[test]
fn the_athlon_report_is_measured_again_beside_its_own_figures() {
    let folder = TempDir::new().unwrap();
    let output = jitterlab(folder.path(), &["reproduce", "athlon", "-d", "50ms"]);
    if available_parallelism().unwrap().get() < 2 {
        assert_eq!(output.status.code(), Some(2));
        return;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["8.8/5.8", "load: proc, 3 repetitions", "CPU hogs help", "report: yes"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for figure in ["matrix.svg", "matrix.png"] {
        assert!(fs::metadata(folder.path().join("athlon").join(figure)).unwrap().len() > 1_000, "{figure}");
    }
}

#[test]
fn the_twente_report_is_tested_on_every_system_of_the_machine() {
    let folder = TempDir::new().unwrap();
    let output = jitterlab(folder.path(), &["reproduce", "twente", "-d", "100ms"]);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(0) && said.contains("policy") {
        println!("skipped: not permitted here: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["ordinary, idle", "deadline, stress-4-6", "ordinary Linux: stress", "mostly 1.1 to 1.5"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for file in ["figure-01.svg", "figure-12-deadline.png", "ordinary-idle-3.parquet", "report.html"] {
        assert!(fs::metadata(folder.path().join("twente").join(file)).unwrap().len() > 1_000, "{file}");
    }
    let listed = jitterlab(folder.path(), &["reproduce", "twente", "--list", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let items = listed["result"]["items"].as_array().unwrap();
    let of = |id: &str| items.iter().find(|item| item["id"] == id).unwrap()["results"].clone();
    assert!(of("twente/stress-enlarges")[0]["standing"].is_string(), "{listed}");
    assert_eq!(of("twente/figure-1")[0]["standing"], serde_json::Value::Null, "{listed}");
    assert_eq!(of("twente/timers-survive"), serde_json::json!([]), "{listed}");
}
