//! Disturbances of a known kind, and the settings that `tune` finds against them: run by hand, since each
//! trial takes minutes.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::any::Any;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::shared::machine::{State, alone};
use crate::storm;

/// The CPU that is disturbed: the last one, where the task is put.
fn cpu() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) - 1
}

/// Something that disturbs a task, and the settings that remedy it.
struct Disturbance {
    name: &'static str,
    remedies: &'static [&'static str],
    begin: fn() -> Box<dyn Any>,
    /// Control group that the task is put into, if any.
    group: Option<&'static str>,
    /// Policy of the task.
    policy: &'static str,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) -> Running {
    let cpu = cpu().to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu, "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
    Running(command.spawn().unwrap())
}

/// A group of version 1 that gets half of a processor.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let begin = Instant::now();
        while fs::remove_dir(&self.0).is_err() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

const GROUP: &str = "/sys/fs/cgroup/cpu/jitterlab-trial";

fn throttled() -> Box<dyn Any> {
    let group = Path::new(GROUP);
    let _ = fs::create_dir(group);
    fs::write(group.join("cpu.cfs_quota_us"), "10000").unwrap();
    fs::write(group.join("cpu.cfs_period_us"), "20000").unwrap();
    // A program in it uses up its time, on another CPU.
    let script = "echo $$ > \"$0/cgroup.procs\"; while :; do :; done";
    let mut busy = Command::new("sh");
    let busy = busy.args(["-c", script, GROUP]).stdout(Stdio::null()).spawn().unwrap();
    Box::new((Running(busy), Group(group.into())))
}

const DISTURBANCES: [Disturbance; 3] = [
    Disturbance {
        name: "hog",
        remedies: &["other-threads", "cpuset", "policy", "priority"],
        begin: || Box::new(shell("while :; do :; done")),
        group: None,
        policy: "other",
    },
    Disturbance {
        name: "throttled group",
        remedies: &["group-limits", "policy", "other-threads", "cpuset"],
        begin: throttled,
        group: Some(GROUP),
        policy: "other",
    },
    Disturbance {
        name: "interrupt storm",
        remedies: &["other-threads", "cpuset", "timer-migration", "wake-early"],
        begin: || Box::new(shell(&storm::script())),
        group: None,
        policy: "fifo:80",
    },
];

/// A thread before every task of `doctor`, for 3 ms of each 10 ms.
const URGENT: &str = "
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(90))
while True:
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end:
        pass
    time.sleep(0.007)
";

fn python(program: &str) -> Box<dyn Any> {
    Box::new(shell(&format!("exec python3 -c \"{program}\"")))
}

/// Something that disturbs the tasks of `doctor`, which run under a real-time policy, and the right answer.
struct Examined {
    name: &'static str,
    begin: fn() -> Box<dyn Any>,
    group: &'static str,
    /// Settings of which one is to be kept, or else the first advice.
    right: &'static [&'static str],
}

const EXAMINED: [Examined; 3] = [
    Examined {
        name: "hog",
        begin: || python(URGENT),
        group: "",
        right: &["other-threads", "cpuset", "priority"],
    },
    Examined { name: "throttled group", begin: throttled, group: GROUP, right: &["group-time"] },
    Examined {
        name: "interrupt storm",
        begin: || Box::new(shell(&storm::script())),
        group: "",
        right: &["other-threads", "cpuset", "timer-migration", "wake-early"],
    },
];

/// Outcome of one call of `tune`.
struct Trial {
    kept: Vec<String>,
    holds: bool,
    text: String,
}

/// Calls jitterlab in a control group; what came to nothing has answered nothing.
fn called(group: &str, words: &[&str], folder: &Path) -> (Value, String) {
    let script = "[ -z \"$0\" ] || echo $$ > \"$0/cgroup.procs\"; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, group, env!("CARGO_BIN_EXE_jitterlab")]).args(words);
    let output = command.current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (serde_json::from_slice(&output.stdout).unwrap_or_default(), said)
}

fn trial(of: Option<&Disturbance>, budget: &str, only: &[&str], folder: &Path) -> Trial {
    let policy = of.map_or("fifo:80", |of| of.policy);
    let task = format!("period=1ms,cpu={},policy={policy}", cpu());
    let mut words = vec!["tune", "-q", "--json", "--budget", budget, "--task", &task];
    let only = only.join(",");
    if !only.is_empty() {
        words.extend(["--only", &only]);
    }
    let (document, said) = called(of.and_then(|of| of.group).unwrap_or(""), &words, folder);
    let result = &document["result"];
    let knobs = result["proven"]["knobs"].as_array().cloned().unwrap_or_default();
    let called: Vec<String> = result["knobs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|of| format!("{}:{}:{}", of["knob"], of["judgement"], of["effects"][0]["change"]))
        .collect();
    Trial {
        kept: knobs.iter().filter_map(|knob| knob.as_str().map(Into::into)).collect(),
        holds: result["proven"]["holds"].as_bool() == Some(true),
        text: format!(
            "{said}{} | {} | plan {} | proof {}",
            document["head"]["verdict"],
            called.join(" "),
            result["plan"],
            result["proven"]["changes"]
        ),
    }
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// `JITTERLAB_TRIALS=10 JITTERLAB_BUDGET=4m ... --ignored tuned::`; each is printed as it ends.
#[test]
#[ignore = "takes hours"]
fn the_remedy_of_a_disturbance_is_kept_and_proven() {
    let _alone = alone();
    let trials = number("JITTERLAB_TRIALS", 10);
    let budget = std::env::var("JITTERLAB_BUDGET").unwrap_or_else(|_| "4m".into());
    let wanted = std::env::var("JITTERLAB_DISTURBANCE").unwrap_or_default();
    let mut failed = Vec::new();
    for of in DISTURBANCES.iter().filter(|of| of.name.contains(&wanted)) {
        let mut proven = 0;
        for n in 0..trials {
            let folder = tempfile::tempdir().unwrap();
            let before = State::now();
            let beside = (of.begin)();
            let found = trial(Some(of), &budget, &[], folder.path());
            drop(beside);
            let changed = State::now().changed(&before);
            let remedied = found.holds && found.kept.iter().any(|knob| of.remedies.contains(&knob.as_str()));
            proven += usize::from(remedied);
            let mut out = std::io::stderr();
            let _ = writeln!(
                out,
                "{} {n}: {remedied} {:?} changed {changed:?} {}",
                of.name, found.kept, found.text
            );
            assert!(changed.is_empty(), "{}: {changed:?} is left changed", of.name);
        }
        let _ = writeln!(std::io::stderr(), "{}: remedy kept and proven in {proven} of {trials}", of.name);
        if proven * 10 < trials * 9 {
            failed.push(of.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// `JITTERLAB_TRIALS=10 JITTERLAB_BUDGET=4m ... --ignored tuned::`; each is printed as it ends.
#[test]
#[ignore = "takes hours"]
fn an_examination_keeps_the_remedy_or_names_it_first() {
    let _alone = alone();
    let trials = number("JITTERLAB_TRIALS", 10);
    let budget = std::env::var("JITTERLAB_BUDGET").unwrap_or_else(|_| "4m".into());
    let wanted = std::env::var("JITTERLAB_DISTURBANCE").unwrap_or_default();
    let words = ["doctor", "cnc", "--by", "card", "--yes", "--load", "none", "--json", "--budget", &budget];
    let mut failed = Vec::new();
    for of in EXAMINED.iter().filter(|of| of.name.contains(&wanted)) {
        let mut right = 0;
        for n in 0..trials {
            let folder = tempfile::tempdir().unwrap();
            let before = State::now();
            let beside = (of.begin)();
            let (document, said) = called(of.group, &words, folder.path());
            drop(beside);
            let changed = State::now().changed(&before);
            let result = &document["result"];
            let proven = &result["tuned"]["proven"];
            let kept = proven["knobs"].as_array().filter(|_| proven["holds"] == true).cloned();
            let answer: Vec<Value> =
                kept.into_iter().flatten().chain([result["advice"][0]["id"].clone()]).collect();
            let is_right = answer.iter().any(|one| one.as_str().is_some_and(|one| of.right.contains(&one)));
            right += usize::from(is_right);
            let head = &document["head"];
            let _ = writeln!(
                std::io::stderr(),
                "{} {n}: {is_right} {answer:?} changed {changed:?} {head} {said}",
                of.name
            );
            assert!(changed.is_empty(), "{}: {changed:?} is left changed", of.name);
        }
        let _ = writeln!(std::io::stderr(), "{}: right in {right} of {trials}", of.name);
        if right * 10 < trials * 9 {
            failed.push(of.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
