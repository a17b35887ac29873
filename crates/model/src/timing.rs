//! The standing figures of one task, counted activation by activation in constant memory.

mod block;

use std::borrow::Cow;

use crate::activation::{Activation, Flags};
use crate::distribution::{BLOCK, Distribution};
use crate::known::{Gap, Known};
use crate::quantity::Quantity;

/// Statistics of a task's activations. Streaming: memory does not grow. Mergeable: any split of the trace into
/// consecutive parts joined by [`TimingStats::append`] gives the same figures as the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimingStats {
    period_ns: i64,
    missed: u64,
    missed_unknown: bool,
    /// Latency per wake-up (raw; comparable with cyclictest).
    pub latency: Distribution,
    /// Ages of missed due times. With [`TimingStats::latency`] they make the corrected distribution, one value
    /// per due time.
    pub missed_ages: Distribution,
    /// (w_k - w_{k-1}) - T between activations that ran one after the other: what LinuxCNC calls jitter. A
    /// missed activation shows as a whole period.
    pub period_error: Distribution,
    /// |T_{k+1} - T_k|: difference of two successive periods.
    pub cycle_to_cycle: Distribution,
    /// Execution time, end - start.
    pub execution: Distribution,
    previous_start_ns: Option<i64>,
    previous_error_ns: Option<i64>,
    /// Start of the first activation, unless it came after lost records.
    first_start_ns: Option<i64>,
    /// Period error of the second activation.
    first_error_ns: Option<i64>,
}

impl TimingStats {
    /// Creates empty statistics for a task of this period, in nanoseconds. Memory is taken with the first values.
    pub fn new(period_ns: i64) -> Self {
        TimingStats { period_ns, ..TimingStats::default() }
    }

    /// The task's period.
    pub fn period_ns(&self) -> i64 {
        self.period_ns
    }

    /// Number of activations that ran: of latencies or, where only these are known, of period errors or execution times.
    pub fn executed(&self) -> u64 {
        self.latency.count().max(self.period_error.count()).max(self.execution.count())
    }

    /// Number of due times that passed unserved: only a lower bound where the source does not count them.
    pub fn missed(&self) -> Known<u64> {
        match self.missed {
            seen if !self.missed_unknown => Known::Exactly(seen),
            0 => Known::Unknown,
            seen => Known::AtLeast { at_least: seen },
        }
    }

    /// Number of due times seen to pass unserved: a lower bound where the source does not count them all.
    pub fn least_missed(&self) -> u64 {
        self.missed
    }

    /// Counts due times that passed unserved, without any further property.
    pub fn add_missed(&mut self, missed: u64) {
        self.missed = self.missed.saturating_add(missed);
    }

    /// Empties the distributions of quantities that a source leaves unknown, once all is counted. Missed due
    /// times become unknown.
    pub fn drop_unknown(&mut self, unknown: &[Gap]) {
        let has = |gap| unknown.contains(&gap);
        if has(Gap::Execution) {
            self.execution = Distribution::new();
        }
        if has(Gap::Latency) {
            (self.latency, self.missed_ages) = (Distribution::new(), Distribution::new());
        }
        if has(Gap::DueTimes) || has(Gap::Grid) {
            (self.period_error, self.cycle_to_cycle) = (Distribution::new(), Distribution::new());
        }
        self.missed_unknown |= has(Gap::Missed);
    }

    /// Counts the next activation of the task.
    #[inline]
    pub fn push(&mut self, a: &Activation) {
        self.latency.record(a.latency_ns());
        self.execution.record(a.execution_ns());
        self.push_missed(a);
        if a.flags.contains(Flags::AFTER_GAP) {
            (self.previous_start_ns, self.previous_error_ns) = (None, None);
        }
        let error = self
            .previous_start_ns
            .map(|previous| a.start_ns.wrapping_sub(previous).wrapping_sub(self.period_ns));
        if let Some(error) = error {
            self.period_error.record(error);
            if let Some(previous) = self.previous_error_ns {
                self.cycle_to_cycle.record(i64::try_from(error.abs_diff(previous)).unwrap_or(i64::MAX));
            }
        }
        self.previous_start_ns = Some(a.start_ns);
        self.previous_error_ns = error;
        match self.latency.count() {
            1 if !a.flags.contains(Flags::AFTER_GAP) => self.first_start_ns = Some(a.start_ns),
            2 => self.first_error_ns = error,
            _ => {}
        }
    }

    /// Counts the due times missed with an activation.
    #[inline]
    fn push_missed(&mut self, a: &Activation) {
        if a.missed > 0 {
            self.add_missed(u64::from(a.missed));
            for ages in a.missed_ages(self.period_ns) {
                self.missed_ages.record_descending(ages);
            }
        }
    }

    /// Counts the next activations of the task, with the same figures as [`TimingStats::push`] for each.
    /// Several times faster where nothing special happens.
    pub fn push_all(&mut self, activations: &[Activation]) {
        let (blocks, rest) = activations.as_chunks::<BLOCK>();
        for block in blocks {
            if !block::push(self, block) {
                block.iter().for_each(|a| self.push(a));
            }
        }
        rest.iter().for_each(|a| self.push(a));
    }

    /// Returns the figures since the beginning or the last `take`; counting restarts from zero. The next differences
    /// still reach back to the last activation: the parts taken in turn merge to the figures of one count.
    #[must_use]
    pub fn take(&mut self) -> TimingStats {
        let mut rest = TimingStats::new(self.period_ns);
        (rest.previous_start_ns, rest.previous_error_ns) = (self.previous_start_ns, self.previous_error_ns);
        std::mem::replace(self, rest)
    }

    /// Separates these figures from those before or after them: no differences across the cuts. These are not
    /// adjacent in the trace.
    pub fn break_sequence(&mut self) {
        (self.previous_start_ns, self.previous_error_ns) = (None, None);
        (self.first_start_ns, self.first_error_ns) = (None, None);
    }

    /// Adds the part of the same task's trace that comes right after this one, with the differences across the cut.
    pub fn append(&mut self, next: &TimingStats) {
        if next.executed() == 0 {
            self.add_missed(next.missed);
            self.missed_ages.merge(&next.missed_ages);
            return;
        }
        let (executed, before_ns) = (self.executed(), self.previous_error_ns);
        let (first_start_ns, first_error_ns) = (self.first_start_ns, self.first_error_ns);
        let across_ns = self
            .previous_start_ns
            .zip(next.first_start_ns)
            .map(|(last, first)| first.wrapping_sub(last).wrapping_sub(self.period_ns));
        self.merge(next);
        if let Some(across_ns) = across_ns {
            self.period_error.record(across_ns);
            for error_ns in [before_ns, next.first_error_ns].into_iter().flatten() {
                let cycle_ns = i64::try_from(across_ns.abs_diff(error_ns)).unwrap_or(i64::MAX);
                self.cycle_to_cycle.record(cycle_ns);
            }
        }
        (self.first_start_ns, self.first_error_ns) = match executed {
            0 => (next.first_start_ns, next.first_error_ns),
            1 => (first_start_ns, across_ns),
            _ => (first_start_ns, first_error_ns),
        };
        self.previous_start_ns = next.previous_start_ns;
        self.previous_error_ns = if next.executed() == 1 { across_ns } else { next.previous_error_ns };
    }

    /// Adds the figures of another part of the same task's trace, whichever it is: without differences across the cut.
    pub fn merge(&mut self, other: &TimingStats) {
        self.add_missed(other.missed);
        self.missed_unknown |= other.missed_unknown;
        for (all, more) in self.counted_mut().into_iter().zip(other.counted()) {
            all.merge(more);
        }
        self.break_sequence();
    }

    /// The distributions of [`Quantity::COUNTED`].
    pub fn counted(&self) -> [&Distribution; Quantity::COUNTED.len()] {
        [&self.latency, &self.missed_ages, &self.period_error, &self.cycle_to_cycle, &self.execution]
    }

    /// The distributions of [`Quantity::COUNTED`].
    pub fn counted_mut(&mut self) -> [&mut Distribution; Quantity::COUNTED.len()] {
        [
            &mut self.latency,
            &mut self.missed_ages,
            &mut self.period_error,
            &mut self.cycle_to_cycle,
            &mut self.execution,
        ]
    }

    /// Returns the distribution of a quantity, empty if the source does not state it.
    pub fn distribution(&self, quantity: Quantity) -> Cow<'_, Distribution> {
        match Quantity::COUNTED.iter().position(|counted| *counted == quantity) {
            Some(place) => Cow::Borrowed(self.counted()[place]),
            None => Cow::Owned(self.corrected_latency().unwrap_or_default()),
        }
    }

    /// One value per due time: latencies of those served, ages of those missed; `None` if these are unknown.
    pub fn corrected_latency(&self) -> Option<Distribution> {
        self.missed().exactly()?;
        let mut all = self.latency.clone();
        all.merge(&self.missed_ages);
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_at_once_is_the_same_as_one_by_one(
            steps in prop::collection::vec((-300i64..5_000, 0i64..400, 0u32..40, 0u32..200), 0..1_500),
            cut in 0usize..1_500,
        ) {
            let mut due_ns = 0;
            let trace: Vec<Activation> = steps.iter().enumerate().map(|(k, &(late, work, missed, rare))| {
                let late = if rare == 1 { late * 100_000_000 } else { late };
                let missed = if rare == 2 { missed } else { 0 };
                let flags = if rare == 3 { Flags::AFTER_GAP } else { Flags::default() };
                due_ns += 1_000 * (1 + i64::from(missed));
                let start_ns = due_ns + late;
                Activation { index: k as u64, due_ns, start_ns, end_ns: start_ns + work, missed, cpu: 0, flags }
            }).collect();
            let (mut one_by_one, mut at_once) = (TimingStats::new(1_000), TimingStats::new(1_000));
            trace.iter().for_each(|a| one_by_one.push(a));
            let cut = cut.min(trace.len());
            at_once.push_all(&trace[..cut]);
            at_once.push_all(&trace[cut..]);
            prop_assert_eq!(&one_by_one, &at_once);
            let mut joined = TimingStats::new(1_000);
            for part in [&trace[..cut / 2], &trace[cut / 2..cut], &trace[cut..]] {
                let mut stats = TimingStats::new(1_000);
                stats.push_all(part);
                joined.append(&stats);
            }
            prop_assert_eq!(joined, one_by_one);
        }
    }

    fn at(index: u64, start_ns: i64, missed: u32) -> Activation {
        let due_ns = index as i64 * 1_000;
        Activation { index, due_ns, start_ns, end_ns: start_ns + 10, missed, ..Activation::default() }
    }

    #[test]
    fn one_late_wake_up_gives_two_period_errors() {
        let mut s = TimingStats::new(1_000);
        for a in [at(0, 5, 0), at(1, 1_105, 0), at(2, 2_005, 0), at(3, 3_005, 0)] {
            s.push(&a);
        }
        assert_eq!((s.period_error.min_ns(), s.period_error.max_ns()), (Some(-100), Some(100)));
        assert_eq!((s.cycle_to_cycle.count(), s.cycle_to_cycle.max_ns()), (2, Some(200)));
        assert_eq!(s.latency.max_ns(), Some(105));
    }

    #[test]
    fn a_stall_counts_once_raw_and_once_per_due_time_corrected() {
        let mut s = TimingStats::new(1_000);
        s.push(&at(0, 5_300, 5));
        assert_eq!((s.latency.count(), s.missed()), (1, Known::Exactly(5)));
        let corrected = s.corrected_latency().unwrap();
        assert_eq!((corrected.count(), corrected.min_ns(), corrected.max_ns()), (6, Some(300), Some(5_300)));
    }

    #[test]
    fn figures_taken_in_turn_lose_no_difference() {
        let rows = [at(0, 5, 0), at(1, 1_105, 0), at(2, 2_005, 0), at(3, 3_005, 0), at(4, 4_050, 0)];
        let (mut whole, mut running) = (TimingStats::new(1_000), TimingStats::new(1_000));
        let mut merged = TimingStats::new(1_000);
        for a in &rows {
            whole.push(a);
            running.push(a);
            merged.merge(&running.take());
        }
        assert_eq!((merged.latency, merged.execution), (whole.latency, whole.execution));
        assert_eq!((merged.period_error, merged.cycle_to_cycle), (whole.period_error, whole.cycle_to_cycle));
    }

    #[test]
    fn no_difference_is_taken_across_lost_records() {
        let mut s = TimingStats::new(1_000);
        s.push(&at(0, 0, 0));
        s.push(&Activation { flags: Flags::AFTER_GAP, ..at(9, 9_000, 0) });
        assert_eq!(s.period_error.count(), 0);
    }
}
