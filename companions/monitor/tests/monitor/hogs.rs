//! Hogs above the task's priority: each has its name in an alarm.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_monitor::folder::Folder;
use jitterlab_trace::{Columns, RunReader};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab-monitor");
/// As many as `JITTERLAB_HOGS` says, so many seconds apart as `JITTERLAB_HOG_EVERY` says.
const HOGS: u64 = 4;
const EVERY_S: u64 = 8;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// First processor of the thread of this name.
fn processor_of(pid: u32, thread: &str) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let folder = threads
        .map(|entry| entry.path())
        .find(|path| fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == thread))?;
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    Some(list.split([',', '-']).next()?.to_owned())
}

/// Alarms until now, as their command got them.
fn told_of(alarms: &Path) -> Vec<Value> {
    let text = fs::read_to_string(alarms).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The cause that an alarm of this hog names.
fn named(alarms: &Path, hog: &str) -> Option<String> {
    let own = told_of(alarms).into_iter().find(|alarm| alarm["who"] == hog);
    own.and_then(|alarm| Some(alarm["class"].as_str()?.to_owned()))
}

/// Each alarm has a start in a run file that is as late as it says, at the time that it says.
fn check_against_run_files(folder: &Path, alarms: &[Value]) {
    let mut starts: Vec<(i64, i64, i64)> = Vec::new();
    for path in Folder::new(folder, None).files_with_ending("days", ".parquet") {
        let run = RunReader::open(&path).unwrap();
        let offset_ns = run.info().epoch_offset_ns.unwrap();
        let mut previous_ns = 0;
        let read = run.for_each_batch(Columns::ALL, |_, rows| {
            for a in rows {
                starts.push((a.due_ns + offset_ns, a.latency_ns(), a.start_ns - previous_ns - 1_000_000));
                previous_ns = a.start_ns;
            }
        });
        read.unwrap();
    }
    let number = |alarm: &Value, name: &str| alarm[name].as_i64().unwrap();
    for alarm in alarms {
        let after_s = (number(alarm, "since_ns") - number(&alarms[0], "since_ns")) / 1_000_000_000;
        println!("{after_s} s: {}: {}", alarm["state"], alarm["message"]);
        let number = |name: &str| number(alarm, name);
        let (late_ns, since_ns, last_ns) = (number("late_ns"), number("since_ns"), number("last_ns"));
        // The time of day may be adjusted meanwhile.
        let about = since_ns - 500_000_000..=last_ns + 500_000_000;
        let is_real = |(at_ns, latency_ns, error_ns): &(i64, i64, i64)| {
            about.contains(at_ns) && [*latency_ns, *error_ns].contains(&late_ns)
        };
        assert!(late_ns > number("limit_ns") || number("missed") > 0, "{alarm}");
        assert!(starts.iter().any(is_real), "nothing is recorded behind {alarm}");
    }
}

fn end(mut monitor: Child) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(monitor.id() as i32), nix::sys::signal::SIGTERM)
        .unwrap();
    monitor.wait().unwrap();
}

#[test]
fn hogs_above_the_task_have_their_names_in_alarms() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: needs root");
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (alarms, messages) = (folder.join("alarms"), folder.join("messages"));
    let monitor = Command::new(PROGRAM)
        .args(["--task=name=loop,period=1ms", "--listen=off", "--machine=cnc-07", "--folder"])
        .arg(folder.join("watched"))
        .arg(format!("--alarm=exec:cat >>{}", alarms.display()))
        .stderr(fs::File::create(&messages).unwrap())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(3));
    // Root in a container may not: the monitor says so, and no cause has a name.
    if fs::read_to_string(&messages).unwrap().contains("trace events cannot be reached") {
        end(monitor);
        return println!("skipped: needs the right to trace");
    }
    let processor = processor_of(monitor.id(), "loop").unwrap();
    let (hogs, every) = (number("JITTERLAB_HOGS", HOGS), number("JITTERLAB_HOG_EVERY", EVERY_S));
    let mut missing = Vec::new();
    for k in 0..hogs {
        // It wakes up as a thread of this name and priority, and computes for some milliseconds.
        let hog = format!("hog-{k}");
        let script = format!("$0 = '{hog}'; select undef, undef, undef, 0.2; $i++ while $i < 100_000");
        let mut command = Command::new("taskset");
        command.args(["-c", &processor, "chrt", "-f", "95", "perl", "-e", &script]);
        let begun = Instant::now();
        assert!(command.status().unwrap().success(), "{command:?}");
        let mut told = None;
        while told.is_none() && begun.elapsed() < Duration::from_secs(every.max(15)) {
            thread::sleep(Duration::from_millis(100));
            told = named(&alarms, &hog).map(|class| (class, begun.elapsed()));
        }
        match told {
            Some((class, after)) => println!("{hog}: {class}, told of after {:.1} s", after.as_secs_f64()),
            None => missing.push(hog),
        }
        thread::sleep(Duration::from_secs(every).saturating_sub(begun.elapsed()));
    }
    println!("{} of {hogs} hogs without a name: {missing:?}", missing.len());
    end(monitor);
    check_against_run_files(&folder.join("watched"), &told_of(&alarms));
    // Events of a busy machine may be lost.
    assert!(missing.len() as u64 <= (hogs / 20).max(1), "{missing:?}");
}
