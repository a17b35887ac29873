//! The threads of the machine and the CPUs they may run on.

use std::fs;
use std::io;

use jitterlab_model::{CpuSet, Policy};
use jitterlab_rt::sys::sched::{policy_of, set_policy_of};
use nix::sched::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// A thread; its start time distinguishes it from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    pub(super) id: u32,
    /// In ticks since the machine started.
    started: u64,
    pub(super) name: String,
    /// True if it belongs to the kernel.
    pub(super) kernel: bool,
}

/// The kernel's mark of its own threads, in the flags of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;
/// The same for threads whose CPUs the kernel allows nobody to choose.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

impl Thread {
    /// This process's first thread.
    pub(super) fn own() -> Thread {
        let id = std::process::id();
        Thread::find(id).unwrap_or(Thread { id, started: 0, name: "jitterlab".into(), kernel: false })
    }

    /// The thread of this number.
    pub(super) fn find(id: u32) -> Option<Thread> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(')')?;
        // The fields of proc(5); the first word here is field 3.
        let number = |field: usize| rest.split_whitespace().nth(field - 3)?.parse::<u64>().ok();
        Some(Thread { id, started: number(22)?, name: name.into(), kernel: number(9)? & PF_KTHREAD != 0 })
    }

    /// Current value of a field of `/proc/PID/stat` after the name, by its number in proc(5).
    fn field(&self, number: usize) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
    }

    /// True if the kernel schedules it before all ordinary threads.
    pub(super) fn is_real_time(&self) -> bool {
        // SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
        matches!(self.field(41), Some(1 | 2 | 6))
    }

    /// True if the kernel does not allow changes of its CPUs.
    pub(super) fn is_bound(&self) -> bool {
        self.field(9).is_some_and(|flags| flags & PF_NO_SETAFFINITY != 0)
    }

    pub(super) fn is_alive(&self) -> bool {
        Thread::find(self.id).is_some_and(|found| found.started == self.started)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.id).unwrap_or(i32::MAX))
    }

    pub(super) fn cpus(&self) -> Option<CpuSet> {
        let mask = sched_getaffinity(self.pid()).ok()?;
        let most = u16::try_from(Mask::count()).unwrap_or(u16::MAX);
        Some((0..most).filter(|cpu| mask.is_set(usize::from(*cpu)) == Ok(true)).collect())
    }

    /// Scheduling policy, if jitterlab knows it.
    pub(super) fn policy(&self) -> Option<Policy> {
        policy_of(self.pid().as_raw()).ok()
    }

    /// Schedules it another way; of a deadline neither is asked.
    pub(super) fn schedule(&self, policy: Policy) -> io::Result<()> {
        set_policy_of(self.pid().as_raw(), policy, 0)
    }

    pub(super) fn bind(&self, cpus: &CpuSet) -> io::Result<()> {
        let mut mask = Mask::new();
        for cpu in cpus.iter() {
            mask.set(usize::from(cpu))?;
        }
        Ok(sched_setaffinity(self.pid(), &mask)?)
    }
}

/// True if a kernel thread may wait for others. Threads with these names do work that every processor has to
/// do at once.
pub(crate) fn may_wait(name: &str) -> bool {
    !["migration/", "stopper/", "watchdog/", "idle_inject/", "cpuhp/"]
        .iter()
        .any(|must| name.starts_with(must))
}

/// Every process but this one.
pub(super) fn processes(wanted: &dyn Fn(u32) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != std::process::id() && wanted(*pid)).collect()
}

pub(super) fn threads(process: u32) -> Vec<Thread> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Thread::find(entry.file_name().to_str()?.parse().ok()?)).collect()
}
