//! The best placement, with the probability that it is the best.

use jitterlab_model::facts::Sharing;
use jitterlab_model::{CpuSet, SystemFacts};
use serde::Serialize;

use super::{CellStatistic, Matrix, mean_log};
use crate::least_squares::median;
use crate::random::Random;

/// Bootstrap samples of the repetitions.
const DRAWS: usize = 2_000;
/// Probability of containing the best placement that the candidates reach together.
const TOGETHER: f64 = 0.95;

/// The best placement by the measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The CPU of each task.
    pub cpus: Vec<u16>,
    /// Probability that it is the best of those measured, by the bootstrap over repetitions (Efron & Tibshirani,
    /// "An Introduction to the Bootstrap", 1993); `None` with a single repetition, which shows no spread.
    pub probability: Option<f64>,
    /// The placements that are not significantly worse: together they contain the best with 95 %. Best first.
    pub candidates: Vec<Vec<u16>>,
    /// Factor by which the worst placement is worse, geometric mean over the tasks.
    pub worst_factor: f64,
    /// The worst placement.
    pub worst: Vec<u16>,
    /// The figure it is chosen by.
    pub statistic: CellStatistic,
    /// The figure of each task under the worst of the conditions; `None` if it is unknown.
    pub worst_condition_ns: Vec<Option<f64>>,
    /// The figure of each task on the worst placement; `None` if it is unknown.
    pub worst_placement_ns: Vec<Option<f64>>,
    /// The placement in the machine's topology; `None` if the machine is unknown.
    pub facts: Option<PlacementFacts>,
}

/// A placement in a machine's topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacementFacts {
    /// Resources that the first task's CPU shares with those of the others; `None` with one task.
    pub sharing: Option<Sharing>,
    /// CPUs that are not isolated; `None` if the machine does not report isolated CPUs.
    pub not_isolated: Option<CpuSet>,
    /// SMT siblings of its CPUs that run none of the tasks.
    pub idle_siblings: CpuSet,
}

/// Chooses the placement whose figures under its worst condition are lowest; `None` without measurements. The score is
/// the geometric mean over the tasks of the 99.9th percentile, or of the maximum if there is none, or of the period
/// error.
pub fn recommend(matrix: &Matrix, facts: Option<&SystemFacts>) -> Option<Recommendation> {
    let has = |of: &CellStatistic| matrix.measurements.iter().all(|m| mean_log(m, *of).is_some());
    let statistic =
        [CellStatistic::P999, CellStatistic::Max, CellStatistic::PeriodError].into_iter().find(has)?;
    let conditions = matrix.conditions();
    // Each placement with the scores of its repetitions, condition by condition.
    let cells: Vec<(Vec<u16>, Vec<Vec<f64>>)> = matrix
        .placements()
        .into_iter()
        .map(|cpus| {
            let of =
                |c: &&str| matrix.cell(cpus, c).filter_map(|m| mean_log(m, statistic)).collect::<Vec<_>>();
            (cpus.to_vec(), conditions.iter().map(of).collect::<Vec<_>>())
        })
        .filter(|(_, scores): &(_, Vec<Vec<f64>>)| scores.iter().all(|s| !s.is_empty()))
        .collect();
    let observed: Vec<f64> = cells.iter().map(|(_, scores)| worst_over_conditions(scores, mean)).collect();
    let best = index_of_least(&observed)?;
    let worst = index_of_least(&observed.iter().map(|v| -v).collect::<Vec<_>>())?;
    let repeated = cells.iter().all(|(_, scores)| scores.iter().all(|s| s.len() > 1));
    let mut wins = vec![0usize; cells.len()];
    if repeated {
        let mut random = Random::new(cells.len() as u64);
        for _ in 0..DRAWS {
            let drawn: Vec<f64> = cells
                .iter()
                .map(|(_, scores)| worst_over_conditions(scores, |s| bootstrap_mean(s, &mut random)))
                .collect();
            if let Some(winner) = index_of_least(&drawn) {
                wins[winner] += 1;
            }
        }
    }
    let probability = repeated.then(|| wins[best] as f64 / DRAWS as f64);
    let candidates = if repeated { candidates(&wins, best) } else { vec![best] };
    let chosen = &cells[best].0;
    Some(Recommendation {
        cpus: chosen.clone(),
        probability,
        candidates: candidates.iter().map(|i| cells[*i].0.clone()).collect(),
        worst_factor: (observed[worst] - observed[best]).exp(),
        worst: cells[worst].0.clone(),
        statistic,
        worst_condition_ns: worst_condition_medians(matrix, chosen, statistic),
        worst_placement_ns: worst_condition_medians(matrix, &cells[worst].0, statistic),
        facts: facts.map(|facts| PlacementFacts::new(chosen, facts)),
    })
}

fn worst_over_conditions(scores: &[Vec<f64>], mut of: impl FnMut(&[f64]) -> f64) -> f64 {
    scores.iter().map(|s| of(s)).fold(f64::NEG_INFINITY, f64::max)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the mean of a bootstrap sample of these values.
fn bootstrap_mean(values: &[f64], random: &mut Random) -> f64 {
    (0..values.len()).map(|_| values[random.below(values.len())]).sum::<f64>() / values.len() as f64
}

fn index_of_least(values: &[f64]) -> Option<usize> {
    (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]))
}

/// Returns the placements that together won 95 % of the bootstrap draws, the observed best first.
fn candidates(wins: &[usize], best: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wins.len()).collect();
    order.sort_by_key(|i| (*i != best, std::cmp::Reverse(wins[*i])));
    let mut sum = 0;
    let mut chosen = Vec::new();
    for i in order {
        if sum as f64 >= TOGETHER * DRAWS as f64 {
            break;
        }
        sum += wins[i];
        chosen.push(i);
    }
    chosen
}

/// Returns each task's figure on these CPUs under its worst condition: the largest of the conditions' medians.
fn worst_condition_medians(matrix: &Matrix, cpus: &[u16], statistic: CellStatistic) -> Vec<Option<f64>> {
    let conditions = matrix.conditions();
    let worst = |task| {
        let values = |condition| matrix.values(cpus, condition, task, statistic).collect::<Vec<_>>();
        conditions.iter().filter_map(|condition| median(&mut values(condition))).reduce(f64::max)
    };
    (0..matrix.tasks.len()).map(worst).collect()
}

impl PlacementFacts {
    fn new(cpus: &[u16], facts: &SystemFacts) -> Self {
        let chosen: CpuSet = cpus.iter().copied().collect();
        let siblings = chosen.iter().filter_map(|cpu| facts.cpu(cpu)).flat_map(|cpu| cpu.siblings.iter());
        PlacementFacts {
            sharing: match cpus {
                [first, .., last] => Some(facts.sharing(*first, *last)),
                _ => None,
            },
            not_isolated: facts.isolation.isolated.as_ref().map(|isolated| chosen.without(isolated)),
            idle_siblings: siblings.collect::<CpuSet>().without(&chosen),
        }
    }
}
