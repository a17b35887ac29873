//! Every mistake a user can make gets a sentence with the remedy and the right exit status, never a panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use assert_cmd::Command;

fn jitterlab(args: &[&str]) -> (i32, String) {
    let output = Command::cargo_bin("jitterlab").unwrap().args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{args:?}: {text}");
    (output.status.code().unwrap_or(-1), text)
}

#[track_caller]
fn refused(args: &[&str], status: i32, says: &[&str]) {
    let (code, text) = jitterlab(args);
    assert_eq!(code, status, "{args:?}: {text}");
    for part in says {
        assert!(text.contains(part), "{args:?}: {part:?} is missing in: {text}");
    }
}

#[test]
fn arguments_that_make_no_sense() {
    refused(&["run", "--period", "0ms"], 2, &["0 ns"]);
    refused(&["run", "--period", "250"], 2, &["no unit", "250us"]);
    refused(&["run", "--policy", "hard"], 2, &["fifo:1..99"]);
    refused(&["run", "--task", "period=1ms,colour=red"], 2, &["colour", "overrun"]);
    refused(&["run", "--task", "period=1ms", "--period", "1ms"], 2, &["cannot be used"]);
    refused(&["run", "--keep", "some"], 2, &["spikes"]);
    refused(&["run", "--cpu-dma-latency", "soon"], 2, &["keep"]);
    refused(&["run", "--period", "1ms", "--work", "spin:2ms"], 2, &["does not fit", "lengthen the period"]);
    refused(&["run", "--duration", "0s"], 2, &["duration"]);
    refused(&["run", "--count", "0"], 2, &["count"]);
    refused(&["run", "--task", "name=a", "--task", "name=a"], 2, &["two tasks", "name"]);
}

#[test]
fn a_processor_that_does_not_exist() {
    refused(&["run", "--cpu", "4095"], 2, &["4095", "this machine has"]);
}

#[test]
fn files_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    refused(&["run", "-d", "10ms", "-o", "/nowhere/at/all/run.parquet"], 3, &["/nowhere/at/all"]);
    let foreign = folder.path().join("notes.txt");
    std::fs::write(&foreign, "not a run").unwrap();
    let foreign = foreign.to_str().unwrap();
    refused(&["analyze", foreign], 3, &["notes.txt"]);
    refused(&["analyze", "/nowhere/run.parquet"], 3, &["/nowhere/run.parquet"]);
    refused(&["analyze"], 2, &["FILE"]);
    refused(&["recover", foreign], 3, &["notes.txt"]);
}

#[test]
fn a_truncated_run_file_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.parquet");
    let path = file.to_str().unwrap();
    let run = ["run", "-q", "-d", "20ms", "--policy", "other", "-o", path];
    assert_eq!(jitterlab(&run).0, 0);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    refused(&["analyze", path], 3, &["run.parquet"]);
}
