//! Everything gathered about one task in one pass.

use jitterlab_model::{Activation, Gap, TimingStats};

use super::{BlockSketch, FEW, Part, PartHistograms, Peaks, Span, Spans, Ticks, Windows};
use crate::long_memory;
use crate::misses::{MissCounter, Misses};
use crate::predict::{TAIL_SIZE, Tail};

/// Number of the largest latencies kept with their positions.
pub const PEAKS: usize = 4_096;
/// Most spans of a run.
pub(crate) const SPANS: usize = 4_096;
const PARTS: usize = 512;

/// Result of one pass over a task's trace, in about 10 MB however long the trace is. Parts of the trace may
/// be scanned separately and merged in order of time.
#[derive(Debug, Clone)]
pub struct TaskScan {
    /// Counts and histograms.
    pub timing: TimingStats,
    misses: MissCounter,
    misses_untold: bool,
    /// The largest latencies.
    pub peaks: Peaks,
    /// The latency over time.
    pub spans: Spans,
    /// Complete stretches.
    pub windows: Windows,
    /// True if another run would be identical, as in virtual time: no prediction is needed then.
    pub repeats_itself: bool,
    /// Number of migrations of the task from one processor to another.
    pub migrations: u64,
    /// Histograms over time.
    parts: PartHistograms,
    /// True if every activation was seen.
    complete: bool,
    due_time_range: Option<(u64, u64)>,
    cpus: Option<(u16, u16)>,
}

impl TaskScan {
    /// Creates an empty scan for a task of this period, in a run of about `expected` due times.
    pub fn new(period_ns: i64, expected: u64) -> Self {
        TaskScan {
            timing: TimingStats::new(period_ns),
            misses: MissCounter::new(period_ns),
            misses_untold: false,
            peaks: Peaks::new(PEAKS),
            spans: Spans::new(SPANS),
            windows: Windows::new(expected),
            repeats_itself: false,
            migrations: 0,
            parts: PartHistograms::new(PARTS, expected),
            complete: true,
            due_time_range: None,
            cpus: None,
        }
    }

    /// Takes the next activations of the task.
    pub fn push_all(&mut self, activations: &[Activation]) {
        let (Some(first), Some(last)) = (activations.first(), activations.last()) else { return };
        let mut rest = activations;
        while let Some(next) = rest.first() {
            let end = self.parts.enter_part(next.index, &self.timing);
            let (now, later) = rest.split_at(rest.partition_point(|a| a.index < end).max(1));
            self.timing.push_all(now);
            rest = later;
        }
        let mut cpu = self.cpus.map_or(first.cpu, |(_, last)| last);
        for few in activations.chunks(FEW) {
            let sketch = BlockSketch::new(few, cpu);
            self.misses.push_few(few, &sketch);
            self.peaks.push_few(few, &sketch);
            self.spans.push_few(few, &sketch);
            self.migrations += sketch.migrations;
            cpu = few.last().map_or(cpu, |a| a.cpu);
        }
        self.windows.push_all(activations);
        self.extend_range(first.index, last.index.saturating_add(last.missed.into()));
        self.cpus = Some((self.cpus.map_or(first.cpu, |c| c.0), last.cpu));
    }

    /// Takes a stretch of the run that is known by its counts only, from a position on the grid on.
    pub fn push_figures(&mut self, index: u64, figures: &TimingStats) {
        let latency = figures.latency.moments();
        if latency.count == 0 {
            // Nothing ran: there is no stretch, but due times may have been missed.
            self.timing.merge(figures);
            self.complete = false;
            return;
        }
        let due_times = latency.count + figures.least_missed();
        self.parts.enter_stretch(index, due_times, &self.timing);
        self.timing.merge(figures);
        let span = Span {
            count: latency.count,
            missed: figures.least_missed(),
            sum_ns: latency.sum,
            min_ns: latency.min_ns,
            max_ns: latency.max_ns,
        };
        self.spans.push_span(index, &span);
        self.complete = false;
        self.extend_range(index, index.saturating_add(due_times - 1));
    }

    /// Takes the latencies of `above_ns` or more among activations kept in addition to the counts.
    pub fn push_spikes(&mut self, activations: &[Activation], above_ns: i64) {
        let spikes = activations.iter().filter(|a| a.latency_ns() >= above_ns);
        spikes.for_each(|a| self.peaks.push(a.index, a.latency_ns()));
    }

    fn extend_range(&mut self, first: u64, last: u64) {
        let first = self.due_time_range.map_or(first, |p| p.0);
        self.due_time_range = Some((first, last.max(first)));
    }

    /// Adds the next part of the trace.
    pub fn merge(&mut self, next: &TaskScan) {
        let Some((first, last)) = next.due_time_range else { return };
        let mut parts = next.parts.clone();
        parts.end_part(&next.timing);
        self.parts.end_part(&self.timing);
        self.timing.append(&next.timing);
        self.parts.merge(&parts, &self.timing);
        self.misses.merge(&next.misses);
        self.peaks.merge(&next.peaks);
        self.spans.merge(&next.spans);
        self.windows.merge(&next.windows);
        self.complete &= next.complete;
        self.misses_untold |= next.misses_untold;
        self.migrations += next.migrations;
        self.cpus = match (self.cpus, next.cpus) {
            (Some(mine), Some(theirs)) => {
                self.migrations += u64::from(mine.1 != theirs.0);
                Some((mine.0, theirs.1))
            }
            (mine, theirs) => mine.or(theirs),
        };
        self.extend_range(first, last);
    }

    /// Returns the figures of missed due times; `None` if not all activations or missed due times are known.
    pub fn misses(&self) -> Option<Misses> {
        (self.complete && !self.misses_untold).then(|| self.misses.figures())
    }

    /// Drops the figures that the source does not have, once everything is read.
    pub fn drop_unknown(&mut self, unknown: &[Gap]) {
        self.timing.drop_unknown(unknown);
        self.misses_untold |= unknown.contains(&Gap::Missed);
    }

    /// True if every activation was seen. Otherwise the order of latencies within a part is unknown, and only the
    /// number of misses is known.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the length of the run's equal parts in due times, and the parts with their numbers in order of time.
    pub fn parts(&self) -> (u64, Vec<(u64, Part)>) {
        self.parts.parts(&self.timing)
    }

    /// Returns the length of the run's equal parts in due times, and the parts that are at least 90 % full.
    pub fn full_parts(&self) -> (u64, Vec<(u64, Part)>) {
        let (length, mut parts) = self.parts();
        parts.retain(|(_, part)| (part.count + part.missed) * 10 >= length * 9);
        (length, parts)
    }

    /// Returns the grid of the latencies, as far as the windows show it.
    pub fn ticks(&self) -> Ticks {
        Ticks::from_values(self.windows.latencies_ns())
    }

    /// Returns the first and the last due time of the trace, as numbers on the task's grid.
    pub fn due_time_range(&self) -> Option<(u64, u64)> {
        self.due_time_range
    }

    /// True if latencies have long memory or heavy-tailed regimes ([`crate::long_memory`]). The next run may then
    /// differ by more than this one shows.
    pub fn has_long_memory(&self) -> bool {
        !self.repeats_itself && long_memory::has_long_memory(&self.spans, &self.peaks, self.timing.executed())
    }

    /// Returns the input of a prediction; `None` if nothing ran.
    pub fn tail(&self) -> Option<Tail> {
        let (first, last) = self.due_time_range?;
        let mut peaks = self.peaks.largest();
        peaks.truncate(TAIL_SIZE);
        Some(Tail {
            latency: self.timing.latency.clone(),
            period_ns: self.timing.period_ns() as f64,
            first,
            last,
            peaks,
            block_maxima_ns: self.spans.joined(100).iter().map(|b| b.max_ns as f64).collect(),
            parts: self.parts().1.into_iter().map(|(_, part)| part).collect(),
            has_long_memory: self.has_long_memory(),
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
        assert_eq!((merged.due_time_range(), merged.parts()), (whole.due_time_range(), whole.parts()));
        assert_eq!(
            format!("{:?}", merged.windows.stretch_values()),
            format!("{:?}", whole.windows.stretch_values())
        );
        assert_eq!(merged.timing.latency, whole.timing.latency);
        // One by one, nothing takes a short cut.
        let mut single = TaskScan::new(1_000, index);
        trace.chunks(1).for_each(|rows| single.push_all(rows));
        assert_eq!((single.tail(), single.misses.figures()), (whole.tail(), whole.misses.figures()));
        assert_eq!((single.parts(), single.migrations), (whole.parts(), whole.migrations));
        assert_eq!(single.spans.all(), whole.spans.all());
        assert_eq!(
            format!("{:?}", single.windows.stretch_values()),
            format!("{:?}", whole.windows.stretch_values())
        );
    }
    #[test]
    fn figures_by_the_second_and_the_spikes_give_the_tail_and_the_parts() {
        let mut random = Random::new(5);
        let trace: Vec<Activation> = (0..65_536)
            .map(|index| {
                let due_ns = index as i64 * 1_000;
                let start_ns = due_ns + random.exponential(100.0) as i64;
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        let (mut whole, mut kept) = (TaskScan::new(1_000, 65_536), TaskScan::new(1_000, 0));
        whole.push_all(&trace);
        for second in trace.chunks(128) {
            let mut figures = TimingStats::new(1_000);
            figures.push_all(second);
            kept.push_figures(second[0].index, &figures);
        }
        kept.push_spikes(&trace, 300);
        assert_eq!(kept.full_parts(), whole.full_parts());
        assert_eq!(kept.tail().unwrap().peaks, whole.tail().unwrap().peaks);
        assert_eq!(kept.due_time_range(), whole.due_time_range());
        assert!(whole.is_complete() && !kept.is_complete());
    }
}
