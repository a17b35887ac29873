//! The loads as processes: their throughput, their end, their remains. Without the usual harness, since a
//! worker is this program again.

#![expect(clippy::unwrap_used, reason = "a test without the usual harness is still a test")]

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_host::facts::{Root, read};
use jitterlab_host::load::{Loads, WORKER, parse_loads, run_if_worker};
use jitterlab_model::{CpuSet, Error, LoadRun};

fn main() -> ExitCode {
    if let Some(code) = run_if_worker() {
        return code;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if std::env::args().any(|a| a == "--list") {
        return ExitCode::SUCCESS;
    }
    let tests: &[(&str, fn())] = &[
        ("every_load_works_and_stops", every_load_works_and_stops),
        ("a_command_that_ends_is_reported", a_command_that_ends_is_reported),
        ("a_killed_worker_is_reported", a_killed_worker_is_reported),
        ("a_load_that_cannot_begin_says_why", a_load_that_cannot_begin_says_why),
        ("a_load_starts_at_its_share_of_the_run", a_load_starts_at_its_share_of_the_run),
        ("whatever_a_command_started_ends_with_it", whatever_a_command_started_ends_with_it),
    ];
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));
    let tests: Vec<_> = tests.iter().filter(|(name, _)| is_wanted(name)).collect();
    for (name, test) in &tests {
        println!("test {name} ...");
        test();
    }
    assert_eq!(workers(), BTreeSet::new(), "no worker is left behind");
    println!("test result: ok. {} passed; 0 failed", tests.len());
    ExitCode::SUCCESS
}

/// The processes that are workers of this program.
fn workers() -> BTreeSet<u32> {
    let ours = fs::read_link("/proc/self/exe").unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|e| fs::read_link(e.path().join("exe")).is_ok_and(|exe| exe == ours))
        .filter(|e| fs::read_to_string(e.path().join("cmdline")).is_ok_and(|line| line.contains(WORKER)))
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

/// Loads on the machine's first CPU; the measured one is another, if there is another.
fn prepare(text: &str, duration: Option<Duration>) -> Result<Loads, Error> {
    let facts = read(&Root::system());
    let here: CpuSet = facts.usable_cpus().iter().take(1).collect();
    let measured = facts.usable_cpus().without(&here);
    Loads::prepare(&parse_loads(text)?, &facts, &measured, &here, duration)
}

fn run(text: &str, time: Duration) -> (Vec<LoadRun>, Duration) {
    let mut loads = prepare(text, Some(time)).unwrap();
    loads.start();
    sleep(time);
    assert_eq!(loads.take_failures(), [], "{text}");
    let asked = Instant::now();
    (loads.stop(), asked.elapsed())
}

fn every_load_works_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("disk:1,{}", folder.path().display());
    let mut done = Vec::new();
    for load in [
        "cpu:1",
        "hog:1",
        "mem:1,16M",
        "cache:1,8M",
        &disk,
        "net:1",
        "irq:1",
        "fork:1",
        "proc:1",
        "exec:sleep 60",
    ] {
        let (runs, took) = run(load, Duration::from_millis(300));
        let run = &runs[0];
        assert_eq!((runs.len(), &run.failure), (1, &None), "{load}: {run:?}");
        assert!(took < Duration::from_secs(1), "{load} took {took:?} to stop");
        assert!(run.active_ns > 0, "{load}: {run:?}");
        assert_eq!(run.rate_per_s().is_none(), run.unit.is_none(), "{load}");
        assert!(run.unit.is_none() || run.done > 0, "{load} did nothing: {run:?}");
        done.push(run.to_string());
    }
    println!("  {}", done.join("\n  "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left behind");
}

/// Waits for the news of a failure.
fn failure(loads: &mut Loads) -> String {
    let begin = Instant::now();
    loop {
        if let Some(news) = loads.take_failures().into_iter().next() {
            return format!("{news:?}");
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "no failure was noticed");
        sleep(Duration::from_millis(10));
    }
}

fn a_command_that_ends_is_reported() {
    let mut loads = prepare("exec:echo out of order >&2; exit 3", None).unwrap();
    loads.start();
    let news = failure(&mut loads);
    assert!(news.contains("status 3: out of order"), "{news}");
    assert!(loads.take_failures().is_empty(), "told once");
    let run = &loads.stop()[0];
    assert!(run.failure.as_ref().is_some_and(|f| f.contains("out of order")), "{run:?}");
}

fn a_killed_worker_is_reported() {
    let mut loads = prepare("cpu:2", None).unwrap();
    loads.start();
    let pid = workers().into_iter().next().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    let news = failure(&mut loads);
    assert!(news.contains("signal 9"), "{news}");
    assert!(loads.stop()[0].failure.is_some());
}

fn a_load_that_cannot_begin_says_why() {
    let read_only = prepare("disk:1,/proc", None).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(read_only.contains("could not start"), "{read_only}");
}

fn a_load_starts_at_its_share_of_the_run() {
    let (runs, _) = run("cpu:1+50%", Duration::from_millis(800));
    let active = Duration::from_nanos(runs[0].active_ns as u64);
    assert!(active > Duration::ZERO && active < Duration::from_millis(790), "{active:?}");
    let mut early = prepare("cpu:1+99%", Some(Duration::from_secs(100))).unwrap();
    early.start();
    assert_eq!(early.stop()[0].active_ns, 0, "stopped before it began");
}

fn whatever_a_command_started_ends_with_it() {
    let mark = format!("{}.25", 86_000 + std::process::id());
    let sleepers = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|e| {
                fs::read_to_string(e.path().join("cmdline")).is_ok_and(|c| c == format!("sleep\0{mark}\0"))
            })
            .count()
    };
    // One in the group, one that left it.
    let command = format!("exec:sleep {mark} & setsid sleep {mark} & wait");
    let mut loads = prepare(&command, None).unwrap();
    loads.start();
    let begin = Instant::now();
    while sleepers() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(20), "the command did not start");
        sleep(Duration::from_millis(10));
    }
    loads.stop();
    assert_eq!(sleepers(), 0);
}
