//! Figures that a program may ask of its own run.

/// Figures of a task so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Activations that ran.
    pub executed: u64,
    /// Activations that ran and are not in the file.
    pub lost: u64,
    /// Timing, known once there is a due time: from the first activation on, or from the fit of a grid to the starts.
    pub timing: Option<Timing>,
}

/// Timing of a task relative to its due times so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Due times that were never served.
    pub missed: u64,
    /// The smallest latency in ns, negative where it began early.
    pub min_latency_ns: i64,
    /// The largest latency in ns.
    pub max_latency_ns: i64,
}
