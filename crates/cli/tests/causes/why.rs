//! Causes of late activations on the real machine: they add up, and an injected one is found by its name.
//! Times are not asserted, only facts that always hold.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jitterlab_model::TaskRun;
use jitterlab_model::watched::{DueTimeSource, WaitKind};
use jitterlab_runs::{Hints, Run};
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known::{self, answered, refused};
use crate::shared::machine::{alone, unless_starved};
use crate::shared::tracing::{activations, before_own, may_trace, return_ns, why};

fn number(of: &Value, field: &str) -> i64 {
    of[field].as_i64().unwrap_or_else(|| panic!("{field} in {of}"))
}

#[test]
fn an_injected_thread_is_found_by_its_name_and_all_parts_add_up() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let run = ["run", "--why", "-q", "-d", "1s", "-o", "run.parquet", "--task"];
        let main = "name=main,period=1ms,cpu=0,policy=fifo:70";
        let hog = "name=hog,period=7ms,cpu=0,policy=fifo:75,work=spin:300us";
        answered(folder.path(), &[&run[..], &[main, "--task", hog]].concat());
        let result = why(folder.path(), "run.parquet");
        let task = &result["tasks"][0];
        let preempted = |row: &&Value| row["cause"]["class"] == "preempted" && row["cause"]["who"] == "hog";
        let hog = task["causes"].as_array().unwrap().iter().find(preempted).unwrap();
        // Both begin together, so it meets every seventh activation, whatever else happens.
        assert!(number(hog, "times") >= 50, "{hog}");
        let rows = activations(&folder.path().join("run.parquet"), 0);
        assert_eq!(number(task, "explained"), rows.len() as i64);
        let latencies: BTreeMap<u64, i64> = rows.iter().map(|a| (a.index, a.latency_ns())).collect();
        let events = task["events"].as_array().unwrap();
        assert_eq!(events.len(), 10);
        for event in events {
            let mut at_ns = 0;
            for part in event["parts"].as_array().unwrap() {
                assert_eq!(number(part, "at_ns"), at_ns, "{event}");
                at_ns += number(part, "ns");
            }
            assert_eq!(at_ns, number(event, "latency_ns"), "{event}");
            assert_eq!(latencies[&event["index"].as_u64().unwrap()], at_ns);
        }
        let trace = answered(folder.path(), &["why", "--export", "perfetto", "run.parquet"]);
        let trace: Value = serde_json::from_str(&trace).unwrap();
        assert!(trace["traceEvents"].as_array().unwrap().iter().any(|event| event["name"] == "hog"));
        answered(folder.path(), &["export", "run.parquet", "--as", "trace-dat", "-o", "trace.dat"]);
        let read =
            Command::new("trace-cmd").args(["report", "trace.dat"]).current_dir(folder.path()).output();
        let Ok(read) = read else { return println!("skipped: trace-cmd is not here (./test installs it)") };
        let read = String::from_utf8(read.stdout).unwrap();
        let is_switch = |line: &str| line.contains("sched_switch:") && line.contains("==> main:");
        assert!(read.lines().any(is_switch) && read.contains("main starts, "), "{read}");
    });
}

/// Events are in the clock of the machine, and name threads by its numbers.
#[test]
fn in_a_namespace_causes_are_the_same_or_refused() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        for (at, namespace) in
            [&["-T", "--monotonic=1000000"][..], &["-T", "--monotonic=-1"], &["-pf"]].iter().enumerate()
        {
            let file = format!("{at}.parquet");
            let run = ["run", "--why", "-q", "--json", "-d", "1s", "-o", &file, "--task"];
            let main = "name=main,period=1ms,cpu=0,policy=fifo:70";
            let hog = "name=hog,period=7ms,cpu=0,policy=fifo:75,work=spin:300us";
            let mut command = Command::new("unshare");
            command
                .args(*namespace)
                .arg(env!("CARGO_BIN_EXE_jitterlab"))
                .args(run)
                .args([main, "--task", hog]);
            let output = command.current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            if said.contains("unshare") {
                println!("skipped: {said}");
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{said}");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            if *namespace == ["-pf"] {
                let refused = document["result"]["run"]["refused"].to_string();
                assert!(document["result"]["why"].is_null() && refused.contains("--pid=host"), "{refused}");
                continue;
            }
            let result = why(folder.path(), &file);
            let preempted =
                |row: &&Value| row["cause"]["class"] == "preempted" && row["cause"]["who"] == "hog";
            let hog = result["tasks"][0]["causes"].as_array().unwrap().iter().find(preempted);
            assert!(hog.is_some_and(|hog| number(hog, "times") >= 50), "{namespace:?}: {hog:?}");
        }
    });
}

#[test]
fn a_watched_program_starts_when_it_says_itself() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let watch = ["watch", "-q", "--find", "5s", "-d", "60s", "-o", "watched.parquet", "--"];
        let own = ["run", "-q", "-d", "10s", "--period", "2ms", "-o", "own.parquet"];
        let program = [env!("CARGO_BIN_EXE_jitterlab")];
        answered(folder.path(), &[&watch[..], &program, &own].concat());
        let file = folder.path().join("watched.parquet");
        let tasks = Run::open(&file, &Hints::default()).unwrap().info().tasks.clone();
        let how = |task: &TaskRun| task.watched.as_ref().map(|watched| (watched.waits, watched.due));
        let main = tasks
            .iter()
            .position(|t| how(t) == Some((WaitKind::Nanosleep, DueTimeSource::OwnTimer)))
            .unwrap();
        assert_eq!(tasks[main].spec.period_ns, 2_000_000);
        let own = activations(&folder.path().join("own.parquet"), 0);
        let seen = activations(&file, main);
        let hidden = tasks[main].result.as_ref().unwrap().dropped as usize;
        assert!(before_own(&own, &seen, hidden, return_ns(&tasks[main])).len() > 100);
    });
}

/// A control group of our own, where they may be made here.
struct Group(PathBuf);

impl Group {
    fn make(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut groups = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mount = groups.find(|words| words[2] == "cgroup2")?;
        let folder = Path::new(mount[1]).join(name);
        fs::create_dir(&folder).ok().map(|()| Group(folder))
    }

    fn take(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A program that waits periodically, until this goes.
struct Periodic(Child);

impl Periodic {
    fn begin(folder: &Path, period: &str) -> Self {
        let run = ["run", "-q", "--no-file", "-d", "60s", "--policy", "other", "--period", period];
        let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
        Periodic(command.args(run).current_dir(folder).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_threads_of_a_unit_and_of_a_container_are_those_of_its_control_group() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let unit = format!("jitterlab-test-{}", std::process::id());
        // The group has to be dropped after its members.
        let Some(group) = Group::make(&format!("{unit}.service")) else {
            return println!("skipped: no control group can be made here");
        };
        let (inside, _outside) =
            (Periodic::begin(folder.path(), "5ms"), Periodic::begin(folder.path(), "7ms"));
        group.take(inside.0.id());
        let path = group.0.to_str().unwrap();
        let below_mount = format!("/{unit}.service");
        for whose in
            [["--unit", &unit], ["--container", &unit], ["--container", path], ["--container", &below_mount]]
        {
            let watch = ["watch", "-q", "--json", "-d", "1s", "-o", "watched.parquet"];
            let watched: Value =
                serde_json::from_str(&answered(folder.path(), &[&watch[..], &whose].concat())).unwrap();
            let tasks = watched["result"]["run"]["tasks"].as_array().unwrap();
            let of = |task: &Value| number(&task["watched"], "process");
            assert!(tasks.iter().all(|task| of(task) == i64::from(inside.0.id())), "{whose:?}: {tasks:#?}");
            assert!(tasks.iter().any(|task| task["spec"]["period_ns"] == 5_000_000), "{whose:?}: {tasks:#?}");
            fs::remove_file(folder.path().join("watched.parquet")).unwrap();
        }
        refused(folder.path(), &["watch", "--unit", "no-such-unit"], 2, &["no-such-unit", "systemctl"]);
        refused(folder.path(), &["watch", "--container", "/no/such.slice"], 2, &["/no/such.slice"]);
    });
}

#[test]
fn what_was_not_traced_and_what_is_not_there_is_said() {
    let folder = TempDir::new().unwrap();
    known::run(folder.path(), "plain.parquet", 1_000_000, 100, |_| 1_000);
    refused(folder.path(), &["why", "plain.parquet"], 3, &["jitterlab run --why"]);
    refused(folder.path(), &["watch"], 2, &["--pid"]);
    if may_trace() {
        refused(folder.path(), &["watch", "--thread", "no-such-thread"], 2, &["no-such-thread"]);
        refused(folder.path(), &["watch", "--", "/no/such/program"], 3, &["/no/such/program"]);
    }
}
