//! The steps of a loop: jobs in time and late ones, as they are given or as a run has them.

use nalgebra::DMatrix;
use serde::Serialize;

use super::bounds::{Growth, Guarantee, SHRINKS, StoppingRule, Word, growth, growth_by_norms, likely_word};
use super::graph::{Graph, Step};
use super::norms::growth_bound;
use crate::servo::markov_chain::balanced_scale;
use crate::servo::misses::AtMost;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedJobs {
    /// The given or recorded ones, which end as they did.
    AsSeen,
    /// Any that is killed when its task is due again.
    Killed,
    /// Any job that ends late, at this number of places of each period, both edges among them.
    EndingAt { places: u32 },
    /// None: the effect of a missed job depends on the jobs before it or on other tasks.
    None,
}

/// Stability of a loop under a weakly hard requirement, proved for any sequence of its given or recorded
/// jobs. Execution times between theirs are not covered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderMisses {
    #[serde(flatten)]
    pub at_most: AtMost,
    pub missed: MissedJobs,
    pub guarantee: Guarantee,
    /// A sequence of the loop's jobs grows like this in each period.
    pub lower: f64,
    /// None grows faster; `None` where the requirement allows too many sequences to be gone through.
    pub upper: Option<f64>,
    /// The sequence that grows most, period by period: whether it is missed.
    pub word: Vec<bool>,
}

impl UnderMisses {
    /// Nothing is proved of missed jobs of this kind.
    pub(in crate::servo) fn undecided(at_most: AtMost, missed: MissedJobs) -> UnderMisses {
        let guarantee = Guarantee::Undecided;
        UnderMisses { at_most, missed, guarantee, lower: 0.0, upper: None, word: Vec::new() }
    }
}

/// Jobs in time that represent all others in the search for norms; the bound is then of all.
const SHOWN: usize = 6;

/// All steps of a loop, with those that represent the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    all: Vec<Step>,
    shown: Vec<usize>,
}

impl Steps {
    /// Makes steps from their effect on the state and their missed periods.
    pub fn new(mut all: Vec<Step>) -> Steps {
        // Volts, radians and millimetres differ by many powers of ten.
        let scale = balanced_scale(all.iter().map(|step| &step.map));
        for step in &mut all {
            step.map =
                DMatrix::from_fn(scale.len(), scale.len(), |i, j| step.map[(i, j)] * scale[j] / scale[i]);
        }
        let mut shown: Vec<usize> = Vec::new();
        let mut words: Vec<&[bool]> = all.iter().map(|step| step.missed.as_slice()).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            let of_word: Vec<usize> = (0..all.len()).filter(|i| all[*i].missed == word).collect();
            shown.extend(far_apart(&all, &of_word));
        }
        Steps { all, shown }
    }

    pub fn misses(&self) -> bool {
        self.all.iter().any(|step| step.missed.contains(&true))
    }

    pub fn under(&self, at_most: AtMost, aim: StoppingRule) -> UnderMisses {
        self.under_missed(at_most, aim, MissedJobs::AsSeen)
    }

    /// Proves stability for all sequences with missed jobs of this kind that keep the requirement.
    pub(in crate::servo) fn under_missed(
        &self,
        at_most: AtMost,
        aim: StoppingRule,
        missed: MissedJobs,
    ) -> UnderMisses {
        // Shrinking with as many misses in fewer periods implies it, and has fewer memories to go through.
        let quick = (aim == StoppingRule::Decide)
            .then(|| shorter(at_most).find_map(|shorter| self.shrinking(shorter)));
        if let Some(upper) = quick.flatten() {
            let none = self.shown(AtMost { misses: 0, of: 1 });
            let lower = none.map_or(0.0, |graph| likely_word(&graph).growth);
            let word = if lower > 0.0 { vec![false] } else { Vec::new() };
            let guarantee = Guarantee::Stable;
            return UnderMisses { at_most, missed, guarantee, lower, upper: Some(upper), word };
        }
        let Some(graph) = self.shown(at_most) else {
            return UnderMisses::undecided(at_most, missed);
        };
        let (known, upper) = self.bounds(at_most, &graph, aim);
        let guarantee = Guarantee::new(known.growth, upper);
        let periods = |arc: &usize| graph.steps[graph.arcs[*arc].step].missed.clone();
        let word = known.arcs.iter().flat_map(periods).collect();
        UnderMisses { at_most, missed, guarantee, lower: known.growth, upper, word }
    }

    /// Upper bound of the growth, if it proves that all sequences shrink.
    fn shrinking(&self, at_most: AtMost) -> Option<f64> {
        let (_, upper) = self.bounds(at_most, &self.shown(at_most)?, StoppingRule::Decide);
        upper.filter(|upper| *upper < SHRINKS)
    }

    fn shown(&self, at_most: AtMost) -> Option<Graph> {
        Graph::new(at_most, self.shown.iter().map(|i| self.all[*i].clone()).collect())
    }

    /// The closed walk that grows most of those found, and an upper bound for every sequence of the steps.
    fn bounds(&self, at_most: AtMost, graph: &Graph, aim: StoppingRule) -> (Word, Option<f64>) {
        let whole = graph.steps.len() == self.all.len();
        let found = if whole { growth(graph, aim) } else { growth_by_norms(graph, aim) };
        let upper = if whole {
            found.certificate.holds(graph).then_some(found.upper)
        } else {
            self.bound_of_all(at_most, &found)
        };
        (Word { growth: found.lower, arcs: found.word }, upper)
    }

    /// The norms that were found for some steps, tried on all of them.
    fn bound_of_all(&self, at_most: AtMost, found: &Growth) -> Option<f64> {
        let graph = Graph::new(at_most, self.all.clone())?;
        let factors = &found.certificate.factors;
        (graph.nodes == factors.len()).then(|| growth_bound(&graph, factors))
    }
}

/// Windows with as many misses, shorter by half or more.
fn shorter(at_most: AtMost) -> impl Iterator<Item = AtMost> {
    let AtMost { misses, of } = at_most;
    let longer = move |window: &u32| Some(window + window.div_ceil(2));
    std::iter::successors(Some(misses + 1), longer)
        .take_while(move |window| *window <= of / 2)
        .map(move |of| AtMost { misses, of })
}

/// Of these steps some that lie as far from each other as can be.
fn far_apart(all: &[Step], of: &[usize]) -> Vec<usize> {
    let mut chosen: Vec<usize> = of.first().copied().into_iter().collect();
    let mut distances: Vec<f64> = of.iter().map(|i| (&all[*i].map - &all[of[0]].map).norm()).collect();
    while chosen.len() < SHOWN.min(of.len()) {
        let Some((place, farthest)) = distances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) else {
            break;
        };
        if *farthest < 1e-12 * all[of[0]].map.norm() {
            break;
        }
        let next = of[place];
        chosen.push(next);
        distances.iter_mut().zip(of).for_each(|(d, i)| *d = d.min((&all[*i].map - &all[next].map).norm()));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn that shrinks where the output comes, and grows where it does not.
    fn turning(miss: f64) -> Steps {
        let turn = |angle: f64, size: f64| {
            let (s, c) = angle.sin_cos();
            DMatrix::from_row_slice(2, 2, &[c, -2.0 * s, 0.5 * s, c]) * size
        };
        let step = |angle, size, missed| Step { map: turn(angle, size), missed: vec![missed] };
        Steps::new(vec![step(0.3, 0.9, false), step(1.1, miss, true)])
    }

    #[test]
    fn what_shrinks_in_short_windows_shrinks_in_long_ones() {
        // Of any 60 periods: too many memories to go through, but 3 misses of 8 are few enough.
        for of in [20, 60] {
            let found = turning(1.02).under(AtMost { misses: 3, of }, StoppingRule::Decide);
            assert_eq!(found.guarantee, Guarantee::Stable, "{of}: {found:?}");
            let upper = found.upper.unwrap();
            assert!(found.lower >= 0.9 - 1e-9 && found.lower <= upper && upper < 1.0, "{found:?}");
        }
    }

    #[test]
    fn a_sequence_that_grows_is_shown_and_is_allowed() {
        let at_most = AtMost { misses: 3, of: 10 };
        let found = turning(1.6).under(at_most, StoppingRule::Decide);
        assert_eq!(found.guarantee, Guarantee::Unstable, "{found:?}");
        assert!(
            found.lower > 1.0 && found.upper.is_some_and(|upper| upper >= found.lower - 1e-9),
            "{found:?}"
        );
        let again: Vec<bool> = found.word.iter().copied().cycle().take(found.word.len() * 10).collect();
        assert!(again.windows(10).all(|window| window.iter().filter(|missed| **missed).count() <= 3));
    }
}
