//! The full series of a task in bounded memory: every extreme survives, and the activations around the largest
//! values stay exact.
//!
//! Consecutive activations are gathered into *steps* of a fixed number; each step keeps minimum, mean and
//! maximum of every quantity. A page builds its coarser levels from them, so that a spike is visible at every
//! zoom. In addition, the blocks with the largest values are kept activation by activation. Parts of a trace
//! may be gathered separately and merged in order of time; a step at the end of a part is shorter.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use jitterlab_model::{Activation, Flags, Quantity};

/// Activations of all series together up to which a page keeps every one.
const COMPLETE: u64 = 1 << 17;
/// Steps of all series of a longer page together: with the exact blocks they stay below half a megabyte.
pub const STEP_BUDGET: u64 = 1 << 14;
/// Activations of a block that is kept exactly.
const BLOCK: usize = 64;
/// Latencies at the beginning that are kept in a row, for figures that need an unbroken series.
const FIRST: usize = 1 << 17;
/// Exact blocks of all series of a page together.
const BLOCK_BUDGET: usize = 384;

/// The quantities of a series, in the order of their columns.
pub const QUANTITIES: [Quantity; 3] = [Quantity::Latency, Quantity::Execution, Quantity::PeriodError];
/// Their names in the page's script.
pub const COLUMNS: [&str; 3] = ["latency", "execution", "period_error"];

/// Extremes and sum of one quantity in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Number of values; 0 if the quantity has none (a period before the first activation).
    pub count: u64,
    /// Smallest value in nanoseconds.
    pub min_ns: i64,
    /// Largest value in nanoseconds.
    pub max_ns: i64,
    /// Sum of the values in nanoseconds.
    pub sum_ns: i128,
}

impl Extent {
    fn from_values(values_ns: impl Iterator<Item = i64>) -> Self {
        let mut extent = Extent { min_ns: i64::MAX, max_ns: i64::MIN, ..Extent::default() };
        for value_ns in values_ns {
            extent.count += 1;
            extent.min_ns = extent.min_ns.min(value_ns);
            extent.max_ns = extent.max_ns.max(value_ns);
            extent.sum_ns += i128::from(value_ns);
        }
        if extent.count == 0 { Extent::default() } else { extent }
    }

    /// Returns the score that `of` gives to the smallest and largest value; `i64::MIN` without values.
    fn score(&self, of: impl Fn(i64, i64) -> i64) -> i64 {
        if self.count == 0 { i64::MIN } else { of(self.min_ns, self.max_ns) }
    }

    /// Adds the values of another extent.
    pub fn merge(&mut self, other: &Extent) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            self.min_ns = self.min_ns.min(other.min_ns);
            self.max_ns = self.max_ns.max(other.max_ns);
            self.count += other.count;
            self.sum_ns += other.sum_ns;
        }
    }

    /// Returns the mean, rounded to a nanosecond.
    pub fn mean_ns(&self) -> Option<i64> {
        (self.count > 0).then(|| self.sum_ns.div_euclid(self.count.into()) as i64)
    }
}

/// Summary of consecutive activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Due time of the first, on the run's clock, in ns.
    pub due_ns: i64,
    /// Activations in it.
    pub executed: u64,
    /// Due times missed in it.
    pub missed: u64,
    /// Extremes and means, in the order of [`QUANTITIES`].
    pub extents: [Extent; 3],
}

impl Step {
    /// Summarises consecutive activations, at least one, with their period errors.
    fn from_rows(rows: &[Activation], period_errors_ns: &[Option<i64>]) -> Self {
        Step {
            due_ns: rows.first().map_or(0, |a| a.due_ns),
            executed: rows.len() as u64,
            missed: rows.iter().map(|a| u64::from(a.missed)).sum(),
            extents: [
                Extent::from_values(rows.iter().map(Activation::latency_ns)),
                Extent::from_values(rows.iter().map(Activation::execution_ns)),
                Extent::from_values(period_errors_ns.iter().flatten().copied()),
            ],
        }
    }

    fn merge(&mut self, later: &Step) {
        if self.executed == 0 {
            *self = *later;
            return;
        }
        self.executed += later.executed;
        self.missed += later.missed;
        self.extents.iter_mut().zip(&later.extents).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

/// One activation as shown on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactRow {
    /// Number on the task's grid.
    pub index: u64,
    /// Due time on the run's clock, in ns.
    pub due_ns: i64,
    /// Due times missed with it.
    pub missed: u32,
    /// Latency, execution time, and period error if there is a predecessor.
    pub values_ns: [Option<i64>; 3],
}

/// Chooses the blocks with the largest scores, and forgets the others.
#[derive(Debug, Clone, Default)]
struct LargestBlocks {
    room: usize,
    heap: BinaryHeap<Reverse<(i64, u64)>>,
}

impl LargestBlocks {
    fn accepts(&self, score: i64) -> bool {
        self.room > 0
            && (self.heap.len() < self.room || self.heap.peek().is_some_and(|Reverse(least)| score > least.0))
    }

    /// Inserts a block, and returns the one to drop for it if there is no room.
    fn insert(&mut self, score: i64, block: u64) -> Option<u64> {
        self.heap.push(Reverse((score, block)));
        if self.heap.len() > self.room { self.heap.pop().map(|Reverse((_, block))| block) } else { None }
    }
}

/// Collects the series of one task.
#[derive(Debug, Clone, Default)]
pub struct SeriesBuilder {
    period_ns: i64,
    per_step: u64,
    /// True if every activation is kept exactly, without steps.
    complete: bool,
    /// True if steps come from slices, not from activations.
    sliced: bool,
    in_step: u64,
    step: Step,
    steps: Vec<Step>,
    /// Activations that are not yet part of a step or block.
    block: Vec<Activation>,
    blocks_seen: u64,
    /// Scores of a block: latest, earliest, longest execution, largest period error, most missed.
    tops: [LargestBlocks; 5],
    kept: BTreeMap<u64, (u32, Vec<ExactRow>)>,
    first_latencies_ns: Vec<i64>,
    unbroken: bool,
    first: Option<Activation>,
    previous: Option<(u64, u32, i64)>,
}

/// The score that may rise for the first block of a part once its predecessor is known: that of the period error.
const FURTHEST: usize = 3;

/// The finished series of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Activations in a step (for a run that kept only spikes: slices).
    pub per_step: u64,
    /// The steps in order of time; empty if `complete`.
    pub steps: Vec<Step>,
    /// Activations kept exactly, in order of time.
    pub exact: Vec<ExactRow>,
    /// True if `exact` has every activation.
    pub complete: bool,
    /// Latencies of the first activations, up to the first missed or lost one; empty if only spikes were kept.
    pub first_latencies_ns: Vec<i64>,
}

/// Share of a series in the space of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Expected activations of this series (for a run that kept only spikes: slices).
    pub expected: u64,
    /// Expected activations of all series of the page.
    pub total: u64,
}

impl SeriesBuilder {
    /// Creates a builder for a task of this period that gets all activations.
    pub fn new(period_ns: i64, share: Share) -> Self {
        SeriesBuilder {
            complete: share.total <= COMPLETE,
            sliced: false,
            ..Self::for_spikes(period_ns, share)
        }
    }

    /// Creates a builder for a task of a run that kept only spikes: its steps come from its slices.
    pub fn for_spikes(period_ns: i64, share: Share) -> Self {
        let mut per_step = 1;
        while share.total.div_ceil(per_step) > STEP_BUDGET {
            per_step *= 2;
        }
        let part = share.expected as f64 / share.total.max(1) as f64;
        let room = |eighths: usize| {
            let blocks = (BLOCK_BUDGET / 8 * eighths) as f64 * part;
            LargestBlocks { room: (blocks as usize).max(4), ..LargestBlocks::default() }
        };
        SeriesBuilder {
            period_ns,
            per_step,
            sliced: true,
            block: Vec::with_capacity(BLOCK),
            tops: [room(3), room(1), room(2), room(1), room(1)],
            unbroken: true,
            ..SeriesBuilder::default()
        }
    }

    /// Takes the next activations of the task, or those that a run kept that keeps only spikes.
    pub fn push_all(&mut self, rows: &[Activation]) {
        let mut rest = rows;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK - self.block.len()));
            self.block.extend_from_slice(now);
            if self.block.len() == BLOCK {
                self.close_block();
            }
            rest = later;
        }
    }

    /// Takes the summary of the next activations (a slice of a run that kept only spikes).
    pub fn push_step(&mut self, step: &Step) {
        self.push_part(step, 1);
    }

    /// Adds activations, which count as `of_step`, to the current step, and closes it if it is full.
    fn push_part(&mut self, part: &Step, of_step: u64) {
        self.step.merge(part);
        self.in_step += of_step;
        if self.in_step == self.per_step {
            self.steps.push(std::mem::take(&mut self.step));
            self.in_step = 0;
        }
    }

    /// Returns the period error of the next activation; `None` if it does not directly follow the previous one.
    fn period_error_ns(&self, a: &Activation) -> Option<i64> {
        let follows = |(index, missed, _): &(u64, u32, i64)| {
            !a.flags.contains(Flags::AFTER_GAP) && a.index.wrapping_sub(*index) <= 1 + u64::from(*missed)
        };
        let error = |(_, _, start)| a.start_ns.wrapping_sub(start).wrapping_sub(self.period_ns);
        self.previous.filter(follows).map(error)
    }

    /// Adds the block to the steps, and keeps it if it has one of the largest values so far.
    fn close_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let mut period_errors_ns = [None; BLOCK];
        for (a, error_ns) in block.iter().zip(&mut period_errors_ns) {
            *error_ns = self.period_error_ns(a);
            self.previous = Some((a.index, a.missed, a.start_ns));
        }
        let period_errors_ns = &period_errors_ns[..block.len()];
        self.first = self.first.or(block.first().copied());
        if !self.sliced {
            self.take_first_latencies(&block, period_errors_ns);
        }
        let mut whole = Step::default();
        // Steps and blocks are powers of two: the shorter one divides the other.
        let length = BLOCK.min(self.per_step as usize);
        for (rows, errors_ns) in block.chunks(length).zip(period_errors_ns.chunks(length)) {
            let part = Step::from_rows(rows, errors_ns);
            whole.merge(&part);
            if !self.complete && !self.sliced {
                self.push_part(&part, rows.len() as u64);
            }
        }
        self.keep_if_outstanding(&whole, &block, period_errors_ns);
        self.block = block;
        self.block.clear();
    }

    /// Keeps the latencies from the beginning up to the first that follows a missed or lost activation.
    fn take_first_latencies(&mut self, block: &[Activation], period_errors_ns: &[Option<i64>]) {
        for (a, error_ns) in block.iter().zip(period_errors_ns) {
            self.unbroken &= error_ns.is_some() || self.first_latencies_ns.is_empty();
            if !self.unbroken || self.first_latencies_ns.len() == FIRST {
                break;
            }
            self.first_latencies_ns.push(a.latency_ns());
            self.unbroken = a.missed == 0;
        }
    }

    /// Keeps the block if it has one of the largest values so far; `whole` is its summary.
    fn keep_if_outstanding(&mut self, whole: &Step, block: &[Activation], period_errors_ns: &[Option<i64>]) {
        let number = self.blocks_seen;
        self.blocks_seen += 1;
        let [latency, execution, period_error] = &whole.extents;
        let missed = block.iter().map(|a| i64::from(a.missed)).max().filter(|missed| *missed > 0);
        let scores = [
            latency.score(|_, max| max),
            latency.score(|min, _| min.saturating_neg()),
            execution.score(|_, max| max),
            period_error.score(|min, max| min.saturating_abs().max(max.saturating_abs())),
            missed.unwrap_or(i64::MIN),
        ];
        // The first block stays: its first period is unknown until the previous part is added.
        let always = self.complete || number == 0;
        let is_wanted = |(top, score): (&LargestBlocks, &i64)| *score != i64::MIN && top.accepts(*score);
        if always || self.tops.iter().zip(&scores).any(is_wanted) {
            let rows = block.iter().zip(period_errors_ns);
            let exact = rows.map(|(a, error_ns)| ExactRow {
                index: a.index,
                due_ns: a.due_ns,
                missed: a.missed,
                values_ns: [Some(a.latency_ns()), Some(a.execution_ns()), *error_ns],
            });
            self.kept.insert(number, (u32::from(always), exact.collect()));
            scores.into_iter().enumerate().for_each(|(top, score)| self.keep_for_score(top, score, number));
        }
    }

    /// Offers a kept block as one of the largest by a score. The block dropped for it is forgotten unless
    /// another score keeps it.
    fn keep_for_score(&mut self, top: usize, score: i64, number: u64) {
        if self.complete || score == i64::MIN || !self.tops[top].accepts(score) {
            return;
        }
        if let Some((holders, _)) = self.kept.get_mut(&number) {
            *holders += 1;
        }
        let gone = self.tops[top].insert(score, number);
        if let Some((gone, (holders, _))) = gone.and_then(|gone| Some((gone, self.kept.get_mut(&gone)?))) {
            *holders -= 1;
            if *holders == 0 {
                self.kept.remove(&gone);
            }
        }
    }

    /// Adds the activations that are not yet part of a step or block.
    fn close_partial_block(&mut self) {
        if !self.block.is_empty() {
            self.close_block();
        }
        if self.in_step > 0 {
            self.steps.push(std::mem::take(&mut self.step));
            self.in_step = 0;
        }
    }

    /// Adds the next part of the trace.
    pub fn merge(&mut self, mut next: SeriesBuilder) {
        self.close_partial_block();
        next.close_partial_block();
        let Some(first) = next.first else { return };
        let period_error_ns = self.period_error_ns(&first);
        if let Some(error_ns) = period_error_ns {
            next.set_first_period_error(error_ns);
        }
        if self.unbroken && (period_error_ns.is_some() || self.first_latencies_ns.is_empty()) {
            let room = FIRST.saturating_sub(self.first_latencies_ns.len());
            self.first_latencies_ns.extend(next.first_latencies_ns.iter().take(room));
            self.unbroken = next.unbroken;
        } else {
            self.unbroken = false;
        }
        let before = self.blocks_seen;
        self.blocks_seen += next.blocks_seen;
        self.steps.append(&mut next.steps);
        // Each is kept until it was offered for every score: one dropped by the first may be wanted by the next.
        for (number, (_, rows)) in next.kept {
            self.kept.insert(before + number, (1 + u32::from(self.complete), rows));
        }
        for (top, theirs) in next.tops.into_iter().enumerate() {
            for Reverse((score, number)) in theirs.heap {
                self.keep_for_score(top, score, before + number);
            }
        }
        self.kept.range_mut(before..).for_each(|(_, (holders, _))| *holders -= 1);
        self.kept.retain(|_, (holders, _)| *holders > 0);
        self.first.get_or_insert(first);
        self.previous = next.previous.or(self.previous);
    }

    /// Sets the error of its first period, which only the previous part determines.
    fn set_first_period_error(&mut self, error_ns: i64) {
        let extent = Extent::from_values([error_ns].into_iter());
        if let Some(step) = self.steps.first_mut().filter(|_| !self.sliced) {
            step.extents[2].merge(&extent);
        }
        let Some(row) = self.kept.get_mut(&0).and_then(|(_, rows)| rows.first_mut()) else { return };
        row.values_ns[2] = Some(error_ns);
        // The block stays, and is offered again with its new score.
        let mut score = error_ns.saturating_abs();
        let mut was_held = false;
        self.tops[FURTHEST].heap.retain(|Reverse((before, number))| {
            if *number == 0 {
                (score, was_held) = (score.max(*before), true);
            }
            *number != 0
        });
        if let Some((holders, _)) = self.kept.get_mut(&0).filter(|_| was_held) {
            *holders -= 1;
        }
        self.keep_for_score(FURTHEST, score, 0);
    }

    /// Returns the finished series.
    pub fn finish(mut self) -> Series {
        self.close_partial_block();
        let exact = self.kept.into_values().flat_map(|(_, rows)| rows).collect();
        Series {
            per_step: self.per_step,
            steps: self.steps,
            exact,
            complete: self.complete,
            first_latencies_ns: self.first_latencies_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(latencies: &[i64]) -> Vec<Activation> {
        let at = |(k, latency): (usize, &i64)| {
            let due_ns = 1_000 * k as i64;
            let start_ns = due_ns + latency;
            Activation { index: k as u64, due_ns, start_ns, end_ns: start_ns + 7, ..Activation::default() }
        };
        latencies.iter().enumerate().map(at).collect()
    }

    proptest! {
        #[test]
        fn steps_hold_every_extreme_and_the_largest_stay_exact(
            latencies in prop::collection::vec(-50i64..500, 200..3_000), spike in 0usize..200,
        ) {
            let mut latencies = latencies;
            latencies[spike] = 900_000;
            let n = latencies.len() as u64;
            // As if the page were far larger, so that steps of several activations and few blocks are kept.
            let mut builder = SeriesBuilder::new(1_000, Share { expected: n, total: 64 * STEP_BUDGET });
            rows(&latencies).chunks(37).for_each(|part| builder.push_all(part));
            let series = builder.finish();
            prop_assert_eq!(series.per_step, 64);
            prop_assert_eq!(series.steps.iter().map(|s| s.executed).sum::<u64>(), n);
            for (step, part) in series.steps.iter().zip(latencies.chunks(64)) {
                prop_assert_eq!(step.extents[0].min_ns, *part.iter().min().unwrap());
                prop_assert_eq!(step.extents[0].max_ns, *part.iter().max().unwrap());
            }
            prop_assert!(series.exact.len() < latencies.len().max(64 * 20));
            let found = series.exact.iter().find(|e| e.index == spike as u64).unwrap();
            prop_assert_eq!(found.values_ns[0], Some(900_000));
        }
    }

    proptest! {
        #[test]
        fn parts_gathered_apart_show_what_one_pass_shows(
            latencies in prop::collection::vec(-50i64..500, 200..3_000), cut in 1usize..199, spike in 0usize..199,
        ) {
            let mut latencies = latencies;
            latencies[spike] = 900_000;
            let share = Share { expected: latencies.len() as u64, total: 64 * STEP_BUDGET };
            let rows = rows(&latencies);
            let gathered = |rows: &[Activation]| {
                let mut builder = SeriesBuilder::new(1_000, share);
                builder.push_all(rows);
                builder
            };
            let whole = gathered(&rows).finish();
            let mut parts = gathered(&rows[..cut]);
            parts.merge(gathered(&rows[cut..]));
            let parts = parts.finish();
            prop_assert_eq!(&parts.first_latencies_ns, &whole.first_latencies_ns);
            let extents = |series: &Series| {
                let mut all = Step::default();
                series.steps.iter().for_each(|step| all.merge(step));
                (all.executed, all.extents)
            };
            prop_assert_eq!(extents(&parts), extents(&whole));
            for wanted in [spike, spike + 1] {
                let kept = |series: &Series| series.exact.iter().find(|e| e.index == wanted as u64).copied();
                prop_assert_eq!(kept(&parts), kept(&whole));
            }
        }
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        let latencies: Vec<i64> = (0..1_000).map(|k| k % 17).collect();
        let mut builder = SeriesBuilder::new(1_000, Share { expected: 1_000, total: 1_000 });
        builder.push_all(&rows(&latencies));
        let series = builder.finish();
        assert!(series.complete && series.steps.is_empty());
        assert_eq!(series.exact.iter().filter_map(|e| e.values_ns[0]).collect::<Vec<_>>(), latencies);
        assert_eq!(series.exact[0].values_ns[2], None);
        assert_eq!(series.exact[17].values_ns[2], Some(-16));
    }
}
