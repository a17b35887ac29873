//! `jitterlab run` as a user meets it, on the real machine. Times are not asserted, only facts that always
//! hold.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::executable;
use crate::shared::machine::unless_starved;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

fn jitterlab(folder: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.starts_with(b"{"), "no JSON: {said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["result"].clone()
}

/// Checks that `analyze` has all figures of `run` for each task.
fn same_figures(run: &Value, again: &Value) {
    let tasks = |of: &Value| of["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks(run).len(), tasks(again).len());
    for (run, again) in tasks(run).iter().zip(&tasks(again)) {
        for (part, figures) in run.as_object().unwrap() {
            assert_eq!(*figures, again[part], "{part}");
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

#[test]
fn what_was_measured_is_what_the_file_says() {
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let tasks = ["--task", "name=base,period=500us", "--task", "name=servo,period=2ms,work=twente:1000"];
        let args = [&["run", "--json", "-q", "-d", "400ms", "-o", "run.parquet"], &tasks[..]].concat();
        let output = jitterlab(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let run = json(&output);
        let again = json(&jitterlab(folder.path(), &["analyze", "--json", "run.parquet"]));
        same_figures(&run, &again);
        assert_eq!(run["run"], again["run"]);
        for (task, period_ns) in run["run"]["tasks"].as_array().unwrap().iter().zip([500_000, 2_000_000]) {
            let of = |field: &str| task["result"][field].as_i64().unwrap();
            let due = (of("last_end_ns") - of("first_due_ns") - of("phase_loss_ns")) / period_ns + 1;
            assert_eq!(of("executed") + of("missed"), due, "{task}");
            assert_eq!(of("dropped"), 0);
        }
        assert!(run["tasks"][1]["summary"]["execution"]["min_ns"].as_i64() > Some(0));
        assert!(run["run"]["facts_before"]["kernel"]["release"].is_string());
    });
}

#[test]
fn every_overrun_policy_keeps_its_count() {
    let folder = TempDir::new().unwrap();
    for overrun in ["skip", "catch-up", "re-phase"] {
        let args =
            ["run", "--json", "-q", "--no-file", "-d", "200ms", "--period", "50us", "--policy", "other"];
        let run = json(&jitterlab(folder.path(), &[&args[..], &["--overrun", overrun]].concat()));
        let result = &run["run"]["tasks"][0]["result"];
        let of = |field: &str| result[field].as_i64().unwrap();
        let due = (of("last_end_ns") - of("first_due_ns") - of("phase_loss_ns")) / 50_000 + 1;
        assert_eq!(of("executed") + of("missed"), due, "{overrun}: {result}");
        assert_eq!(run["tasks"][0]["summary"]["overrun"], overrun);
    }
}

#[test]
fn a_count_ends_the_run_exactly() {
    let folder = TempDir::new().unwrap();
    let run = json(&jitterlab(folder.path(), &["run", "--json", "-q", "--no-file", "-n", "37"]));
    assert_eq!(run["tasks"][0]["summary"]["executed"], 37);
    assert_eq!(run["run"]["stop"]["reason"], "count");
}

#[test]
fn a_latency_of_the_limit_ends_the_run_at_once_and_is_shown_after_those_before_it() {
    let folder = TempDir::new().unwrap();
    let output = jitterlab(folder.path(), &["run", "--no-file", "--stop-above", "1ns", "-d", "5s"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("up to the latency that reached the limit") && said.contains(">0"), "{text}");
}

#[test]
fn the_activation_that_reached_the_limit_is_the_last_of_its_task() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "--json", "-q", "-o", "run.parquet", "--stop-above", "30us", "-d", "20s"];
    let task = ["--task", "name=a,period=200us,policy=other"];
    let output = jitterlab(folder.path(), &[&args[..], &task].concat());
    assert_eq!(output.status.code(), Some(1));
    let run = json(&output);
    let stop = &run["run"]["stop"];
    assert_eq!(stop["reason"], "above", "{stop}");
    let result = &run["run"]["tasks"][0]["result"];
    assert_eq!(stop["latency_ns"], result["max_latency_ns"]);
    let (executed, missed) = (result["executed"].as_u64().unwrap(), result["missed"].as_u64().unwrap());
    // Nothing ran after it; due times that it made the task miss are behind it.
    let index = stop["index"].as_u64().unwrap();
    assert!((executed - 1..executed + missed).contains(&index), "{stop} {result}");
    let rows = jitterlab(folder.path(), &["analyze", "--json", "run.parquet"]);
    let rows = json(&rows);
    assert_eq!(rows["tasks"][0]["summary"]["executed"], executed);
}

/// Waits until a run records in `run.parquet`.
fn begins(folder: &Path) {
    let begin = Instant::now();
    while !folder.join("run.parquet.part").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not begin");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn control_c_keeps_and_reports_everything() {
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let args = ["run", "--json", "-q", "-d", "60s", "-o", "run.parquet", "--period", "1ms"];
        let run = Command::new(PROGRAM)
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        begins(folder.path());
        sleep(Duration::from_millis(500));
        signal(run.id(), "INT");
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let run = json(&output);
        assert_eq!(run["run"]["stop"]["reason"], "interrupted");
        let executed = run["tasks"][0]["summary"]["executed"].as_u64().unwrap();
        assert!(executed > 0);
        let again = json(&jitterlab(folder.path(), &["analyze", "--json", "run.parquet"]));
        assert_eq!(again["tasks"][0]["summary"]["executed"].as_u64(), Some(executed));
    });
}

#[test]
fn a_killed_run_is_recovered_up_to_the_last_second() {
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let args = ["run", "-q", "-d", "60s", "-o", "run.parquet", "--period", "1ms"];
        let mut run = Command::new(PROGRAM).args(args).current_dir(folder.path()).spawn().unwrap();
        begins(folder.path());
        sleep(Duration::from_millis(2_000));
        run.kill().unwrap();
        run.wait().unwrap();
        let unread = jitterlab(folder.path(), &["analyze", "run.parquet.part"]);
        assert!(String::from_utf8_lossy(&unread.stdout).contains("was not closed"));
        let recovered = jitterlab(folder.path(), &["recover", "run.parquet.part"]);
        // 1 where the kill cut a frame in two.
        assert!(
            matches!(recovered.status.code(), Some(0 | 1)),
            "{}",
            String::from_utf8_lossy(&recovered.stderr)
        );
        let run = json(&jitterlab(folder.path(), &["analyze", "--json", "run.parquet"]));
        assert_eq!(run["run"]["stop"]["reason"], "crashed");
        // 2 s were measured; due times older than a second must be there, as an activation or as missed.
        let summary = &run["tasks"][0]["summary"];
        let due = summary["executed"].as_u64().unwrap() + summary["missed"].as_u64().unwrap();
        assert!(due > 500, "{summary}");
    });
}

#[test]
fn spikes_only_gives_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "--json", "-q", "-d", "300ms", "--keep", "spikes:1ns", "-o", "run.parquet"];
    let run = json(&jitterlab(folder.path(), &args));
    let again = json(&jitterlab(folder.path(), &["analyze", "--json", "run.parquet"]));
    same_figures(&run, &again);
}

#[test]
fn a_task_that_cannot_keep_up_is_stopped_with_an_explanation() {
    if !is_root() {
        println!("skipped: needs the right to SCHED_FIFO");
        return;
    }
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let task = "name=greedy,period=1ms,work=spin:999us,policy=fifo:10,overrun=catch-up";
        let output = jitterlab(folder.path(), &["run", "-q", "--no-file", "-d", "20s", "--task", task]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("greedy") || text.contains("period"), "{text}");
    });
}

#[test]
fn without_rights_it_measures_with_what_it_was_given_and_says_so() {
    if !is_root() {
        println!("skipped: only root can become somebody without rights");
        return;
    }
    // Another user can neither read the build folder nor write the current one.
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("jitterlab");
    executable::copy(PROGRAM, &program);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--no-new-privs"])
        .arg(&program)
        .args(["run", "--json", "-n", "50", "--period", "2ms"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("refused: policy fifo:80") && said.contains("remedy: "), "{said}");
    assert!(said.contains("no run file"), "{said}");
    let run = json(&output);
    let refused = run["run"]["refused"].as_array().unwrap();
    assert!(refused.iter().any(|r| r["what"].as_str().unwrap().contains("policy fifo:80")));
    assert_eq!(run["run"]["tasks"][0]["granted"]["policy"], "other");
    assert_eq!(run["tasks"][0]["summary"]["executed"], 50);
}

/// Of several hundred tasks, setting up takes long enough to be interrupted in it.
#[test]
fn control_c_while_tasks_are_set_up_ends_the_run() {
    let folder = TempDir::new().unwrap();
    let tasks: Vec<String> = (0..600).map(|i| format!("--task=name=t{i},period=1s,policy=other")).collect();
    let args = ["run", "-q", "-d", "60s", "-o", "run.parquet"];
    let mut run = Command::new(PROGRAM).args(args).args(tasks).current_dir(folder.path()).spawn().unwrap();
    let threads = || fs::read_dir(format!("/proc/{}/task", run.id())).map_or(0, Iterator::count);
    let begin = Instant::now();
    while threads() < 20 && begin.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(1));
    }
    signal(run.id(), "INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!folder.path().join("run.parquet.part").exists());
}

#[test]
fn a_task_that_is_moved_off_its_cpu_says_so() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: a task is moved from one CPU to another");
        return;
    }
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let task = "--task=name=moved,period=1ms,cpu=1,policy=other";
        let run = Command::new(PROGRAM)
            .args(["run", "-q", "-d", "3s", "--json", "--no-file", task])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let is_bound = |thread: &str| {
            let status =
                fs::read_to_string(format!("/proc/{}/task/{thread}/status", run.id())).unwrap_or_default();
            status.contains("Name:\tmoved\n") && status.contains("Cpus_allowed_list:\t1\n")
        };
        let begin = Instant::now();
        let thread = loop {
            let threads = fs::read_dir(format!("/proc/{}/task", run.id())).unwrap().flatten();
            let mut threads = threads.map(|entry| entry.file_name().into_string().unwrap());
            if let Some(thread) = threads.find(|thread| is_bound(thread)) {
                break thread;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "the task has no thread");
            sleep(Duration::from_millis(1));
        };
        sleep(Duration::from_millis(500));
        let bind = || Command::new("taskset").args(["-cp", "0", &thread]).stdout(Stdio::null()).status();
        assert!(bind().unwrap().success());
        // Isolation in another test may put it back.
        for _ in 0..10 {
            sleep(Duration::from_millis(150));
            let _ = bind();
        }
        let run = json(&run.wait_with_output().unwrap());
        let warnings = run["run"]["warnings"].as_array().unwrap();
        let left = warnings.iter().find(|warning| warning["about"] == "left-cpu").unwrap();
        assert_eq!((&left["cpu"], &left["cause"]["by"]), (&1.into(), &"program".into()), "{left}");
        assert!(left["activations"].as_u64() > Some(0), "{left}");
    });
}

#[test]
fn runs_that_begin_in_the_same_second_each_get_a_file() {
    let folder = TempDir::new().unwrap();
    let start = || {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "-q", "-d", "300ms", "--policy", "other"]).current_dir(folder.path());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..5).map(|_| start()).collect();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    assert!(files.iter().all(|file| jitterlab_trace::RunReader::open(file).is_ok()));
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap().success());
}
