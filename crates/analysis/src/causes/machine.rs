//! What is known of the machine that events are of.

/// What the machine is like, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// What is below the kernel.
    pub below: Below,
    /// Whether processor time in handlers of interrupts may not be counted for the thread they interrupt
    /// (`CONFIG_IRQ_TIME_ACCOUNTING`).
    pub handlers_apart: bool,
    /// Limits that can hold off real-time threads.
    pub limits: Limits,
}

/// Limits that hold off real-time threads in favour of ordinary ones, by the kernel's version and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// The limit on real-time computing: kernels before 6.12.
    Bandwidth,
    /// The fair server: from 6.12 on, without `CONFIG_RT_GROUP_SCHED`.
    FairServer,
    /// Either of them, or a kernel of which nothing is known.
    Either,
}

/// What is below a kernel, and can hold it without being seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Hardware and firmware.
    Hardware,
    /// A hypervisor that tells the kernel how much time it takes away.
    TellingHypervisor,
    /// A hypervisor that does not, or of which that is not known.
    Hypervisor,
    /// An emulator in whose time nothing happens outside, and which counts so much for each instruction.
    Nothing {
        /// 2^shift nanoseconds.
        ns_per_instruction: u32,
    },
}
