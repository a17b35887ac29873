//! Made-up measurements for tests of the words about them.

use jitterlab_model::{Activation, TimingStats};

/// Returns the timing of a task with a period of 1 ms, no execution time and these latencies.
pub fn sample_stats(latencies_ns: &[i64]) -> TimingStats {
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
