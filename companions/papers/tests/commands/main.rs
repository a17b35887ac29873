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
    assert_eq!(items.len(), 109);
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

/// The attributes of the Twente report's thread as it lists them, and with the missing ones added.
#[test]
fn the_listing_s_thread_keeps_its_creator_s_policy() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("listing.c");
    let program = r#"
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        static void *loop(void *unused) {
            struct sched_param param;
            int policy;
            pthread_getschedparam(pthread_self(), &policy, &param);
            printf("%d %d", policy == SCHED_FIFO, param.sched_priority);
            return unused;
        }
        int main(int count, char **words) {
            struct sched_param param = { .sched_priority = 99 };
            pthread_attr_t attributes;
            pthread_t thread;
            pthread_attr_init(&attributes);
            pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
            pthread_attr_setschedparam(&attributes, &param);
            if (count > 1) {
                pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
            }
            if (pthread_create(&thread, &attributes, loop, words) != 0) {
                return 77;
            }
            return pthread_join(thread, NULL);
        }
    "#;
    std::fs::write(&source, program).unwrap();
    let built = folder.path().join("listing");
    let compiled = Command::new("cc").arg("-pthread").arg(&source).arg("-o").arg(&built).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: no C compiler");
        return;
    }
    let said = |words: &[&str]| Command::new(&built).args(words).output().unwrap();
    assert_eq!(said(&[]).stdout, b"0 0");
    let mended = said(&["explicit"]);
    if mended.status.code() == Some(77) {
        println!("skipped: real-time policies are not permitted here");
    } else {
        assert_eq!(mended.stdout, b"1 99");
    }
}
