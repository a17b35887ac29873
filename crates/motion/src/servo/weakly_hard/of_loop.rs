//! The steps of a loop: jobs in time and late ones, as they are given or as a run has them.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::bounds::{Aim, Growth, Guarantee, growth, growth_by_norms};
use super::graph::{Graph, Step};
use super::norms::norm_of;
use crate::servo::chain::balanced_scale;
use crate::servo::cycles::Pattern;
use crate::servo::flow::Flow;
use crate::servo::looped::{Act, Event};
use crate::servo::misses::AtMost;

/// What is proved of a loop under a weakly hard requirement, for any sequence of its jobs as they are given or were seen. Times
/// between theirs are not among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderMisses {
    /// The requirement.
    #[serde(flatten)]
    pub at_most: AtMost,
    /// What is proved.
    pub guarantee: Guarantee,
    /// A sequence of the loop's jobs grows like this in each period.
    pub lower: f64,
    /// None grows faster; `None` where the requirement allows too many sequences to be gone through.
    pub upper: Option<f64>,
    /// The sequence that grows most, period by period: whether it is missed.
    pub word: Vec<bool>,
}

/// Jobs in time that stand for all others in the search for norms; the bound is then computed for all.
const SHOWN: usize = 6;

/// All steps of a loop, and which of them stand for the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    all: Vec<Step>,
    shown: Vec<usize>,
}

impl Steps {
    /// Steps by what they do to the state and which of their periods are missed.
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

    /// The steps of cycles: each period of a cycle in which no output comes is missed.
    pub(in crate::servo) fn of_cycles(patterns: &[Pattern], passages: &[Flow], period_ns: i64) -> Steps {
        let step = |(pattern, passage): (&Pattern, &Flow)| {
            let missed = missed_periods(&pattern.events, pattern.length_ns, period_ns as f64);
            Step { map: passage.phi.clone(), missed }
        };
        Steps::new(patterns.iter().zip(passages).map(step).collect())
    }

    /// Whether any period is ever missed.
    pub fn misses(&self) -> bool {
        self.all.iter().any(|step| step.missed.contains(&true))
    }

    /// What is proved of all sequences in which at most so many periods are missed.
    pub fn under(&self, at_most: AtMost, aim: Aim) -> UnderMisses {
        let undecided = UnderMisses {
            at_most,
            guarantee: Guarantee::Undecided,
            lower: 0.0,
            upper: None,
            word: Vec::new(),
        };
        let shown: Vec<Step> = self.shown.iter().map(|i| self.all[*i].clone()).collect();
        let whole = shown.len() == self.all.len();
        let Some(graph) = Graph::new(at_most, shown) else { return undecided };
        let found = if whole { growth(&graph, aim) } else { growth_by_norms(&graph, aim) };
        let word: Vec<bool> =
            found.word.iter().flat_map(|arc| graph.steps[graph.arcs[*arc].step].missed.clone()).collect();
        let checked = |found: &Growth| found.certificate.holds(&graph).then_some(found.upper);
        let upper = if whole { checked(&found) } else { self.bound_of_all(at_most, &found) };
        let guarantee = match upper {
            _ if found.lower > 1.0 => Guarantee::Unstable,
            Some(upper) if upper < 1.0 - 1e-9 => Guarantee::Stable,
            _ => Guarantee::Undecided,
        };
        UnderMisses { at_most, guarantee, lower: found.lower, upper, word }
    }

    /// The norms that were found for some steps, tried on all of them.
    fn bound_of_all(&self, at_most: AtMost, found: &Growth) -> Option<f64> {
        let graph = Graph::new(at_most, self.all.clone())?;
        let factors = &found.certificate.factors;
        if graph.nodes != factors.len() {
            return None;
        }
        let of = |arc: &super::graph::Arc| {
            let norm = norm_of(&graph.steps[arc.step].map, &factors[arc.from], &factors[arc.to]);
            norm.powf(1.0 / graph.periods(arc.step) as f64)
        };
        Some(graph.arcs.iter().map(of).fold(0.0, f64::max))
    }
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

/// Of each period whether no output comes in it.
pub(in crate::servo) fn missed_periods(events: &[(f64, Event)], length_ns: f64, period_ns: f64) -> Vec<bool> {
    let periods = (length_ns / period_ns).round().max(1.0) as usize;
    let mut missed = vec![true; periods];
    for (time, event) in events {
        if matches!(event.act, Act::Finish | Act::Compute) {
            // What comes with the end of the cycle belongs to it.
            let place = (time / period_ns).floor().clamp(0.0, periods as f64 - 1.0);
            missed[place as usize] = false;
        }
    }
    missed
}
