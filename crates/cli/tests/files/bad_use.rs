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
fn what_was_meant_is_said() {
    refused(&["run", "--duration", "10"], 2, &["did you mean 10s?"]);
    refused(&["run", "-d", "0.5"], 2, &["did you mean 0.5s?"]);
    refused(&["run", "--period", "1000"], 2, &["did you mean 1000us?"]);
    refused(&["run", "--policy", "fifo"], 2, &["did you mean fifo:80?"]);
    refused(&["run", "--policy", "rr"], 2, &["did you mean rr:80?"]);
    refused(&["run", "--for", "step-50"], 2, &["step-50us"]);
    refused(&["run", "--dura", "10s"], 2, &["--duration"]);
    refused(&["analyse"], 2, &["analyze"]);
    refused(&["run", "-p", "80"], 2, &["--policy fifo:80"]);
    refused(&["run", "-i", "1000"], 2, &["--period 1000us"]);
    refused(&["run", "-D", "60"], 2, &["--duration 60s"]);
    refused(&["run", "-a", "1"], 2, &["--cpu 1"]);
    refused(&["run", "-t"], 2, &["--task"]);
    refused(&["run", "-l", "9"], 2, &["--count"]);
    refused(&["run", "-b", "9"], 2, &["--stop-above"]);
    refused(&["run", "-S"], 2, &["jitterlab matrix"]);
    refused(&["run", "--frequency", "1000"], 2, &["--period 1kHz"]);
    refused(&["run", "--cpu", "all"], 2, &["jitterlab matrix"]);
    refused(&["compare", "--fail-if-worse", "10", "a", "b"], 2, &["did you mean 10%?"]);
    refused(&["plot", "run.parquet", "--figure", "hist"], 2, &["did you mean histogram?"]);
    refused(&["latency-test"], 2, &["period=25us"]);
    refused(&["run", "servo-thread"], 2, &["did you mean jitterlab run --for servo-thread?"]);
    refused(&["servo-thread"], 2, &["did you mean jitterlab run --for servo-thread?"]);
    refused(&["rnu"], 2, &["did you mean run?"]);
    refused(&["check", "audio"], 2, &["did you mean jitterlab run --for audio?"]);
    refused(&["analyze", "audio"], 2, &["no file audio here", "jitterlab run --for audio"]);
    refused(&["run", "ethercat"], 2, &["did you mean --for fieldbus-1ms?"]);
    refused(&["servo", "dc-servo"], 2, &["did you mean jitterlab servo --plant dc-servo?"]);
    refused(&["run", "fifo:80"], 2, &["did you mean jitterlab run --policy fifo:80?"]);
    refused(&["run", "timerfd"], 2, &["did you mean jitterlab run --wake timerfd?"]);
    refused(&["run", "cpu:2"], 2, &["did you mean jitterlab run --load cpu:2?"]);
    refused(&["run", "10s"], 2, &["did you mean jitterlab run --duration 10s?"]);
    refused(&["doctor", "1min"], 2, &["1min"]);
    refused(&["run", "new.parquet"], 2, &["did you mean jitterlab run --output new.parquet?"]);
    refused(&["run", "Cargo.toml"], 2, &["jitterlab analyze Cargo.toml"]);
    refused(&["rtcqs"], 2, &["jitterlab check"]);
    refused(&["stepper", "--frame", "size23", "--torque", "1.9Nm"], 2, &["23"]);
    refused(&["stepper", "--frame", "nema23", "--torque", "1.9", "--jitter", "9us"], 2, &["1.9 N m"]);
    refused(&["stepper", "--frame", "23", "--torque", "1.9Nm", "--travel", "5mm"], 2, &["5mm/rev"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histogram.txt");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    refused(&[file], 2, &["jitterlab analyze", "histogram.txt"]);
    refused(&["run", file], 2, &["jitterlab analyze", "histogram.txt"]);
    refused(&["analyze", file], 3, &["histogram.txt is empty"]);
    for (name, content, meant) in [
        ("blink.elf", "\x7fELF", "jitterlab mcu run"),
        ("blink.ino", "void loop() {}", "compile it first"),
        ("loop.py", "#!/usr/bin/python3\n", "jitterlab watch -- "),
        ("loop", "\x7fELF", "jitterlab watch -- "),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        refused(&["run", file.to_str().unwrap()], 2, &[meant, name]);
    }
    refused(&["report"], 2, &["jitterlab run -o run.parquet"]);
    refused(&["export", file], 2, &["cyclictest, hdr, junit"]);
}

#[test]
fn values_and_options_of_other_habits_are_answered_with_ours() {
    for (args, meant) in [
        (&["run", "--duration", "10", "s"][..], "one word: 10s"),
        (&["run", "--duration", "5min30s"], "did you mean 330s?"),
        (&["run", "--period", "1ms500us"], "did you mean 1500000ns?"),
        (&["run", "--policy", "fifo80"], "did you mean fifo:80?"),
        (&["run", "--policy", "FIFO:80"], "did you mean fifo:80?"),
        (&["run", "--policy", "80"], "did you mean fifo:80?"),
        (&["run", "--policy", "SCHED_RR 10"], "did you mean rr:10?"),
        (&["run", "--policy", "fifo:100"], "did you mean fifo:99?"),
        (&["run", "--priority", "80"], "--policy fifo:80"),
        (&["run", "--prio", "80"], "--policy fifo:80"),
        (&["run", "--affinity", "1"], "--cpu 1"),
        (&["run", "--core", "1"], "--cpu 1"),
        (&["run", "--threads", "4"], "--task name=a"),
        (&["run", "--mlockall"], "leave --mlockall out"),
        (&["run", "--load", "4"], "did you mean cpu:4?"),
        (&["run", "--work", "100us"], "did you mean spin:100us?"),
        (&["run", "--wake", "sleep"], "did you mean nanosleep?"),
        (&["run", "--for", "cnc"], "step-50us"),
        (&["run", "--for", "base-thread"], "did you mean step-50us?"),
        (&["run", "--freq", "1000"], "--period 1kHz"),
        (&["predict", "--for", "audio"], "jitterlab analyze --for servo-thread FILE"),
        (&["watch", "--for", "cnc"], "step-50us"),
        (&["watch", "servo-thread"], "did you mean jitterlab watch --for servo-thread?"),
        (&["run", "--for", "EtherCAT"], "did you mean fieldbus-1ms?"),
        (&["doctor", "--for", "cnc"], "jitterlab doctor cnc"),
        (&["watch", "1234"], "did you mean --pid 1234?"),
        (&["watch", "cyclictest"], "did you mean -- cyclictest?"),
        (&["watch", "--pid", "init"], "--thread init"),
        (&["stepper", "--frame", "57mm", "--torque", "1.9Nm"], "did you mean 23?"),
        (&["stepper", "--motor", "nema23"], "--frame nema23"),
        (&["export", "run.parquet", "--as", "json"], "jitterlab analyze --json"),
        (&["export", "run.parquet", "--as", "excel"], "csv"),
        (&["plot", "run.parquet", "--figure", "cdf"], "percentiles"),
        (&["compensate", "--margin", "50us"], "--compensate margin:50us"),
        (&["test"], "jitterlab run"),
        (&["version"], "jitterlab --version"),
        (&["recommend"], "jitterlab mcu recommend"),
        (&["diff", "a", "b"], "jitterlab compare"),
    ] {
        refused(args, 2, &[meant]);
    }
    // A name that is merely spelt alike is not suggested as well.
    let (_, text) = jitterlab(&["doctor", "--for", "cnc"]);
    assert!(!text.contains("--force"), "{text}");
    let (_, text) = jitterlab(&["test"]);
    assert!(!text.contains("restore"), "{text}");
}

#[test]
fn without_a_command_the_usual_things_are_offered() {
    let output = Command::cargo_bin("jitterlab").unwrap().output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), text.matches("\n    jitterlab ").count()), (Some(0), 5), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn completions_and_manual_are_made_from_the_definition() {
    let said = |args: &[&str]| {
        let output = Command::cargo_bin("jitterlab").unwrap().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell]);
        assert!(script.contains("step-50us") && script.contains("stop-above"), "{shell}");
    }
    assert!(said(&["man"]).contains(".TH jitterlab"));
    let folder = tempfile::tempdir().unwrap();
    said(&["man", folder.path().to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.path().join("jitterlab-run.1")).unwrap();
    assert!(page.contains("SCHED_FIFO"), "{page}");
}

#[test]
fn a_processor_that_does_not_exist() {
    refused(&["run", "--cpu", "4095"], 2, &["4095", "this machine has"]);
}

#[test]
fn files_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    refused(&["run", "-d", "10ms", "-o", "/nowhere/at/all/run.parquet"], 2, &["/nowhere/at/all"]);
    let foreign = folder.path().join("notes.txt");
    std::fs::write(&foreign, "not a run").unwrap();
    let foreign = foreign.to_str().unwrap();
    refused(&["analyze", foreign], 3, &["notes.txt"]);
    refused(&["analyze", "/nowhere/run.parquet"], 2, &["no file /nowhere/run.parquet here\n"]);
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
