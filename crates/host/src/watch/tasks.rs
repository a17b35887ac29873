//! Threads that were found, as tasks of a run.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::thread::sleep;
use std::time::Duration;

use jitterlab_analysis::watch::PeriodicWait;
use jitterlab_model::watched::{DueTimeSource, WaitKind, Watched};
use jitterlab_model::{
    Granted, Known, Policy, ReturnTime, SleepClock, TaskResult, TaskRun, TaskSpec, WakeMethod, Warning,
};
use jitterlab_rt::sys::sched;
use nix::unistd::{SysconfVar, sysconf};

use super::threads::{FoundThread, thread_folder};
use crate::processes::{Stat, allowed_cpus};

/// Makes a task of each thread, with a unique name and the measured returns from the kernel.
pub(super) fn make_tasks<'a>(
    found: impl Iterator<Item = (&'a FoundThread, &'a PeriodicWait)>,
    returns: Option<ReturnTime>,
) -> Vec<TaskRun> {
    let mut tasks: Vec<TaskRun> = Vec::new();
    for (thread, found) in found {
        let taken = tasks.iter().any(|task| task.spec.name == thread.name);
        let name = if taken { format!("{}-{}", thread.name, thread.thread) } else { thread.name.clone() };
        let cpus = allowed_cpus(thread.thread).unwrap_or_default();
        let policy = sched::policy_of(thread.thread).unwrap_or(Policy::Other);
        let spec = TaskSpec {
            name,
            period_ns: found.period_ns.round() as i64,
            cpu: cpus.first().filter(|_| cpus.len() == 1),
            policy: Some(policy),
            wake: nearest_wake_method(found.waits),
            clock: if found.on_realtime { SleepClock::Realtime } else { SleepClock::default() },
            ..TaskSpec::default()
        };
        let granted = Granted {
            policy,
            cpus: cpus.iter().collect(),
            memory_locked: locks_memory(thread.process),
            timer_slack_ns: timer_slack_ns(thread.thread),
        };
        let watched = Watched {
            program: thread.program.clone(),
            process: thread.process,
            thread: thread.thread,
            waits: found.waits,
            due: found.due,
            returns,
            calls: Vec::new(),
            moves: 0,
            caught_up: 0,
            stack_ready: None,
        };
        let mut task = TaskRun { granted: Some(granted), watched: Some(watched), ..TaskRun::new(spec) };
        task.set_overrun(Known::Unknown);
        tasks.push(task);
    }
    tasks
}

/// The wake-up method of this program that is nearest to how a thread waits.
fn nearest_wake_method(waits: WaitKind) -> WakeMethod {
    match waits {
        WaitKind::NanosleepRelative => WakeMethod::NanosleepRelative,
        WaitKind::Timerfd => WakeMethod::Timerfd,
        WaitKind::TimerSignal => WakeMethod::TimerSignal,
        WaitKind::Deadline => WakeMethod::Deadline,
        _ => WakeMethod::Nanosleep,
    }
}

/// True if a process has locked half of its resident memory or more.
fn locks_memory(process: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kib = |key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
    };
    kib("VmLck:").zip(kib("VmRSS:")).is_some_and(|(locked, resident)| locked >= resident / 2)
}

/// Time by which the kernel may delay a thread's timers.
fn timer_slack_ns(thread: i32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{thread}/timerslack_ns")).ok()?.trim().parse().ok()
}

/// Times that a thread is looked at to find it waiting.
const LOOKS: u32 = 20;

/// Bytes in memory, without a gap, below a waiting thread's stack pointer; `None` if it never waits.
pub(super) fn resident_stack_bytes(thread: &FoundThread) -> Option<u64> {
    const PRESENT: u64 = 1 << 63;
    let page = u64::try_from(sysconf(SysconfVar::PAGE_SIZE).ok()??).ok()?;
    let folder = thread_folder(thread.process, thread.thread);
    // Number and arguments of its call, its stack pointer and its place in the program; none while it runs.
    let pointer = || -> Option<u64> {
        let call = fs::read_to_string(folder.join("syscall")).ok()?;
        u64::from_str_radix(call.split_whitespace().nth(7)?.strip_prefix("0x")?, 16).ok()
    };
    let pointer = (0..LOOKS).find_map(|_| {
        let found = pointer();
        if found.is_none() {
            sleep(Duration::from_millis(1));
        }
        found
    })?;
    let pages = (Watched::STACK / page).max(1);
    let first = (pointer / page).checked_sub(pages)?;
    let mut entries = vec![0; 8 * usize::try_from(pages).ok()?];
    File::open(folder.join("pagemap")).ok()?.read_exact_at(&mut entries, 8 * first).ok()?;
    let is_present = |entry: &&[u8; 8]| u64::from_ne_bytes(**entry) & PRESENT != 0;
    let (entries, _) = entries.as_chunks::<8>();
    Some(page * entries.iter().rev().take_while(is_present).count() as u64)
}

/// Warning about tasks with own timers that missed due times, if any: they may have run then without a wait.
pub(super) fn unseen_waits_warning(tasks: &[TaskRun]) -> Option<Warning> {
    let unseen = |task: &&TaskRun| {
        let own = task.watched.as_ref().is_some_and(|watched| watched.due == DueTimeSource::OwnTimer);
        own && task.result.as_ref().is_some_and(|result| result.missed > 0)
    };
    let tasks: Vec<String> = tasks.iter().filter(unseen).map(|task| task.spec.name.clone()).collect();
    (!tasks.is_empty()).then_some(Warning::NoWaitSeen { tasks })
}

/// Resources that a thread has used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResourceUse {
    cpu_time_ns: Option<i64>,
    faults: Option<(u64, u64)>,
    switches: Option<(u64, u64)>,
}

impl ResourceUse {
    /// Reads processor time, page faults and context switches of a thread from /proc.
    pub(super) fn read(thread: &FoundThread) -> Self {
        let folder = thread_folder(thread.process, thread.thread);
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (schedstat, status) = (text("schedstat"), text("status"));
        let stat = Stat::from_folder(&folder);
        let field = |number: usize| stat.as_ref().and_then(|stat| stat.number_field(number));
        let switches = |kind: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(kind))?;
            line.trim_start_matches("_ctxt_switches:").trim().parse().ok()
        };
        ResourceUse {
            cpu_time_ns: schedstat.split_whitespace().next().and_then(|ns| ns.parse().ok()),
            faults: field(10).zip(field(12)),
            switches: switches("voluntary").zip(switches("nonvoluntary")),
        }
    }

    /// Adds the resources used since this reading to a task's figures; none for a thread that has ended.
    pub(super) fn add_usage_to(self, result: TaskResult, thread: &FoundThread) -> TaskResult {
        let now = ResourceUse::read(thread);
        let pair = |now: Option<(u64, u64)>, before: Option<(u64, u64)>| {
            now.zip(before)
                .map(|(now, before)| (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)))
        };
        let (faults, switches) = (pair(now.faults, self.faults), pair(now.switches, self.switches));
        TaskResult {
            cpu_time_ns: now.cpu_time_ns.zip(self.cpu_time_ns).map(|(now, before)| now - before),
            minor_faults: faults.map(|pair| pair.0),
            major_faults: faults.map(|pair| pair.1),
            voluntary_switches: switches.map(|pair| pair.0),
            involuntary_switches: switches.map(|pair| pair.1),
            ..result
        }
    }
}
