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
    assert_eq!(items.len(), 142);
}

#[test]
fn what_is_simulated_takes_no_duration() {
    for words in [&["epos", "-d1s"][..], &["epos", "--virtual", "-d1s"]] {
        let output = reproduce(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("--duration"), "{words:?}: {said}");
    }
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for document in ["athlon", "epos", "nist", "twente"] {
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

#[test]
fn what_xenomai_needs_is_missed_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &[&str], says: &[&str]| {
        let out = folder.path().join("out");
        let output = reproduce(&[&["twente", "--virtual", "-o", out.to_str().unwrap()], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && says.iter().all(|part| said.contains(part)), "{said}");
        assert!(!out.exists(), "{said}");
    };
    refused(&["--with", "/nowhere/libcobalt.so.2"], &["there is no /nowhere/libcobalt.so.2 here"]);
    // A kernel's header, a pipeline in its version line and nothing else.
    let image = folder.path().join("bzImage");
    let mut bytes = vec![0u8; 0x1000];
    bytes[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
    bytes[0x20e..0x210].copy_from_slice(&0x300u16.to_le_bytes());
    let write = |version: &str| {
        let mut bytes = bytes.clone();
        bytes[0x500..0x500 + version.len()].copy_from_slice(version.as_bytes());
        std::fs::write(&image, bytes).unwrap();
    };
    let image = image.to_str().unwrap();
    write("6.6.87-jitter (me@here) #1 SMP PREEMPT_DYNAMIC IRQPIPE Sun Nov 29 2026");
    for (core, library) in [("--cobalt", "libcobalt.so.2"), ("--evl", "libevl.so")] {
        refused(&[core, image], &[library, "--with"]);
    }
    write("6.6.87-jitter (me@here) #1 SMP PREEMPT_DYNAMIC Sun Nov 29 2026");
    for core in ["--cobalt", "--evl"] {
        refused(&[core, image], &["has no core that takes interrupts before Linux", core]);
    }
}
