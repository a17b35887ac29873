//! The processor: its CPUs, their shared parts, and the cost of saving power.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// The processor as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Processor {
    /// The model it names itself.
    pub model: Option<String>,
    /// Its maker as CPUID has it, such as `GenuineIntel`; x86 only.
    pub vendor: Option<String>,
    /// State of simultaneous multithreading: `on`, `off`, `forceoff`, `notsupported`.
    pub smt: Option<String>,
    /// The properties that matter for timing: `constant_tsc`, `nonstop_tsc`, `tsc_known_freq`, `arat`,
    /// `tsc_deadline_timer`, `hypervisor`.
    pub properties: Vec<String>,
    /// The vulnerabilities of this processor, and the kernel's action on each.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub vulnerabilities: Vec<Vulnerability>,
}

/// One processor vulnerability and the kernel's action on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Vulnerability {
    /// Its name, such as `spectre_v2`.
    pub name: String,
    /// The kernel's words, such as `Mitigation: PTI` or `Vulnerable`.
    pub state: String,
}

/// One online CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Its number.
    pub id: u16,
    /// The package (socket) it is in.
    pub package: Option<u16>,
    /// Its core, numbered within the package.
    pub core: Option<u32>,
    /// The CPUs of the same core, itself included (SMT siblings).
    pub siblings: CpuSet,
    /// Its NUMA node.
    pub numa_node: Option<u16>,
    /// Its computing power where CPUs differ: 1024 for the strongest.
    pub capacity: Option<u32>,
    /// Choice of its frequency.
    pub frequency: Frequency,
    /// The idle states it may enter, lightest first.
    pub idle_states: Vec<IdleState>,
    /// The longest time it may take to wake up, as set for this CPU alone; `None` where there is no limit.
    pub resume_latency_limit_us: Option<u64>,
    /// Use of its time.
    pub times: Option<CpuTimes>,
    /// System-management interrupts since it was reset (Intel, MSR 0x34).
    pub smi_count: Option<u64>,
    /// Number of times its core was throttled for heat.
    pub core_throttle_count: Option<u64>,
    /// Number of times its package was throttled for heat.
    pub package_throttle_count: Option<u64>,
}

/// Choice of a CPU's frequency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// The governor, such as `performance`.
    pub governor: Option<String>,
    /// The driver, such as `intel_pstate`.
    pub driver: Option<String>,
    /// Preference set in the hardware, such as `balance_performance`.
    pub preference: Option<String>,
    /// The lowest it may choose.
    pub min_hz: Option<u64>,
    /// The highest it may choose.
    pub max_hz: Option<u64>,
    /// Frequency when the facts were read (left out where reading would take milliseconds).
    pub current_hz: Option<u64>,
    /// The lowest the hardware has.
    pub hardware_min_hz: Option<u64>,
    /// The highest the hardware has.
    pub hardware_max_hz: Option<u64>,
}

/// One idle state (C-state) of a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// The longest time it takes to leave it.
    pub exit_latency_us: Option<u64>,
    /// True if it is forbidden on this CPU.
    pub disabled: Option<bool>,
    /// Number of times it was entered.
    pub usage: Option<u64>,
    /// The time spent in it.
    pub time_us: Option<u64>,
}

/// Use of a CPU's time, in nanoseconds since the machine started (counted in steps of 10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTimes {
    /// Ordinary programs, niced ones and guests included.
    pub user_ns: u64,
    /// The kernel, on behalf of programs.
    pub system_ns: u64,
    /// Idle time, waits for a disk included.
    pub idle_ns: u64,
    /// Interrupts.
    pub irq_ns: u64,
    /// Deferred work of interrupts.
    pub softirq_ns: u64,
    /// Taken away by the hypervisor for others.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// Returns the sum of all times, in nanoseconds.
    pub const fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.idle_ns + self.irq_ns + self.softirq_ns + self.steal_ns
    }

    /// Returns the share of the time since an earlier reading, 0 to 1, that `of` counts; `None` if no time was counted.
    #[must_use]
    pub fn share_since(&self, before: &Self, of: impl Fn(&Self) -> u64) -> Option<f64> {
        let total_ns = self.total_ns().checked_sub(before.total_ns()).filter(|ns| *ns > 0)?;
        Some(of(self).saturating_sub(of(before)) as f64 / total_ns as f64)
    }
}

/// A data or unified cache.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// The CPUs that share it.
    pub cpus: CpuSet,
}

/// The most that two CPUs have in common, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// They are the same CPU.
    Same,
    /// They are SMT siblings: two threads of one core.
    Core,
    /// They share the cache of this level.
    Cache(u8),
    /// They are in the same package.
    Package,
    /// They share nothing but memory.
    Machine,
}

/// Value of [`Power::dma_latency_us`] without a request.
pub const NO_REQUEST_US: u64 = 2_000_000_000;

/// Power management of the whole machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Power {
    /// The longest wake-up time that anyone allows, as `/dev/cpu_dma_latency` gives it; `None` where it could
    /// not be read. Without a request it is 2 000 000 000 us.
    pub dma_latency_us: Option<u64>,
    /// The processes that hold `/dev/cpu_dma_latency` open (looked for only where the limit is not the default).
    pub dma_latency_holders: Vec<LatencyHolder>,
    /// True if this process may make requests there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_latency_writable: Option<bool>,
    /// True if the processor may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// The driver of the idle states, such as `intel_idle`; `none` where there is none.
    pub idle_driver: Option<String>,
    /// The governor that chooses the idle states, such as `menu`.
    pub idle_governor: Option<String>,
    /// The Raspberry Pi firmware's word on voltage and throttling (bit 0 under-voltage now, 2 throttled now,
    /// 16 under-voltage since start, 18 throttled since start).
    pub firmware_throttled: Option<u32>,
}

/// A process that limits the idle states through `/dev/cpu_dma_latency`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyHolder {
    /// Its process number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}
