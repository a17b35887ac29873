//! Breaches of a requirement over time: counts in equal parts of a run, mergeable, in bounded memory.

use std::collections::BTreeMap;

use jitterlab_model::{Activation, Flags, Gap, TaskRun};

use super::{Evidence, Required, Requirement};
use crate::long_memory;
use crate::predict::TAIL_SIZE;
use crate::scan::{Peaks, SPANS, Spans};

/// Most parts of a run; a long one has at least half as many.
const PARTS: u64 = 2_048;

/// Breaches of a requirement, and their distribution over the run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breaches {
    /// Number of values, and number of breaches.
    pub evidence: Evidence,
    /// The parts with possible breaches, each 2^`shift` due times long: number of possible ones, and of certain ones.
    parts: BTreeMap<u64, [u64; 2]>,
    shift: u32,
    /// The first and the last due time; `None` if the order of values is unknown.
    due_time_range: Option<(u64, u64)>,
    /// Data that the run's source lacks for a decision, if any.
    pub gap: Option<Gap>,
    /// True if the values have long memory or heavy-tailed regimes ([`crate::long_memory`]): parts of the run
    /// then show less than they seem to.
    pub has_long_memory: bool,
}

impl Breaches {
    /// Creates breaches from their number alone.
    pub fn from_totals(evidence: Evidence) -> Self {
        Breaches { evidence, ..Self::default() }
    }

    /// Creates the result for a source that lacks the data.
    pub fn from_gap(gap: Gap) -> Self {
        Breaches { gap: Some(gap), ..Self::default() }
    }

    /// Adds the evidence of a stretch of this many due times, from a position on the grid on.
    pub fn push(&mut self, index: u64, due_times: u64, evidence: &Evidence) {
        self.evidence.merge(evidence);
        self.extend_range(index, index.saturating_add(due_times.max(1) - 1));
        if evidence.may_have_broken > 0 {
            let part = self.parts.entry(index >> self.shift).or_default();
            part[0] += evidence.may_have_broken;
            part[1] += evidence.broke;
        }
    }

    fn extend_range(&mut self, first: u64, last: u64) {
        let (a, b) = self.due_time_range.map_or((first, last), |(a, b)| (a.min(first), b.max(last)));
        self.due_time_range = Some((a, b));
        while (b >> self.shift) - (a >> self.shift) >= PARTS {
            self.lengthen_parts_to(self.shift + 1);
        }
    }

    fn lengthen_parts_to(&mut self, shift: u32) {
        let by = shift - self.shift;
        if by > 0 {
            let shorter = std::mem::take(&mut self.parts);
            for (number, counts) in shorter {
                let part = self.parts.entry(number >> by).or_default();
                (part[0], part[1]) = (part[0] + counts[0], part[1] + counts[1]);
            }
            self.shift = shift;
        }
    }

    /// Adds the breaches of another part of the run.
    pub fn merge(&mut self, other: &Breaches) {
        self.evidence.merge(&other.evidence);
        let Some((first, last)) = other.due_time_range else { return };
        let mut other = other.clone();
        let shift = self.shift.max(other.shift);
        self.lengthen_parts_to(shift);
        other.lengthen_parts_to(shift);
        for (number, counts) in &other.parts {
            let part = self.parts.entry(*number).or_default();
            (part[0], part[1]) = (part[0] + counts[0], part[1] + counts[1]);
        }
        self.extend_range(first, last);
    }

    /// Adds breaches that only the task's own counters have, as of the end of the run.
    #[must_use]
    pub fn with_counters(mut self, task: &TaskRun, requirement: &Requirement) -> Self {
        let known = self.evidence.with_counters(task, requirement);
        let more = Evidence {
            values: known.values - self.evidence.values,
            broke: known.broke - self.evidence.broke,
            may_have_broken: known.may_have_broken - self.evidence.may_have_broken,
        };
        match self.due_time_range {
            Some((_, last)) if more.values > 0 => self.push(last, 1, &more),
            _ => self.evidence = known,
        }
        self
    }

    /// Returns possible and certain breaches in each equal part of the run; `None` if the order is unknown.
    pub(super) fn counts_by_part(&self) -> Option<[Vec<u64>; 2]> {
        let (first, last) = self.due_time_range?;
        let numbers = first >> self.shift..=last >> self.shift;
        let of = |which: usize| {
            let count = |number: u64| self.parts.get(&number).map_or(0, |counts| counts[which]);
            numbers.clone().map(count).collect()
        };
        Some([of(0), of(1)])
    }
}

/// Counts the breaches of a requirement exactly, activation by activation. Parts of a run may be counted
/// separately and merged in order of time.
#[derive(Debug, Clone)]
pub struct BreachCounter<'a> {
    requirement: &'a Requirement,
    period_ns: i64,
    first_start_ns: Option<(u64, i64)>,
    last_start_ns: Option<i64>,
    breaches: Breaches,
    /// The values over time, and the largest.
    spans: Spans,
    peaks: Peaks,
    activations: u64,
}

impl<'a> BreachCounter<'a> {
    /// Creates an empty counter for a task of this period.
    pub fn new(requirement: &'a Requirement, period_ns: i64) -> Self {
        BreachCounter {
            requirement,
            period_ns,
            first_start_ns: None,
            last_start_ns: None,
            breaches: Breaches::default(),
            spans: Spans::new(SPANS),
            peaks: Peaks::new(TAIL_SIZE),
            activations: 0,
        }
    }

    /// Counts the next activation.
    pub fn push(&mut self, a: &Activation) {
        let mut found = Evidence::default();
        let mut see = |value_ns: i64| found.merge(&self.requirement.evidence_of(value_ns));
        match self.requirement.subject {
            Required::Latency => {
                see(a.latency_ns());
                if a.missed > 0 {
                    let ages = a.missed_ages(self.period_ns);
                    ages.iter().for_each(|ages| found.merge(&self.requirement.evidence_of_ages(ages)));
                }
            }
            Required::Execution => see(a.execution_ns()),
            Required::Response => see(a.response_ns()),
            Required::Missed => {
                let missed = u64::from(a.missed);
                found = Evidence { values: 1 + missed, broke: missed, may_have_broken: missed };
            }
            Required::PeriodError => {
                let gap = a.flags.contains(Flags::AFTER_GAP);
                if let Some(last_ns) = self.last_start_ns.filter(|_| !gap) {
                    see(self.period_error_ns(last_ns, a.start_ns));
                } else if self.last_start_ns.is_none() && !gap {
                    self.first_start_ns = Some((a.index, a.start_ns));
                }
                self.last_start_ns = Some(a.start_ns);
            }
        }
        self.breaches.push(a.index, 1 + u64::from(a.missed), &found);
        let value_ns = match self.requirement.subject {
            Required::Execution => a.execution_ns(),
            Required::Response => a.response_ns(),
            Required::Latency | Required::PeriodError | Required::Missed => a.latency_ns(),
        };
        self.spans.push(a.index, value_ns, a.missed);
        self.peaks.push(a.index, value_ns);
        self.activations += 1;
    }

    fn period_error_ns(&self, last_ns: i64, start_ns: i64) -> i64 {
        start_ns.wrapping_sub(last_ns).wrapping_sub(self.period_ns).saturating_abs()
    }

    /// Adds the counts of the next part of the run.
    pub fn merge(&mut self, next: &Self) {
        if let (Some(last_ns), Some((index, start_ns))) = (self.last_start_ns, next.first_start_ns) {
            let across = self.requirement.evidence_of(self.period_error_ns(last_ns, start_ns));
            self.breaches.push(index, 1, &across);
        }
        self.first_start_ns =
            if self.last_start_ns.is_some() { self.first_start_ns } else { next.first_start_ns };
        self.last_start_ns = next.last_start_ns.or(self.last_start_ns);
        self.breaches.merge(&next.breaches);
        self.spans.merge(&next.spans);
        self.peaks.merge(&next.peaks);
        self.activations += next.activations;
    }

    /// Returns the counted breaches, with whether their values have long memory.
    pub fn breaches(self) -> Breaches {
        let has_long_memory = long_memory::has_long_memory(&self.spans, &self.peaks, self.activations);
        Breaches { has_long_memory, ..self.breaches }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_split_counts_the_same(
            steps in prop::collection::vec((0u32..3, 0i64..3_000, 0u32..40), 1..400), cut in 0usize..400, figure in 0usize..5
        ) {
            let text = ["p99 < 1us", "missed < 1%", "period-error p99 < 1us", "execution p99 < 1us", "response p99 < 1us"];
            let requirement: Requirement = text[figure].parse().unwrap();
            let mut index = 0;
            let rows: Vec<Activation> = steps.iter().map(|&(missed, late, gap)| {
                let due_ns = index as i64 * 1_000;
                let flags = if gap == 0 { Flags::AFTER_GAP } else { Flags::default() };
                let a = Activation { index, due_ns, start_ns: due_ns + late, end_ns: due_ns + 2 * late, missed, flags, ..Activation::default() };
                index += 1 + u64::from(missed);
                a
            }).collect();
            let count = |rows: &[Activation]| {
                let mut counter = BreachCounter::new(&requirement, 1_000);
                rows.iter().for_each(|a| counter.push(a));
                counter
            };
            let cut = cut.min(rows.len());
            let mut merged = count(&rows[..cut]);
            merged.merge(&count(&rows[cut..]));
            prop_assert_eq!(merged.breaches(), count(&rows).breaches());
        }
    }

    #[test]
    fn memory_is_bounded_and_no_breach_is_lost() {
        let mut breaches = Breaches::default();
        let one = Evidence { values: 1_000, broke: 1, may_have_broken: 2 };
        (0..1_000_000).for_each(|k| breaches.push(k * 1_000, 1_000, &one));
        let [may, certain] = breaches.counts_by_part().unwrap();
        assert!((1_000..=2_048).contains(&may.len()), "{}", may.len());
        assert_eq!((may.iter().sum::<u64>(), certain.iter().sum::<u64>()), (2_000_000, 1_000_000));
        assert_eq!(Breaches::from_totals(one).counts_by_part(), None);
    }
}
