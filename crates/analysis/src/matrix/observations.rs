//! Questions one asks of such a table, answered with an effect, its interval, and "cannot tell" where the data do
//! not decide.

use serde::{Deserialize, Serialize};

use super::{Matrix, Quantity, score};
use crate::rank::{Shift, rank_sum, signed_rank};

/// A change by less than a quarter is little (the range 0.80 to 1.25 by which medicine calls two things
/// equivalent).
const LITTLE: f64 = 1.25;

/// How a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Clearly.
    Yes,
    /// The effect is there and is below a quarter.
    Little,
    /// There is none of more than a quarter.
    No,
    /// The other way round.
    Opposite,
    /// The data do not decide.
    CannotTell,
}

/// A question, its answer, and what the answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observation {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: Answer,
    /// Factor between the two things compared; below 1 is better.
    pub factor: f64,
    /// Lower end of the factor's 95 % interval (0 if the data are too few).
    pub low: f64,
    /// Upper end of the factor's 95 % interval (infinite, null in JSON, if the data are too few).
    pub high: f64,
    /// Probability of so large an effect if there were none.
    pub p: f64,
    /// The number of values it rests on.
    pub values: usize,
    /// All of it in words.
    pub sentence: String,
}

impl Observation {
    /// `improves`: whether the question asks for a factor below 1.
    fn new(question: String, compared: &str, shift: Shift, values: usize, improves: bool) -> Self {
        let (factor, low, high) = (shift.estimate.exp(), shift.low.exp(), shift.high.exp());
        let answer = answer(shift, improves);
        let interval = if high.is_finite() {
            format!("95 % interval {low:.2} to {high:.2}, p = {:.2}", shift.p.max(0.005))
        } else {
            "too few values for an interval".into()
        };
        let verdict = match answer {
            Answer::Yes => "yes",
            Answer::Little => "yes, but little",
            Answer::No => "no",
            Answer::Opposite => "no, the opposite",
            Answer::CannotTell => "cannot tell",
        };
        let sentence = format!(
            "{question} {verdict}: {compared} by a factor of {factor:.2} ({interval}, {values} values)"
        );
        Observation { question, answer, factor, low, high, p: shift.p, values, sentence }
    }
}

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

/// Is it better to have all tasks on one CPU? Compares the measurements on the diagonal with the others, under one
/// condition, by the geometric mean over the tasks. `None` without either.
pub fn same_cpu(matrix: &Matrix, condition: &str, quantity: Quantity) -> Option<Observation> {
    let scores = |together: bool| -> Vec<f64> {
        let wanted = matrix.measurements.iter().filter(|m| m.condition == condition);
        wanted.filter(|m| (on_one_cpu(&m.cpus)) == together).filter_map(|m| score(m, quantity)).collect()
    };
    let (together, apart) = (scores(true), scores(false));
    let shift = rank_sum(&together, &apart)?;
    Some(Observation::new(
        format!("Better on the same CPU ({condition})?"),
        "the same CPU changes the figures",
        shift,
        together.len() + apart.len(),
        true,
    ))
}

fn on_one_cpu(cpus: &[u16]) -> bool {
    cpus.windows(2).all(|pair| pair[0] == pair[1])
}

/// What one condition changes against another: pairs of the same placement, task and repetition. `tasks` are those
/// looked at; `improves` says whether the question is for a benefit. `None` without a pair.
pub fn condition_effect(
    matrix: &Matrix,
    question: &str,
    (from, to): (&str, &str),
    tasks: &[usize],
    quantity: Quantity,
    improves: bool,
) -> Option<Observation> {
    let mut differences = Vec::new();
    let mut saved_ns = Vec::new();
    for before in matrix.measurements.iter().filter(|m| m.condition == from) {
        let Some(after) = matrix.cell(&before.cpus, to).find(|m| m.repetition == before.repetition) else {
            continue;
        };
        for &task in tasks {
            let value = |m: &super::Measurement| Some(quantity.of(m.tasks.get(task)?)?.max(1.0));
            if let Some((x, y)) = value(before).zip(value(after)) {
                differences.push(y.ln() - x.ln());
                saved_ns.push(x - y);
            }
        }
    }
    let shift = signed_rank(&differences)?;
    let median_us = crate::line::median(&mut saved_ns)? / 1e3;
    let compared =
        format!("{to} instead of {from} changes the figures by {:+.1} us at the median,", -median_us);
    Some(Observation::new(question.into(), &compared, shift, differences.len(), improves))
}

/// The placements on one CPU that stand out among their like: worse than the median of the others by more than
/// these differ among themselves. Each with its factor against that median.
pub fn exceptions(matrix: &Matrix, condition: &str, quantity: Quantity) -> Vec<(u16, f64)> {
    let cells: Vec<(u16, f64)> = matrix
        .placements()
        .into_iter()
        .filter(|cpus| on_one_cpu(cpus))
        .filter_map(|cpus| {
            let mut scores: Vec<f64> =
                matrix.cell(cpus, condition).filter_map(|m| score(m, quantity)).collect();
            Some((*cpus.first()?, crate::line::median(&mut scores)?))
        })
        .collect();
    if cells.len() < 3 {
        return Vec::new();
    }
    let stands_out = |&(cpu, value): &(u16, f64)| {
        let mut others: Vec<f64> = cells.iter().filter(|(c, _)| *c != cpu).map(|(_, v)| *v).collect();
        let (low, high) =
            others.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let typical = crate::line::median(&mut others)?;
        (value - typical > (high - low).max(LITTLE.ln())).then(|| (cpu, (value - typical).exp()))
    };
    cells.iter().filter_map(stands_out).collect()
}
