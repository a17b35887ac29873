//! Runs with known timing, and the program run on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jitterlab_model::causes::{Cause, CauseClass, CauseSum, RunCauses, TaskCauses};
use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec};
use jitterlab_trace::RunWriter;

/// Runs the program with its own configuration directory, so that no device of the user's is seen.
pub fn jitterlab(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(args).current_dir(folder).env("XDG_CONFIG_HOME", folder).output().unwrap()
}

#[track_caller]
pub fn answered(folder: &Path, args: &[&str]) -> String {
    let output = jitterlab(folder, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
pub fn refused(folder: &Path, args: &[&str], status: i32, says: &[&str]) {
    let output = jitterlab(folder, args);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    for part in says {
        assert!(text.contains(part), "{args:?}: {part:?} is missing in: {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

/// A run of one task, of `count` due times, late by `latency_ns` of each index and working for 500 ns. Due times that
/// pass meanwhile are missed.
pub fn run(
    folder: &Path,
    name: &str,
    period_ns: i64,
    count: i64,
    latency_ns: impl Fn(i64) -> i64,
) -> PathBuf {
    let tasks = [TaskSpec { name: "known".into(), period_ns, ..TaskSpec::default() }];
    let info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", tasks);
    let path = folder.join(name);
    let mut writer = RunWriter::create(&path, &info).unwrap();
    let mut free_ns = 0;
    let rows: Vec<Activation> = (0..count)
        .filter_map(|index| {
            let due_ns = index * period_ns;
            let start_ns = due_ns + latency_ns(index);
            let end_ns = start_ns + 500;
            let late = due_ns + period_ns < free_ns;
            free_ns = free_ns.max(end_ns);
            (!late).then_some(Activation {
                index: index as u64,
                due_ns,
                start_ns,
                end_ns,
                ..Activation::default()
            })
        })
        .collect();
    writer.append(0, &rows).unwrap();
    writer.finish(info).unwrap().path
}

/// A run with one late start of known cause: a thread named `hog`.
pub fn run_with_cause(folder: &Path, name: &str) -> PathBuf {
    let late_ns = 400_000;
    let tasks = [TaskSpec { name: "known".into(), period_ns: 1_000_000, ..TaskSpec::default() }];
    let info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", tasks);
    let mut hog = CauseSum::new(Cause { class: CauseClass::Preempted, who: Some("hog".into()) });
    hog.add_activation(late_ns, late_ns, late_ns, 0);
    let known = TaskCauses {
        explained: 1,
        lateness_ns: late_ns,
        max_ns: late_ns,
        causes: vec![hog],
        ..TaskCauses::default()
    };
    let path = folder.join(name);
    let mut writer = RunWriter::create(&path, &info).unwrap();
    let row = Activation { start_ns: late_ns, end_ns: late_ns + 500, ..Activation::default() };
    writer.append(0, &[row]).unwrap();
    writer.set_causes(&RunCauses { tasks: vec![known], ..RunCauses::default() }).unwrap();
    writer.finish(info).unwrap().path
}

/// The file that `--list` shows as an example to begin with.
pub fn example(list: &str, name: &str) -> String {
    let shown = list.split(&format!("such as a copy of {name}'s:\n")).nth(1).unwrap();
    shown
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .fold(String::new(), |all, line| all + line + "\n")
}
