//! The state of the machine before a command, for comparison with its state afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Held by a test that changes the machine, or that other measurements would disturb: one of an executable at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of attempts at a test on a machine that other programs keep busy.
const TRIES: u32 = 3;
/// Others keep the machine busy from this share of one processor.
const BUSY_SHARE: f64 = 0.3;

/// Runs a test of a measurement in real time. If it fails while other programs take the processors' time, it
/// is tried again, and if that does not help, it is skipped with a message: a starved measurement says
/// nothing about jitterlab.
pub fn unless_starved(test: impl Fn()) {
    for attempt in 1..=TRIES {
        let (begin, before) = (Instant::now(), Spent::now());
        let Err(failure) = catch_unwind(AssertUnwindSafe(&test)) else { return };
        let processors = Spent::now().by_others_since(&before).as_secs_f64() / begin.elapsed().as_secs_f64();
        if processors < BUSY_SHARE {
            resume_unwind(failure);
        }
        println!("failed while other programs took {processors:.1} processors, attempt {attempt} of {TRIES}");
        // Short work of others, such as a build, may be over then.
        sleep(Duration::from_secs(2));
    }
    println!("skipped: other programs keep this machine too busy to measure on it");
}

/// Processor time since the machine's start, in ticks of the kernel's accounts.
struct Spent {
    by_all: u64,
    by_us: u64,
}

impl Spent {
    fn now() -> Self {
        let number = |word: &str| word.parse::<u64>().unwrap_or(0);
        let stat = text("/proc/stat");
        // user, nice, system, idle, iowait, irq, softirq, steal
        let spent: Vec<u64> =
            stat.lines().next().unwrap_or_default().split_whitespace().skip(1).map(number).collect();
        let by_all = [0, 1, 2, 5, 6, 7].iter().filter_map(|field| spent.get(*field)).sum();
        // User and system time of a process and of the children that it has waited for.
        let by_process = |process: u32| -> u64 {
            let stat = text(&format!("/proc/{process}/stat"));
            let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
            fields.split_whitespace().skip(14 - 3).take(4).map(number).sum()
        };
        Spent { by_all, by_us: family().into_iter().map(by_process).sum() }
    }

    fn by_others_since(&self, before: &Spent) -> Duration {
        const TICK_MS: u64 = 10;
        let by_us = self.by_us.saturating_sub(before.by_us);
        Duration::from_millis(TICK_MS * (self.by_all - before.by_all).saturating_sub(by_us))
    }
}

pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(args).current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null());
    command
}

pub fn start(folder: &Path, args: &[&str]) -> Child {
    command(folder, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// True if isolating is possible: it needs root, and a CPU for the rest. Otherwise prints that the test is
/// skipped.
pub fn may_isolate() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    let possible = root && available_parallelism().unwrap().get() > 1;
    if !possible {
        eprintln!("skipped: isolating needs root and a second CPU");
    }
    possible
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

pub fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// State that a command could leave changed, while other programs change it too. A change by another running
/// jitterlab counts as the value before it, from its journal. Only the threads of the kernel and those that
/// the test has started count.
#[derive(Debug, PartialEq, Default)]
pub struct State {
    values: BTreeMap<String, String>,
    threads: BTreeMap<(String, String), String>,
}

impl State {
    pub fn now() -> Self {
        loop {
            let others = Others::now();
            let mut state = State::read(&others);
            // Otherwise one of them has begun or ended meanwhile.
            if Others::now() == others {
                state.values.extend(others.values);
                for (thread, cpus) in &mut state.threads {
                    others.cpus.get(thread).inspect(|before| (*before).clone_into(cpus));
                }
                return state;
            }
        }
    }

    fn read(others: &Others) -> Self {
        let mut state = State::default();
        for irq in names("/proc/irq") {
            state.note(format!("/proc/irq/{irq}/smp_affinity_list"));
        }
        for queue in names("/sys/devices/virtual/workqueue") {
            state.note(format!("/sys/devices/virtual/workqueue/{queue}/cpumask"));
        }
        for name in names("/proc/sys/kernel") {
            // The kernel changes these by itself.
            if !name.starts_with("perf_") && !matches!(name.as_str(), "ns_last_pid" | "random" | "pty") {
                state.note(format!("/proc/sys/kernel/{name}"));
            }
        }
        for place in [
            "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
            "/sys/devices/virtual/workqueue/cpumask",
            "/proc/irq/default_smp_affinity",
            "/proc/sys/vm/stat_interval",
            "/proc/sys/vm/swappiness",
            "/sys/kernel/rcu_normal",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            state.note(place.into());
        }
        for card in names("/sys/class/net") {
            for file in ["threaded", "gro_flush_timeout", "napi_defer_hard_irqs"] {
                state.note(format!("/sys/class/net/{card}/{file}"));
            }
        }
        let mounts = text("/proc/mounts");
        let mounts = mounts.lines().filter(|line| line.contains("jitterlab") || line.contains("tracefs"));
        state.values.insert("mounts".into(), mounts.collect::<Vec<_>>().join("\n"));
        for group in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"] {
            for name in names(group).into_iter().filter(|name| !others.groups.contains(name)) {
                state.note(format!("{group}/{name}/cpuset.cpus"));
            }
        }
        for journal in names("/run/jitterlab").into_iter().filter(|name| !others.journals.contains_key(name))
        {
            // The lock is held for a short time only.
            if journal != "turn" {
                state.note(format!("/run/jitterlab/{journal}"));
            }
        }
        for instance in names("/sys/kernel/tracing/instances") {
            let owner = instance.strip_prefix("jitterlab-").and_then(|rest| rest.split('-').next());
            if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                state.note(format!("/sys/kernel/tracing/instances/{instance}/tracing_on"));
            }
        }
        let ours = family();
        for process in names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok()) {
            for thread in names(&format!("/proc/{process}/task")) {
                let Some(thread) = Thread::read(process, &thread) else { continue };
                // Workers of the kernel come, go, and change their queue.
                if (thread.kernel || ours.contains(&process)) && !thread.name.starts_with("kworker") {
                    let name = format!("{} {}", thread.id, thread.name);
                    state.threads.insert((format!("{name}, scheduled"), thread.began.clone()), thread.policy);
                    state.threads.insert((name, thread.began), thread.cpus);
                }
            }
        }
        state
    }

    fn note(&mut self, path: String) {
        let value = chosen(&text(&path)).to_owned();
        self.values.insert(path, value);
    }

    /// Differences from the state before.
    pub fn changed(&self, before: &State) -> Vec<String> {
        let names = self.values.keys().chain(before.values.keys());
        let values = names
            .filter(|name| self.values.get(*name) != before.values.get(*name))
            .map(|name| format!("{name}: {:?} -> {:?}", before.values.get(name), self.values.get(name)));
        let threads = self.threads.iter().filter_map(|(thread, cpus)| {
            let was = before.threads.get(thread).filter(|was| *was != cpus)?;
            Some(format!("{thread:?}: {was} -> {cpus}"))
        });
        values.chain(threads).collect()
    }
}

struct Thread {
    id: String,
    name: String,
    began: String,
    kernel: bool,
    cpus: String,
    /// Its policy and its real-time priority.
    policy: String,
}

impl Thread {
    fn read(process: u32, id: &str) -> Option<Self> {
        let stat = text(&format!("/proc/{process}/task/{id}/stat"));
        let (name, rest) = stat.split_once(" (")?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let flags: u64 = words.get(9 - 3)?.parse().ok()?;
        let status = text(&format!("/proc/{process}/task/{id}/status"));
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(Thread {
            id: id.into(),
            name: name.into(),
            began: (*words.get(22 - 3)?).into(),
            kernel: flags & 0x0020_0000 != 0,
            cpus: cpus.trim().into(),
            policy: format!("{}:{}", words.get(41 - 3)?, words.get(40 - 3)?),
        })
    }
}

/// This process and all its descendants.
fn family() -> Vec<u32> {
    let mut family = vec![std::process::id()];
    let mut next = 0;
    while let Some(process) = family.get(next).copied() {
        for thread in names(&format!("/proc/{process}/task")) {
            let children = text(&format!("/proc/{process}/task/{thread}/children"));
            family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        next += 1;
    }
    family
}

/// Changes of other running jitterlabs, with the values before them.
#[derive(Debug, PartialEq, Default)]
struct Others {
    journals: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
    cpus: BTreeMap<(String, String), String>,
    groups: Vec<String>,
}

impl Others {
    fn now() -> Self {
        let mut others = Others::default();
        for name in names("/run/jitterlab") {
            let journal = text(&format!("/run/jitterlab/{name}"));
            let changes = journal.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
            let changes: Vec<Value> = changes.collect();
            let Some(owner) = changes.first().map(|owner| &owner["process"]) else { continue };
            let alive = Thread::read(owner["id"].as_u64().unwrap_or(0) as u32, &owner["id"].to_string());
            if alive.is_none_or(|alive| alive.began.parse().ok() != owner["started"].as_u64()) {
                continue;
            }
            for change in &changes {
                let before = change["before"].as_str().unwrap_or_default();
                let thread = &change["thread"];
                match change["change"].as_str() {
                    Some("value") => {
                        let file = change["file"].as_str().unwrap_or_default();
                        others.values.insert(file.into(), chosen(before.trim()).into());
                    }
                    Some("affinity") => {
                        let name =
                            format!("{} {}", thread["id"], thread["name"].as_str().unwrap_or_default());
                        others.cpus.insert((name, thread["started"].to_string()), before.into());
                    }
                    Some("group") => {
                        let folder = Path::new(change["folder"].as_str().unwrap_or_default());
                        others
                            .groups
                            .extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
                    }
                    _ => {}
                }
            }
            others.journals.insert(name, journal);
        }
        others
    }
}

/// The choice in a file such as `always [madvise] never`, or its whole text.
fn chosen(text: &str) -> &str {
    let choice = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    choice.map_or(text, |(choice, _)| choice)
}
