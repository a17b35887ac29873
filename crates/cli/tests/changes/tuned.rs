//! Disturbances of a known kind, and the settings that `tune` finds against them: run by hand, since each
//! trial takes minutes.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::any::Any;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::shared::machine::{State, alone};

/// The CPU that is disturbed: the last one, where the task is put.
fn cpu() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) - 1
}

/// Something that disturbs a task, and the settings that remedy it.
struct Disturbance {
    name: &'static str,
    remedies: &'static [&'static str],
    begin: fn() -> Box<dyn Any>,
    /// Control group that the task is put into, if any.
    group: Option<&'static str>,
    /// Policy of the task.
    policy: &'static str,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) -> Running {
    let cpu = cpu().to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu, "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
    Running(command.spawn().unwrap())
}

/// A group of version 1 that gets half of a processor.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let begin = Instant::now();
        while fs::remove_dir(&self.0).is_err() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

const GROUP: &str = "/sys/fs/cgroup/cpu/jitterlab-trial";

fn throttled() -> Box<dyn Any> {
    let group = Path::new(GROUP);
    let _ = fs::create_dir(group);
    fs::write(group.join("cpu.cfs_quota_us"), "10000").unwrap();
    fs::write(group.join("cpu.cfs_period_us"), "20000").unwrap();
    // A program in it uses up its time, on another CPU.
    let script = "echo $$ > \"$0/cgroup.procs\"; while :; do :; done";
    let mut busy = Command::new("sh");
    let busy = busy.args(["-c", script, GROUP]).stdout(Stdio::null()).spawn().unwrap();
    Box::new((Running(busy), Group(group.into())))
}

/// Timers of one thread that expire together, thousands of times a second.
const STORM: &str = "
import ctypes, os, select, struct
libc = ctypes.CDLL(None)
fds = []
for _ in range(400):
    fd = libc.timerfd_create(1, 0o4000)
    libc.timerfd_settime(fd, 0, struct.pack('qqqq', 0, 2000000, 0, 1), None)
    fds.append(fd)
poll = select.epoll()
for fd in fds:
    poll.register(fd, select.EPOLLIN)
while True:
    for fd, _ in poll.poll():
        os.read(fd, 8)
";

const DISTURBANCES: [Disturbance; 3] = [
    Disturbance {
        name: "hog",
        remedies: &["other-threads", "cpuset", "policy", "priority"],
        begin: || Box::new(shell("while :; do :; done")),
        group: None,
        policy: "other",
    },
    Disturbance {
        name: "throttled group",
        remedies: &["group-limits", "policy", "other-threads", "cpuset"],
        begin: throttled,
        group: Some(GROUP),
        policy: "other",
    },
    Disturbance {
        name: "interrupt storm",
        remedies: &["other-threads", "cpuset", "timer-migration"],
        begin: || Box::new(shell(&format!("exec python3 -c \"{STORM}\""))),
        group: None,
        policy: "fifo:80",
    },
];

/// Outcome of one call of `tune`.
struct Trial {
    kept: Vec<String>,
    holds: bool,
    text: String,
}

fn trial(of: Option<&Disturbance>, budget: &str, only: &[&str], folder: &Path) -> Trial {
    let policy = of.map_or("fifo:80", |of| of.policy);
    let task = format!("period=1ms,cpu={},policy={policy}", cpu());
    let mut words = vec!["tune", "-q", "--json", "--budget", budget, "--task", &task];
    let only = only.join(",");
    if !only.is_empty() {
        words.extend(["--only", &only]);
    }
    let group = of.and_then(|of| of.group).unwrap_or("");
    let script = "[ -z \"$0\" ] || echo $$ > \"$0/cgroup.procs\"; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, group, env!("CARGO_BIN_EXE_jitterlab")])
        .args(&words)
        .current_dir(folder)
        .output()
        .unwrap();
    // A trial that came to nothing has kept nothing.
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let result = &document["result"];
    let knobs = result["proven"]["knobs"].as_array().cloned().unwrap_or_default();
    let called: Vec<String> = result["knobs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|of| format!("{}:{}:{}", of["knob"], of["judgement"], of["effects"][0]["change"]))
        .collect();
    Trial {
        kept: knobs.iter().filter_map(|knob| knob.as_str().map(Into::into)).collect(),
        holds: result["proven"]["holds"].as_bool() == Some(true),
        text: format!(
            "{}{} | {} | plan {} | proof {}",
            String::from_utf8_lossy(&output.stderr),
            document["head"]["verdict"],
            called.join(" "),
            result["plan"],
            result["proven"]["changes"]
        ),
    }
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// `JITTERLAB_TRIALS=10 JITTERLAB_BUDGET=4m ... --ignored tuned::`; each is printed as it ends.
#[test]
#[ignore = "takes hours"]
fn the_remedy_of_a_disturbance_is_kept_and_proven() {
    let _alone = alone();
    let trials = number("JITTERLAB_TRIALS", 10);
    let budget = std::env::var("JITTERLAB_BUDGET").unwrap_or_else(|_| "4m".into());
    let wanted = std::env::var("JITTERLAB_DISTURBANCE").unwrap_or_default();
    let mut failed = Vec::new();
    for of in DISTURBANCES.iter().filter(|of| of.name.contains(&wanted)) {
        let mut proven = 0;
        for n in 0..trials {
            let folder = tempfile::tempdir().unwrap();
            let before = State::now();
            let beside = (of.begin)();
            let found = trial(Some(of), &budget, &[], folder.path());
            drop(beside);
            let changed = State::now().changed(&before);
            let remedied = found.holds && found.kept.iter().any(|knob| of.remedies.contains(&knob.as_str()));
            proven += usize::from(remedied);
            let mut out = std::io::stderr();
            let _ = writeln!(
                out,
                "{} {n}: {remedied} {:?} changed {changed:?} {}",
                of.name, found.kept, found.text
            );
            assert!(changed.is_empty(), "{}: {changed:?} is left changed", of.name);
        }
        let _ = writeln!(std::io::stderr(), "{}: remedy kept and proven in {proven} of {trials}", of.name);
        if proven * 10 < trials * 9 {
            failed.push(of.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
