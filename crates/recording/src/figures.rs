//! Figures that a program may ask of its own run.

/// Figures of a task so far, as C has them too.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Activations that ran.
    pub executed: u64,
    /// Activations that ran and are not in the file.
    pub lost: u64,
    /// True if the following fields are known: from the first activation on, or from the fit of a grid to the starts.
    pub has_timing: bool,
    /// Due times that were never served.
    pub missed: u64,
    /// The smallest latency in ns, negative where it began early.
    pub min_latency_ns: i64,
    /// The largest latency in ns.
    pub max_latency_ns: i64,
}
