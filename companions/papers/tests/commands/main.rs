//! Answers of `jitterlab reproduce` before anything is measured, and the tables of simulated chips.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run the tools has failed")]

mod epos_table;

use std::process::{Command, Output};

fn reproduce(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab-papers")).args(words).output().unwrap()
}

#[test]
fn every_document_is_listed() {
    let output = reproduce(&["--list", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["kind"], "papers");
    let items = document["result"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 111);
}

#[test]
fn what_is_simulated_takes_no_duration_and_no_kernel() {
    for (words, says) in [(["epos", "--virtual"], "--virtual"), (["epos", "-d1s"], "--duration")] {
        let output = reproduce(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(says), "{words:?}: {said}");
    }
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for document in ["athlon", "nist", "twente"] {
        for kernel in ["--ordinary", "--preempt-rt", "--cobalt", "--evl"] {
            let output = reproduce(&[
                document,
                "--virtual",
                "-o",
                folder.path().join("out").to_str().unwrap(),
                kernel,
                file,
            ]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("is not a Linux kernel image"), "{said}");
            assert!(!folder.path().join("out").exists(), "{said}");
        }
    }
}
