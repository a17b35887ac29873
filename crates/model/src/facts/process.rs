//! Permissions, limits and memory of this process.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// The number of the capability to use real-time policies without a limit.
const CAP_SYS_NICE: u32 = 23;
/// The number of the capability to lock memory without a limit.
const CAP_IPC_LOCK: u32 = 14;

/// Permissions and limits of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The CPUs it may run on.
    pub allowed_cpus: Option<CpuSet>,
    /// Its control group for CPUs (its cpuset with version 1, its only one with version 2).
    pub cpuset: Option<String>,
    /// The CPUs of that group, from which `sched_setaffinity` may choose, isolated ones included.
    pub cpuset_cpus: Option<CpuSet>,
    /// The effective capabilities, as the kernel's bit set.
    pub capabilities: Option<u64>,
    /// The effective user.
    pub user_id: Option<u32>,
    /// Its resource limits.
    pub limits: Limits,
    /// Real-time time of its control group in each period (version 1 with `RT_GROUP_SCHED`); 0 forbids
    /// real-time policies whatever the capabilities.
    pub cgroup_rt_runtime_us: Option<i64>,
    /// Limits on the processor time of its control group and those above it.
    pub group_limits: Vec<GroupLimit>,
}

/// A limit on the processor time of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimit {
    /// Its file, with its whole path.
    pub file: String,
    /// Processor time in each period, in microseconds.
    pub quota_us: i64,
    /// The period.
    pub period_us: i64,
    /// Contents of the file without the limit.
    pub lifted: String,
}

impl Process {
    fn has_capability(&self, capability: u32) -> Option<bool> {
        self.capabilities.map(|set| set >> capability & 1 == 1)
    }

    /// Returns true if it may use every real-time priority; `None` if unknown.
    pub fn can_use_any_priority(&self) -> Option<bool> {
        self.has_capability(CAP_SYS_NICE)
    }

    /// Returns true if it may lock any amount of memory; `None` if unknown.
    pub fn can_lock_any_memory(&self) -> Option<bool> {
        self.has_capability(CAP_IPC_LOCK)
    }
}

/// A resource limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// Upper limit.
    AtMost(u64),
}

impl Limit {
    /// Returns true if it allows at least `wanted`.
    pub fn allows(self, wanted: u64) -> bool {
        match self {
            Limit::Unlimited => true,
            Limit::AtMost(most) => most >= wanted,
        }
    }
}

/// The (soft) resource limits that matter for timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The highest real-time priority without the capability.
    pub rtprio: Option<Limit>,
    /// The memory that may be locked without the capability, in bytes.
    pub memlock: Option<Limit>,
    /// The time a real-time thread may run without waiting, in microseconds.
    pub rttime: Option<Limit>,
    /// The ceiling of the nice value, 20 - nice.
    pub nice: Option<Limit>,
}

/// Memory, swap and huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Total memory.
    pub total_bytes: Option<u64>,
    /// Memory that programs could still get without swapping.
    pub available_bytes: Option<u64>,
    /// Swap space there is.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// The kernel's tendency to swap, 0 to 200.
    pub swappiness: Option<u32>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Action on a page fault to get one: `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub huge_pages_defrag: Option<String>,
    /// Seconds between two collections of memory statistics.
    pub stat_interval_s: Option<u64>,
    /// True if the kernel looks for equal pages (KSM).
    pub same_page_merging: Option<bool>,
    /// File systems on disks where every reading of a file writes the time of it.
    pub access_times: Option<Vec<String>>,
}
