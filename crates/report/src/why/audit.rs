//! Actions of a watched loop that cost it time, or may: its calls, faults, locks and settings, the costliest
//! first.

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_model::causes::{CauseClass as Class, InterruptionSum};
use jitterlab_model::watched::{CallCount, WaitKind, Watched};
use jitterlab_model::{RunInfo, TaskRun};

use super::words::{cause_text, remedy_clause};
use crate::section::{Cell, Piece};
use crate::words::{plural, time};

/// Findings that are shown; the others are under `--details`.
const SHOWN: usize = 5;
/// A timer slack up to this costs nothing that can be seen.
const MOST_SLACK_NS: u64 = 1_000;

struct AuditFinding {
    what: String,
    times: Option<u64>,
    p99_ns: Option<i64>,
    worst_ns: Option<i64>,
    remedy: String,
}

/// Findings about a task of another program; nothing of a task of jitterlab's.
pub(super) fn audit_pieces(of: &TaskWhy, task: &TaskRun, run: &RunInfo) -> Vec<Piece> {
    let Some(watched) = &task.watched else { return Vec::new() };
    let mut findings: Vec<AuditFinding> = watched.calls.iter().map(call_finding).collect();
    findings.extend(
        of.interruptions
            .iter()
            .filter(|sum| is_own_doing(sum.cause.class))
            .map(|sum| interruption_finding(sum, run)),
    );
    findings.extend(cpu_sharing_finding(of, run));
    // A process has one memory: it is listed with its first thread.
    if has_unlocked_memory(task) && !earlier_threads(task, run).any(has_unlocked_memory) {
        findings.push(setting_finding("memory is not locked", "mlockall(MCL_CURRENT | MCL_FUTURE)"));
    }
    findings.extend(setting_findings(task));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.worst_ns));
    if findings.is_empty() {
        return Vec::new();
    }
    let (shown, folded) = findings.split_at(findings.len().min(SHOWN));
    let caption =
        format!("What {} does in its activations, and what shares its CPU, by what it cost", of.task);
    let mut pieces = vec![findings_table(caption, shown)];
    if !folded.is_empty() {
        pieces.push(Piece::details(
            format!("{}: more that it does", of.task),
            vec![findings_table(format!("What {} does besides", of.task), folded)],
        ));
    }
    pieces
}

fn findings_table(caption: String, findings: &[AuditFinding]) -> Piece {
    let rows = findings.iter().map(|finding| {
        let time = |ns: Option<i64>| Cell::optional(ns, |ns| Cell::time(ns as f64));
        vec![
            finding.what.as_str().into(),
            Cell::optional(finding.times, Cell::Count),
            time(finding.p99_ns),
            time(finding.worst_ns),
            finding.remedy.as_str().into(),
        ]
    });
    Piece::table(caption, &["habit, µs", "times", "p99", "worst", "remedy"], rows)
}

fn call_finding(call: &CallCount) -> AuditFinding {
    let remedy = match &*call.name {
        "mmap" | "munmap" | "brk" | "mremap" | "madvise" => {
            "allocate before the loop; mallopt(M_TRIM_THRESHOLD, -1), mallopt(M_MMAP_MAX, 0)"
        }
        "openat" | "close" => "open files before the loop",
        "futex" => "hand data over without a lock, or let a lock's holder be short",
        _ => "let another thread do it, behind a queue",
    };
    let what = match &*call.name {
        "" => format!("system call {}", call.number),
        name => name.into(),
    };
    AuditFinding {
        what,
        times: Some(call.times),
        p99_ns: Some(call.p99_ns),
        worst_ns: Some(call.worst_ns),
        remedy: remedy.into(),
    }
}

/// True if an interruption of its work comes from the loop itself.
const fn is_own_doing(class: Class) -> bool {
    matches!(
        class,
        Class::PageFault
            | Class::Lock
            | Class::LockInheriting
            | Class::Inversion
            | Class::Blocked
            | Class::Migration
    )
}

/// True if an interruption of its work comes from others that use its processor, and could be kept off it.
const fn shares_cpu(class: Class) -> bool {
    matches!(class, Class::Interrupt | Class::Preempted | Class::Shared)
}

/// The costliest of those that share its processor, and the number of others; `None` if nothing does.
fn cpu_sharing_finding(of: &TaskWhy, run: &RunInfo) -> Option<AuditFinding> {
    let sharing = || of.interruptions.iter().filter(|sum| shares_cpu(sum.cause.class));
    let costliest = interruption_finding(sharing().max_by_key(|sum| sum.max_ns)?, run);
    let others = match sharing().count() {
        1 => String::new(),
        count => format!(" and {}", plural(count as u64 - 1, "other")),
    };
    Some(AuditFinding { what: format!("shares its CPU with {}{others}", costliest.what), ..costliest })
}

fn interruption_finding(sum: &InterruptionSum, run: &RunInfo) -> AuditFinding {
    AuditFinding {
        what: cause_text(&sum.cause),
        times: Some(sum.times),
        p99_ns: sum.p99_ns,
        worst_ns: Some(sum.max_ns),
        remedy: remedy_clause(&sum.cause, run),
    }
}

fn has_unlocked_memory(task: &TaskRun) -> bool {
    task.granted.as_ref().is_some_and(|granted| !granted.memory_locked)
}

/// The threads of a task's process that the run lists before it.
fn earlier_threads<'r>(task: &TaskRun, run: &'r RunInfo) -> impl Iterator<Item = &'r TaskRun> {
    let of = |task: &TaskRun| task.watched.as_ref().map(|watched| (watched.process, watched.thread));
    let own = of(task);
    run.tasks
        .iter()
        .take_while(move |other| of(other) != own)
        .filter(move |other| of(other).map(|(process, _)| process) == own.map(|(process, _)| process))
}

/// A setting that no event shows a cost of.
fn setting_finding(what: &str, remedy: &str) -> AuditFinding {
    AuditFinding { what: what.into(), times: None, p99_ns: None, worst_ns: None, remedy: remedy.into() }
}

fn setting_findings(task: &TaskRun) -> Vec<AuditFinding> {
    let granted = task.granted.as_ref();
    let watched = task.watched.as_ref();
    let ordinary = granted.is_some_and(|granted| !granted.policy.is_real_time());
    let relative = watched.is_some_and(|watched| watched.waits == WaitKind::NanosleepRelative);
    let moved = watched.map_or(0, |watched| watched.moves);
    let mut findings = Vec::new();
    if ordinary {
        findings.push(setting_finding("ordinary priority", "chrt --fifo 80, or pthread_setschedparam"));
    }
    // Timers of real-time threads have none.
    let slack_ns = granted.filter(|_| ordinary).and_then(|granted| granted.timer_slack_ns);
    if let Some(ns) = slack_ns.filter(|ns| *ns > MOST_SLACK_NS) {
        let what = format!("timers may be {} late on purpose", time(ns as f64));
        findings.push(setting_finding(&what, "prctl(PR_SET_TIMERSLACK, 1)"));
    }
    if relative {
        findings.push(setting_finding(
            "sleeps for lengths of time",
            "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ...)",
        ));
    }
    let caught_up = watched.map_or(0, |watched| watched.caught_up);
    if caught_up > 0 {
        let catches_up = setting_finding(
            "catches up back to back after an overrun",
            "go on at the next due time: do next += period; while (next <= now)",
        );
        findings.push(AuditFinding { times: Some(caught_up), ..catches_up });
    }
    if let Some(bytes) =
        watched.and_then(|watched| watched.stack_ready).filter(|bytes| *bytes < Watched::STACK)
    {
        findings.push(setting_finding(
            &format!("{} kB of its stack are in memory, not {}", bytes >> 10, Watched::STACK >> 10),
            "before the loop: char room[65536]; memset(room, 0, sizeof room)",
        ));
    }
    if moved > 0 {
        let moves = setting_finding("moves between CPUs", "taskset, or pthread_setaffinity_np");
        findings.push(AuditFinding { times: Some(moved), ..moves });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::causes::ListedEvents;
    use jitterlab_model::causes::{Cause, TaskCauses};
    use jitterlab_model::watched::DueTimeSource;
    use jitterlab_model::{Bench, Granted, Policy, TaskSpec};

    #[test]
    fn the_costliest_habit_comes_first_and_settings_last() {
        let calls = [("write", 21_000), ("munmap", 58_000)].map(|(name, worst_ns)| CallCount {
            number: 1,
            name: name.into(),
            times: 3_000,
            activations: 3_000,
            p99_ns: worst_ns / 2,
            worst_ns,
        });
        let lock = Cause { class: Class::Lock, who: Some("gui".into()) };
        let sum = InterruptionSum {
            cause: lock,
            times: 150,
            sum_ns: 9_000_000,
            max_ns: 3_563_000,
            p99_ns: Some(254_000),
        };
        let disk = Cause { class: Class::Interrupt, who: Some("36 disk".into()) };
        let shared = InterruptionSum { cause: disk, max_ns: 5_000, p99_ns: Some(4_000), ..sum.clone() };
        let causes = TaskCauses { explained: 1, interruptions: vec![sum, shared], ..TaskCauses::default() };
        let of = TaskWhy::new("loop", &causes, ListedEvents::Worst(1));
        let watched = Watched {
            program: "loop".into(),
            process: 7,
            thread: 7,
            waits: WaitKind::NanosleepRelative,
            due: DueTimeSource::OwnTimer,
            returns: None,
            calls: calls.into(),
            moves: 0,
            caught_up: 3,
            stack_ready: Some(12 << 10),
        };
        let granted =
            Granted { policy: Policy::Fifo(80), cpus: vec![1], memory_locked: false, timer_slack_ns: None };
        let task =
            TaskRun { watched: Some(watched), granted: Some(granted), ..TaskRun::new(TaskSpec::default()) };
        let run = RunInfo::new(Bench::Host, "monotonic", []);
        let pieces = audit_pieces(&of, &task, &run);
        let Piece::Table(table) = &pieces[0] else { panic!("{pieces:?}") };
        let findings: Vec<String> = table.rows.iter().map(|row| format!("{:?}", row[0])).collect();
        let place = |habit: &str| findings.iter().position(|shown| shown.contains(habit));
        let order =
            ["waiting for a lock of gui", "munmap", "write", "interrupt 36 disk", "memory is not locked"];
        assert_eq!(order.map(place), [Some(0), Some(1), Some(2), Some(3), Some(4)], "{findings:?}");
        let folded = format!("{:?}", pieces[1]);
        for habit in ["lengths of time", "back to back", "12 kB of its stack"] {
            assert!(folded.contains(habit), "{habit}: {folded}");
        }
        // The slack of an ordinary thread's timers, which a real-time thread's have not.
        let slack = |policy| {
            let granted =
                Granted { policy, cpus: vec![1], memory_locked: true, timer_slack_ns: Some(50_000) };
            setting_findings(&TaskRun { granted: Some(granted), ..task.clone() })
        };
        let is_slack = |finding: &AuditFinding| finding.what.contains("50 µs late on purpose");
        assert!(slack(Policy::Other).iter().any(is_slack) && !slack(Policy::Fifo(80)).iter().any(is_slack));
        // Of its process's second thread, the memory is not told again.
        let mut second = task.clone();
        second.watched.iter_mut().for_each(|watched| watched.thread = 8);
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default(), TaskSpec::default()]);
        let run = RunInfo { tasks: vec![task.clone(), second.clone()], ..run };
        let of_second = format!("{:?}", audit_pieces(&of, &second, &run));
        assert!(of_second.contains("lengths of time") && !of_second.contains("memory is not locked"));
        let own = TaskRun::new(TaskSpec::default());
        assert!(audit_pieces(&of, &own, &run).is_empty(), "a task of jitterlab's has no habits");
    }
}
