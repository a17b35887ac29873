//! Purposes in words: their titles, and the values that decide about them.

use jitterlab_analysis::purposes::Measure;
use jitterlab_analysis::verdict::{DecidingFigure, PurposeVerdict, Verdict};
use jitterlab_model::Fitness;

use crate::dictionary;
use crate::section::{Cell, Piece};
use crate::words::{count, exact_time, list, share, time};

/// Title of a purpose, for help and for sentences.
pub fn title(name: &str) -> &'static str {
    dictionary::entry("purpose", name).unwrap_or("a purpose that this jitterlab does not know")
}

/// Purposes by their names, as a sentence lists them.
pub(crate) fn purpose_list<'a>(purposes: impl Iterator<Item = &'a PurposeVerdict>) -> String {
    list(&purposes.map(|purpose| purpose.purpose.clone()).collect::<Vec<_>>())
}

/// A fitness within a sentence or a table.
#[must_use]
pub fn fitness_word(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "good",
        Fitness::Limited => "usable",
        Fitness::CannotTell => "cannot tell",
        Fitness::Unfit => "not fit",
    }
}

/// The judged purposes by fitness, the worst first: the word for it, and their names.
pub(crate) fn purposes_by_fitness(
    verdict: &Verdict,
) -> impl DoubleEndedIterator<Item = (&'static str, String)> {
    let all = [Fitness::Unfit, Fitness::Limited, Fitness::Good];
    let all = all.map(|fitness| (fitness_word(fitness), purpose_list(verdict.with_fitness(fitness))));
    all.into_iter().filter(|(_, names)| !names.is_empty())
}

/// The deciding number of a purpose with its limits; its task is named where the run has several.
#[must_use]
pub fn decision_sentence(purpose: &str, decision: &DecidingFigure, tasks: usize) -> String {
    format!(
        "{}; {purpose}: {}.{}",
        deciding_value(decision, tasks),
        limits_text(decision),
        unseen_share_text(decision)
    )
}

/// The deciding number with its limits, without the purpose's name, for people to whom it means nothing.
pub(crate) fn plain_decision_sentence(decision: &DecidingFigure) -> String {
    format!("{}; {}.{}", deciding_value(decision, 1), limits_text(decision), unseen_share_text(decision))
}

fn limits_text(decision: &DecidingFigure) -> String {
    let limit = &decision.limit;
    match (limit.measure, limit.good, limit.limited) {
        (Measure::Missed, ..) => "none may be missed".into(),
        (_, good, limited) if good == limited => format!("good up to {}", time(good as f64)),
        (_, good, limited) => {
            format!("good up to {}, usable up to {}", time(good as f64), time(limited as f64))
        }
    }
}

/// Text of the measured value that decides, with its measure.
fn deciding_value(decision: &DecidingFigure, tasks: usize) -> String {
    let DecidingFigure { task, measured, at_most, limit, .. } = decision;
    let of = if tasks > 1 { format!(" of {task}") } else { String::new() };
    let value = time(*measured as f64);
    match limit.measure {
        Measure::Interval if *at_most => format!("Period error{of} {value} at most"),
        Measure::Interval => format!("Largest period error{of} {value}"),
        Measure::Latency => format!("Largest latency{of} {value}"),
        Measure::PeriodDeviation => format!("Standard deviation of periods{of} {value}"),
        Measure::Missed => format!("Due times missed{of}: {}", count(measured.unsigned_abs())),
    }
}

/// Sentence on the share that may be worse, unseen; empty if there is none.
fn unseen_share_text(decision: &DecidingFigure) -> String {
    decision.open_share.map_or_else(String::new, |open| {
        format!(" Up to {} may be worse, unseen (95 % confidence, if they come one by one).", share(open))
    })
}

/// Table of the fitness for each purpose, the worst first; `None` for one, which the conclusion covers.
pub(crate) fn purpose_table(verdict: &Verdict) -> Option<Piece> {
    let judged = verdict.purposes.iter().filter_map(|of| Some((of, of.decided_by.as_ref()?)));
    let mut judged: Vec<(&PurposeVerdict, &DecidingFigure)> = judged.collect();
    judged.sort_by_key(|(of, _)| std::cmp::Reverse(of.fitness));
    let one_task = judged.windows(2).all(|two| two[0].1.task == two[1].1.task);
    let row = |(of, by): &(&PurposeVerdict, &DecidingFigure)| {
        let limit = by.limit;
        let value = |number| measure_cell(limit.measure, number);
        let task = if one_task { String::new() } else { format!(" of {}", by.task) };
        let most = if by.at_most { ", at most" } else { "" };
        vec![
            Cell::from(of.purpose.as_str()),
            Cell::Text(format!("{}{task}{most}", measure_name(limit.measure))),
            value(by.measured),
            value(limit.good),
            value(limit.limited),
            Cell::Verdict { fitness: of.fitness, text: fitness_word(of.fitness).into() },
        ]
    };
    let header = ["µs", "decided by", "seen", "good", "usable", ""];
    (judged.len() > 1).then(|| Piece::table("", &header, judged.iter().map(row)))
}

/// A value of a measure, or a limit on it, in a table.
#[must_use]
pub fn measure_cell(measure: Measure, number: i64) -> Cell {
    match measure {
        Measure::Missed => Cell::Count(number.unsigned_abs()),
        _ => Cell::time(number as f64),
    }
}

/// Name of a measure in a table.
#[must_use]
pub fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Interval => "period error",
        Measure::Latency => "latency",
        Measure::PeriodDeviation => "period deviation",
        Measure::Missed => "missed",
    }
}

/// The period that a task has to have to show whether a purpose is served.
pub(crate) fn period_text(purpose: &PurposeVerdict) -> String {
    exact_time(purpose.period_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::purposes::{CONTROL_LOOP, PURPOSES};

    #[test]
    fn every_purpose_has_its_words() {
        for purpose in PURPOSES.into_iter().chain([CONTROL_LOOP]) {
            assert!(!title(purpose.name).contains("does not know"), "{}", purpose.name);
        }
    }
}
