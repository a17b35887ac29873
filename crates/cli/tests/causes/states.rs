//! Causes in the task itself: it is stopped, frozen, held off by the scheduler, out of its quota, or its
//! memory is missing. The largest cause is the right one or undecided, and no other is proven. The table
//! is printed (`--nocapture`) as in docs/evidence/causes.md; `JITTERLAB_TRIALS` is the number of trials of
//! each.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::{Gap, Warning};
use jitterlab_runs::{Hints, Run};
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known::answered;
use crate::shared::machine::{alone, unless_starved};
use crate::shared::tracing::{may_trace, why};

/// A program of one periodic task, watched for a while with something done to it.
struct Victim {
    folder: TempDir,
    child: Child,
}

impl Victim {
    fn begin(policy: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let task = format!("name=victim,period=5ms,cpu=0,policy={policy}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
        command.args(["run", "-q", "--no-file", "-d", "30s", "--task", &task]).current_dir(folder.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(500));
        Victim { folder, child }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Causes found for the task after it was watched.
    fn watched(&self) -> Value {
        let pid = self.pid();
        let watch = ["watch", "-q", "-d", "3s", "--find", "1s", "--pid", &pid, "-o", "run.parquet"];
        answered(self.folder.path(), &watch);
        let tasks = why(self.folder.path(), "run.parquet")["tasks"].clone();
        let is_victim = |task: &&Value| task["task"] == "victim";
        tasks.as_array().unwrap().iter().find(is_victim).cloned().unwrap_or_else(|| tasks[0].clone())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.pid()]).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell that does this ten times a second for as long as the watching takes.
struct Script(Child);

impl Script {
    fn begin(name: &str, folder: &Path, does: &str) -> Self {
        let path = folder.join(name);
        // A copy, so that the thread has a name of its own.
        fs::copy("/bin/sh", &path).unwrap();
        let script = format!("i=0; while [ $i -lt 60 ]; do {does}; sleep 0.1; i=$((i+1)); done");
        Script(Command::new(path).args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The largest cause, with the share of it that is proven.
fn largest(task: &Value) -> (String, Option<String>, f64, f64) {
    let row = &task["causes"][0];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |field: &str| row[field].as_f64().unwrap_or(0.0);
    let class = text(&row["cause"]["class"]).unwrap_or_default();
    (class, text(&row["cause"]["who"]), number("proven") + number("likely"), number("latest_share"))
}

/// Trials in which the host may be the largest cause, before it is left out.
const HOSTS_TRIES: usize = 4;

/// Runs a trial, and compares the largest cause with the right one.
fn tried(put: &str, right: &[&str], trial: impl Fn() -> Option<Value>) {
    let trials = std::env::var("JITTERLAB_TRIALS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for _ in 0..trials {
        // A host that takes the processor meanwhile is a cause as true as what is put there: another try.
        let mut tries = (0..HOSTS_TRIES).map_while(|_| trial());
        let is_ours = |task: &Value| largest(task).0 != "outside";
        let Some(task) = tries.find(is_ours) else { return println!("| {put} | skipped | |") };
        let (class, who, sure, share) = largest(&task);
        let who = who.map_or(String::new(), |who| format!(" ({who})"));
        println!("| {put} | {class}{who} | {:.0} %, sure {:.0} % |", 100.0 * share, 100.0 * sure);
        let is_right = right.contains(&&*class);
        assert!(is_right || sure < 0.5, "{put}: {class} {task:#}");
    }
}

/// A control group of a hierarchy that may be made here, by the file that sets it.
fn group(file: &str) -> Option<Group> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let places = mounts.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        words[2].starts_with("cgroup").then(|| PathBuf::from(words[1]))
    });
    places.into_iter().find_map(|place| {
        let folder = place.join(format!("jitterlab-test-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Group(folder);
        group.0.join(file).exists().then_some(group)
    })
}

struct Group(PathBuf);

impl Group {
    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(2);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_task_that_falls_silent_while_it_is_watched_is_not_without_misses() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    let victim = Victim::begin("fifo:50");
    let pid = victim.pid();
    let stopping = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2_500));
        Command::new("kill").args(["-STOP", &pid]).status().unwrap();
    });
    victim.watched();
    stopping.join().unwrap();
    let info = Run::open(victim.folder.path().join("run.parquet"), &Hints::default()).unwrap().info().clone();
    let task = info.tasks.iter().find(|task| task.spec.name == "victim").unwrap();
    let is_said =
        |warning: &Warning| matches!(warning, Warning::SilentToEnd { task, .. } if task == "victim");
    assert!(info.warnings.iter().any(is_said) && !task.knows(Gap::Missed), "{:?}", info.warnings);
}

#[test]
fn what_is_done_to_the_task_itself_is_named() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        println!("| done to the task | found | share |\n|---|---|---|");
        tried("SIGSTOP for 15 ms", &["stopped"], || {
            let victim = Victim::begin("fifo:70");
            let stop = format!("kill -STOP {0}; sleep 0.015; kill -CONT {0}", victim.pid());
            let _script = Script::begin("stopper", victim.folder.path(), &stop);
            Some(victim.watched())
        });
        tried("a frozen control group", &["frozen"], || {
            let group = group("cgroup.freeze")?;
            let victim = Victim::begin("fifo:70");
            group.set("cgroup.procs", &victim.pid());
            let file = group.0.join("cgroup.freeze");
            let freeze = format!("echo 1 > {0}; sleep 0.015; echo 0 > {0}", file.display());
            let script = Script::begin("freezer", victim.folder.path(), &freeze);
            let task = victim.watched();
            drop(script);
            group.set("cgroup.freeze", "0");
            drop(victim);
            Some(task)
        });
        tried("a less urgent thread that never stops", &["fair-server", "throttled"], || {
            let victim = Victim::begin("fifo:70");
            // They end by themselves, whatever becomes of this test.
            let spins = ["sh", "-c", "while :; do :; done"];
            let here = ["6", "taskset", "-c", "0"];
            let begin =
                |words: &[&str]| Command::new("timeout").args(here).args(words).args(spins).spawn().unwrap();
            let children = [begin(&[]), begin(&["chrt", "-f", "50"])];
            let task = victim.watched();
            children.into_iter().for_each(|mut child| drop(child.wait()));
            Some(task)
        });
        tried("a CPU quota of 20 %", &["quota", "shared"], || {
            let group = group("cpu.max").or_else(|| group("cpu.cfs_quota_us"))?;
            let victim = Victim::begin("other");
            match group.0.join("cpu.max").exists() {
                true => group.set("cpu.max", "20000 100000"),
                false => group.set("cpu.cfs_quota_us", "20000"),
            }
            group.set("cgroup.procs", &victim.pid());
            // Another one of the group uses it up.
            let file = group.0.join("cgroup.procs");
            let spins = format!("echo $$ > {}; while :; do :; done", file.display());
            let mut other = Command::new("timeout").args(["6", "sh", "-c", &spins]).spawn().unwrap();
            let task = victim.watched();
            let _ = other.wait();
            drop(victim);
            Some(task)
        });
    });
}
