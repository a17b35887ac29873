//! Causes that are put there are found by their names. Each makes activations late in one way, and the time that its maker
//! took is told apart by what it was taken for: the table is printed (`--nocapture`), as docs/method/causes.md shows it.
//! No time is asserted, only shares of it and how often.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

#[allow(dead_code, reason = "not all that is shared is needed here")]
mod known;
mod tracing;

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use known::answered;
use tracing::{may_trace, why};

const MAIN: &str = "name=main,period=1ms,cpu=0,policy=fifo:70";

/// Something that makes others late: a thread of this name on CPU 0 that does this over and over, a fifth of the time,
/// so that it is not the usual way.
struct Maker {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    fn begin(name: &str, mut work: impl FnMut() + Send + 'static) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let asked = ends.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            let mut cpus = CpuSet::new();
            cpus.set(0).unwrap();
            sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
            while !asked.load(Ordering::Relaxed) {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(10) {
                    work();
                }
                thread::sleep(Duration::from_millis(40));
            }
        });
        Maker { ends, thread: Some(thread.unwrap()) }
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// What the causes of the first task say.
fn measured(tasks: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let mut run = vec!["run", "--why", "-q", "-d", "2s", "-o", "run.parquet"];
    run.extend(tasks.iter().flat_map(|task| ["--task", task]));
    answered(folder.path(), &run);
    why(folder.path(), "run.parquet")["tasks"][0].clone()
}

fn watched(thread: &str) -> Value {
    let folder = TempDir::new().unwrap();
    answered(
        folder.path(),
        &["watch", "-q", "-d", "2s", "--find", "1s", "-o", "run.parquet", "--thread", thread],
    );
    why(folder.path(), "run.parquet")["tasks"][0].clone()
}

/// How often, and which share of the time that `who` took each class was given; with `None`, of those that name nobody.
fn taken_for(task: &Value, who: Option<&str>) -> (u64, BTreeMap<String, f64>) {
    let rows = task["causes"].as_array().unwrap();
    let whose = rows.iter().filter(|row| row["cause"]["who"].as_str() == who);
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut times = 0;
    for row in whose {
        times += row["times"].as_u64().unwrap();
        *shares.entry(row["cause"]["class"].as_str().unwrap().to_owned()).or_default() +=
            row["sum_ns"].as_f64().unwrap();
    }
    let sum: f64 = shares.values().sum();
    shares.values_mut().for_each(|share| *share /= sum);
    (times, shares)
}

/// A line of the table; the right class has to have nearly all of it, and it has to be found as often as it happened at least.
fn check(put: &str, who: &str, right: &[&str], at_least: u64, task: &Value) {
    let (times, shares) = taken_for(task, Some(who));
    let told: Vec<String> =
        shares.iter().map(|(class, share)| format!("{class} {:.1} %", 100.0 * share)).collect();
    println!("| {put} | {who}, {times} times | {} |", told.join(", "));
    let sum: f64 = right.iter().filter_map(|class| shares.get(*class)).sum();
    assert!(times >= at_least && sum >= 0.9, "{put}: {right:?} {shares:?} {times}: {task:#}");
}

#[test]
fn what_is_put_there_is_found_by_its_name() {
    if !may_trace() {
        return;
    }
    println!("| put there | found | as |\n|---|---|---|");

    let urgent = "name=urgent,period=7ms,cpu=0,policy=fifo:75,work=spin:300us";
    // Both begin together, so it meets every seventh activation.
    check("a thread of higher priority", "urgent", &["preempted"], 50, &measured(&[MAIN, urgent]));

    let equal = "name=equal,period=7ms,cpu=0,policy=fifo:70,work=spin:300us";
    let later = "name=main,period=1ms,cpu=0,policy=fifo:70,offset=100us";
    check("a thread of the same priority", "equal", &["shared"], 50, &measured(&[later, equal]));

    let ordinary = "name=main,period=2ms,cpu=0,policy=other";
    let hog = Maker::begin("ordinary", || {
        std::hint::black_box((0..10_000u64).map(std::hint::black_box).sum::<u64>());
    });
    check("an ordinary thread beside an ordinary task", "ordinary", &["shared"], 10, &measured(&[ordinary]));
    drop(hog);

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(socket.local_addr().unwrap()).unwrap();
    let flood = Maker::begin("flood", move || drop(socket.send(&[0; 1_000])));
    check("a flood of packets", "NET_RX", &["softirq"], 10, &measured(&[MAIN]));
    drop(flood);
}

#[test]
fn what_a_watched_thread_waits_for_is_found() {
    if !may_trace() {
        return;
    }
    let ends = Arc::new(AtomicBool::new(false));
    let lock = Arc::new(Mutex::new(()));
    let threads: Vec<JoinHandle<()>> = [("holder", 3), ("waiter", 5)]
        .map(|(name, period_ms)| {
            let (ends, lock) = (ends.clone(), lock.clone());
            let work = move || {
                while !ends.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(period_ms));
                    let _held = lock.lock().unwrap();
                    if name == "holder" {
                        thread::sleep(Duration::from_millis(3));
                    }
                }
            };
            thread::Builder::new().name(name.into()).spawn(work).unwrap()
        })
        .into();
    let task = watched("waiter");
    ends.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let slack = task["causes"].as_array().unwrap().iter().find(|row| row["cause"]["class"] == "timer-slack");
    let times = slack.map_or(0, |row| row["times"].as_u64().unwrap());
    assert!(times >= 50, "an ordinary thread has 50 µs of it: {task:#}");
    let of_lock = |row: &&Value| row["cause"]["class"] == "blocked" && row["cause"]["who"] == "holder";
    let blocked = task["interruptions"].as_array().unwrap().iter().find(of_lock);
    let times = blocked.map_or(0, |row| row["times"].as_u64().unwrap());
    assert!(times >= 20, "the lock is held half of the time: {task:#}");
}
