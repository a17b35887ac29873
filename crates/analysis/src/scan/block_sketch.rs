//! Summary of a few consecutive activations: usually they need no closer examination.

use jitterlab_model::{Activation, Flags};

use super::Span;

/// Most activations in a summary.
pub const FEW: usize = 64;

/// Summary of a few activations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockSketch {
    /// Their latencies and missed due times.
    pub span: Span,
    /// Longest response time (end - due).
    pub longest_response_ns: i64,
    /// True if records were lost before any of them.
    pub has_gap: bool,
    /// Number of migrations of the task to another processor.
    pub migrations: u64,
}

impl BlockSketch {
    /// Summarises activations whose predecessor ran on the processor `cpu`.
    pub fn new(activations: &[Activation], mut cpu: u16) -> Self {
        let mut span = Span { count: activations.len() as u64, ..Span::EMPTY };
        let (mut longest_response_ns, mut migrations, mut flags) = (i64::MIN, 0, 0);
        for a in activations {
            let latency_ns = a.latency_ns();
            span.missed += u64::from(a.missed);
            span.min_ns = span.min_ns.min(latency_ns);
            span.max_ns = span.max_ns.max(latency_ns);
            span.sum_ns += i128::from(latency_ns);
            longest_response_ns = longest_response_ns.max(a.response_ns());
            flags |= a.flags.0;
            migrations += u64::from(a.cpu != cpu);
            cpu = a.cpu;
        }
        BlockSketch {
            span,
            longest_response_ns,
            has_gap: Flags(flags).contains(Flags::AFTER_GAP),
            migrations,
        }
    }
}
