//! The threads of the machine and the CPUs they may run on.

use std::io;

use jitterlab_model::{CpuSet, Policy};
use jitterlab_rt::sys::sched::{policy_of, set_policy_of};
use nix::sched::{CpuSet as Mask, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::processes::{Stat, allowed_cpus, numeric_names, threads_of};

/// A thread; its start time distinguishes it from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Thread {
    pub(crate) id: u32,
    /// In ticks since the machine started.
    started: u64,
    pub(crate) name: String,
    /// True if it belongs to the kernel.
    pub(crate) kernel: bool,
}

/// The kernel's mark of threads whose CPUs nobody may choose, in the flags of `/proc/PID/stat`.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

impl Thread {
    /// This process's first thread.
    pub(crate) fn own_first_thread() -> Thread {
        let id = std::process::id();
        Thread::find(id).unwrap_or(Thread { id, started: 0, name: "jitterlab".into(), kernel: false })
    }

    /// Finds the thread of this number; `None` if there is none.
    pub(crate) fn find(id: u32) -> Option<Thread> {
        let stat = Stat::from_number(id)?;
        Some(Thread { id, started: stat.number_field(22)?, kernel: stat.is_kernel_thread(), name: stat.name })
    }

    /// Current value of a field of `/proc/PID/stat` after the name, by its number in proc(5).
    fn field(&self, number: usize) -> Option<u64> {
        Stat::from_number(self.id)?.number_field(number)
    }

    /// True if the kernel schedules it before all ordinary threads.
    pub(crate) fn is_real_time(&self) -> bool {
        // SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
        matches!(self.field(41), Some(1 | 2 | 6))
    }

    /// True if the kernel does not allow changes of its CPUs.
    pub(crate) fn is_bound(&self) -> bool {
        self.field(9).is_some_and(|flags| flags & PF_NO_SETAFFINITY != 0)
    }

    pub(crate) fn is_alive(&self) -> bool {
        Thread::find(self.id).is_some_and(|found| found.started == self.started)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.id).unwrap_or(i32::MAX))
    }

    pub(crate) fn cpus(&self) -> Option<CpuSet> {
        allowed_cpus(self.pid().as_raw())
    }

    /// Scheduling policy, if jitterlab knows it.
    pub(crate) fn policy(&self) -> Option<Policy> {
        policy_of(self.pid().as_raw()).ok()
    }

    /// Sets the scheduling policy, which is not a deadline.
    pub(crate) fn set_policy(&self, policy: Policy) -> io::Result<()> {
        set_policy_of(self.pid().as_raw(), policy, 0)
    }

    pub(crate) fn bind(&self, cpus: &CpuSet) -> io::Result<()> {
        let mut mask = Mask::new();
        for cpu in cpus.iter() {
            mask.set(usize::from(cpu))?;
        }
        Ok(sched_setaffinity(self.pid(), &mask)?)
    }
}

/// True if a kernel thread of this name may be delayed by others. Threads with these names do work that every processor has to
/// do at once.
pub(crate) fn may_be_delayed(name: &str) -> bool {
    !["migration/", "stopper/", "watchdog/", "idle_inject/", "cpuhp/"]
        .iter()
        .any(|must| name.starts_with(must))
}

/// Numbers of the `wanted` processes except this one.
pub(crate) fn other_processes(wanted: &dyn Fn(u32) -> bool) -> Vec<u32> {
    let others = numeric_names("/proc").into_iter().filter(|pid| *pid != std::process::id());
    others.filter(|pid| wanted(*pid)).collect()
}

pub(crate) fn threads_of_process(process: u32) -> Vec<Thread> {
    threads_of(process).into_iter().filter_map(Thread::find).collect()
}
