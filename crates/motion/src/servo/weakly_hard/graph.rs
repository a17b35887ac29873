//! Order of steps when at most m of any K consecutive periods are missed.

use std::collections::HashMap;

use nalgebra::DMatrix;

use super::requirement::WeaklyHard;

/// One way the loop can go on: a job, a killed job, or several periods with one late output.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Effect on the state.
    pub map: DMatrix<f64>,
    /// True for each period that it covers and misses.
    pub missed: Vec<bool>,
}

/// A step from one memory of misses to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    pub from: usize,
    pub to: usize,
    pub step: usize,
}

/// All sequences of steps that are allowed: the walks of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct StepGraph {
    /// Number of memories of misses.
    pub nodes: usize,
    /// The steps between them, by the node they begin in.
    pub arcs: Vec<Transition>,
    pub steps: Vec<Step>,
}

const MOST_NODES: usize = 600;

impl StepGraph {
    /// The sequences of these steps that keep the requirement; `None` with too many memories.
    pub fn new(at_most: WeaklyHard, steps: Vec<Step>) -> Option<StepGraph> {
        let WeaklyHard { misses, of } = at_most;
        if of > 63 {
            return None;
        }
        // A memory holds the misses of the last K - 1 periods, the latest in the lowest bit.
        let mask = (1u64 << of.saturating_sub(1)) - 1;
        let after = |memory: u64, missed: &[bool]| {
            missed.iter().try_fold(memory, |memory, missed| {
                let window = memory << 1 | u64::from(*missed);
                (window.count_ones() <= misses).then_some(window & mask)
            })
        };
        let (mut known, mut open) = (HashMap::from([(0u64, 0usize)]), vec![0u64]);
        let mut next = Vec::new();
        while let Some(memory) = open.pop() {
            for (step, Step { missed, .. }) in steps.iter().enumerate() {
                let Some(to) = after(memory, missed) else { continue };
                let number = known.len();
                let to = *known.entry(to).or_insert_with(|| {
                    open.push(to);
                    number
                });
                next.push((memory, step, to));
            }
            if known.len() > MOST_NODES * 8 {
                return None;
            }
        }
        let arcs: Vec<Transition> = next
            .into_iter()
            .map(|(memory, step, to)| Transition { from: known[&memory], to, step })
            .collect();
        let graph = StepGraph { nodes: known.len(), arcs, steps }.merge_equivalent();
        (graph.nodes <= MOST_NODES).then_some(graph)
    }

    /// Graph in which memories that allow the same futures are one (Moore 1956).
    fn merge_equivalent(self) -> StepGraph {
        let mut class = vec![0usize; self.nodes];
        let mut count = 1;
        loop {
            let mut seen: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.nodes];
            for arc in &self.arcs {
                seen[arc.from].push((arc.step, class[arc.to]));
            }
            let mut numbers: HashMap<(usize, Vec<(usize, usize)>), usize> = HashMap::new();
            let next: Vec<usize> = (0..self.nodes)
                .map(|node| {
                    let mut future = std::mem::take(&mut seen[node]);
                    future.sort_unstable();
                    let fresh = numbers.len();
                    *numbers.entry((class[node], future)).or_insert(fresh)
                })
                .collect();
            let more = numbers.len();
            class = next;
            if more == count {
                break;
            }
            count = more;
        }
        let merged =
            |arc: &Transition| Transition { from: class[arc.from], to: class[arc.to], step: arc.step };
        let mut arcs: Vec<Transition> = self.arcs.iter().map(merged).collect();
        arcs.sort_unstable_by_key(|arc| (arc.from, arc.step, arc.to));
        arcs.dedup();
        StepGraph { nodes: count, arcs, steps: self.steps }
    }

    /// The arcs that begin in a node, with their numbers.
    pub fn arcs_from(&self, node: usize) -> impl Iterator<Item = (usize, &Transition)> {
        let first = self.arcs.partition_point(|arc| arc.from < node);
        (first..).zip(&self.arcs[first..]).take_while(move |(_, arc)| arc.from == node)
    }

    pub fn step_periods(&self, step: usize) -> usize {
        self.steps[step].missed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(misses: u32, of: u32) -> StepGraph {
        let step = |missed: &[bool]| Step { map: DMatrix::identity(1, 1), missed: missed.to_vec() };
        StepGraph::new(WeaklyHard { misses, of }, vec![step(&[false]), step(&[true])]).unwrap()
    }

    /// Number of words of a length that the graph allows, from the node behind no miss.
    fn words(graph: &StepGraph, length: usize) -> f64 {
        let mut counts = vec![0.0; graph.nodes];
        let begin = graph.arcs.iter().map(|a| a.from).max().unwrap();
        // From the node with the most freedom: no miss yet.
        let free = (0..=begin).max_by_key(|n| graph.arcs.iter().filter(|a| a.from == *n).count()).unwrap();
        counts[free] = 1.0;
        for _ in 0..length {
            let mut next = vec![0.0; graph.nodes];
            graph.arcs.iter().for_each(|arc| next[arc.to] += counts[arc.from]);
            counts = next;
        }
        counts.iter().sum()
    }

    #[test]
    fn one_miss_of_two_allows_what_fibonacci_counts() {
        let graph = graph(1, 2);
        assert_eq!((graph.nodes, graph.arcs.len()), (2, 3));
        assert!([2.0, 3.0, 5.0].contains(&words(&graph, 3)));
    }

    #[test]
    fn memories_that_allow_the_same_are_one() {
        // Of the last two outcomes of (2, 3) only whether both are misses, or the last one is, matters.
        assert_eq!(graph(2, 3).nodes, 3);
        assert_eq!(graph(1, 5).nodes, 5);
        assert_eq!(graph(2, 10).nodes, 45);
        // As many as there are is no restriction.
        assert_eq!(graph(4, 4).nodes, 1);
        assert_eq!(graph(0, 7).arcs.len(), 1);
    }

    #[test]
    fn a_late_output_covers_several_periods() {
        let step = |missed: &[bool]| Step { map: DMatrix::identity(1, 1), missed: missed.to_vec() };
        let graph =
            StepGraph::new(WeaklyHard { misses: 1, of: 3 }, vec![step(&[false]), step(&[true, false])])
                .unwrap();
        // After a late one there is one more period of the window to pass.
        assert_eq!((graph.nodes, graph.arcs.len()), (2, 3));
        assert!(StepGraph::new(WeaklyHard { misses: 30, of: 63 }, graph.steps).is_none());
    }
}
