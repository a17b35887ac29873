//! The threads of the machine, as far as `/proc` shows them: which programs run, and who is as urgent as a measured task.

use std::path::Path;
use std::{fs, io};

use jitterlab_model::facts::{Program, RealTimeThread};

use super::{Root, in_parallel};
use crate::processes::Stat;

/// From this priority on a thread is worth naming: threaded interrupts have 50.
const URGENT: u8 = 50;
/// From this many processes on, they are read by several threads.
const MANY_PROCESSES: usize = 200;

/// A thread as `/proc` shows it.
pub(super) struct ThreadLine {
    /// Number of its process.
    pid: u32,
    /// True for the first thread of its process, which has the program's name.
    first: bool,
    name: String,
    kernel: bool,
    policy: u32,
    priority: u8,
    cpu: Option<u16>,
}

/// The name of the process or thread that this folder of `/proc` describes; any bytes may be in it.
pub(crate) fn thread_name(folder: &Path) -> io::Result<String> {
    let name = fs::read(folder.join("comm"))?;
    Ok(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// All threads that this process may see in `/proc`.
pub(super) fn read_threads(root: &Root) -> Vec<ThreadLine> {
    let numbers = |folder: &str| -> Vec<u32> {
        root.names(folder).iter().filter_map(|name| name.parse().ok()).collect()
    };
    let of_process = |pid: &u32| {
        let first = root.text(&format!("proc/{pid}/stat")).and_then(|stat| parse(&stat));
        // The kernel's threads are processes of one thread each.
        let others = match &first {
            Some(first) if !first.kernel => numbers(&format!("proc/{pid}/task")),
            _ => Vec::new(),
        };
        let others = others.into_iter().filter(|thread| thread != pid).filter_map(|thread| {
            let stat = root.text(&format!("proc/{pid}/task/{thread}/stat"))?;
            Some(ThreadLine { pid: *pid, first: false, ..parse(&stat)? })
        });
        first.into_iter().chain(others).collect::<Vec<_>>()
    };
    in_parallel(&numbers("proc"), MANY_PROCESSES, of_process).into_iter().flatten().collect()
}

fn parse(stat: &str) -> Option<ThreadLine> {
    let stat = Stat::parse(stat)?;
    Some(ThreadLine {
        pid: stat.pid,
        first: true,
        kernel: stat.is_kernel_thread(),
        policy: u32::try_from(stat.number_field(41)?).ok()?,
        priority: u8::try_from(stat.number_field(40)?).ok()?,
        cpu: stat.number_field(39).and_then(|cpu| u16::try_from(cpu).ok()),
        name: stat.name,
    })
}

/// True if a program runs; `None` if other processes are hidden (a container, `hidepid`).
pub(super) fn is_running(threads: &[ThreadLine], name: &str) -> Option<bool> {
    let all_seen = threads.iter().any(|t| t.kernel && t.name == "kthreadd");
    let found = threads.iter().any(|t| t.first && t.name == name);
    (found || all_seen).then_some(found)
}

/// Real-time threads of high priority in other processes, most urgent first.
pub(super) fn urgent_threads(threads: &[ThreadLine]) -> Vec<RealTimeThread> {
    let urgent = threads.iter().filter_map(|p| {
        // SCHED_FIFO, SCHED_RR and SCHED_DEADLINE of sched(7).
        let policy = match p.policy {
            1 => "fifo",
            2 => "rr",
            6 => "deadline",
            _ => return None,
        };
        (policy == "deadline" || p.priority >= URGENT).then(|| RealTimeThread {
            pid: p.pid,
            name: p.name.clone(),
            kernel: p.kernel,
            policy: policy.into(),
            priority: p.priority,
            cpu: p.cpu,
        })
    });
    let mut urgent: Vec<RealTimeThread> = urgent.filter(|t| t.pid != std::process::id()).collect();
    urgent.sort_by_key(|t| (t.policy != "deadline", std::cmp::Reverse(t.priority), t.pid));
    urgent
}

/// Programs that do nothing but measure latencies: those of rt-tests, of the kernel's tools, and LinuxCNC's.
const LATENCY_TOOLS: &[&str] = &[
    "cyclicdeadline",
    "cyclictest",
    "hwlatdetect",
    "latency-histogr",
    "latency-test",
    "oslat",
    "pmqtest",
    "ptsematest",
    "rtla",
    "signaltest",
    "sigwaittest",
    "svsematest",
];
/// Threads by which the kernel itself measures, one on each CPU.
const TRACERS: &[&str] = &["osnoise/", "timerlat/"];

/// Other programs that measure, each once: a jitterlab does where it has a real-time thread.
pub(super) fn measuring_programs(threads: &[ThreadLine]) -> Vec<Program> {
    let is_urgent = |pid: u32| threads.iter().any(|t| t.pid == pid && matches!(t.policy, 1 | 2 | 6));
    let measures = |t: &&ThreadLine| match t.kernel {
        true => TRACERS.iter().any(|name| t.name.starts_with(name)),
        false => {
            LATENCY_TOOLS.contains(&t.name.as_str()) || (t.name.starts_with("jitterlab") && is_urgent(t.pid))
        }
    };
    let others = threads.iter().filter(|t| t.first && t.pid != std::process::id());
    let program = |t: &ThreadLine| Program { pid: t.pid, name: t.name.clone(), kernel: t.kernel };
    others.filter(measures).map(program).collect()
}

/// Names of programs, each with its process number.
pub(crate) fn program_names(programs: &[Program]) -> Vec<String> {
    programs.iter().map(|one| format!("{} (process {})", one.name, one.pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let line = parse(
            "23 (irq/9 (a) b) S 2 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 -51 0 1 0 30 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 50 1 0 0 0",
        )
        .unwrap();
        assert_eq!(
            (line.name.as_str(), line.priority, line.policy, line.cpu),
            ("irq/9 (a) b", 50, 1, Some(3))
        );
        assert!(line.kernel);
        assert!(parse("23 (cut").is_none());
        assert!(parse("23 (cut) S 1 2").is_none());
    }
}
