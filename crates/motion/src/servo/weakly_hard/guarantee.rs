//! Bounds of the growth per period of every allowed sequence (the constrained joint spectral radius), with
//! their proofs.
//!
//! From below: the spectral radius of any closed walk. From above: norms ([`super::norms`]), and where these
//! leave a gap, Gripenberg's branch and bound (1996) with a norm for each node (Philippe, Essick, Dullerud
//! and Jungers 2016): walks are made longer until each has a beginning that shrinks enough.

use std::collections::{BTreeSet, HashSet};

use nalgebra::DMatrix;
use serde::Serialize;

use super::graph::{StepGraph, Transition};
use super::norms::{Factors, growth_bound, largest_singular_value, minimise_growth_bound, norms_by_joins};
use crate::servo::krylov::spectral_radius;

/// Certificate of an upper bound: [`Certificate::holds`] checks it from the steps alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// L_v of each node's norm |L_v z|.
    pub factors: Vec<DMatrix<f64>>,
    /// Walks, each a node and the arcs from it on: every allowed sequence begins with one of them.
    pub leaves: Vec<(usize, Vec<usize>)>,
    /// The growth per period that none of them exceeds.
    pub bound: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GrowthBounds {
    /// A sequence that grows like this exists.
    pub lower: f64,
    pub upper: f64,
    /// The arcs of the closed walk that grows most.
    pub word: Vec<usize>,
    pub certificate: Certificate,
}

/// All sequences die out that grow less than this in each period.
pub(super) const SHRINKS: f64 = 1.0 - 1e-9;
/// A sequence grows that grows more than this: less may be rounding.
pub(super) const GROWS: f64 = 1.0 + 1e-9;

/// Stability under any allowed sequence, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// Every sequence dies out: proved.
    Stable,
    /// A sequence grows: shown.
    Unstable,
    /// A sequence neither grows nor dies out: its growth is one, as near as can be computed.
    DoesNotDecay,
    /// Neither is proved.
    Undecided,
}

impl Guarantee {
    /// Guarantee by bounds of the growth; without an upper bound only growth is shown.
    pub(super) fn new(lower: f64, upper: Option<f64>) -> Guarantee {
        match upper {
            _ if lower > GROWS => Guarantee::Unstable,
            Some(upper) if upper < SHRINKS => Guarantee::Stable,
            _ if lower > SHRINKS => Guarantee::DoesNotDecay,
            _ => Guarantee::Undecided,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StoppingRule {
    /// Stop as soon as it is known if all sequences die out.
    Decide,
    /// Stop when the bounds differ by at most this, and both are on the same side of one.
    Gap(f64),
}

const MOST_WALKS: usize = 60_000;
/// Walks that are looked at where the bound does not come from them: only to raise the lower one.
const FEW_WALKS: usize = 2_000;

#[derive(Clone)]
struct Walk {
    start: usize,
    end: usize,
    arcs: Vec<usize>,
    periods: usize,
    product: DMatrix<f64>,
    /// The least growth of any of its beginnings.
    least: f64,
    last: f64,
}

pub fn growth_bounds(graph: &StepGraph, aim: StoppingRule) -> GrowthBounds {
    growth_bounds_within(graph, aim, MOST_WALKS)
}

/// Growth bounds after few walks, for their norms rather than for tight bounds.
pub(super) fn growth_bounds_by_norms(graph: &StepGraph, aim: StoppingRule) -> GrowthBounds {
    growth_bounds_within(graph, aim, FEW_WALKS)
}

fn growth_bounds_within(graph: &StepGraph, aim: StoppingRule, most_walks: usize) -> GrowthBounds {
    let word = likely_growing_walk(graph);
    // Norms near enough spare all walks.
    let goal = if aim == StoppingRule::Decide { 1.0 - 1e-6 } else { sufficient_growth(aim, word.growth) };
    let joined = norms_by_joins(graph);
    // No norm can prove a bound that is shown to be false.
    let done = growth_bound(graph, &joined) < goal || aim == StoppingRule::Decide && word.growth > SHRINKS;
    let factors = if done { joined } else { minimise_growth_bound(graph, joined, goal) };
    let mut search = BranchAndBound { word, ..BranchAndBound::new(graph, factors, aim, most_walks) };
    let (upper, leaves) = search.branch_and_bound();
    let certificate = Certificate { factors: search.factors, leaves, bound: upper };
    GrowthBounds { lower: search.word.growth, upper, word: search.word.arcs, certificate }
}

/// A closed walk and its growth per period.
#[derive(Debug, Clone, Default)]
pub(super) struct GrowingWalk {
    pub(super) growth: f64,
    pub(super) arcs: Vec<usize>,
}

/// Closed walk that grows much, found by a beam search with the norm in which periods that are not missed shrink.
pub(super) fn likely_growing_walk(graph: &StepGraph) -> GrowingWalk {
    let met = (0..graph.steps.len()).filter(|step| !graph.steps[*step].missed.contains(&true));
    let arcs = met.map(|step| Transition { from: 0, to: 0, step }).collect();
    let norm = norms_by_joins(&StepGraph { nodes: 1, arcs, steps: graph.steps.clone() });
    let factors = norm.iter().cycle().take(graph.nodes).cloned().collect();
    let mut search = BranchAndBound::new(graph, factors, StoppingRule::Decide, 0);
    search.beam_search();
    search.word
}

/// Largest growth per period with which a walk need not be longer, if a closed walk grows by `lower`.
fn sufficient_growth(aim: StoppingRule, lower: f64) -> f64 {
    match aim {
        StoppingRule::Decide if lower <= SHRINKS => (1.0 - 2e-9f64).max(lower + 1e-9),
        StoppingRule::Decide => f64::INFINITY,
        StoppingRule::Gap(gap) if lower < SHRINKS => lower + gap.min(0.5 * (1.0 - lower)),
        StoppingRule::Gap(gap) => lower + gap,
    }
}

struct BranchAndBound<'a> {
    graph: &'a StepGraph,
    factors: Factors,
    inverses: Factors,
    aim: StoppingRule,
    most_walks: usize,
    word: GrowingWalk,
}

impl<'a> BranchAndBound<'a> {
    fn new(
        graph: &'a StepGraph,
        factors: Factors,
        aim: StoppingRule,
        most_walks: usize,
    ) -> BranchAndBound<'a> {
        let inverse = |l: &DMatrix<f64>| l.clone().try_inverse().unwrap_or_else(|| l * f64::NAN);
        let inverses = factors.iter().map(inverse).collect();
        BranchAndBound { graph, factors, inverses, aim, most_walks, word: GrowingWalk::default() }
    }

    fn empty_walk(&self, node: usize) -> Walk {
        let n = self.factors.first().map_or(0, DMatrix::nrows);
        let product = DMatrix::identity(n, n);
        Walk {
            start: node,
            end: node,
            arcs: Vec::new(),
            periods: 0,
            product,
            least: f64::INFINITY,
            last: 1.0,
        }
    }

    /// Walks that go on from this one by one arc each.
    fn extended_walks(&self, walk: &Walk) -> Vec<Walk> {
        let graph = self.graph;
        let mut found = Vec::new();
        for (number, arc) in graph.arcs_from(walk.end) {
            let periods = walk.periods + graph.step_periods(arc.step);
            let product = &graph.steps[arc.step].map * &walk.product;
            let inner = &self.factors[arc.to] * &product * &self.inverses[walk.start];
            let last = largest_singular_value(&inner).powf(1.0 / periods as f64);
            let arcs: Vec<usize> = walk.arcs.iter().copied().chain([number]).collect();
            let least = walk.least.min(last);
            found.push(Walk { start: walk.start, end: arc.to, arcs, periods, product, least, last });
        }
        found
    }

    /// Raises the lower bound to the growth of a closed walk among these, if that is larger.
    fn raise_lower_bound(&mut self, walks: &[Walk]) {
        for walk in walks.iter().filter(|walk| walk.end == walk.start) {
            if walk.last > self.word.growth {
                let growth = spectral_radius(&walk.product).powf(1.0 / walk.periods as f64);
                // The same walk twice does not count as more.
                if growth > self.word.growth * (1.0 + 1e-12) {
                    self.word = GrowingWalk { growth, arcs: walk.arcs.clone() };
                }
            }
        }
    }

    /// Raises the lower bound by a beam search for closed walks that grow much, which spares many others.
    fn beam_search(&mut self) {
        const KEPT: usize = 8;
        let length = (2 * self.graph.nodes + 4).min(40);
        // Every closed walk passes one of these: behind a miss, or where none is remembered and none comes.
        let graph = self.graph;
        let passed = graph
            .arcs
            .iter()
            .filter(|arc| arc.from == arc.to || graph.steps[arc.step].missed.contains(&true));
        let begin: BTreeSet<usize> = passed.map(|arc| arc.to).collect();
        for node in begin {
            let mut open = vec![self.empty_walk(node)];
            for _ in 0..length {
                let mut longer: Vec<Walk> = open.iter().flat_map(|walk| self.extended_walks(walk)).collect();
                longer.sort_by(|a, b| b.last.total_cmp(&a.last));
                longer.truncate(KEPT);
                self.raise_lower_bound(&longer);
                open = longer;
            }
        }
    }

    /// Upper bound of the growth, and the walks that prove it: the first node and the arcs of each.
    fn branch_and_bound(&mut self) -> (f64, Vec<(usize, Vec<usize>)>) {
        let mut open: Vec<Walk> = (0..self.graph.nodes).map(|node| self.empty_walk(node)).collect();
        let mut leaves: Vec<Walk> = Vec::new();
        let mut looked = 0;
        while !open.is_empty() && looked < self.most_walks {
            let longer: Vec<Walk> = open.iter().flat_map(|walk| self.extended_walks(walk)).collect();
            self.raise_lower_bound(&longer);
            looked += longer.len();
            let enough = sufficient_growth(self.aim, self.word.growth);
            let (done, rest): (Vec<Walk>, Vec<Walk>) = longer.into_iter().partition(|w| w.least <= enough);
            leaves.extend(done);
            open = rest;
        }
        leaves.extend(open);
        let upper = leaves.iter().map(|w| w.least).fold(self.word.growth, f64::max);
        (upper, leaves.into_iter().map(|w| (w.start, w.arcs)).collect())
    }
}

impl Certificate {
    /// True if the certificate proves its bound, with all norms computed again. Every allowed sequence begins with one
    /// of the walks, or with a beginning of one, that grows no more than the bound in each period.
    pub fn holds(&self, graph: &StepGraph) -> bool {
        let Some(inverses) = self.factors.iter().map(|l| l.clone().try_inverse()).collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let n = self.factors.first().map_or(0, DMatrix::nrows);
        let shrinks = |start: usize, arcs: &[usize]| {
            let (mut product, mut periods, mut end) = (DMatrix::identity(n, n), 0, start);
            arcs.iter().any(|number| {
                let Some(arc) = graph.arcs.get(*number).filter(|arc| arc.from == end) else { return false };
                product = &graph.steps[arc.step].map * &product;
                (periods, end) = (periods + graph.step_periods(arc.step), arc.to);
                let inner = &self.factors[end] * &product * &inverses[start];
                largest_singular_value(&inner).powf(1.0 / periods as f64) <= self.bound * (1.0 + 1e-12)
            })
        };
        let leaves: HashSet<(usize, &[usize])> =
            self.leaves.iter().map(|(s, a)| (*s, a.as_slice())).collect();
        let beginnings = self.leaves.iter().flat_map(|(s, a)| (1..a.len()).map(move |n| (*s, &a[..n])));
        let begun: HashSet<(usize, &[usize])> = beginnings.collect();
        // From each node on, every continuation is a walk of the list or the beginning of one.
        let mut open: Vec<(usize, usize, Vec<usize>)> =
            (0..graph.nodes).map(|node| (node, node, Vec::new())).collect();
        while let Some((start, end, arcs)) = open.pop() {
            for (number, arc) in graph.arcs_from(end) {
                let mut arcs = arcs.clone();
                arcs.push(number);
                if leaves.contains(&(start, arcs.as_slice())) {
                    continue;
                }
                if !begun.contains(&(start, arcs.as_slice())) {
                    return false;
                }
                open.push((start, arc.to, arcs));
            }
        }
        self.leaves.iter().all(|(start, arcs)| shrinks(*start, arcs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servo::weakly_hard::graph::Step;
    use crate::servo::weakly_hard::requirement::WeaklyHard;

    fn graph(misses: u32, of: u32, hit: &DMatrix<f64>, miss: &DMatrix<f64>) -> StepGraph {
        let step = |map: &DMatrix<f64>, missed| Step { map: map.clone(), missed: vec![missed] };
        StepGraph::new(WeaklyHard { misses, of }, vec![step(hit, false), step(miss, true)]).unwrap()
    }

    fn shear(upper: f64, lower: f64) -> DMatrix<f64> {
        DMatrix::from_row_slice(2, 2, &[1.0, upper, lower, 1.0])
    }

    #[test]
    fn closed_forms_of_two_shears() {
        let golden = 0.5 * (1.0 + 5f64.sqrt());
        let third = (2.0 + 3f64.sqrt()).powf(1.0 / 3.0);
        let fourth = (0.5 * (5.0 + 21f64.sqrt())).powf(0.25);
        for (of, exact) in [(2, golden), (3, third), (4, fourth)] {
            let graph = graph(1, of, &shear(1.0, 0.0), &shear(0.0, 1.0));
            let found = growth_bounds(&graph, StoppingRule::Gap(1e-6));
            assert!((found.lower - exact).abs() < 1e-9, "{of}: {found:?}");
            assert!(found.upper >= exact - 1e-12 && found.upper < exact + 1e-4, "{of}: {}", found.upper);
            assert!(found.certificate.holds(&graph), "{of}");
            assert_eq!(Guarantee::new(found.lower, Some(found.upper)), Guarantee::Unstable);
        }
    }

    #[test]
    fn a_certificate_that_lacks_a_walk_or_claims_too_much_does_not_hold() {
        let graph = graph(1, 3, &(shear(1.0, 0.0) * 0.5), &(shear(0.0, 1.0) * 0.5));
        let found = growth_bounds(&graph, StoppingRule::Decide);
        assert_eq!(Guarantee::new(found.lower, Some(found.upper)), Guarantee::Stable);
        assert!(found.certificate.holds(&graph));
        let mut claims = found.certificate.clone();
        claims.bound *= 0.9;
        assert!(!claims.holds(&graph));
        let mut lacks = found.certificate.clone();
        lacks.leaves.pop();
        assert!(!lacks.holds(&graph));
        let mut flat = found.certificate;
        flat.factors[0].fill(0.0);
        assert!(!flat.holds(&graph));
    }
}
