//! Plan of a matrix: the cells, their order, and a subset of CPUs if all of them would take too long.

use jitterlab_model::facts::Sharing;
use jitterlab_model::{CpuSet, SystemFacts};
use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A measurement to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The CPU of each task.
    pub cpus: Vec<u16>,
    /// The condition.
    pub condition: String,
    /// Number of the repetition, from 0.
    pub repetition: u32,
}

/// All measurements, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellPlan {
    /// The measurements.
    pub cells: Vec<Cell>,
    /// Seed of the random order.
    pub seed: u64,
}

impl CellPlan {
    /// Plans every placement under every condition, `repetitions` times. Each repetition is a round through
    /// all of them in random order, so that a drifting machine favours none (a randomised block design).
    pub fn new(placements: &[Vec<u16>], conditions: &[String], repetitions: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut cells = Vec::new();
        for repetition in 0..repetitions {
            let mut round: Vec<Cell> = placements
                .iter()
                .flat_map(|cpus| conditions.iter().map(move |condition| (cpus.clone(), condition.clone())))
                .map(|(cpus, condition)| Cell { cpus, condition, repetition })
                .collect();
            random.shuffle(&mut round);
            cells.extend(round);
        }
        CellPlan { cells, seed }
    }
}

/// Returns every placement of the tasks: the first task on each CPU, combined with all others together on each.
pub fn placements(cpus: &CpuSet, tasks: usize) -> Vec<Vec<u16>> {
    let at = |first: u16, rest: u16| {
        let mut placement = vec![rest; tasks];
        if let Some(cpu) = placement.first_mut() {
            *cpu = first;
        }
        placement
    };
    match tasks {
        0 => Vec::new(),
        1 => cpus.iter().map(|cpu| vec![cpu]).collect(),
        _ => cpus.iter().flat_map(|first| cpus.iter().map(move |rest| at(first, rest))).collect(),
    }
}

/// A choice of CPUs that takes less time than all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The CPUs to measure.
    pub cpus: CpuSet,
    /// Number of CPUs to choose from.
    pub usable: usize,
}

impl Proposal {
    /// True if CPUs were left out.
    #[must_use]
    pub fn omits_cpus(&self) -> bool {
        self.cpus.len() < self.usable
    }
}

/// Chooses as many of the `usable` CPUs as `affordable` placements of `tasks` tasks allow, at least two. One of each
/// kind comes first (isolated or not, with CPU 0 or not, each package, each capacity), then their siblings and
/// neighbours, so that every kind of sharing is among the pairs.
pub fn propose(facts: &SystemFacts, usable: &CpuSet, tasks: usize, affordable: usize) -> Proposal {
    let fits = |n: usize| if tasks > 1 { n * n <= affordable } else { n <= affordable };
    if fits(usable.len()) || usable.len() <= 2 {
        return Proposal { cpus: usable.clone(), usable: usable.len() };
    }
    let mut chosen: Vec<u16> = Vec::new();
    let mut sorts = Vec::new();
    // From the highest down, since the low ones do most of the system's work; CPU 0 represents those in any case.
    for cpu in usable.first().into_iter().chain(usable.iter().rev()) {
        let sort = cpu_kind(facts, cpu);
        if !sorts.contains(&sort) && fits(chosen.len() + 1) {
            sorts.push(sort);
            chosen.push(cpu);
        }
    }
    let ways = |chosen: &[u16], cpu: u16| -> Vec<Sharing> {
        chosen.iter().map(|other| facts.sharing(*other, cpu)).collect()
    };
    let mut seen: Vec<Sharing> = chosen.iter().flat_map(|cpu| ways(&chosen, *cpu)).collect();
    while chosen.len() < 2 || fits(chosen.len() + 1) {
        let rest = || usable.iter().rev().filter(|cpu| !chosen.contains(cpu));
        // Choose a CPU that shares with a chosen one in a way no pair does yet; closest first.
        let new = rest()
            .filter_map(|cpu| {
                ways(&chosen, cpu).into_iter().filter(|way| !seen.contains(way)).min().map(|w| (w, cpu))
            })
            .min_by_key(|(way, _)| *way);
        let Some(cpu) = new.map(|(_, cpu)| cpu).or_else(|| rest().next().filter(|_| chosen.len() < 2)) else {
            break;
        };
        seen.extend(ways(&chosen, cpu));
        chosen.push(cpu);
    }
    Proposal { cpus: chosen.into_iter().collect(), usable: usable.len() }
}

/// Returns what CPUs that should measure alike agree in: isolated, nohz_full, with CPU 0, package, capacity.
fn cpu_kind(facts: &SystemFacts, cpu: u16) -> (bool, bool, bool, Option<u16>, Option<u32>) {
    let has = |set: &Option<CpuSet>| set.as_ref().is_some_and(|s| s.contains(cpu));
    let found = facts.cpu(cpu);
    (
        has(&facts.isolation.isolated),
        has(&facts.isolation.nohz_full),
        cpu == 0 || found.is_some_and(|c| c.siblings.contains(0)),
        found.and_then(|c| c.package),
        found.and_then(|c| c.capacity),
    )
}
