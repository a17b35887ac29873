//! Activity during the measurement: interrupts, urgent threads, load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// Interrupts of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupts {
    /// Every interrupt that has a handler.
    pub lines: Vec<Interrupt>,
    /// CPUs that a new interrupt may go to.
    pub default_affinity: Option<CpuSet>,
    /// True if `irqbalance` runs, which moves interrupts between CPUs.
    pub irqbalance_running: Option<bool>,
}

impl Interrupts {
    /// Returns the number of interrupts a CPU has taken, local timer included.
    pub fn on_cpu(&self, cpu: u16) -> u64 {
        self.lines.iter().filter_map(|line| line.counts.get(&cpu)).sum()
    }
}

/// One interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupt {
    /// Its number, or the kernel's abbreviation for one of its own, such as `LOC`.
    pub id: String,
    /// The devices, or the meaning of the abbreviation.
    pub name: String,
    /// The CPUs it may go to.
    pub affinity: Option<CpuSet>,
    /// The CPU it really goes to.
    pub effective: Option<CpuSet>,
    /// True if the kernel keeps it where it is, even from root: a managed interrupt of a queue, or one of the platform's.
    pub fixed: bool,
    /// Number of times it came, for each CPU it came to.
    pub counts: BTreeMap<u16, u64>,
}

impl Interrupt {
    /// Returns true if it belongs to a device, not to the kernel itself or to a timer that every CPU has of its own.
    pub fn is_device(&self) -> bool {
        const OF_EACH_CPU: [&str; 5] = ["arch_timer", "vtimer", "twd", "arm-pmu", "riscv-timer"];
        self.id.bytes().all(|b| b.is_ascii_digit())
            && !OF_EACH_CPU.iter().any(|name| self.name.contains(name))
    }

    /// Returns the number of times it came, over all CPUs.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// A program that runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Number of its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// True for a thread of the kernel, which no signal ends.
    pub kernel: bool,
}

/// A thread with a real-time policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RealTimeThread {
    /// Its process number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// True if it belongs to the kernel.
    pub kernel: bool,
    /// `fifo`, `rr` or `deadline`.
    pub policy: String,
    /// Its priority, 1 to 99; 0 with a deadline.
    pub priority: u8,
    /// The CPU it ran on last.
    pub cpu: Option<u16>,
}

/// Counters of the machine as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    /// Runnable and uninterruptible tasks, averaged over a minute.
    pub load_1_min: Option<f64>,
    /// Context switches of all CPUs.
    pub context_switches: Option<u64>,
    /// Processes and threads made.
    pub forks: Option<u64>,
    /// Page faults of all programs, those that need a disk included.
    pub page_faults: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// Memory errors that were corrected (EDAC).
    pub corrected_memory_errors: Option<u64>,
    /// Memory errors that could not be corrected (EDAC).
    pub uncorrected_memory_errors: Option<u64>,
}
