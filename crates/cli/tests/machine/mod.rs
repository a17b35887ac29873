//! The machine as a command finds it, to be compared with what the command leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(args).current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null());
    command
}

pub fn start(folder: &Path, args: &[&str]) -> Child {
    command(folder, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Isolating needs root, and a CPU for the rest. Where it is not possible, the test is skipped and says so.
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

/// Everything that a command could leave changed. Of threads, those that are there at both times count.
#[derive(Debug, PartialEq, Default)]
pub struct State {
    values: BTreeMap<String, String>,
    threads: BTreeMap<(String, String), String>,
}

impl State {
    pub fn now() -> Self {
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
            "/proc/mounts",
            "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
            "/sys/devices/virtual/workqueue/cpumask",
            "/proc/irq/default_smp_affinity",
            "/proc/sys/vm/stat_interval",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            state.note(place.into());
        }
        for group in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"] {
            for name in names(group) {
                state.note(format!("{group}/{name}/cpuset.cpus"));
            }
        }
        for journal in names("/run/jitterlab") {
            state.note(format!("/run/jitterlab/{journal}"));
        }
        for instance in names("/sys/kernel/tracing/instances") {
            state.note(format!("/sys/kernel/tracing/instances/{instance}/tracing_on"));
        }
        for process in names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok()) {
            // Another jitterlab chooses the processors of its threads itself.
            if fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe.ends_with("jitterlab")) {
                continue;
            }
            for thread in names(&format!("/proc/{process}/task")) {
                let stat = text(&format!("/proc/{process}/task/{thread}/stat"));
                let Some((name, rest)) = stat.rsplit_once(')') else { continue };
                // Workers of the kernel come, go, and change their queue.
                if name.contains("(kworker") {
                    continue;
                }
                let began = rest.split_whitespace().nth(22 - 3).unwrap_or_default().to_owned();
                let status = text(&format!("/proc/{process}/task/{thread}/status"));
                let cpus =
                    status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default();
                state.threads.insert((format!("{thread} {name}"), began), cpus.into());
            }
        }
        state
    }

    fn note(&mut self, path: String) {
        let value = text(&path);
        self.values.insert(path, value);
    }

    /// What is other than before.
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
