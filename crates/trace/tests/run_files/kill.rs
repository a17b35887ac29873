//! A process that is killed while it records loses at most the last second.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{all_rows, closed, info, row};
use jitterlab_model::{Keep, StopReason};
use jitterlab_trace::{FileProblem, RunReader, RunWriter, journal_path, recover};

const CHILD: &str = "JITTERLAB_TEST_CHILD";

/// Not a test of its own: records until it is killed, and reports how far it got.
#[test]
#[ignore = "started by the test below as its child"]
fn record_until_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    // Longest time so far that a thread of this process had to wait for a processor beyond its request: the recorder
    // cannot be
    // quicker than that on a busy machine.
    let delay = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let longest = std::sync::Arc::clone(&delay);
    std::thread::spawn(move || {
        loop {
            let begin = Instant::now();
            std::thread::sleep(Duration::from_millis(20));
            longest.fetch_max(begin.elapsed().as_millis() as u64 - 20, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let mut writer = RunWriter::create(path, &info(Keep::All)).unwrap();
    let mut out = std::io::stdout();
    for k in (0..).step_by(1_000) {
        let rows: Vec<_> = (k..k + 1_000).map(|k| row(0, k)).collect();
        writer.append(0, &rows).unwrap();
        // A few million a second: a hundred times the rate of a base thread, and little enough to check quickly.
        std::thread::sleep(Duration::from_micros(300));
        if k % 20_000 == 0 {
            let delay = delay.load(std::sync::atomic::Ordering::Relaxed);
            writeln!(out, "appended {} {delay}", k + 1_000).unwrap();
        }
    }
}

/// Kills a recording child after a while; returns how many rows were appended a second before.
fn record_and_kill(path: &std::path::Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::record_until_killed", "--ignored", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reports = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begin = Instant::now();
    let mut delay = 0;
    while begin.elapsed() < after {
        let line = lines.next().unwrap().unwrap();
        if let Some(report) = line.strip_prefix("appended ") {
            let (rows, longest) = report.split_once(' ').unwrap();
            reports.push((Instant::now(), rows.parse::<u64>().unwrap()));
            delay = longest.parse().unwrap();
        }
    }
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    let allowed = Duration::from_secs(1) + Duration::from_millis(delay);
    let safe = reports.iter().rev().find(|(when, _)| killed.duration_since(*when) >= allowed);
    safe.map_or(0, |(_, rows)| *rows)
}

#[test]
fn a_killed_run_is_recovered_up_to_the_last_second() {
    let directory = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for round in 0..20u64 {
        let path = directory.path().join(format!("{round}.parquet"));
        // Moments that hit every phase of the recorder's writing and syncing.
        let after = Duration::from_millis(1_100 + round * 61 % 700);
        let safe = record_and_kill(&path, after);
        assert!(journal_path(&path).exists() && !path.exists());
        let finished = recover(&path).unwrap();
        let reader = RunReader::open(&path).unwrap();
        assert_eq!(reader.info().stop, Some(StopReason::Crashed));
        let rows = &all_rows(&reader)[0];
        assert!(rows.len() as u64 >= safe, "round {round}: {} rows recovered, {safe} were safe", rows.len());
        assert!(rows.iter().zip(0..).all(|(a, k)| *a == row(0, k)));
        assert_eq!(finished.rows, rows.len() as u64);
        // Without a record nothing is known of a task.
        let executed = reader.info().tasks[0].result.as_ref().map_or(0, |result| result.executed);
        assert_eq!(executed, finished.rows);
        checked += u64::from(safe > 0);
        std::fs::remove_file(&path).unwrap();
    }
    assert!(checked > 0, "the machine is too busy: no round got further than its own delays");
}

const CLOSED_ROWS: u64 = 100_000;

/// Not a test of its own: closes a run, and prints when that begins and ends.
#[test]
#[ignore = "started by the tests below as their child"]
fn close_a_run() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut writer = RunWriter::create(path, &info(Keep::All)).unwrap();
    for from in (0..CLOSED_ROWS).step_by(10_000) {
        writer.append(0, &(from..from + 10_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    }
    // All of it is in the journal by then.
    std::thread::sleep(Duration::from_millis(600));
    println!("\nclosing");
    writer.finish(closed(Keep::All)).unwrap();
    println!("\nclosed");
}

/// Makes a child close its run and kills it after a while, if it takes that long; returns the time of closing.
fn close_and_kill(path: &std::path::Path, after: Option<Duration>) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::close_a_run", "--ignored", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |wanted: &str| lines.by_ref().any(|line| line.unwrap() == wanted);
    assert!(until("closing"));
    let begin = Instant::now();
    match after {
        Some(after) => {
            std::thread::sleep(after);
            child.kill().unwrap();
        }
        None => assert!(until("closed")),
    }
    let taken = begin.elapsed();
    child.wait().unwrap();
    taken
}

fn kill_while_closing(times: u32) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(format!("{name}.parquet"));
    let taken = close_and_kill(&at("whole"), None);
    let (mut before, mut behind) = (0, 0);
    for round in 0..times {
        let path = at(&round.to_string());
        // Every phase: sync, reading back, renaming, removal, and a little beyond.
        close_and_kill(&path, Some(taken * (round % 25) / 20));
        if journal_path(&path).exists() {
            recover(&path).unwrap();
            before += 1;
        } else {
            behind += 1;
        }
        let reader = RunReader::open(&path).unwrap();
        let rows = &all_rows(&reader)[0];
        assert!(
            rows.len() as u64 == CLOSED_ROWS && rows.iter().zip(0..).all(|(a, k)| *a == row(0, k)),
            "round {round}"
        );
        assert!(!journal_path(&path).exists(), "round {round}");
        std::fs::remove_file(&path).unwrap();
    }
    println!("{before} killed before their journal went, {behind} behind");
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.len() <= 2 && before > 0, "{left:?}");
}

#[test]
fn a_run_that_is_killed_while_it_is_closed_is_whole() {
    kill_while_closing(15);
}

#[test]
#[ignore = "some minutes"]
fn a_hundred_runs_that_are_killed_while_they_are_closed_are_whole() {
    kill_while_closing(100);
}

#[test]
fn what_a_run_left_that_was_killed_before_its_first_byte_is_taken_over_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.parquet");
    let journal = journal_path(&path);
    std::fs::write(&journal, "").unwrap();
    let writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    assert!(RunWriter::create(&path, &info(Keep::All)).is_err_and(|e| e.is(FileProblem::BeingRecorded)));
    writer.finish(info(Keep::All)).unwrap();
    assert!(path.exists() && !journal.exists());
    // Whose it is that is locked is not known, and a file with one byte is not empty.
    let other = directory.path().join("other.parquet");
    let held = std::fs::File::create(journal_path(&other)).unwrap();
    held.lock().unwrap();
    assert!(RunWriter::create(&other, &info(Keep::All)).is_err());
    drop(held);
    std::fs::write(journal_path(&other), "x").unwrap();
    assert!(RunWriter::create(&other, &info(Keep::All)).is_err_and(|e| e.is(FileProblem::Exists)));
    assert_eq!(std::fs::read(journal_path(&other)).unwrap(), b"x");
}
