//! State of the machine while it was measured. Filled in by the bench; every field that could not be read is
//! absent, never guessed.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

mod activity;
mod delta;
mod devices;
mod kernel;
mod process;
mod processor;

pub use activity::{Activity, Interrupt, Interrupts, Program, RealTimeThread};
pub use delta::{Change, Setting, changes};
pub use devices::Devices;
pub use kernel::{Clock, Isolation, Kernel, Preemption, RealTimeCores, Scheduler, Virtualisation};
pub use process::{GroupLimit, Limit, Limits, Memory, Process};
pub use processor::{
    Cache, Cpu, CpuTimes, Frequency, IdleState, LatencyHolder, NO_REQUEST_US, Power, Processor, Sharing,
    Vulnerability,
};

/// Everything about the machine that is known to matter for timing.
///
/// `None`, and an empty list, mean that the machine did not say: the file is missing (other kernel, other
/// processor) or the permission was. Nothing is filled in from experience.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SystemFacts {
    /// Seconds since the machine started.
    pub uptime_s: Option<f64>,
    /// The kernel and how it preempts.
    pub kernel: Kernel,
    /// The kernel's sources of time.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub clock: Clock,
    /// The scheduler's settings.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub scheduler: Scheduler,
    /// The processor as a whole.
    pub processor: Processor,
    /// Every online CPU, in ascending order.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub cpus: Vec<Cpu>,
    /// Every data or unified cache, and who shares it.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub caches: Vec<Cache>,
    /// CPUs kept free of load balancing, ticks, callbacks and unbound kernel work.
    pub isolation: Isolation,
    /// Power management.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub power: Power,
    /// Memory, swap and huge pages.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub memory: Memory,
    /// Interrupts: counts and where they may go.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub interrupts: Interrupts,
    /// Permissions and limits of this process.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub process: Process,
    /// Threads other than ours with a real-time priority of 50 or more, or a deadline.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub real_time_threads: Vec<RealTimeThread>,
    /// Programs other than this one that measure latencies at this moment.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub measuring: Vec<Program>,
    /// Graphics cards, and how devices reach memory.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub devices: Devices,
    /// Virtual machine or container.
    pub virtualisation: Virtualisation,
    /// Real-time cores next to Linux.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub real_time_cores: RealTimeCores,
    /// Counters of the machine as a whole.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub activity: Activity,
}

impl SystemFacts {
    /// Returns true if the kernel and its command line are those of the host of this container or machine. Of
    /// a virtual machine only if it has no kernel of its own installed.
    #[must_use]
    pub fn is_kernel_of_host(&self) -> bool {
        let virtual_machine = self.virtualisation.virtual_machine == Some(true);
        self.virtualisation.container.is_some() || (virtual_machine && self.kernel.installed == Some(false))
    }

    /// The facts of one CPU; `None` if it is not online.
    pub fn cpu(&self, id: u16) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().and_then(|i| self.cpus.get(i))
    }

    /// The CPUs that are online.
    pub fn online_cpus(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// The online CPUs that a task of this process may be bound to.
    ///
    /// The kernel starts programs off the isolated CPUs, but a program may ask for one. So these count unless
    /// somebody restricted this process further than that.
    pub fn usable_cpus(&self) -> CpuSet {
        let online = self.online_cpus();
        let group = match &self.process.cpuset_cpus {
            Some(cpus) if cpus.overlaps(&online) => cpus.and(&online),
            _ => online,
        };
        let Some(allowed) = &self.process.allowed_cpus else { return group };
        let given_at_start = match &self.isolation.isolated {
            Some(isolated) => group.without(isolated),
            None => group.clone(),
        };
        if *allowed == given_at_start { group } else { group.and(allowed) }
    }

    /// The closest that two CPUs share: core, cache, package or machine.
    pub fn sharing(&self, a: u16, b: u16) -> Sharing {
        if a == b {
            return Sharing::Same;
        }
        let (Some(first), Some(second)) = (self.cpu(a), self.cpu(b)) else { return Sharing::Machine };
        if first.siblings.contains(b) {
            return Sharing::Core;
        }
        let shared = self.caches.iter().filter(|c| c.cpus.contains(a) && c.cpus.contains(b));
        if let Some(level) = shared.map(|c| c.level).min() {
            return Sharing::Cache(level);
        }
        match (first.package, second.package) {
            (Some(x), Some(y)) if x == y => Sharing::Package,
            _ => Sharing::Machine,
        }
    }
}
