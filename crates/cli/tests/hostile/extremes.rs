//! Small files with extreme content, through every command that reads runs, with one gigabyte and ten seconds of
//! processor time: each answers or refuses, and none of them by panicking.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

mod imports;
pub mod runs;

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Every command that reads a run; `RUN` is its file.
const COMMANDS: [&[&str]; 15] = [
    &["analyze", "RUN"],
    &["analyze", "--json", "RUN"],
    &["predict", "RUN"],
    &["predict", "--require", "p99.99 < 80us", "--require", "missed < 1e-3", "RUN"],
    &["predict", "--require", "response p99 < 1ms", "RUN"],
    &["predict", "--backtest", "1s", "RUN"],
    &["compare", "--anyway", "RUN", "RUN"],
    &["compare", "--anyway", "RUN", "usual.parquet"],
    &["plot", "RUN"],
    &["plot", "--ascii", "-f", "autocorrelation", "RUN"],
    &["plot", "-f", "pairs", "-o", "-", "RUN"],
    &["report", "RUN", "-o", "-"],
    &["servo", "RUN"],
    &["stepper", "--frame", "23", "--torque", "1.9 N m", "RUN"],
    &["compare", "--anyway", "--fail-if-moved", "100ns", "RUN", "usual.parquet"],
];

/// The program, with no more memory and processor time than that.
fn limited(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    // Ten seconds are enough for the shipped build. Code that only prints is built without optimisation for
    // the tests, which takes several times as long, and a debug build longer still.
    let seconds = if cfg!(debug_assertions) { 60 } else { 30 };
    command.args(["-c", &format!("ulimit -v 1048576 && ulimit -t {seconds} && exec \"$@\""), "sh"]);
    // The allocator sets address space aside for each thread, which is no memory yet.
    command.arg(env!("CARGO_BIN_EXE_jitterlab")).args(args).env("MALLOC_ARENA_MAX", "1");
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder).output().unwrap()
}

/// Fault in a command's exit status or output, if there is one.
fn fault(output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let ended = matches!(output.status.code(), Some(0..=3)) && !said.contains("panicked");
    let last: String = said.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
    (!ended).then(|| format!("{}: {last}", output.status))
}

/// Runs each `every`-th command on a file, and returns the faults.
fn faults(folder: &Path, file: &str, every: usize) -> Vec<String> {
    let mut faults = Vec::new();
    for command in COMMANDS.iter().step_by(every) {
        let args: Vec<&str> = command.iter().map(|arg| if *arg == "RUN" { file } else { arg }).collect();
        faults.extend(fault(&limited(folder, &args)).map(|why| format!("{}: {why}", args.join(" "))));
    }
    faults
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    runs::write(folder.path(), "usual.parquet", &runs::usual());
    folder
}

#[test]
fn every_command_answers_the_usual_run() {
    let folder = folder();
    for command in COMMANDS {
        let args: Vec<&str> =
            command.iter().map(|arg| if *arg == "RUN" { "usual.parquet" } else { arg }).collect();
        let output = limited(folder.path(), &args);
        // Requirements of a short run are not decided, and its timing may fail one.
        let answered = !output.stdout.is_empty() && output.status.code() != Some(2);
        // The usual run is not of virtual time.
        assert!(answered || args.contains(&"--fail-if-moved"), "{args:?}: {output:?}");
    }
}

#[test]
fn extreme_runs_are_answered_or_refused() {
    let folder = folder();
    let mut all = Vec::new();
    for (name, run) in runs::extremes() {
        let file = format!("{name}.parquet");
        if runs::write(folder.path(), &file, &run) {
            // Thousands of tasks take each command its seconds: one that analyses, one that compares, the page.
            let every = if run.rows.len() > 1_000 { 5 } else { 1 };
            all.extend(faults(folder.path(), &file, every));
        }
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

#[test]
fn extreme_journals_are_answered_or_refused() {
    let folder = folder();
    let mut all = Vec::new();
    for (name, run) in runs::extremes() {
        let journal = runs::leave_journal(folder.path(), &format!("{name}.parquet"), &run);
        for args in [&["analyze", &journal][..], &["recover", &journal]] {
            all.extend(fault(&limited(folder.path(), args)).map(|why| format!("{args:?}: {why}")));
        }
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

#[test]
fn extreme_outputs_of_other_tools_are_answered_or_refused() {
    let folder = folder();
    let mut all = Vec::new();
    for (name, text) in imports::extremes() {
        std::fs::write(folder.path().join(&name), text).unwrap();
        all.extend(faults(folder.path(), &name, 1));
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

#[test]
fn what_never_ends_is_not_read() {
    let folder = folder();
    for args in [
        &["analyze", "/dev/zero"][..],
        &["servo", "--plant", "/dev/zero", "--period", "1ms"],
        &["stepper", "--motor", "/dev/zero"],
        &["kernel", "run", "--kernel", "/dev/zero"],
        &["kernel", "run", "--kernel", "usual.parquet", "--with", "/dev/zero"],
        &["recover", "/dev/zero"],
        &["compare", "usual.parquet", "/dev/zero"],
    ] {
        let output = limited(folder.path(), args);
        assert_eq!(fault(&output), None, "{args:?}");
        assert_ne!(output.status.code(), Some(0), "{args:?}");
    }
}
