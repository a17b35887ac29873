//! The best placement, and how sure that is.

use jitterlab_model::SystemFacts;
use jitterlab_model::units::Human;
use serde::{Deserialize, Serialize};

use super::{Matrix, Quantity, Random, score};

/// How often the repetitions are drawn anew.
const DRAWS: usize = 2_000;
/// Placements that are not told apart share this probability of being the best.
const TOGETHER: f64 = 0.95;

/// Which placement the measurements speak for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// The CPU of each task.
    pub cpus: Vec<u16>,
    /// Probability that it is the best of those measured, by the bootstrap over repetitions (Efron & Tibshirani,
    /// "An Introduction to the Bootstrap", 1993); `None` with a single repetition, which shows no spread.
    pub probability: Option<f64>,
    /// The placements that cannot be told apart from it: together they hold the best with 95 %. Best first.
    pub candidates: Vec<Vec<u16>>,
    /// Factor by which the worst placement is worse, geometric mean over the tasks.
    pub worst_factor: f64,
    /// The worst placement.
    pub worst: Vec<u16>,
    /// The figure it is chosen by.
    pub quantity: Quantity,
    /// All of it in sentences.
    pub sentences: Vec<String>,
}

/// Chooses the placement whose figures are the lowest under the worst of the conditions: the geometric mean over
/// the tasks of the 99.9th percentile, or of the maximum where there is no such percentile. `None` without
/// measurements.
pub fn recommend(matrix: &Matrix, facts: Option<&SystemFacts>) -> Option<Recommendation> {
    let has = |q: Quantity| matrix.measurements.iter().all(|m| score(m, q).is_some());
    let quantity = if has(Quantity::P999) { Quantity::P999 } else { Quantity::Max };
    let conditions = matrix.conditions();
    // Each placement with the scores of its repetitions, condition by condition.
    let cells: Vec<(Vec<u16>, Vec<Vec<f64>>)> = matrix
        .placements()
        .into_iter()
        .map(|cpus| {
            let of = |c: &&str| matrix.cell(cpus, c).filter_map(|m| score(m, quantity)).collect::<Vec<_>>();
            (cpus.to_vec(), conditions.iter().map(of).collect::<Vec<_>>())
        })
        .filter(|(_, scores): &(_, Vec<Vec<f64>>)| scores.iter().all(|s| !s.is_empty()))
        .collect();
    let observed: Vec<f64> = cells.iter().map(|(_, scores)| worst_condition(scores, mean)).collect();
    let best = index_of_least(&observed)?;
    let worst = index_of_least(&observed.iter().map(|v| -v).collect::<Vec<_>>())?;
    let repeated = cells.iter().all(|(_, scores)| scores.iter().all(|s| s.len() > 1));
    let mut wins = vec![0usize; cells.len()];
    if repeated {
        let mut random = Random::new(cells.len() as u64);
        for _ in 0..DRAWS {
            let drawn: Vec<f64> = cells
                .iter()
                .map(|(_, scores)| worst_condition(scores, |s| drawn_mean(s, &mut random)))
                .collect();
            if let Some(winner) = index_of_least(&drawn) {
                wins[winner] += 1;
            }
        }
    }
    let probability = repeated.then(|| wins[best] as f64 / DRAWS as f64);
    let candidates = if repeated { candidates(&wins, best) } else { vec![best] };
    let mut recommendation = Recommendation {
        cpus: cells[best].0.clone(),
        probability,
        candidates: candidates.iter().map(|i| cells[*i].0.clone()).collect(),
        worst_factor: (observed[worst] - observed[best]).exp(),
        worst: cells[worst].0.clone(),
        quantity,
        sentences: Vec::new(),
    };
    recommendation.sentences = sentences(&recommendation, matrix, facts);
    Some(recommendation)
}

fn worst_condition(scores: &[Vec<f64>], mut of: impl FnMut(&[f64]) -> f64) -> f64 {
    scores.iter().map(|s| of(s)).fold(f64::NEG_INFINITY, f64::max)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of as many values drawn from these, with repetition.
fn drawn_mean(values: &[f64], random: &mut Random) -> f64 {
    (0..values.len()).map(|_| values[random.below(values.len())]).sum::<f64>() / values.len() as f64
}

fn index_of_least(values: &[f64]) -> Option<usize> {
    (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]))
}

/// The placements that together were the best often enough, the observed best first.
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

/// `servo on CPU 1 and base on CPU 2`, or `both on CPU 1`.
pub(super) fn placement(tasks: &[String], cpus: &[u16]) -> String {
    match (tasks, cpus) {
        ([_], [cpu]) => format!("CPU {cpu}"),
        (_, [first, rest @ ..]) if rest.iter().all(|cpu| cpu == first) => {
            format!("{} on CPU {first}", if rest.len() == 1 { "both" } else { "all" })
        }
        _ => {
            let parts: Vec<String> =
                tasks.iter().zip(cpus).map(|(task, cpu)| format!("{task} on CPU {cpu}")).collect();
            parts.join(" and ")
        }
    }
}

fn sentences(r: &Recommendation, matrix: &Matrix, facts: Option<&SystemFacts>) -> Vec<String> {
    let conditions = matrix.conditions();
    let figure = match r.quantity {
        Quantity::P999 => "p99.9",
        Quantity::Max | Quantity::Jitter => "maximum",
    };
    let values: Vec<String> = matrix
        .tasks
        .iter()
        .enumerate()
        .filter_map(|(task, name)| {
            let worst = conditions.iter().filter_map(|c| matrix.median(&r.cpus, c, task, r.quantity));
            Some(format!("{name} {}", Human(worst.reduce(f64::max)?)))
        })
        .collect();
    let under = if conditions.len() > 1 { " under the worst of the conditions" } else { "" };
    let mut all = vec![format!(
        "Best: {}, {figure}{under} {}; the worst placement ({}) is {:.1} times as bad.",
        placement(&matrix.tasks, &r.cpus),
        values.join(", "),
        placement(&matrix.tasks, &r.worst),
        r.worst_factor
    )];
    all.push(match r.probability {
        None => {
            "How sure: one repetition shows no spread; measure again with --repetitions 3 or more.".into()
        }
        Some(p) if r.candidates.len() == 1 => {
            format!("How sure: {:.0} % by the bootstrap over repetitions.", p * 100.0)
        }
        Some(p) => {
            let others: Vec<String> =
                r.candidates[1..].iter().take(3).map(|cpus| placement(&matrix.tasks, cpus)).collect();
            let more = r.candidates.len().saturating_sub(4);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "How sure: {:.0} % by the bootstrap over repetitions; not told apart from it: {}{more}.",
                p * 100.0,
                others.join("; ")
            )
        }
    });
    if let Some(facts) = facts {
        all.extend(explanation(r, facts));
    }
    all
}

/// What the machine's topology says to the choice.
fn explanation(r: &Recommendation, facts: &SystemFacts) -> Vec<String> {
    let mut all = Vec::new();
    if let [first, .., last] = r.cpus.as_slice() {
        all.push(format!("The tasks are on {}.", facts.sharing(*first, *last)));
    }
    let isolated = facts.isolation.isolated.clone().unwrap_or_default();
    let chosen: jitterlab_model::CpuSet = r.cpus.iter().copied().collect();
    let open = chosen.without(&isolated);
    if !open.is_empty() {
        all.push(format!(
            "Not isolated: CPU {open}. Other programs may run there; measure what isolation changes with --isolate {open}."
        ));
    }
    let siblings: jitterlab_model::CpuSet = chosen
        .iter()
        .filter_map(|cpu| facts.cpu(cpu))
        .flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>())
        .collect();
    let siblings = siblings.without(&chosen);
    if !siblings.is_empty() {
        all.push(format!("Keep the SMT sibling {siblings} idle: it shares the core."));
    }
    all
}
