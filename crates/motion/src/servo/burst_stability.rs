//! Stability of cycles that follow each other with memory.
//!
//! Late cycles come in bursts, and the mean map of single cycles calls loops stable that a burst drives away.
//! The radius is therefore that of a chain whose states are the classes of the last k cycles. k grows until
//! the radius stays, and at least to the length of the longest growing row of cycles that was seen to repeat
//! at once. A longer row w that repeats with probability q makes the second moment diverge if
//! q rho(F_w)^2 >= 1 (the sum of q^k rho^2k). If that cannot be excluded, the result is "cannot tell".

use std::collections::HashMap;

use nalgebra::DMatrix;
use serde::Serialize;

use super::krylov;
use super::markov_chain::{Edge, MarkovChain, Stationary, StretchDistribution};

/// Mean-square stability of a loop, with the memory that its cycles show.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Stability {
    /// The radius stays below one with more memory.
    Stable,
    /// It is one or more.
    Unstable,
    /// A growing row of cycles may repeat for longer than the run can show.
    CannotTell {
        /// Cycles of that row.
        cycles: usize,
        /// Number of times it came.
        came: u64,
        /// Number of times it was repeated at once.
        again: u64,
    },
}

/// Counts of the sequences of cycle classes in a run; the first cycles follow the last, so that each has a next one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClassSequences {
    longest: usize,
    counts: HashMap<u128, u64>,
    /// The latest classes, eight bits each.
    latest: u128,
    first: Vec<u8>,
    passed: u64,
    /// Repetitions of the latest row that are not counted yet.
    again: u64,
}

const LONGEST: usize = 16;
/// Most different rows that are counted; of more, shorter ones.
const MOST_ROWS: usize = 1 << 14;
const MOST_STATES: usize = 256;
/// Rows of each length that are looked at because they came again at once.
const MOST_REPEATED: usize = 32;
/// The radius stays where its logarithm changes by less than this share.
const STAYS: f64 = 0.02;
/// 97.5 % point of the normal distribution.
const NORMAL: f64 = 1.959_964;

impl ClassSequences {
    pub fn new() -> ClassSequences {
        ClassSequences {
            longest: LONGEST,
            counts: HashMap::new(),
            latest: 0,
            first: Vec::new(),
            passed: 0,
            again: 0,
        }
    }

    pub fn add_class(&mut self, class: u8) {
        let next = (self.latest << 8 | u128::from(class)) & length_mask(self.longest);
        self.passed += 1;
        if self.first.len() < LONGEST {
            self.first.push(class);
        }
        if next == self.latest && self.again > 0 {
            self.again += 1;
            return;
        }
        self.flush_repetitions();
        self.latest = next & length_mask(self.longest);
        self.again = u64::from(self.passed >= self.longest as u64);
    }

    /// Counts the repetitions so far, and shortens all sequences while there are too many.
    fn flush_repetitions(&mut self) {
        if self.again > 0 {
            *self.counts.entry(self.latest).or_default() += std::mem::take(&mut self.again);
        }
        while self.counts.len() > MOST_ROWS && self.longest > 2 {
            self.longest -= 1;
            self.counts = without_last_classes(&self.counts, 1);
            self.latest &= length_mask(self.longest);
        }
    }

    /// Counts as if the first cycles came again after the last.
    fn wrapped_around(&self) -> ClassSequences {
        let mut all = self.clone();
        let again = self.first.iter().cycle().take(if self.first.is_empty() { 0 } else { self.longest - 1 });
        again.for_each(|class| all.add_class(*class));
        all.flush_repetitions();
        all
    }

    /// Number of occurrences of each sequence of this length, in the order of the sequences.
    fn counts_of_length(&self, length: usize) -> Vec<(u128, u64)> {
        let mut rows: Vec<(u128, u64)> =
            without_last_classes(&self.counts, self.longest - length).into_iter().collect();
        rows.sort_unstable();
        rows
    }

    /// The chain whose states are the last `memory` cycles; `None` if it has too many states.
    fn markov_chain(
        &self,
        memory: usize,
        classes: &[StretchDistribution],
        period_ns: i64,
    ) -> Option<MarkovChain> {
        if memory == 0 {
            let all =
                classes.iter().skip(1).fold(classes.first()?.clone(), |all, class| all.merged_with(class));
            return Some(MarkovChain::independent(&all, period_ns));
        }
        let states = self.counts_of_length(memory);
        if states.len() > MOST_STATES {
            return None;
        }
        let number = |row: u128| states.binary_search_by_key(&row, |state| state.0).ok();
        let edge = |(row, count): (u128, u64)| {
            let (from, to) = (number(row >> 8)?, number(row & length_mask(memory))?);
            let factor = count as f64 / states[from].1 as f64;
            Some(Edge { from, to, stretches: usize::from((row >> 8) as u8), factor })
        };
        let edges = self.counts_of_length(memory + 1).into_iter().filter_map(edge).collect();
        Some(MarkovChain::new(
            states.len(),
            classes.iter().map(StretchDistribution::normalised).collect(),
            edges,
            period_ns,
        ))
    }

    /// Sequences that were repeated at once and make a disturbance grow.
    fn growing_sequences(&self, classes: &[StretchDistribution]) -> Vec<GrowingSequence> {
        let maps: Vec<DMatrix<f64>> = classes.iter().map(StretchDistribution::mean_map).collect();
        let mut found = Vec::new();
        for length in 1..=self.longest / 2 {
            let came = self.counts_of_length(length);
            let mut repeated = self.counts_of_length(2 * length);
            repeated.retain(|(row, _)| row >> (8 * length) == row & length_mask(length));
            repeated.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (row, again) in repeated.into_iter().take(MOST_REPEATED) {
                let row = row & length_mask(length);
                let letters = (0..length).rev().map(|place| usize::from((row >> (8 * place)) as u8));
                let map = letters.map(|class| &maps[class]).fold(None, |all: Option<DMatrix<f64>>, map| {
                    Some(all.map_or_else(|| map.clone(), |all| map * all))
                });
                let growth = map.map_or(0.0, |map| krylov::spectral_radius(&map));
                if growth >= 1.0 {
                    let count = came.binary_search_by_key(&row, |c| c.0).map_or(again, |place| came[place].1);
                    found.push(GrowingSequence { length, came: count, again, growth });
                }
            }
        }
        found
    }

    /// Stability of the loop, its spectral radii from a chain with enough memory, and that memory in cycles.
    pub fn stability(
        &self,
        classes: &[StretchDistribution],
        period_ns: i64,
    ) -> (Stability, Stationary, usize) {
        let rows = self.wrapped_around();
        let growing = rows.growing_sequences(classes);
        let may_last = |row: &&GrowingSequence| row.repeat_probability_limit() * row.growth >= 1.0;
        let needed = growing.iter().map(|row| row.length).max().unwrap_or(0);
        let mut found: Option<(Stationary, usize)> = None;
        let mut unstable: Option<(Stationary, usize)> = None;
        let (mut moves, mut stays) = (0.0, false);
        for memory in 0..rows.longest {
            let Some(chain) = rows.markov_chain(memory, classes, period_ns) else { break };
            let now = chain.spectral_radii();
            let log = now.radius_per_period.ln();
            let before = found.replace((now.clone(), memory));
            moves = before.map_or(f64::INFINITY, |(before, _)| log - before.radius_per_period.ln());
            let is_stable = chain.is_stable(&now);
            stays = classes.len() < 2 || memory >= needed && moves.abs() <= STAYS * log.abs() + 1e-9;
            if stays {
                unstable = (!is_stable).then_some((now, memory));
                break;
            }
            if !is_stable
                && unstable.as_ref().is_none_or(|(u, _)| u.radius_per_period < now.radius_per_period)
            {
                unstable = Some((now, memory));
            }
        }
        // If the radius does not settle, the memory with the largest unstable radius decides.
        if let Some((rates, memory)) = unstable {
            return (Stability::Unstable, rates, memory);
        }
        let Some((rates, memory)) = found else {
            return (Stability::Unstable, Stationary::unknown(), 0);
        };
        let stability = if let Some(row) = growing.iter().find(may_last) {
            Stability::CannotTell { cycles: row.length, came: row.came, again: row.again }
        } else if !stays && rates.radius_per_period.ln() + moves >= 0.0 {
            Stability::CannotTell { cycles: memory + 1, came: 0, again: 0 }
        } else {
            Stability::Stable
        };
        (stability, rates, memory)
    }
}

/// A sequence of cycles that was repeated at once and makes a disturbance grow.
struct GrowingSequence {
    length: usize,
    came: u64,
    again: u64,
    /// Spectral radius of its map of the covariance.
    growth: f64,
}

impl GrowingSequence {
    /// Upper confidence limit of the probability that it repeats at once (Wilson 1927).
    fn repeat_probability_limit(&self) -> f64 {
        let (n, square) = (self.came.max(1) as f64, NORMAL * NORMAL);
        let q = (self.again as f64 / n).min(1.0);
        let spread = NORMAL * (q * (1.0 - q) / n + square / (4.0 * n * n)).sqrt();
        (q + square / (2.0 * n) + spread) / (1.0 + square / n)
    }
}

fn length_mask(length: usize) -> u128 {
    if length >= LONGEST { u128::MAX } else { (1 << (8 * length)) - 1 }
}

/// Counts of the sequences without their last `by` classes.
fn without_last_classes(counts: &HashMap<u128, u64>, by: usize) -> HashMap<u128, u64> {
    let mut shorter = HashMap::new();
    for (row, count) in counts {
        *shorter.entry(if by >= LONGEST { 0 } else { row >> (8 * by) }).or_default() += count;
    }
    shorter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::{Execution, GivenTask, Plant, SingleTaskLoop};
    use jitterlab_analysis::random::Random;

    const MS: i64 = 1_000_000;

    /// Cycles of 0.5 h that continue with probability 0.995, and a row of others that repeats with
    /// probability `q`: the stretches of both, and their order.
    fn regimes(
        period_ns: i64,
        action: &str,
        row: &str,
        q: f64,
    ) -> (Vec<StretchDistribution>, ClassSequences) {
        let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
        let question =
            SingleTaskLoop { overrun: action.parse().unwrap(), ..SingleTaskLoop::new(plant, period_ns) };
        let mut closed = question.closed_loop().unwrap();
        let late = if action == "skip" { 2.5 } else { 1.5 };
        let mut of = |share: f64| {
            let time = (share * period_ns as f64).round();
            let task = GivenTask { ..question.task_with_execution(Execution::constant(time)) };
            let passed = if action == "skip" { share.floor() + 1.0 } else { 1.0 };
            StretchDistribution::from_flow(&task.passage(&mut closed, time), passed * period_ns as f64 * 1e-9)
        };
        let once = [of(0.5), of(late)];
        let mut counts = [0.0; 2];
        let (mut rows, mut random, mut is_bad) = (ClassSequences::new(), Random::new(7), false);
        for _ in 0..200_000 {
            if is_bad {
                for letter in row.bytes().map(|letter| u8::from(letter != b'o')) {
                    rows.add_class(letter);
                    counts[usize::from(letter)] += 1.0;
                }
                is_bad = random.uniform() < q;
            } else {
                rows.add_class(0);
                counts[0] += 1.0;
                is_bad = random.uniform() >= 0.995;
            }
        }
        let weighed = |(class, count): (&StretchDistribution, f64)| class.scaled(count);
        (once.iter().zip(counts).map(weighed).collect(), rows)
    }

    /// The radius per period with this memory, in cycles.
    fn spectral_radius(
        rows: &ClassSequences,
        classes: &[StretchDistribution],
        memory: usize,
        period_ns: i64,
    ) -> f64 {
        rows.wrapped_around()
            .markov_chain(memory, classes, period_ns)
            .unwrap()
            .spectral_radii()
            .radius_per_period
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected}");
    }

    /// The radius of single cycles, of a chain of single cycles, and the true one were computed by another program.
    #[test]
    fn bursts_are_seen_where_single_cycles_show_none() {
        for (period_ns, action, row, q, [alone, one, truth]) in [
            (4 * MS, "skip", "L", 0.8, [0.755505, 1.150806, 1.150806]),
            (6 * MS, "skip", "Lo", 0.8, [0.715645, 0.704662, 1.115691]),
            (4 * MS, "kill", "mmo", 0.9, [0.743829, 0.826636, 1.067509]),
            (4 * MS, "skip", "Lo", 0.8, [0.755141, 0.753232, 0.959404]),
        ] {
            let (classes, rows) = regimes(period_ns, action, row, q);
            near(spectral_radius(&rows, &classes, 0, period_ns), alone);
            near(spectral_radius(&rows, &classes, 1, period_ns), one);
            let (stability, rates, memory) = rows.stability(&classes, period_ns);
            near(rates.radius_per_period, truth);
            let expected = if truth < 1.0 { Stability::Stable } else { Stability::Unstable };
            assert!(stability == expected && memory >= row.len().min(2), "{row}: {stability:?} {memory}");
        }
    }

    #[test]
    fn what_came_again_too_seldom_to_tell_is_not_called_stable() {
        let (classes, _) = regimes(4 * MS, "skip", "L", 0.5);
        // Of three long jobs two were followed by another.
        let mut rows = ClassSequences::new();
        (0..20_000).for_each(|k| rows.add_class(u8::from((100..103).contains(&k))));
        let found = rows.stability(&classes, 4 * MS);
        assert_ne!(found.0, Stability::Stable, "{:?}", found.0);
        // A single occurrence shows nothing about others.
        let mut rows = ClassSequences::new();
        (0..20_000).for_each(|k| rows.add_class(u8::from(k == 100)));
        assert_eq!(rows.stability(&classes, 4 * MS).0, Stability::Stable);
    }

    #[test]
    fn rows_of_many_classes_are_counted_as_far_as_they_fit() {
        let (mut rows, mut random) = (ClassSequences::new(), Random::new(1));
        (0..100_000).for_each(|_| rows.add_class((random.uniform() * 5.0) as u8));
        assert!(rows.longest < 9 && rows.counts.len() <= MOST_ROWS);
        let counted: u64 = rows.wrapped_around().counts_of_length(1).iter().map(|row| row.1).sum();
        assert!((99_980..=100_000).contains(&counted), "{counted}");
    }
}
