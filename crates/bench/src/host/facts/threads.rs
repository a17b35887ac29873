//! The processes of the machine, as far as `/proc` shows them: who runs, and who is as urgent as a measured task.

use jitterlab_model::facts::RealTimeThread;

use super::{Root, in_parallel};

/// From this priority on a thread is worth naming: threaded interrupts have 50.
const URGENT: u8 = 50;
/// The kernel's mark of its own threads, in the flags of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;
/// From this many processes on, they are read by several threads.
const MANY_PROCESSES: usize = 200;

/// The main thread of a process.
pub(super) struct ProcessLine {
    pid: u32,
    name: String,
    kernel: bool,
    policy: u32,
    priority: u8,
    cpu: Option<u16>,
}

/// Every process that can be seen.
pub(super) fn processes(root: &Root) -> Vec<ProcessLine> {
    let pids: Vec<u32> = root.names("proc").iter().filter_map(|name| name.parse().ok()).collect();
    let lines = in_parallel(&pids, MANY_PROCESSES, |pid| parse(&root.text(&format!("proc/{pid}/stat"))?));
    lines.into_iter().flatten().collect()
}

/// Reads `PID (NAME) STATE ...`; the name may hold spaces and parentheses (proc(5)).
fn parse(stat: &str) -> Option<ProcessLine> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(')')?;
    // The first word here is field 3 of the manual.
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessLine {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        kernel: number(9)? & PF_KTHREAD != 0,
        policy: u32::try_from(number(41)?).ok()?,
        priority: u8::try_from(number(40)?).ok()?,
        cpu: number(39).and_then(|cpu| u16::try_from(cpu).ok()),
    })
}

/// Whether a program runs; `None` where other processes are hidden (a container, `hidepid`).
pub(super) fn runs(processes: &[ProcessLine], name: &str) -> Option<bool> {
    let all_seen = processes.iter().any(|p| p.kernel && p.name == "kthreadd");
    let found = processes.iter().any(|p| p.name == name);
    (found || all_seen).then_some(found)
}

/// The urgent threads of others, most urgent first.
pub(super) fn real_time(processes: &[ProcessLine]) -> Vec<RealTimeThread> {
    let urgent = processes.iter().filter_map(|p| {
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
