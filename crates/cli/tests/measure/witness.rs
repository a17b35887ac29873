//! A run held against a capture of its pin: `compare --align`.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files has failed")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::shared::known::{self, answered, jitterlab, refused};
use crate::shared::machine::unless_starved;

/// A scattered number from 0 to 9999 for each index, without a pattern.
fn scattered(index: i64) -> i64 {
    let mut x = (index as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % 10_000) as i64
}

/// A dump of two channels: STEP has a pulse for each start of these indices, 50 ppm fast and 200 ns late by up to 100 ns more;
/// NOISE has as many of its own.
fn capture(path: &Path, starts: impl Iterator<Item = (i64, i64)>) {
    let mut edges: Vec<(i64, String)> = Vec::new();
    for (index, start_ns) in starts {
        let at = 12_345 + start_ns + start_ns / 20_000 + 200 + scattered(index + 77) % 100;
        edges.extend([(at, "1!".into()), (at + 5_000, "0!".into())]);
        let other = 400_000 + index * 1_000_000 + scattered(index + 5_000);
        edges.extend([(other, "1\"".into()), (other + 5_000, "0\"".into())]);
    }
    edges.sort();
    let mut text = String::from(
        "$timescale 1 ns $end\n$scope module top $end\n$var wire 1 ! STEP $end\n$var wire 1 \" NOISE $end\n\
         $upscope $end\n$enddefinitions $end\n#0\n0!\n0\"\n",
    );
    for (at, change) in edges {
        writeln!(text, "#{at}\n{change}").unwrap();
    }
    fs::write(path, text).unwrap();
}

/// Output in one line, wherever its lines break.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_pulse_is_told_from_its_activation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    known::run(folder, "run.parquet", 1_000_000, 1_000, scattered);
    // The capture begins after the run and ends before it.
    capture(&folder.join("pin.vcd"), (150..900).map(|k| (k, k * 1_000_000 + scattered(k))));

    let text = one_line(&answered(folder, &["compare", "--align", "run.parquet", "pin.vcd"]));
    assert!(text.starts_with("MATCHED"), "{text}");
    assert!(text.contains("750 activations") && text.contains("250 activations"), "{text}");
    assert!(text.contains("50.0") && text.contains("ppm fast"), "{text}");
    assert!(text.contains("NOISE, held against known: nothing assigned"), "{text}");
    assert!(text.contains("unknown"), "{text}");

    let json =
        answered(folder, &["compare", "--align", "run.parquet", "pin.vcd", "--channel", "STEP", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let found = &json["result"]["channels"][0]["alignment"]["found"];
    assert_eq!((&found["pairs"], &found["first_index"]), (&750.into(), &150.into()), "{found}");
    assert!((found["rate_ppm"].as_f64().unwrap() - 50.0).abs() < 0.01, "{found}");
    // A delay that is spread evenly over 100 ns.
    assert!((found["followed"]["sd_ns"].as_f64().unwrap() - 28.9).abs() < 2.0, "{found}");
}

#[test]
fn what_cannot_be_told_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The same every 50 activations: shifted by 50 the pulses fit as well.
    let pattern = |k: i64| k * 7 % 50 * 400;
    known::run(folder, "run.parquet", 1_000_000, 500, pattern);
    capture(&folder.join("pin.vcd"), (100..400).map(|k| (k, k * 1_000_000 + pattern(k))));
    let output = jitterlab(folder, &["compare", "--align", "run.parquet", "pin.vcd", "--channel", "STEP"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.starts_with("AMBIGUOUS") && text.contains("50"), "{text}");

    known::run(folder, "other.parquet", 1_000_000, 500, |k| scattered(k + 1_000_000));
    let output = jitterlab(folder, &["compare", "--align", "other.parquet", "pin.vcd"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    refused(folder, &["compare", "--align", "run.parquet"], 2, &["two files"]);
}

#[test]
fn a_task_gives_pulses_and_takes_them_for_its_own() {
    unless_starved(|| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let measure = |pulse: &str, run: &str| {
            let args =
                ["run", "--count", "400", "--policy", "other", "--pulse", pulse, "-o", run, "--details"];
            one_line(&answered(folder, &args))
        };
        let text = measure("file:both.vcd", "both.parquet");
        assert!(text.contains("moved file:both.vcd: 800 edges took"), "{text}");
        let json = answered(folder, &["compare", "--align", "both.parquet", "both.vcd", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let found = &json["result"]["channels"][0]["alignment"]["found"];
        assert_eq!((&found["pairs"], &found["silent"], &found["extra"]), (&400.into(), &0.into(), &0.into()));
        // The dump is of the task's own clock.
        assert_eq!(found["steady"]["max_ns"].as_f64(), Some(0.0), "{found}");
        assert_eq!(json["result"]["warnings"][0]["about"], "pulsed");

        let args = ["compare", "--align", "end.parquet", "end.vcd", "--edge", "both"];
        // Latencies may be so alike that pulses fit several activations about as well.
        let matches = |_| {
            ["end.parquet", "end.vcd"].iter().for_each(|file| drop(fs::remove_file(folder.join(file))));
            measure("file:end.vcd@end", "end.parquet");
            let output = jitterlab(folder, &args);
            let text = one_line(&String::from_utf8_lossy(&output.stdout));
            let is_one = output.status.success();
            assert!(text.starts_with(if is_one { "MATCHED" } else { "AMBIGUOUS" }), "{text}");
            is_one
        };
        assert!((0..10).any(matches));
        let found = answered(folder, &[&args[..], &["--json"]].concat());
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let found = &found["result"]["channels"][0]["alignment"]["found"];
        // A pulse that came long after the end it marks, because the thread was held up between the two, is no pulse of it.
        let pairs = found["pairs"].as_u64().unwrap();
        assert!(pairs > 390 && pairs + found["silent"].as_u64().unwrap() == 400, "{found}");

        let refuses = |pulse: &str, status, says: &[&str]| {
            refused(folder, &["run", "--count", "3", "--pulse", pulse], status, says);
        };
        refuses("file:both.parquet", 3, &["both.parquet", "new file"]);
        refuses("parport77:D1", 3, &["parport77", "modprobe"]);
        refuses("gpiochip77:1", 3, &["gpiodetect"]);
        refuses("lamp", 2, &["gpiochip0:17"]);
    });
}
