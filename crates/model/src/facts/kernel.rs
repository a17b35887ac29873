//! The kernel: its version, how it preempts, keeps time, schedules and isolates.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// Preemption model: the places where the kernel lets a more urgent task interrupt its own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// Never inside the kernel (`PREEMPT_NONE`, servers).
    None,
    /// At marked points (`PREEMPT_VOLUNTARY`, desktops).
    Voluntary,
    /// At the next tick for ordinary tasks, at once for real-time ones (`PREEMPT_LAZY`).
    Lazy,
    /// Everywhere but in interrupts and under spin locks (`PREEMPT`).
    Full,
    /// Almost everywhere, interrupts and spin locks included (`PREEMPT_RT`).
    RealTime,
}

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Preemption::None => "none",
            Preemption::Voluntary => "voluntary",
            Preemption::Lazy => "lazy",
            Preemption::Full => "full",
            Preemption::RealTime => "real-time (PREEMPT_RT)",
        })
    }
}

/// The kernel itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Kernel {
    /// Release, such as `6.1.0-40-rt-amd64`.
    pub release: Option<String>,
    /// Version, such as `#1 SMP PREEMPT_RT Debian 6.1.153-1 (2025-09-20)`.
    pub version: Option<String>,
    /// Architecture of the kernel, such as `x86_64` or `aarch64`.
    pub architecture: Option<String>,
    /// The distribution, as it names itself for people, such as `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: Option<String>,
    /// The distribution and those it is like, as `os-release` has them, such as `ubuntu debian`.
    pub distribution_family: Option<String>,
    /// The command line it was started with.
    pub command_line: Option<String>,
    /// The preemption model in force.
    pub preemption: Option<Preemption>,
    /// True if the model can be chosen at boot or at run time (`PREEMPT_DYNAMIC`).
    pub preemption_dynamic: Option<bool>,
    /// True if it can be chosen while the kernel runs: its switch in debugfs opens. `None` if this process may not
    /// look.
    pub preemption_switch: Option<bool>,
    /// The options of its configuration that matter for timing, without `CONFIG_`; empty where the
    /// configuration could not be read.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub options: BTreeMap<String, String>,
    /// Ticks a second (`CONFIG_HZ`).
    pub tick_hz: Option<u32>,
    /// True if this system has the files of its running kernel; otherwise the kernel comes from whoever started the
    /// system.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub installed: Option<bool>,
    /// Name of the first process, such as `systemd`.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub init: Option<String>,
}

impl Kernel {
    /// The value of a parameter on the command line: `Some("")` without a value, `None` if it is not there.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let words = self.command_line.as_deref()?.split_whitespace().take_while(|w| *w != "--");
        // The last one wins, as in the kernel.
        words
            .filter_map(|word| match word.split_once('=') {
                Some((key, value)) => (key == name).then_some(value),
                None => (word == name).then_some(""),
            })
            .last()
    }
}

/// The kernel's sources of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The clocksource in use, such as `tsc`.
    pub source: Option<String>,
    /// The clocksources there are, best first.
    pub available: Vec<String>,
    /// Resolution of timers: 1 ns with high-resolution timers, else the tick.
    pub resolution_ns: Option<u64>,
    /// True if high-resolution timers are active.
    pub high_resolution: Option<bool>,
}

/// The scheduler's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scheduler {
    /// Time that real-time threads together may use in each period; -1 for all of it.
    pub rt_runtime_us: Option<i64>,
    /// The period of the limit above.
    pub rt_period_us: Option<i64>,
    /// True if idle CPUs hand their timers to busy ones.
    pub timer_migration: Option<bool>,
    /// True if the kernel moves pages and tasks between NUMA nodes automatically.
    pub numa_balancing: Option<bool>,
    /// True if the hard-lockup detector runs (a performance-counter interrupt on every CPU).
    pub nmi_watchdog: Option<bool>,
    /// True if the soft-lockup detector runs (a timer on every CPU).
    pub soft_watchdog: Option<bool>,
    /// The CPUs the detectors watch.
    pub watchdog_cpus: Option<CpuSet>,
}

/// CPUs kept free of load balancing, ticks, callbacks and unbound kernel work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Isolation {
    /// CPUs without load balancing (`isolcpus=`, isolated cpuset partitions).
    pub isolated: Option<CpuSet>,
    /// CPUs without the periodic tick while one task runs (`nohz_full=`).
    pub nohz_full: Option<CpuSet>,
    /// CPUs whose RCU callbacks are run elsewhere (`rcu_nocbs=`, or implied by `nohz_full=`).
    pub rcu_nocbs: Option<CpuSet>,
    /// CPUs that unbound kernel work may run on.
    pub workqueue_cpus: Option<CpuSet>,
}

/// Virtual machine or container that Linux runs in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Virtualisation {
    /// True if a hypervisor is under this kernel; `None` if unknown.
    pub virtual_machine: Option<bool>,
    /// Its name where known, such as `KVM`, `VMware`, `Xen`, `Hyper-V`.
    pub hypervisor: Option<String>,
    /// The container this process is in, such as `docker`; `None` outside of one.
    pub container: Option<String>,
}

/// Real-time cores next to Linux.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RealTimeCores {
    /// Version of Xenomai's Cobalt core, if it runs.
    pub cobalt: Option<String>,
    /// ABI of the EVL core (Xenomai 4), if there is one.
    pub evl: Option<String>,
    /// State that the EVL core reports, such as `running` or `stopped`; `None` if it reports none.
    pub evl_state: Option<String>,
    /// Time by which the core's timer anticipates each wake-up, as it names it.
    pub gravity: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_the_kernel_does() {
        let kernel = Kernel {
            command_line: Some("quiet isolcpus=1 isolcpus=2-3 nosmt -- nohz_full=1".into()),
            ..Kernel::default()
        };
        assert_eq!(kernel.parameter("isolcpus"), Some("2-3"));
        assert_eq!(kernel.parameter("nosmt"), Some(""));
        assert_eq!(kernel.parameter("nohz_full"), None);
    }
}
