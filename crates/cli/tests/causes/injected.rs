//! Injected causes are found by their names. Each makes activations late in one way, and the table shows how
//! the time that it took was classified. It is printed (`--nocapture`) for docs/evidence/causes.md. Times
//! are not asserted, only shares of them and counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::Read;
use std::net::UdpSocket;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::{Pid, gettid};
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known::{self, answered};
use crate::shared::machine::{alone, unless_starved};
use crate::shared::tracing::{check, may_trace, why};

const MAIN: &str = "name=main,period=1ms,cpu=0,policy=fifo:70";

/// Threads that are asked to end with this, and waited for.
#[derive(Default)]
struct Threads {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// And one of this name, which does the first once and the second over and over.
    fn and(
        mut self,
        name: &str,
        first: impl FnOnce() + Send + 'static,
        mut work: impl FnMut() + Send + 'static,
    ) -> Self {
        let ends = self.ends.clone();
        let begun = thread::Builder::new().name(name.into()).spawn(move || {
            first();
            while !ends.load(Ordering::Relaxed) {
                work();
            }
        });
        self.threads.push(begun.unwrap());
        self
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Something that makes others late: a thread of this name on CPU 0 that does this over and over, a fifth of the time,
/// so that it is not the usual way.
fn maker(name: &str, mut work: impl FnMut() + Send + 'static) -> Threads {
    Threads::default().and(name, on_cpu_0, move || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(10) {
            work();
        }
        thread::sleep(Duration::from_millis(40));
    })
}

fn on_cpu_0() {
    let mut cpus = CpuSet::new();
    cpus.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
}

/// Causes found for the first task.
fn measured(tasks: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let mut run = vec!["run", "--why", "-q", "-d", "2s", "-o", "run.parquet"];
    run.extend(tasks.iter().flat_map(|task| ["--task", task]));
    answered(folder.path(), &run);
    why(folder.path(), "run.parquet")["tasks"][0].clone()
}

/// Causes found for a thread that runs already. With other work running, it may not be periodic for a while.
fn watched(thread: &str) -> Value {
    let folder = TempDir::new().unwrap();
    let watch = ["watch", "-q", "-d", "2s", "--find", "1s", "-o", "run.parquet", "--thread", thread];
    if !(0..3).any(|_| known::jitterlab(folder.path(), &watch).status.success()) {
        answered(folder.path(), &watch);
    }
    why(folder.path(), "run.parquet")["tasks"][0].clone()
}

#[test]
fn what_is_put_there_is_found_by_its_name() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        println!("| put there | found | as |\n|---|---|---|");

        let urgent = "name=urgent,period=7ms,cpu=0,policy=fifo:75,work=spin:300us";
        // Both begin together, so it meets every seventh activation.
        check("a thread of higher priority", "urgent", &["preempted"], 50, &measured(&[MAIN, urgent]));

        let equal = "name=equal,period=7ms,cpu=0,policy=fifo:70,work=spin:300us";
        let later = "name=main,period=1ms,cpu=0,policy=fifo:70,offset=100us";
        check("a thread of the same priority", "equal", &["shared"], 50, &measured(&[later, equal]));

        let ordinary = "name=main,period=2ms,cpu=0,policy=other";
        let hog = maker("ordinary", || {
            std::hint::black_box((0..10_000u64).map(std::hint::black_box).sum::<u64>());
        });
        check(
            "an ordinary thread beside an ordinary task",
            "ordinary",
            &["shared"],
            10,
            &measured(&[ordinary]),
        );
        drop(hog);

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        let flood = maker("flood", move || drop(socket.send(&[0; 1_000])));
        // Some of the softirq's work is done with interrupts off.
        check("a flood of packets", "NET_RX", &["softirq", "interrupts-off"], 10, &measured(&[MAIN]));
        drop(flood);
    });
}

/// Reads from the disk over and over, bypassing the page cache.
fn reads(folder: &TempDir) -> impl FnMut() + Send + 'static {
    let path = folder.path().join("content");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    Command::new("sync").status().unwrap();
    // The memory that is read into has to begin at a block's border.
    let mut room = vec![0u8; 8_192];
    let begin = room.as_ptr().align_offset(4_096);
    move || {
        let direct = nix::libc::O_DIRECT;
        if let Ok(mut file) = File::options().read(true).custom_flags(direct).open(&path) {
            while file.read(&mut room[begin..begin + 4_096]).is_ok_and(|length| length > 0) {}
        }
    }
}

/// The interrupt that came most often meanwhile: its number and name as events have them, and its processor.
fn busiest_interrupt(mut meanwhile: impl FnMut()) -> Option<(String, usize)> {
    let counts = || -> Vec<(String, Vec<u64>)> {
        let text = fs::read_to_string("/proc/interrupts").unwrap();
        let cpus = text.lines().next().unwrap().split_whitespace().count();
        let line = |line: &str| {
            let (number, rest) = line.split_once(':')?;
            let number: u32 = number.trim().parse().ok()?;
            let words: Vec<&str> = rest.split_whitespace().collect();
            let counts = words.get(..cpus)?.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
            Some((format!("{number} {}", words.last()?), counts))
        };
        text.lines().skip(1).filter_map(line).collect()
    };
    let before = counts();
    meanwhile();
    let more = counts().into_iter().zip(before).filter(|(now, before)| now.0 == before.0).flat_map(
        |(now, before)| {
            let each = now.1.into_iter().zip(before.1).enumerate();
            each.map(move |(cpu, (now_here, before))| (now_here - before, now.0.clone(), cpu))
                .collect::<Vec<_>>()
        },
    );
    more.max().filter(|(times, ..)| *times >= 100).map(|(_, name, cpu)| (name, cpu))
}

#[test]
fn an_interrupt_is_found_on_the_processor_it_comes_to_and_nowhere_else() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut read = reads(&folder);
        let Some((name, cpu)) = busiest_interrupt(&mut read) else {
            println!("skipped: reading from the disk here makes no interrupts");
            return;
        };
        let disk = maker("disk", read);
        let task = |cpu: usize| format!("name=main,period=500us,cpu={cpu},policy=fifo:70");
        check(
            "a disk's interrupt on the task's processor",
            &name,
            &["interrupt"],
            5,
            &measured(&[&task(cpu)]),
        );
        let elsewhere = measured(&[&task(usize::from(cpu == 0))]);
        drop(disk);
        let there = elsewhere["causes"].as_array().unwrap().iter().find(|row| row["cause"]["who"] == *name);
        assert!(there.is_none(), "{there:#?}");
    });
}

/// Gives the thread that calls it a real-time priority, and CPU 0.
fn urgent(priority: u32) {
    let (priority, thread) = (priority.to_string(), gettid().to_string());
    let given = Command::new("chrt").args(["--fifo", "--pid", &priority, &thread]).status();
    assert!(given.unwrap().success());
    on_cpu_0();
}

fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Number of interruptions of a watched task by this cause.
fn interrupted(task: &Value, class: &str, who: Option<&str>) -> u64 {
    let rows = task["interruptions"].as_array().unwrap().iter();
    let here = rows.filter(|row| row["cause"]["class"] == class && row["cause"]["who"].as_str() == who);
    here.map(|row| row["times"].as_u64().unwrap()).sum()
}

#[test]
fn who_holds_the_lock_in_a_priority_inversion_is_named_and_not_who_runs_meanwhile() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let lock = Arc::new(Mutex::new(()));
        let (of_low, of_high) = (lock.clone(), lock);
        let pause = |ms| thread::sleep(Duration::from_millis(ms));
        let threads = Threads::default()
            .and(
                "low",
                || urgent(10),
                move || {
                    pause(7);
                    let _held = of_low.lock().unwrap();
                    spin(Duration::from_millis(2));
                },
            )
            .and(
                "mid",
                || urgent(20),
                move || {
                    pause(11);
                    spin(Duration::from_millis(1));
                },
            )
            .and(
                "high",
                || urgent(30),
                move || {
                    pause(5);
                    let _held = of_high.lock().unwrap();
                },
            );
        let task = watched("high");
        drop(threads);
        let (low, mid) =
            (interrupted(&task, "blocked", Some("low")), interrupted(&task, "blocked", Some("mid")));
        println!(
            "| a lock held by a less urgent thread, another between | low, {low} times | blocked, mid {mid} times |"
        );
        assert!(low >= 20 && mid == 0, "{task:#}");
    });
}

#[test]
fn page_faults_in_the_work_are_counted() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        // With other work running, an ordinary thread is far from periodic.
        let faulty = Threads::default().and(
            "faulty",
            || urgent(30),
            || {
                thread::sleep(Duration::from_millis(5));
                // Larger than the blocks that the C library keeps for later, so that its pages are new each
                // time.
                let mut fresh = vec![0u8; 40 << 20];
                fresh.chunks_mut(4_096).take(256).for_each(|page| page[0] = 1);
                std::hint::black_box(fresh);
            },
        );
        let task = watched("faulty");
        drop(faulty);
        let times = interrupted(&task, "page-fault", None);
        println!("| memory touched for the first time | {times} activations | page fault in its work |");
        assert!(times >= 50, "{task:#}");
    });
}

#[test]
fn what_a_watched_thread_waits_for_is_found() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let lock = Arc::new(Mutex::new(()));
        let (of_holder, of_waiter) = (lock.clone(), lock);
        let pause = |ms| thread::sleep(Duration::from_millis(ms));
        let threads = Threads::default()
            .and(
                "holder",
                || (),
                move || {
                    pause(3);
                    let _held = of_holder.lock().unwrap();
                    pause(3);
                },
            )
            .and(
                "waiter",
                || (),
                move || {
                    pause(5);
                    let _held = of_waiter.lock().unwrap();
                },
            );
        let task = watched("waiter");
        drop(threads);
        let slack =
            task["causes"].as_array().unwrap().iter().find(|row| row["cause"]["class"] == "timer-slack");
        let times = slack.map_or(0, |row| row["times"].as_u64().unwrap());
        assert!(times >= 50, "an ordinary thread has 50 µs of it: {task:#}");
        let of_lock = |row: &&Value| row["cause"]["class"] == "blocked" && row["cause"]["who"] == "holder";
        let blocked = task["interruptions"].as_array().unwrap().iter().find(of_lock);
        let times = blocked.map_or(0, |row| row["times"].as_u64().unwrap());
        assert!(times >= 20, "the lock is held half of the time: {task:#}");
    });
}
