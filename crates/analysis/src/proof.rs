//! Proof that a change improved a task's timing, from interleaved blocks: before, after, before, after.

use serde::{Deserialize, Serialize};

use crate::Statistics;
use crate::median_interval::MedianInterval;
use crate::summary::P99;
use crate::wakeup::{BlockView, LateStarts, WayFigures};

/// Figures of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockDeviation {
    /// Absolute deviation |start - due|.
    pub deviation: Statistics,
    /// Largest minus smallest latency, in ns.
    pub jitter_ns: Option<i64>,
    /// Share of a processor used, 0 to 1.
    pub load: Option<f64>,
}

impl BlockDeviation {
    fn from_block(block: &BlockView<'_>) -> Self {
        BlockDeviation {
            deviation: Statistics::from_values(&block.deviations()),
            jitter_ns: block.latencies().peak_to_peak_ns(),
            load: block.load(),
        }
    }
}

/// A figure of the blocks before and after, each with the interval of its median over the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(default)]
pub struct BeforeAndAfter {
    /// The blocks before.
    pub before: Option<MedianInterval>,
    /// The blocks after.
    pub after: Option<MedianInterval>,
}

impl BeforeAndAfter {
    fn new(pairs: &[(BlockDeviation, BlockDeviation)], figure: fn(&BlockDeviation) -> Option<i64>) -> Self {
        let median = |of: &dyn Fn(&(BlockDeviation, BlockDeviation)) -> Option<i64>| {
            MedianInterval::from_values(pairs.iter().filter_map(|pair| Some(of(pair)? as f64)))
        };
        BeforeAndAfter { before: median(&|pair| figure(&pair.0)), after: median(&|pair| figure(&pair.1)) }
    }
}

/// Effect of a change, from interleaved blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// Each pair of neighbouring blocks: before, after.
    pub pairs: Vec<(BlockDeviation, BlockDeviation)>,
    /// All blocks before together.
    pub before: WayFigures,
    /// All blocks after together.
    pub after: WayFigures,
    /// The 99th percentile of |start - due| of a block, in ns.
    pub p99_ns: BeforeAndAfter,
    /// The jitter of a block, in ns: largest minus smallest latency.
    pub jitter_ns: BeforeAndAfter,
    /// Factor by which the 99th percentile of |start - due| is smaller, pair by pair.
    pub p99_factor: Option<MedianInterval>,
    /// Factor by which the jitter is smaller, largest minus smallest latency, pair by pair.
    pub jitter_factor: Option<MedianInterval>,
    /// Additional share of a processor, pair by pair.
    pub extra_load: Option<MedianInterval>,
    /// Remaining late starts, by their cause.
    pub late: LateStarts,
}

impl Proof {
    /// Compares the blocks before and after, in the order they were measured in. A start is late beyond `tolerance_ns`.
    pub fn new(before: &[BlockView<'_>], after: &[BlockView<'_>], tolerance_ns: i64) -> Self {
        let pairs: Vec<(BlockDeviation, BlockDeviation)> = before
            .iter()
            .zip(after)
            .map(|(b, a)| (BlockDeviation::from_block(b), BlockDeviation::from_block(a)))
            .collect();
        let factor = |of: fn(&BlockDeviation) -> Option<i64>| {
            MedianInterval::from_values(pairs.iter().filter_map(|(before, after)| {
                // A deviation below the clock's resolution counts as one nanosecond.
                Some(of(before)? as f64 / of(after)?.max(1) as f64)
            }))
        };
        let p99 = |b: &BlockDeviation| b.deviation.at(P99).exactly();
        let jitter = |b: &BlockDeviation| b.jitter_ns;
        Proof {
            p99_ns: BeforeAndAfter::new(&pairs, p99),
            jitter_ns: BeforeAndAfter::new(&pairs, jitter),
            p99_factor: factor(p99),
            jitter_factor: factor(jitter),
            extra_load: MedianInterval::from_values(
                pairs.iter().filter_map(|(before, after)| Some(after.load? - before.load?)),
            ),
            before: WayFigures::from_blocks(before),
            after: WayFigures::from_blocks(after),
            late: LateStarts::new(after, tolerance_ns),
            pairs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TaskResult};

    #[test]
    fn factors_are_those_of_neighbouring_blocks() {
        let result = TaskResult {
            executed: 100,
            last_end_ns: 100_000_000,
            cpu_time_ns: Some(1_000_000),
            ..TaskResult::default()
        };
        let costly = TaskResult { cpu_time_ns: Some(11_000_000), ..result.clone() };
        let late = |by: i64| -> Vec<Activation> {
            let starts = (0..100i64).map(|k| (k * 1_000_000, k % 2 * by));
            starts
                .map(|(due_ns, by)| Activation { due_ns, start_ns: due_ns + by, ..Activation::default() })
                .collect()
        };
        // The machine gets worse and worse; each pair is ten times better for all that.
        let (before, after): (Vec<_>, Vec<_>) = (1..=6).map(|i| (late(i * 1_000), late(i * 100))).unzip();
        let with = |all: Vec<Vec<Activation>>, result: &TaskResult| -> Vec<(TaskResult, Vec<Activation>)> {
            all.into_iter().map(|activations| (result.clone(), activations)).collect()
        };
        let (before, after) = (with(before, &result), with(after, &costly));
        fn as_blocks(all: &[(TaskResult, Vec<Activation>)]) -> Vec<BlockView<'_>> {
            all.iter()
                .map(|(result, activations)| BlockView { period_ns: 1_000_000, result, activations })
                .collect()
        }
        let proof = Proof::new(&as_blocks(&before), &as_blocks(&after), 100);
        let p99 = proof.p99_factor.unwrap();
        assert!((p99.median - 10.0).abs() < 0.1 && p99.interval.unwrap().0 > 9.9, "{p99:?}");
        assert_eq!(
            proof.jitter_ns.before.unwrap(),
            MedianInterval { median: 3_500.0, interval: Some((1_000.0, 6_000.0)) }
        );
        assert_eq!(proof.jitter_ns.after.unwrap().median, 350.0);
        let jitter = proof.jitter_factor.unwrap();
        assert!((jitter.median - 10.0).abs() < 1e-9);
        assert!((proof.extra_load.unwrap().median - 0.1).abs() < 1e-12);
        // Half of all starts are late; those of the first block by no more than the tolerance; none of them polled.
        assert_eq!((proof.late.overslept, proof.late.worst_overslept_ns, proof.late.torn), (250, 600, 0));
    }
}
