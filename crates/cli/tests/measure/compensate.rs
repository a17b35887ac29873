//! `jitterlab compensate` and `jitterlab compare-wakeups` as a user meets them, on the real machine. Times
//! are not asserted, only facts that hold on any machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::machine::unless_starved;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

fn output(mut command: Command, folder: &Path) -> Output {
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn jitterlab(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(args);
    output(command, folder)
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Ends with status 2 and these words.
#[track_caller]
fn refused(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_compensation_is_measured_recommended_and_proven() {
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let short = ["compensate", "--policy", "other", "--duration", "60ms", "--rounds", "6"];
        let wish = ["--polling", "10%", "--json", "--quiet", "--output", "servo"];
        let report = json(&jitterlab(folder.path(), &[&short[..], &wish[..]].concat()))["result"].take();

        assert_eq!(report["candidates"].as_array().unwrap().len(), 3);
        assert!(
            report["service"]["often_ns"].as_f64() > Some(0.0)
                && report["clock_floor"]["count"].as_i64() > Some(0)
        );
        let chosen = &report["candidates"][report["chosen"].as_u64().unwrap() as usize];
        let margin_ns = chosen["choice"]["margin_ns"].as_i64().unwrap();
        assert!((0..=250_000).contains(&margin_ns));
        assert!(chosen["choice"]["expected_load"].as_f64() <= Some(0.1001));
        for point in report["load_curve"].as_array().unwrap() {
            assert!(point["equation_1"].as_f64() > point["mean_poll"].as_f64());
        }
        let proof = &report["proof"];
        assert_eq!(proof["pairs"].as_array().unwrap().len(), 6);
        assert!(proof["p99_factor"]["interval"].is_array(), "{proof}");
        assert_eq!(proof["late"]["starts"], proof["after"]["executed"]);

        // Both runs are there, with their compensation.
        for (way, compensate) in
            [("uncompensated", "none".to_owned()), ("compensated", format!("margin:{margin_ns}ns"))]
        {
            let file = format!("servo-{way}.parquet");
            let run = json(&jitterlab(folder.path(), &["analyze", "--json", &file]));
            let written = run["result"]["run"]["tasks"][0]["spec"]["compensate"].as_str().unwrap();
            let parse = |text: &str| text.parse::<jitterlab_model::Compensation>().unwrap();
            assert_eq!(parse(written), parse(&compensate));
            assert_eq!(run["result"]["tasks"][0]["summary"]["executed"], 6 * 120);
        }
    });
}

#[test]
fn every_way_to_wait_is_measured_or_says_why_not() {
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let args =
            ["compare-wakeups", "--rounds", "2", "--duration", "40ms", "--policy", "other", "--json", "-q"];
        let report = json(&jitterlab(folder.path(), &args))["result"].take();
        let ways = report["ways"].as_array().unwrap();
        let names: Vec<&str> = ways.iter().map(|w| w["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["nanosleep", "nanosleep-relative", "timer-signal", "timerfd", "deadline", "spin"]);
        for way in ways {
            assert!(way["figures"]["executed"].as_u64() > Some(0) || way["trouble"].is_object(), "{way}");
        }
        assert!(ways[5]["figures"]["polled_share"].as_f64() > Some(0.5));

        let own = ["--way", "compensate=margin:50us", "--way", "wake=timerfd,clock=realtime"];
        let report = json(&jitterlab(folder.path(), &[&args[..], &own[..]].concat()))["result"].take();
        assert_eq!(report["ways"].as_array().unwrap().len(), 2);
        assert!(report["ways"][0]["figures"]["polled_share"].as_f64() > Some(0.0));
    });
}

#[test]
fn what_cannot_work_is_refused_with_an_explanation() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    refused(&jitterlab(folder, &["compensate", "--late", "2"]), "1e-4 or 20%");
    refused(&jitterlab(folder, &["compensate", "--duration", "100us"]), "--duration is too short");
    refused(&jitterlab(folder, &["compensate", "--wake", "spin"]), "spin");
    refused(&jitterlab(folder, &["compensate", "--compensate", "margin:20us"]), "leave --compensate");
    refused(&jitterlab(folder, &["compensate", "--task", "period=1ms", "--task", "period=2ms"]), "2 tasks");
    refused(&jitterlab(folder, &["matrix", "--cpu", "0"]), "leave --cpu");
    refused(&jitterlab(folder, &["run", "--period", "1ms", "--compensate", "margin:1ms"]), "margin");
    refused(&jitterlab(folder, &["compare-wakeups", "--way", "wake=often"]), "timerfd");
    let mut on_one_processor = Command::new("taskset");
    on_one_processor.args(["-c", "0", PROGRAM, "run", "--wake", "spin", "--policy", "fifo:1", "--no-file"]);
    refused(&output(on_one_processor, folder), "unreachable");
}
