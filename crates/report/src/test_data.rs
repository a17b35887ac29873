//! Made-up measurements for tests of the words about them.

use jitterlab_model::{Activation, TimingStats};

use crate::chart::Terminal;
use crate::section::{Piece, Section};

/// Pieces as a terminal of 80 columns shows them, folded ones included.
pub(crate) fn shown_pieces(pieces: Vec<Piece>) -> String {
    let section = Section::new("", "", "", pieces);
    section.text(Terminal { columns: 80, ascii: false, colour: false })
}

/// Statistics of a task of 1 ms whose starts were this late one after the other, and which did nothing.
pub(crate) fn timing_stats(latencies_ns: &[i64]) -> TimingStats {
    let mut stats = TimingStats::new(1_000_000);
    for (index, latency_ns) in (0..).zip(latencies_ns) {
        let due_ns = index * 1_000_000;
        let start_ns = due_ns + latency_ns;
        stats.push(&Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns: start_ns,
            ..Activation::default()
        });
    }
    stats
}
