//! The steps of a loop: jobs in time and late ones, as they are given or as a run has them.

use nalgebra::DMatrix;
use serde::Serialize;

use super::graph::{Step, StepGraph};
use super::guarantee::{
    GrowingWalk, GrowthBounds, Guarantee, SHRINKS, StoppingRule, growth_bounds, growth_bounds_by_norms,
    likely_growing_walk,
};
use super::norms::growth_bound;
use super::requirement::WeaklyHard;
use crate::servo::markov_chain::balancing_scale;

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
pub struct StabilityUnderMisses {
    #[serde(flatten)]
    pub at_most: WeaklyHard,
    pub missed: MissedJobs,
    pub guarantee: Guarantee,
    /// A sequence of the loop's jobs grows like this in each period.
    pub lower: f64,
    /// None grows faster; `None` where the requirement allows too many sequences to be gone through.
    pub upper: Option<f64>,
    /// The sequence that grows most, period by period: whether it is missed.
    pub word: Vec<bool>,
}

impl StabilityUnderMisses {
    /// Nothing is proved of missed jobs of this kind.
    pub(in crate::servo) fn undecided(at_most: WeaklyHard, missed: MissedJobs) -> StabilityUnderMisses {
        let guarantee = Guarantee::Undecided;
        StabilityUnderMisses { at_most, missed, guarantee, lower: 0.0, upper: None, word: Vec::new() }
    }
}

/// Jobs in time that represent all others in the search for norms; the bound is then of all.
const SHOWN: usize = 6;

/// All steps of a loop, with those that represent the others.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSet {
    all: Vec<Step>,
    shown: Vec<usize>,
}

impl StepSet {
    /// Balances the steps' coordinates, and chooses steps that represent all.
    pub fn new(mut all: Vec<Step>) -> StepSet {
        // Volts, radians and millimetres differ by many powers of ten.
        let scale = balancing_scale(all.iter().map(|step| &step.map));
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
            shown.extend(farthest_steps(&all, &of_word));
        }
        StepSet { all, shown }
    }

    pub fn has_missed_steps(&self) -> bool {
        self.all.iter().any(|step| step.missed.contains(&true))
    }

    pub fn stability(&self, at_most: WeaklyHard, aim: StoppingRule) -> StabilityUnderMisses {
        self.stability_with_missed_jobs(at_most, aim, MissedJobs::AsSeen)
    }

    /// Proves stability for all sequences with missed jobs of this kind that keep the requirement.
    pub(in crate::servo) fn stability_with_missed_jobs(
        &self,
        at_most: WeaklyHard,
        aim: StoppingRule,
        missed: MissedJobs,
    ) -> StabilityUnderMisses {
        // Shrinking with as many misses in fewer periods implies it, and has fewer memories to go through.
        let quick = (aim == StoppingRule::Decide)
            .then(|| shorter_windows(at_most).find_map(|shorter| self.proven_growth_bound(shorter)));
        if let Some(upper) = quick.flatten() {
            let none = self.graph_of_representatives(WeaklyHard { misses: 0, of: 1 });
            let lower = none.map_or(0.0, |graph| likely_growing_walk(&graph).growth);
            let word = if lower > 0.0 { vec![false] } else { Vec::new() };
            let guarantee = Guarantee::Stable;
            return StabilityUnderMisses { at_most, missed, guarantee, lower, upper: Some(upper), word };
        }
        let Some(graph) = self.graph_of_representatives(at_most) else {
            return StabilityUnderMisses::undecided(at_most, missed);
        };
        let (known, upper) = self.growth_bounds(at_most, &graph, aim);
        let guarantee = Guarantee::new(known.growth, upper);
        let periods = |arc: &usize| graph.steps[graph.arcs[*arc].step].missed.clone();
        let word = known.arcs.iter().flat_map(periods).collect();
        StabilityUnderMisses { at_most, missed, guarantee, lower: known.growth, upper, word }
    }

    /// Upper bound of the growth, if it proves that all sequences shrink.
    fn proven_growth_bound(&self, at_most: WeaklyHard) -> Option<f64> {
        let (_, upper) =
            self.growth_bounds(at_most, &self.graph_of_representatives(at_most)?, StoppingRule::Decide);
        upper.filter(|upper| *upper < SHRINKS)
    }

    fn graph_of_representatives(&self, at_most: WeaklyHard) -> Option<StepGraph> {
        StepGraph::new(at_most, self.shown.iter().map(|i| self.all[*i].clone()).collect())
    }

    /// The closed walk that grows most of those found, and an upper bound for every sequence of the steps.
    fn growth_bounds(
        &self,
        at_most: WeaklyHard,
        graph: &StepGraph,
        aim: StoppingRule,
    ) -> (GrowingWalk, Option<f64>) {
        let whole = graph.steps.len() == self.all.len();
        let found = if whole { growth_bounds(graph, aim) } else { growth_bounds_by_norms(graph, aim) };
        let upper = if whole {
            found.certificate.holds(graph).then_some(found.upper)
        } else {
            self.bound_of_all_steps(at_most, &found)
        };
        (GrowingWalk { growth: found.lower, arcs: found.word }, upper)
    }

    /// Bound of the growth under all steps, by the norms that were found for some; `None` if they do not fit.
    fn bound_of_all_steps(&self, at_most: WeaklyHard, found: &GrowthBounds) -> Option<f64> {
        let graph = StepGraph::new(at_most, self.all.clone())?;
        let factors = &found.certificate.factors;
        (graph.nodes == factors.len()).then(|| growth_bound(&graph, factors))
    }
}

/// Windows with as many misses, shorter by half or more.
fn shorter_windows(at_most: WeaklyHard) -> impl Iterator<Item = WeaklyHard> {
    let WeaklyHard { misses, of } = at_most;
    let longer = move |window: &u32| Some(window + window.div_ceil(2));
    std::iter::successors(Some(misses + 1), longer)
        .take_while(move |window| *window <= of / 2)
        .map(move |of| WeaklyHard { misses, of })
}

/// Numbers of some of these steps, as far from each other as can be.
fn farthest_steps(all: &[Step], of: &[usize]) -> Vec<usize> {
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
    fn turning(miss: f64) -> StepSet {
        let turn = |angle: f64, size: f64| {
            let (s, c) = angle.sin_cos();
            DMatrix::from_row_slice(2, 2, &[c, -2.0 * s, 0.5 * s, c]) * size
        };
        let step = |angle, size, missed| Step { map: turn(angle, size), missed: vec![missed] };
        StepSet::new(vec![step(0.3, 0.9, false), step(1.1, miss, true)])
    }

    #[test]
    fn what_shrinks_in_short_windows_shrinks_in_long_ones() {
        // Of any 60 periods: too many memories to go through, but 3 misses of 8 are few enough.
        for of in [20, 60] {
            let found = turning(1.02).stability(WeaklyHard { misses: 3, of }, StoppingRule::Decide);
            assert_eq!(found.guarantee, Guarantee::Stable, "{of}: {found:?}");
            let upper = found.upper.unwrap();
            assert!(found.lower >= 0.9 - 1e-9 && found.lower <= upper && upper < 1.0, "{found:?}");
        }
    }

    #[test]
    fn a_sequence_that_grows_is_shown_and_is_allowed() {
        let at_most = WeaklyHard { misses: 3, of: 10 };
        let found = turning(1.6).stability(at_most, StoppingRule::Decide);
        assert_eq!(found.guarantee, Guarantee::Unstable, "{found:?}");
        assert!(
            found.lower > 1.0 && found.upper.is_some_and(|upper| upper >= found.lower - 1e-9),
            "{found:?}"
        );
        let again: Vec<bool> = found.word.iter().copied().cycle().take(found.word.len() * 10).collect();
        assert!(again.windows(10).all(|window| window.iter().filter(|missed| **missed).count() <= 3));
    }
}
