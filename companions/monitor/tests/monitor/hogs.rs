//! Hogs above the task's priority: each has its name in an alarm.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

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

/// The cause that an alarm of this hog names.
fn named(alarms: &Path, hog: &str) -> Option<String> {
    let text = fs::read_to_string(alarms).unwrap_or_default();
    let alarms = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut own = alarms.filter(|alarm| alarm["who"] == hog);
    own.find_map(|alarm| Some(alarm["class"].as_str()?.to_owned()))
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
    let raised = fs::read_to_string(&alarms).unwrap_or_default().matches("\"raised\"").count();
    println!("{raised} alarms in all, {} of {hogs} hogs without a name: {missing:?}", missing.len());
    end(monitor);
    // Events of a busy machine may be lost.
    assert!(missing.len() as u64 <= (hogs / 20).max(1), "{missing:?}");
}
