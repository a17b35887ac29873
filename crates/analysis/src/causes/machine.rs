//! Machine that a trace was recorded on.

/// Properties of the machine that matter for causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Hardware, hypervisor or emulator below the kernel.
    pub platform: Platform,
    /// True if processor time in interrupt handlers may be missing from the time of the interrupted thread
    /// (`CONFIG_IRQ_TIME_ACCOUNTING`).
    pub handler_time_apart: bool,
    /// Limits that can keep real-time threads from running.
    pub limits: Limits,
}

impl Machine {
    /// True if something outside this kernel can have the processor.
    pub(super) const fn can_lose_processor(&self) -> bool {
        !matches!(self.platform, Platform::VirtualTime { .. })
    }
}

/// Limits that keep real-time threads from running in favour of ordinary ones, by the kernel's version and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// The limit on real-time computing: kernels before 6.12.
    Bandwidth,
    /// The fair server: from 6.12 on, without `CONFIG_RT_GROUP_SCHED`.
    FairServer,
    /// Either of them, or an unknown kernel.
    Either,
}

/// Layer below a kernel that can hold it up unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Hardware and firmware.
    Hardware,
    /// A hypervisor that reports steal time to the kernel.
    StealTimeHypervisor,
    /// A hypervisor that does not report steal time, or for which this is unknown.
    Hypervisor,
    /// An emulator in virtual time: nothing outside takes time, and each instruction counts the same.
    VirtualTime {
        /// Time of one instruction, as 2^shift ns.
        ns_per_instruction: u32,
    },
}
