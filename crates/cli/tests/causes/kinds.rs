//! Injected causes of many kinds, next to an otherwise quiet machine and next to a load. The largest cause is
//! the right one or undecided, and none is proven wrongly.
//!
//! `JITTERLAB_TRIALS` is the number of trials of each; the table of docs/evidence/causes.md is printed:
//!
//!     JITTERLAB_TRIALS=3 cargo test -p jitterlab --test causes kinds:: -- --nocapture
//!
//! Without it, one trial of those in the task itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::{Gap, Warning};
use jitterlab_runs::{Hints, Run};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known;
use crate::shared::machine::{alone, start, unless_starved};
use crate::shared::tracing::{may_trace, why};

/// A program, ended with all that it started.
pub struct Program(Child);

impl Program {
    fn begin(command: &mut Command) -> Self {
        Program(command.process_group(0).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn shell(script: &str) -> Self {
        Program::begin(Command::new("sh").args(["-c", script]))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGCONT);
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

const FILE: &str = "run.parquet";

/// `loop.c`, compiled once; `None` without a compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, program) = (folder.join("loop.c"), folder.join("loop"));
        fs::write(&source, include_str!("kinds/loop.c")).unwrap();
        let compiled = Command::new("gcc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .args([&program, &source])
            .status();
        assert!(compiled.as_ref().is_err() || compiled.as_ref().is_ok_and(|status| status.success()));
        compiled.is_ok().then_some(program)
    };
    let program = PROGRAM.get_or_init(compile).as_deref();
    if program.is_none() {
        println!("skipped: gcc is not here (./test installs it)");
    }
    program
}

/// The folder of a trial, and the program of its loop.
pub struct Trial {
    folder: TempDir,
    program: &'static Path,
}

impl Trial {
    pub fn begin() -> Option<Self> {
        Some(Trial { folder: TempDir::new().unwrap(), program: program()? })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn start(&self, words: &str) -> Program {
        Program::begin(Command::new(self.program).args(words.split(' ')))
    }

    /// The loop, with its kind, policy, priority and CPU.
    fn victim(&self, words: &str) -> Program {
        let victim = self.start(&format!("victim {words}"));
        thread::sleep(Duration::from_millis(300));
        victim
    }

    /// The causes of its late starts after it was watched for a while; null if no period was found.
    fn watched(&self, victim: &Program) -> Value {
        let pid = victim.pid();
        let watch = ["watch", "-q", "-d", "2s", "--find", "1s", "--pid", &pid, "-o", FILE];
        // It may be disturbed too much for a period to be found.
        let found = (0..3).any(|_| {
            let _ = fs::remove_file(self.path().join(FILE));
            known::jitterlab(self.path(), &watch).status.success()
        });
        if found { self.causes() } else { Value::Null }
    }

    /// Watches it, and stops the recorder for so long that it cannot read all events.
    fn watched_with_gaps(&self, victim: &Program) -> Value {
        let (pid, file) = (victim.pid(), self.path().join(FILE));
        let watch = ["watch", "-q", "-d", "5s", "--find", "1s", "--pid", &pid, "-o", FILE];
        let mut watch = start(self.path(), &watch);
        let recorder = Pid::from_raw(watch.id() as i32);
        thread::sleep(Duration::from_secs(3));
        kill(recorder, Signal::SIGSTOP).unwrap();
        // Next to other programs, few events come in a second.
        thread::sleep(Duration::from_secs(3));
        kill(recorder, Signal::SIGCONT).unwrap();
        assert!(watch.wait().unwrap().success());
        let info = Run::open(file, &Hints::default()).unwrap().info().clone();
        let is_lost = |warning: &Warning| matches!(warning, Warning::EventsLost { .. });
        assert!(info.warnings.iter().any(is_lost), "nothing is said to be lost: {:?}", info.warnings);
        self.causes()
    }

    fn causes(&self) -> Value {
        let tasks = why(self.path(), FILE)["tasks"].clone();
        let is_victim = |task: &&Value| task["task"] == "victim";
        tasks.as_array().unwrap().iter().find(is_victim).cloned().unwrap()
    }

    /// Watches a loop with something next to it.
    fn beside(&self, victim: &str, disturbs: &[&str]) -> Value {
        let victim = self.victim(victim);
        let _disturb: Vec<Program> = disturbs.iter().map(|words| self.start(words)).collect();
        self.watched(&victim)
    }

    /// Watches a loop while a shell does this ten times a second; `{}` is the loop's process.
    fn while_shell(&self, victim: &Program, name: &str, does: &str) -> Value {
        let does = does.replace("{}", &victim.pid());
        let path = self.path().join(name);
        // A copy, so that the thread has a name of its own.
        fs::copy("/bin/sh", &path).unwrap();
        let script = format!("i=0; while [ $i -lt 80 ]; do {does}; sleep 0.1; i=$((i+1)); done");
        let _shell = Program::begin(Command::new(path).args(["-c", &script]).stderr(Stdio::null()));
        self.watched(victim)
    }
}

/// A control group of a hierarchy that may be made here.
struct Group(PathBuf);

impl Group {
    /// In the hierarchy that has this file.
    fn with(file: &str) -> Option<Self> {
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

    fn file(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }

    fn take(&self, program: &Program) {
        self.set("cgroup.procs", &program.pid());
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

/// Something that is done to a task.
struct Kind {
    put: &'static str,
    /// Classes of the right cause.
    right: &'static [&'static str],
    /// Beginning of the right cause's name.
    who: Option<&'static str>,
    /// A trial; `None` where this machine cannot do it.
    trial: fn(&Trial) -> Option<Value>,
}

const fn kind(
    put: &'static str,
    right: &'static [&'static str],
    who: Option<&'static str>,
    trial: fn(&Trial) -> Option<Value>,
) -> Kind {
    Kind { put, right, who, trial }
}

const MAIN: &str = "none fifo 70 0";
const ORDINARY: &str = "none other 0 0";

/// Kinds of states of the task itself, which have one trial in each run of the tests.
const STATES: [Kind; 5] = [
    kind("SIGSTOP for 15 ms", &["stopped"], Some("stopper"), |trial| {
        let victim = trial.victim(MAIN);
        Some(trial.while_shell(&victim, "stopper", "kill -STOP {}; sleep 0.015; kill -CONT {}"))
    }),
    kind("a frozen control group", &["frozen"], None, |trial| {
        let group = Group::with("cgroup.freeze")?;
        let victim = trial.victim(MAIN);
        group.take(&victim);
        let file = group.file("cgroup.freeze");
        let task =
            trial.while_shell(&victim, "freezer", &format!("echo 1 > {file}; sleep 0.015; echo 0 > {file}"));
        group.set("cgroup.freeze", "0");
        drop(victim);
        Some(task)
    }),
    kind(
        "real-time throttling: a FIFO 50 thread that never sleeps",
        &["fair-server", "throttled"],
        None,
        |trial| {
            let victim = trial.victim(MAIN);
            // They end by themselves, whatever becomes of this test.
            let spins = "timeout --foreground 8 taskset -c 0 sh -c 'while :; do :; done'";
            let _beside = [Program::shell(spins), Program::shell(&format!("chrt -f 50 {spins}"))];
            Some(trial.watched(&victim))
        },
    ),
    kind("a CPU quota of 20 %", &["quota", "shared"], None, |trial| {
        let group = Group::with("cpu.max").or_else(|| Group::with("cpu.cfs_quota_us"))?;
        let victim = trial.victim(ORDINARY);
        match group.0.join("cpu.max").exists() {
            true => group.set("cpu.max", "20000 100000"),
            false => group.set("cpu.cfs_quota_us", "20000"),
        }
        group.take(&victim);
        // Another one of the group uses it up.
        let other = Program::shell(&format!(
            "echo $$ > {}; timeout --foreground 8 sh -c 'while :; do :; done'",
            group.file("cgroup.procs")
        ));
        let task = trial.watched(&victim);
        drop((other, victim));
        Some(task)
    }),
    kind("a mutex that another thread holds", &["lock"], Some("holder"), |trial| {
        Some(trial.beside("lock fifo 70 0", &[]))
    }),
];

const OTHERS: [Kind; 24] = [
    kind("a mutex with priority inheritance", &["lock-inheriting"], Some("holder"), |trial| {
        Some(trial.beside("pi-lock fifo 70 0", &[]))
    }),
    kind("a mutex, its holder preempted by a third", &["inversion", "lock"], None, |trial| {
        Some(trial.beside("inverted-lock fifo 70 0", &[]))
    }),
    kind("page faults in its work", &["page-fault"], None, |trial| {
        Some(trial.beside("faults fifo 70 0", &[]))
    }),
    kind("work longer than its period", &["own-work"], None, |trial| {
        Some(trial.beside("overruns fifo 70 0", &[]))
    }),
    kind("a SCHED_DEADLINE budget that is too small", &["budget", "own-work"], None, |trial| {
        Some(trial.beside("overruns deadline 0 0", &[]))
    }),
    kind("a debugger's stops of 15 ms", &["traced"], Some("tracer"), |trial| {
        let victim = trial.victim(MAIN);
        let _tracer = trial.start(&format!("tracer {}", victim.pid()));
        Some(trial.watched(&victim))
    }),
    kind("strace", &["traced"], Some("strace"), |trial| {
        let victim = trial.victim(MAIN);
        let strace = format!("exec strace -qq -f -o /dev/null -p {}", victim.pid());
        let _strace = Program::begin(Command::new("sh").args(["-c", &strace]).stderr(Stdio::null()));
        Some(trial.watched(&victim))
    }),
    kind("a freezer of version 1", &["frozen"], None, |trial| {
        let group = Group::with("freezer.state")?;
        let victim = trial.victim(MAIN);
        group.take(&victim);
        let file = group.file("freezer.state");
        let freeze = format!("echo FROZEN > {file}; sleep 0.015; echo THAWED > {file}");
        let task = trial.while_shell(&victim, "freezer", &freeze);
        group.set("freezer.state", "THAWED");
        drop(victim);
        Some(task)
    }),
    kind("a real-time group's limit", &["throttled"], None, |trial| {
        let group = Group::with("cpu.rt_runtime_us")?;
        // Real-time time that the root group has not given to others is needed.
        fs::write(group.0.join("cpu.rt_runtime_us"), "200000").ok()?;
        let victim = trial.victim(ORDINARY);
        group.take(&victim);
        let hog = Program::shell(&format!(
            "echo $$ > {}; exec chrt -f 50 timeout --foreground 8 taskset -c 0 sh -c 'while :; do :; done'",
            group.file("cgroup.procs")
        ));
        Command::new("chrt").args(["-f", "-p", "70", &victim.pid()]).status().unwrap();
        let task = trial.watched(&victim);
        drop((hog, victim));
        Some(task)
    }),
    kind("timer slack of 3 ms", &["timer-slack"], None, |trial| {
        let victim = trial.victim(ORDINARY);
        fs::write(format!("/proc/{}/timerslack_ns", victim.pid()), "3000000").unwrap();
        Some(trial.watched(&victim))
    }),
    kind("a FIFO 75 thread", &["preempted"], Some("hog"), |trial| {
        Some(trial.beside(MAIN, &["hog fifo 75 0"]))
    }),
    kind("FIFO 75 threads, task not bound to a CPU", &["preempted", "migration"], None, |trial| {
        Some(trial.beside("none fifo 70 -1", &["hog-0 fifo 75 0", "hog-1 fifo 75 1"]))
    }),
    kind("a thread that raises its own priority", &["preempted"], Some("raiser"), |trial| {
        Some(trial.beside(MAIN, &["raiser raises 90 0"]))
    }),
    kind("the same, which lowers it again", &["preempted"], Some("raiser"), |trial| {
        Some(trial.beside(MAIN, &["raiser raises-and-lowers 90 0"]))
    }),
    kind("a FIFO thread of its priority", &["shared"], Some("peer"), |trial| {
        Some(trial.beside(MAIN, &["peer fifo 70 0"]))
    }),
    kind("an RR thread of its priority", &["shared"], Some("peer"), |trial| {
        Some(trial.beside("none rr 70 0", &["peer rr 70 0"]))
    }),
    kind("an ordinary thread, ordinary task", &["shared"], None, |trial| {
        Some(trial.beside(ORDINARY, &["peer other -10 0"]))
    }),
    kind("a SCHED_DEADLINE thread", &["preempted"], Some("urgent"), |trial| {
        Some(trial.beside(
            "none fifo 70 -1",
            &["urgent deadline 1 0", "urgent deadline 1 0", "urgent deadline 1 0"],
        ))
    }),
    kind("a long system call of an ordinary thread", &["not-preemptible"], Some("poller"), |trial| {
        Some(trial.beside(MAIN, &["poller 0"]))
    }),
    kind("500 timers at once", &["other-timer", "timer-interrupt", "mixed"], None, |trial| {
        Some(trial.beside(MAIN, &["timers 0"]))
    }),
    kind("a flood of packets", &["softirq", "interrupts-off", "not-preemptible"], None, |trial| {
        let victim = trial.victim(MAIN);
        let _flood = trial.start("flood 0");
        Some(trial.watched(&victim))
    }),
    kind(
        "a disk writer, ordinary task",
        &["shared", "interrupt", "softirq", "not-preemptible", "preempted"],
        None,
        |trial| {
            let victim = trial.victim(ORDINARY);
            let file = trial.path().join("written");
            let write =
                format!("while :; do dd if=/dev/zero of={} bs=1M count=64 conv=fsync; done", file.display());
            let _writer = Program::begin(
                Command::new("taskset").args(["-c", "0", "sh", "-c", &write]).stderr(Stdio::null()),
            );
            Some(trial.watched(&victim))
        },
    ),
    kind("moves to another CPU", &["migration", "preempted"], Some("migration"), |trial| {
        let victim = trial.victim("none fifo 70 -1");
        let moves = "taskset -cp 1 {}; taskset -cp 0 {}";
        Some(trial.while_shell(&victim, "mover", moves))
    }),
    kind("lost events, and a FIFO 75 thread", &["lost", "preempted"], None, |trial| {
        let victim = trial.victim(MAIN);
        let _beside = ["storm 0", "hog fifo 75 0"].map(|words| trial.start(words));
        Some(trial.watched_with_gaps(&victim))
    }),
];

/// Finding of a trial whose loop was disturbed too much.
const NO_PERIOD: &str = "no period found";

#[derive(Default)]
struct Tally {
    /// Times that a largest cause was found, by cause and certainty, with the smallest and largest share.
    found: BTreeMap<String, (u32, f64, f64)>,
    wrong: Vec<String>,
}

impl Tally {
    /// Counts the finding of a trial in which the hypervisor reported `stolen_ms` of all processors as taken.
    fn add(&mut self, kind: &Kind, loaded: bool, task: &Value, stolen_ms: f64) {
        // What the hypervisor reports is as true as what is put there. Proven without its report, it is wrong.
        let mut rows = task["causes"].as_array().into_iter().flatten();
        let is_host = |row: &&Value| {
            let number = |field: &str| row[field].as_f64().unwrap_or(0.0);
            let is_reported = number("worst_ns") * number("proven") <= (stolen_ms + COUNTED_MS) * 1e6;
            row["cause"]["class"] == "outside" && number("proven") >= 0.5 && is_reported
        };
        if let Some(missing) = cause_of_misses(task) {
            let class = missing["class"].as_str().unwrap_or("");
            self.found.entry(format!("{class} (missed due times)")).or_default().0 += 1;
            if !kind.right.contains(&class) {
                self.wrong.push(format!("{}: {class} {task:#}", kind.put));
            }
            return;
        }
        let Some(row) = rows.find(|row| !is_host(row)) else {
            let found = self.found.entry(NO_PERIOD.into()).or_default();
            found.0 += 1;
            return;
        };
        let number = |field: &str| row[field].as_f64().unwrap_or(0.0);
        let (class, who) = (row["cause"]["class"].as_str().unwrap_or(""), row["cause"]["who"].as_str());
        let (proven, sure) = (number("proven"), number("proven") + number("likely"));
        let certainty = match () {
            () if proven >= 0.5 => "proven",
            () if sure >= 0.5 => "likely",
            () => "undecided",
        };
        let cause = match who {
            Some(who) => format!("{class} ({who}) {certainty}"),
            None => format!("{class} {certainty}"),
        };
        let share = 100.0 * number("latest_share");
        let found = self.found.entry(cause.clone()).or_insert((0, share, share));
        *found = (found.0 + 1, found.1.min(share), found.2.max(share));
        // An ordinary task shares its CPU with the load too.
        let is_load = loaded && class == "shared" && kind.put.contains("ordinary");
        let names = kind.who.is_none_or(|right| who.is_some_and(|who| who.starts_with(right)));
        let is_right = (kind.right.contains(&class) && names) || is_load;
        // Less than half of it, or a short delay, says nothing of what was put there.
        if !is_right && sure >= 0.5 && share >= 50.0 && number("worst_ns") >= SHORT_NS {
            self.wrong.push(format!("{}: {cause} {task:#}", kind.put));
        }
    }

    fn cell(&self) -> String {
        if self.found.is_empty() {
            return "not here".into();
        }
        let one = |(cause, (times, least, most)): (&String, &(u32, f64, f64))| {
            format!("{times} {cause}, {least:.0} to {most:.0} %")
        };
        self.found.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// The cause of the work for which due times were missed, where it is more than all late starts.
fn cause_of_misses(task: &Value) -> Option<&Value> {
    let work = task["misses"]["work"].as_array()?;
    let work_ns: i64 = work.iter().filter_map(|sum| sum["sum_ns"].as_i64()).sum();
    (work_ns > task["misses"]["late_ns"].as_i64()?).then(|| &work[0]["cause"])
}

/// Delays that a quiet machine has, too.
const SHORT_NS: f64 = 100_000.0;

/// Rounding of the time that `/proc/stat` has as stolen, of two processors.
const COUNTED_MS: f64 = 20.0;

/// Time that the hypervisor reports as taken from all processors, in ms.
fn stolen_ms() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let ticks = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<f64>().ok());
    10.0 * ticks.unwrap_or(0.0)
}

/// Tries a kind a few times.
fn tried(kind: &Kind, trials: usize, loaded: bool) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..trials {
        let Some(trial) = Trial::begin() else { break };
        let load = if loaded { vec![Program::shell(LOAD), Program::shell(LOAD)] } else { Vec::new() };
        let stolen_before_ms = stolen_ms();
        let Some(task) = (kind.trial)(&trial) else { break };
        drop(load);
        tally.add(kind, loaded, &task, stolen_ms() - stolen_before_ms);
    }
    tally
}

/// Programs that begin, compute and end.
const LOAD: &str = "while :; do head -c 20000000 /dev/zero | md5sum > /dev/null; done";

#[test]
fn the_largest_cause_is_the_right_one_or_undecided() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    let trials = std::env::var("JITTERLAB_TRIALS").ok().and_then(|n| n.parse().ok());
    let Some(trials) = trials else {
        return unless_starved(|| {
            let tallies: Vec<Tally> = STATES.iter().map(|kind| tried(kind, 1, false)).collect();
            let wrong: Vec<&String> = tallies.iter().flat_map(|tally| &tally.wrong).collect();
            let cells: Vec<String> = tallies.iter().map(Tally::cell).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
            assert!(!tallies.iter().any(|tally| tally.found.contains_key(NO_PERIOD)), "{cells:?}");
        });
    };
    let only = std::env::var("JITTERLAB_KIND").unwrap_or_default();
    println!("| put there | next to nothing else | next to a load |\n|---|---|---|");
    let mut wrong = Vec::new();
    for kind in STATES.iter().chain(&OTHERS).filter(|kind| kind.put.contains(&only)) {
        let [quiet, loaded] = [false, true].map(|loaded| tried(kind, trials, loaded));
        println!("| {} | {} | {} |", kind.put, quiet.cell(), loaded.cell());
        wrong.extend(quiet.wrong.into_iter().chain(loaded.wrong));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_task_that_falls_silent_while_it_is_watched_is_not_without_misses() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    let Some(trial) = Trial::begin() else { return };
    let victim = trial.victim(MAIN);
    let pid = victim.pid();
    let stopping = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2_400));
        Command::new("kill").args(["-STOP", &pid]).status().unwrap();
    });
    trial.watched(&victim);
    stopping.join().unwrap();
    let info = Run::open(trial.path().join(FILE), &Hints::default()).unwrap().info().clone();
    let task = info.tasks.iter().find(|task| task.spec.name == "victim").unwrap();
    let is_said =
        |warning: &Warning| matches!(warning, Warning::SilentToEnd { task, .. } if task == "victim");
    assert!(info.warnings.iter().any(is_said) && !task.knows(Gap::Missed), "{:?}", info.warnings);
}
