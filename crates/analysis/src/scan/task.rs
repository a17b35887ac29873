//! Everything that is gathered of one task in one pass.

use jitterlab_model::{Activation, TimingStats};

use super::{Blocks, PartHistograms, Peaks, Windows};
use crate::misses::MissCounter;
use crate::predict::{TAIL_SIZE, Tail};

/// How many of the largest latencies are kept with their places.
pub const PEAKS: usize = 4_096;
const BLOCKS: usize = 4_096;
const PARTS: usize = 256;

/// What one pass over a task's trace gathers, in about 10 MB however long the trace is. Parts of the trace may be scanned
/// apart and merged in order of time.
#[derive(Debug, Clone)]
pub struct TaskScan {
    /// The standing figures.
    pub timing: TimingStats,
    /// Missed due times.
    pub misses: MissCounter,
    /// The largest latencies.
    pub peaks: Peaks,
    /// The latency over time.
    pub blocks: Blocks,
    /// Histograms over time.
    pub parts: PartHistograms,
    /// Whole stretches.
    pub windows: Windows,
    /// How often the task moved from one processor to another.
    pub migrations: u64,
    places: Option<(u64, u64)>,
    cpus: Option<(u16, u16)>,
}

impl TaskScan {
    /// Nothing seen yet of a task of this period, in a run of about `expected` due times.
    pub fn new(period_ns: i64, expected: u64) -> Self {
        TaskScan {
            timing: TimingStats::new(period_ns),
            misses: MissCounter::new(period_ns),
            peaks: Peaks::new(PEAKS),
            blocks: Blocks::new(BLOCKS),
            parts: PartHistograms::new(PARTS, expected),
            windows: Windows::new(expected),
            migrations: 0,
            places: None,
            cpus: None,
        }
    }

    /// Sees the next activations of the task.
    pub fn push_all(&mut self, activations: &[Activation]) {
        let (Some(first), Some(last)) = (activations.first(), activations.last()) else { return };
        self.timing.push_all(activations);
        for a in activations {
            let latency_ns = a.latency_ns();
            self.misses.push(a);
            self.peaks.push(a.index, latency_ns);
            self.blocks.push(a.index, latency_ns, a.missed);
            self.parts.push(a.index, latency_ns, a.missed);
            self.windows.push(a.index, latency_ns);
        }
        let before = self.cpus.map_or(first.cpu, |(_, last)| last);
        let moves = std::iter::once(before).chain(activations.iter().map(|a| a.cpu));
        self.migrations += moves.clone().zip(moves.skip(1)).filter(|(a, b)| a != b).count() as u64;
        self.places = Some((self.places.map_or(first.index, |p| p.0), last.index + u64::from(last.missed)));
        self.cpus = Some((self.cpus.map_or(first.cpu, |c| c.0), last.cpu));
    }

    /// Adds the part of the trace that follows this one.
    pub fn merge(&mut self, next: &TaskScan) {
        let Some(places) = next.places else { return };
        self.timing.merge(&next.timing);
        self.misses.merge(&next.misses);
        self.peaks.merge(&next.peaks);
        self.blocks.merge(&next.blocks);
        self.parts.merge(&next.parts);
        self.windows.merge(&next.windows);
        self.migrations += next.migrations;
        if let (Some(mine), Some(theirs)) = (self.cpus, next.cpus) {
            self.migrations += u64::from(mine.1 != theirs.0);
            self.cpus = Some((mine.0, theirs.1));
        } else {
            self.cpus = next.cpus;
        }
        self.places = Some((self.places.map_or(places.0, |p| p.0), places.1));
    }

    /// The first and the last due time of the trace, as numbers on the task's grid.
    pub fn places(&self) -> Option<(u64, u64)> {
        self.places
    }

    /// What prediction needs; `None` if nothing ran.
    pub fn tail(&self) -> Option<Tail> {
        let (first, last) = self.places?;
        let mut peaks = self.peaks.largest();
        peaks.truncate(TAIL_SIZE);
        Some(Tail {
            count: self.timing.executed(),
            period_ns: self.timing.period_ns() as f64,
            first,
            last,
            peaks,
            block_maxima_ns: self.blocks.joined(100).iter().map(|b| b.max_ns as f64).collect(),
            migrations: self.migrations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_trace_scanned_in_parts_is_the_trace_scanned_whole() {
        let mut random = Random::new(1);
        let mut index = 0;
        let trace: Vec<Activation> = (0..30_000)
            .map(|_| {
                let missed = u32::from(random.below(1_000) == 0);
                let due_ns = index as i64 * 1_000;
                let start_ns = due_ns + random.exponential(100.0) as i64;
                let cpu = u16::from(random.below(10_000) == 0);
                let a = Activation {
                    index,
                    due_ns,
                    start_ns,
                    end_ns: start_ns + 9,
                    missed,
                    cpu,
                    ..Activation::default()
                };
                index += 1 + u64::from(missed);
                a
            })
            .collect();
        let scan = |part: &[Activation]| {
            let mut scan = TaskScan::new(1_000, index);
            part.chunks(777).for_each(|rows| scan.push_all(rows));
            scan
        };
        let whole = scan(&trace);
        let mut merged = TaskScan::new(1_000, index);
        for part in [&trace[..7], &trace[7..7], &trace[7..20_001], &trace[20_001..]] {
            merged.merge(&scan(part));
        }
        assert_eq!(merged.tail(), whole.tail());
        assert_eq!((merged.misses.figures(), merged.migrations), (whole.misses.figures(), whole.migrations));
        assert_eq!((merged.places(), merged.parts.parts()), (whole.places(), whole.parts.parts()));
        assert_eq!(format!("{:?}", merged.windows.pieces()), format!("{:?}", whole.windows.pieces()));
        assert_eq!(merged.timing.latency, whole.timing.latency);
    }
}
