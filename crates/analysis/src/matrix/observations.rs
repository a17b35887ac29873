//! Effects in a matrix: each with its interval, and an answer that is "cannot tell" where the data do not decide.

use serde::Serialize;

use super::{CellStatistic, Matrix, mean_log};
use crate::rank::{Shift, rank_sum, signed_rank};

/// Factor below which a change is little: less than a quarter (the range 0.80 to 1.25 within which medicine
/// calls two treatments equivalent).
const LITTLE: f64 = 1.25;

/// Answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Yes, clearly.
    Yes,
    /// Yes, but the effect is below a quarter.
    Little,
    /// No: there is no effect of more than a quarter.
    No,
    /// No: the effect is the opposite.
    Opposite,
    /// The data do not decide.
    CannotTell,
}

/// The two things compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "compared", rename_all = "kebab-case")]
pub enum ComparedPair {
    /// All tasks on one CPU with tasks on several, under one condition.
    SameCpu {
        /// The condition.
        condition: String,
    },
    /// One condition with another, in pairs of the same placement, task and repetition.
    Condition {
        /// The condition to compare with.
        from: String,
        /// The condition to examine.
        to: String,
        /// Median change from the first to the second, in ns.
        change_ns: f64,
    },
}

/// An effect, the answer to its question, and the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observation {
    /// The two things compared.
    pub effect: ComparedPair,
    /// The answer.
    pub answer: Answer,
    /// Factor between the two things compared; below 1 is better.
    pub factor: f64,
    /// The factor's 95 % interval; `None` if the values are too few for one.
    pub interval: Option<[f64; 2]>,
    /// Probability of at least this effect if there were none.
    pub p: f64,
    /// Number of values in the comparison.
    pub values: usize,
}

impl Observation {
    /// Judges an effect; `improves` is true if the question asks for a factor below 1.
    fn new(effect: ComparedPair, shift: Shift, values: usize, improves: bool) -> Self {
        let interval = [shift.low.exp(), shift.high.exp()];
        Observation {
            effect,
            answer: answer(shift, improves),
            factor: shift.estimate.exp(),
            interval: interval[1].is_finite().then_some(interval),
            p: shift.p,
            values,
        }
    }
}

/// Answers whether there is a rise, or with `improves` a fall.
fn answer(shift: Shift, improves: bool) -> Answer {
    let little = LITTLE.ln();
    let (estimate, low, high) = if improves {
        (-shift.estimate, -shift.high, -shift.low)
    } else {
        (shift.estimate, shift.low, shift.high)
    };
    match () {
        () if low > 0.0 && estimate >= little => Answer::Yes,
        () if low > 0.0 => Answer::Little,
        () if high < 0.0 && estimate <= -little => Answer::Opposite,
        () if low > -little && high < little => Answer::No,
        () => Answer::CannotTell,
    }
}

/// Returns the effect of all tasks on one CPU against all other placements, under one condition. It is by the geometric
/// mean over the tasks. `None` without either.
pub fn same_cpu_effect(matrix: &Matrix, condition: &str, statistic: CellStatistic) -> Option<Observation> {
    let scores = |together: bool| -> Vec<f64> {
        let wanted = matrix.measurements.iter().filter(|m| m.condition == condition);
        wanted.filter(|m| (on_one_cpu(&m.cpus)) == together).filter_map(|m| mean_log(m, statistic)).collect()
    };
    let (together, apart) = (scores(true), scores(false));
    let shift = rank_sum(&together, &apart)?;
    let effect = ComparedPair::SameCpu { condition: condition.into() };
    Some(Observation::new(effect, shift, together.len() + apart.len(), true))
}

fn on_one_cpu(cpus: &[u16]) -> bool {
    cpus.windows(2).all(|pair| pair[0] == pair[1])
}

/// Returns the effect of condition `to` against `from`, from pairs of measurements; `None` without a pair. They have
/// the same placement, task and repetition. `tasks` are examined; `improves` is true if the question is for a benefit.
pub fn condition_effect(
    matrix: &Matrix,
    (from, to): (&str, &str),
    tasks: &[usize],
    statistic: CellStatistic,
    improves: bool,
) -> Option<Observation> {
    let mut differences = Vec::new();
    let mut changes_ns = Vec::new();
    for before in matrix.measurements.iter().filter(|m| m.condition == from) {
        let Some(after) = matrix.cell(&before.cpus, to).find(|m| m.repetition == before.repetition) else {
            continue;
        };
        for &task in tasks {
            let value = |m: &super::CellMeasurement| Some(statistic.value_in(m.tasks.get(task)?)?.max(1.0));
            if let Some((x, y)) = value(before).zip(value(after)) {
                differences.push(y.ln() - x.ln());
                changes_ns.push(y - x);
            }
        }
    }
    let shift = signed_rank(&differences)?;
    let change_ns = crate::least_squares::median(&mut changes_ns)?;
    let effect = ComparedPair::Condition { from: from.into(), to: to.into(), change_ns };
    Some(Observation::new(effect, shift, differences.len(), improves))
}

/// Returns the CPUs that are worse than the median of the others by more than these differ, with the factor. Only
/// placements of all tasks on one CPU count, and at least three.
pub fn outlier_cpus(matrix: &Matrix, condition: &str, statistic: CellStatistic) -> Vec<(u16, f64)> {
    let cells: Vec<(u16, f64)> = matrix
        .placements()
        .into_iter()
        .filter(|cpus| on_one_cpu(cpus))
        .filter_map(|cpus| {
            let mut scores: Vec<f64> =
                matrix.cell(cpus, condition).filter_map(|m| mean_log(m, statistic)).collect();
            Some((*cpus.first()?, crate::least_squares::median(&mut scores)?))
        })
        .collect();
    if cells.len() < 3 {
        return Vec::new();
    }
    let stands_out = |&(cpu, value): &(u16, f64)| {
        let mut others: Vec<f64> = cells.iter().filter(|(c, _)| *c != cpu).map(|(_, v)| *v).collect();
        let (low, high) =
            others.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let typical = crate::least_squares::median(&mut others)?;
        (value - typical > (high - low).max(LITTLE.ln())).then(|| (cpu, (value - typical).exp()))
    };
    cells.iter().filter_map(stands_out).collect()
}
