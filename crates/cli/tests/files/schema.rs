//! Interface for programs: every command's JSON keeps to the schema that is shipped and printed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test without its files has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::shared::known::{self, answered, jitterlab};
use serde_json::Value;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/schema.json")
}

#[test]
fn the_shipped_schema_is_that_of_the_types_and_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let made = serde_json::to_string_pretty(&jitterlab_report::schema::schema()).unwrap() + "\n";
    if fs::read_to_string(shipped()).unwrap() != made {
        let anew = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.json");
        fs::write(&anew, &made).unwrap();
        panic!(
            "docs/formats/schema.json is not what the types say; if that is meant: cp {} there",
            anew.display()
        );
    }
    assert!(answered(folder.path(), &["schema"]) == made, "`jitterlab schema` prints another one");
}

/// Holds a command's JSON against the schema; `statuses` are those it may end with.
#[track_caller]
fn valid(folder: &Path, args: &[&str], kind: &str, statuses: &[i32]) -> Value {
    let output = jitterlab(folder, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| statuses.contains(&code)), "{args:?}: {said}");
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {said}"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(shipped()).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(errors.is_empty(), "{args:?}: {errors:#?}");
    assert_eq!(document["kind"], kind, "{args:?}");
    // `report` reads back the written document.
    let text = String::from_utf8_lossy(&output.stdout);
    jitterlab_report::document::Document::read(&text).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    document
}

#[test]
fn check_keeps_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    valid(folder.path(), &["check", "--json"], "check", &[0, 1]);
}

/// Output of another tool, so that nothing has to be measured here.
fn measured() -> String {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    peers.join("cyclictest-v.txt").to_string_lossy().into_owned()
}

#[test]
fn runs_and_analyses_keep_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let valid = |args: &[&str], kind, statuses: &[i32]| valid(folder.path(), args, kind, statuses);
    let run = ["run", "--json", "-q", "--no-file", "--policy", "other", "-d", "60ms", "--period", "2ms"];
    valid(&run, "run", &[0]);
    let reached = valid(&[&run[..], &["--stop-above", "1ns"]].concat(), "run", &[1]);
    let around = &reached["result"]["around"];
    assert_eq!(around["activations"].as_array().unwrap().last().unwrap()["index"], around["index"]);
    let late = known::run(folder.path(), "late.parquet", 6_000_000, 300, |k| k * 7_919 % 1_000_000);
    for file in [&measured(), late.to_str().unwrap()] {
        valid(&["analyze", "--json", file], "analysis", &[0]);
        let part = valid(&["analyze", "--json", "--section", "time-error", file], "analysis", &[0]);
        assert_eq!(part["result"]["sections"], serde_json::json!(["time-error"]));
    }
}

#[test]
fn causes_keep_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let file = known::run_with_cause(folder.path(), "why.parquet");
    let document = valid(folder.path(), &["why", "--json", file.to_str().unwrap()], "why", &[0]);
    assert_eq!(document["result"]["tasks"][0]["causes"][0]["share"], 1.0);
}

#[test]
fn predictions_and_comparisons_keep_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let file = &measured();
    valid(folder.path(), &["predict", "--json", file], "prediction", &[0]);
    valid(folder.path(), &["predict", "--json", "--require", "max < 1h", file], "prediction", &[0]);
    valid(
        folder.path(),
        &["predict", "--json", "--claim", "p(latency > 1ms) < 1e-3", file],
        "prediction",
        &[0],
    );
    valid(folder.path(), &["compare", "--json", file, file], "comparison", &[0]);
    valid(folder.path(), &["compare", "--json", "--fail-if-worse", "10%", file, file], "comparison", &[0, 3]);
    valid(folder.path(), &["compare", "--json", file, file, "--with", file, file], "comparison", &[0]);
    valid(folder.path(), &["compare", "--json", "--preset", "twente", file, file], "comparison", &[0]);
}

#[test]
fn an_examination_keeps_to_the_schema_and_ends_with_a_page_and_a_decision() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["doctor", "plc", "--yes", "--no-tune", "--budget", "15s", "--load", "none", "--json"];
    let document = valid(folder.path(), &args, "doctor", &[0, 1, 3]);
    let result = &document["result"];
    assert!(result["advice"].as_array().is_some_and(|advice| !advice.is_empty()), "{result}");
    let skipped = |step: &str| {
        let steps = result["steps"].as_array().unwrap().iter();
        steps.filter(|taken| taken["step"] == step).map(|taken| taken["skipped"].clone()).next()
    };
    assert_eq!(skipped("tune").unwrap()["why"], "not-wanted");
    assert_eq!(skipped("measure"), Some(Value::Null));
    let page = fs::read_to_string(folder.path().join("jitterlab-doctor.html")).unwrap();
    assert!(page.contains("Is this computer fit?") && page.contains("What to do next"));
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3, "the page, the run it is made of, and what --continue goes on from");
    for bad in [&["--budget", "5s"][..], &["--by", "sorcery"]] {
        known::refused(folder.path(), &[&["doctor", "plc", "--yes"], bad].concat(), 2, &[bad[0]]);
    }
}

#[test]
fn ways_to_wait_keep_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let args =
        ["compare-wakeups", "--rounds", "1", "--duration", "20ms", "--policy", "other", "--json", "--quiet"];
    valid(folder.path(), &args, "compare-wakeups", &[0]);
}

#[test]
fn motors_and_loops_keep_to_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let valid = |args: &[&str], kind| valid(folder.path(), &[args, &["--json"]].concat(), kind, &[0]);
    valid(&["stepper", "--motor", "as1050", "--jitter", "10us"], "stepper");
    valid(&["stepper", "--list"], "stepper-devices");
    valid(&["servo", "--period", "10ms"], "servo");
    valid(&["servo", "--list"], "plants");
    let given = ["servo", "--period", "10ms", "--execution", "0.8h:0.9,1.2h:0.1", "--json"];
    self::valid(folder.path(), &given, "servo", &[0, 1]);
    let late = known::run(folder.path(), "late.parquet", 6_000_000, 300, |k| k * 7_919 % 1_000_000);
    // Too short for its loop.
    self::valid(folder.path(), &["servo", late.to_str().unwrap(), "--json"], "servo", &[3]);
    // A motor was named, and this run is not fit for it.
    let unfit = ["stepper", "--motor", "as1050", "--simulate", "100ms", late.to_str().unwrap(), "--json"];
    self::valid(folder.path(), &unfit, "stepper", &[1]);
}
