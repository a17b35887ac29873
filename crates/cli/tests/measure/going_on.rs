//! Commands that measure several parts are killed at random moments: finished parts are kept, and the same
//! command continues after them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::machine::unless_starved;

const COMPENSATE: &[&str] =
    &["compensate", "--policy", "other", "--duration", "60ms", "--rounds", "6", "--output", "c"];
const COMPARE_WAKEUPS: &[&str] =
    &["compare-wakeups", "--policy", "other", "--rounds", "4", "--duration", "100ms"];
const SERVO_LIVE: &[&str] = &[
    "servo",
    "--live",
    "--policy",
    "other",
    "-d",
    "300ms",
    "--way",
    "wake=nanosleep",
    "--way",
    "wake=timerfd",
];

/// By hand more than the tests can wait for: JITTERLAB_KILLS=60 kills of each command.
fn kills() -> u32 {
    std::env::var("JITTERLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(args).arg("--json").current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn parts(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.into_iter().find(|path| path.extension().is_some_and(|end| end == "parts"))
}

/// Bytes of the kept parts, without the file's header.
fn bytes(folder: &Path) -> u64 {
    let length = parts(folder).and_then(|path| fs::metadata(path).ok()).map_or(0, |m| m.len());
    length.saturating_sub(64)
}

/// Number of parts after which a call continues, from its output.
fn went_on_behind(said: &str) -> u64 {
    let number = said.split("going on behind the ").nth(1).and_then(|rest| rest.split(' ').next());
    number.map_or(0, |number| number.parse().unwrap())
}

/// Kills the command again and again, each time a little after it has kept something more, and then lets it end.
fn killed_and_ended(args: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (mut behind, mut killed) = (0, 0);
    while killed < kills() {
        let mut run = start(folder, args);
        let (begin, before) = (Instant::now(), bytes(folder));
        // Something more is kept, or it has ended.
        while run.try_wait().unwrap().is_none() && bytes(folder) <= before {
            assert!(begin.elapsed() < Duration::from_secs(60), "{args:?} keeps nothing");
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(u64::from(killed).wrapping_mul(0x9e37_79b9) % 90_000));
        run.kill().unwrap();
        let output = run.wait_with_output().unwrap();
        if output.status.code() == Some(0) {
            assert_eq!(parts(folder), None, "it has ended, and left its parts");
            behind = 0;
            continue;
        }
        killed += 1;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let now_behind = went_on_behind(&said);
        assert!(now_behind >= behind, "of {behind} parts {now_behind} were left: {said}");
        behind = now_behind;
        assert!(parts(folder).is_some(), "{said}");
    }
    let output = start(folder, args).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let last = went_on_behind(&said);
    assert!(last > behind || kills() == 0, "the last part kept is missing: {behind}, {last}: {said}");
    assert_eq!(parts(folder), None, "all is measured, and the parts are there still");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn a_killed_compensate_goes_on() {
    unless_starved(|| {
        let result = killed_and_ended(COMPENSATE)["result"].take();
        assert_eq!(result["proof"]["pairs"].as_array().unwrap().len(), 6);
        assert_eq!(result["files"].as_array().unwrap().len(), 2, "{result}");
    });
}

#[test]
fn a_killed_comparison_of_wake_ups_goes_on() {
    unless_starved(|| {
        let result = killed_and_ended(COMPARE_WAKEUPS)["result"].take();
        let ways = result["ways"].as_array().unwrap();
        // Four turns of 100 ms.
        let executed = |way: &Value| way["figures"]["executed"].as_u64();
        assert!(ways.len() > 3 && ways.iter().any(|way| executed(way) == Some(400)), "{result}");
    });
}

#[test]
fn a_killed_live_loop_goes_on() {
    unless_starved(|| {
        let result = killed_and_ended(SERVO_LIVE)["result"].take();
        assert!(result["ways"].as_array().unwrap().len() >= 2, "{result}");
    });
}

#[test]
fn control_c_keeps_what_was_measured_and_says_so() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let run = start(folder, COMPARE_WAKEUPS);
    let begin = Instant::now();
    while bytes(folder) < 1_000 && begin.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(1));
    }
    let interrupt = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("the same command goes on from here"), "{said}");
    // Another command has nothing to do with it.
    let other = start(folder, &[COMPARE_WAKEUPS, &["--period", "2ms"]].concat()).wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&other.stderr).contains("going on"));
    let output = start(folder, COMPARE_WAKEUPS).wait_with_output().unwrap();
    assert!(went_on_behind(&String::from_utf8_lossy(&output.stderr)) > 0);
    assert_eq!(parts(folder), None);
}
