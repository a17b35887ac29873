//! Words for runs side by side: the differences, then their evidence.

mod causes;
mod chart;
mod code_paths;
pub(crate) mod conclusion;
mod junit;
mod settings;
mod table;
mod twente;

pub use junit::{junit, markdown};

use jitterlab_analysis::compare::{
    AgainstFirst, Basis, ComparedRun, Comparison, Difference, Estimate, LargerRun, Maxima, Mismatch,
    NoInterval, RunsCompared, Statistic, TaskCompared, Weight,
};
use jitterlab_model::Warning;

use crate::conclusion::Conclusion;
use crate::dictionary;
use crate::document::Present;
use crate::section::{Cell, Piece, Section};
use crate::warnings;
use crate::words::{SHOWN_TASKS, count, list, share, time};

impl Present for RunsCompared {
    const KIND: &'static str = "comparison";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion::comparison_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let tolerance_ns = self.move_tolerance_ns();
        let each: Vec<Piece> = self.tasks.iter().flat_map(|task| task_pieces(task, tolerance_ns)).collect();
        let mut pieces = match table::task_table(&self.tasks) {
            Some(table) => {
                let each = Piece::details("Each task by itself", each);
                table.with_rest_folded(SHOWN_TASKS).into_iter().chain([each]).collect()
            }
            None => each,
        };
        pieces.extend(warning_pieces(self));
        vec![section(pieces)]
    }
}

/// The page's section; `None` where nothing is compared.
pub fn page_section(compared: &[(&str, &Comparison)]) -> Option<Section> {
    let pieces: Vec<Piece> =
        compared.iter().flat_map(|(task, found)| run_comparison_pieces(task, found)).collect();
    (!pieces.is_empty()).then(|| section(pieces))
}

fn section(pieces: Vec<Piece>) -> Section {
    Section::new(
        "comparison",
        "Comparison",
        "Every figure of the latency against that of the first run, or of the first setting. An interval that reaches over zero shows no real difference; all intervals of differences hold together with 95 %.",
        pieces,
    )
}

fn task_pieces(of: &TaskCompared, move_tolerance_ns: i64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> =
        of.mismatches.iter().flat_map(|d| mismatch_pieces(&d.first, &d.other, &d.conditions)).collect();
    pieces.extend(of.settings.iter().flat_map(|found| settings::settings_pieces(&of.task, found)));
    pieces.extend(of.comparison.iter().flat_map(|found| run_comparison_pieces(&of.task, found)));
    pieces.extend(
        of.paths.iter().flat_map(|found| code_paths::code_path_pieces(&of.task, found, move_tolerance_ns)),
    );
    pieces.extend(of.causes.iter().map(|found| causes::causes_piece(&of.task, found)));
    pieces.extend(of.twente.iter().flat_map(|runs| twente::loop_tables(&of.task, runs)));
    pieces
}

/// Warnings of the runs, each once, with the names of its runs.
fn warning_pieces(compared: &RunsCompared) -> impl Iterator<Item = Piece> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    let sentences = |all: &[Warning]| warnings::warning_sentences(&all.iter().collect::<Vec<_>>());
    let each = compared
        .warnings
        .iter()
        .flat_map(|of| sentences(&of.warnings).into_iter().map(move |said| (&of.run, said)));
    for (run, sentence) in each {
        match notes.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, runs)) => runs.push(run.clone()),
            None => notes.push((sentence, vec![run.clone()])),
        }
    }
    notes.into_iter().map(|(sentence, runs)| Piece::note(format!("{}: {sentence}", list(&runs))))
}

fn mismatch_pieces(first: &str, other: &str, all: &[Mismatch]) -> Vec<Piece> {
    let of = |weight: Weight, caption: &str| {
        let found = all.iter().filter(|m| m.weight == weight);
        let fact = |m: &Mismatch| (m.what.clone(), format!("{} in {first}, {} in {other}", m.first, m.other));
        let facts: Vec<_> = found.map(fact).collect();
        (!facts.is_empty()).then(|| Piece::facts(caption, facts))
    };
    let several = all.iter().filter(|m| m.weight == Weight::Warn).count() > 1;
    let several = several.then(|| {
        Piece::note("More than one condition differs: no difference can be put down to one of them.")
    });
    [of(Weight::Refuse, "not comparable:"), of(Weight::Warn, "differs:"), several]
        .into_iter()
        .flatten()
        .collect()
}

/// Table of the runs; folded behind it, differences from the first and each run's own intervals.
fn run_comparison_pieces(task: &str, comparison: &Comparison) -> Vec<Piece> {
    let Some(first) = comparison.runs.first() else { return Vec::new() };
    let mut details: Vec<Piece> =
        chart::changes_chart(task, comparison).map(Piece::Figure).into_iter().collect();
    details.extend(comparison.against_first.iter().flat_map(|against| difference_pieces(first, against)));
    details.extend(comparison.runs.iter().map(estimates_table));
    details.push(Piece::text(
        "Intervals are of 95 %; those of differences hold all at once. A maximum has none: it shows how long a run was as \
         much as how good.",
    ));
    vec![
        Piece::Table(
            table::run_ranking(task, comparison).unwrap_or_else(|| table::runs_table(task, comparison)),
        ),
        Piece::details(format!("{task}: differences with their intervals, and each run by itself"), details),
    ]
}

fn signed_difference(statistic: Statistic, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    match statistic {
        Statistic::MissedShare => format!("{sign}{}", share(value)),
        _ => format!("{sign}{}", time(value)),
    }
}

/// Assumption behind a run's intervals.
fn basis_text(basis: &Basis) -> String {
    dictionary::event_sentence("basis", basis)
}

fn no_interval_text(refusal: Option<NoInterval>) -> &'static str {
    refusal.map_or("", |refusal| dictionary::display_text("refusal", &refusal))
}

/// A figure in its unit: a share for missed due times, else microseconds.
fn figure_cell(statistic: Statistic, value: f64) -> Cell {
    if statistic == Statistic::MissedShare { Cell::Share(value) } else { Cell::time(value) }
}

fn interval_cells(statistic: Statistic, interval: Option<[f64; 2]>) -> [Cell; 2] {
    interval.map_or([Cell::Nothing, Cell::Nothing], |both| both.map(|value| figure_cell(statistic, value)))
}

/// A run's figures with their confidence intervals.
fn estimates_table(run: &ComparedRun) -> Piece {
    let known = |ns: Option<i64>| ns.map_or("-".into(), |ns| time(ns as f64));
    let row = |e: &Estimate| {
        let [from, to] = interval_cells(e.statistic, e.interval);
        vec![
            e.statistic.name().into(),
            figure_cell(e.statistic, e.value),
            from,
            to,
            no_interval_text(e.refusal).into(),
        ]
    };
    let caption = format!(
        "{}: {} wake-ups, jitter {}, max {}; {}",
        run.name,
        count(run.count),
        known(run.jitter_ns),
        known(run.max_ns),
        basis_text(&run.basis)
    );
    Piece::table(caption, &["latency, µs", "value", "from", "to", ""], run.estimates.iter().map(row))
}

/// A run against the first: every difference, the largest latencies, and the shift of each quantile.
fn difference_pieces(first: &ComparedRun, against: &AgainstFirst) -> Vec<Piece> {
    let (name, first) = (&against.name, &first.name);
    let row = |d: &Difference| {
        let [from, to] = interval_cells(d.statistic, d.interval);
        let ratio = Cell::optional(d.ratio, |ratio| format!("{ratio:.3}").into());
        vec![
            d.statistic.name().into(),
            figure_cell(d.statistic, d.difference),
            from,
            to,
            ratio,
            table::verdict_word(d).into(),
        ]
    };
    let differences = Piece::table(
        format!("{name} against {first}"),
        &["latency, µs", "difference", "from", "to", "ratio", "real?"],
        against.differences.iter().map(row),
    );
    let g = against
        .hedges_g
        .map_or(String::new(), |g| format!("; the means differ by {g:+.2} standard deviations (Hedges' g)"));
    let earlier = Piece::text(format!(
        "A wake-up of {name} is earlier than one of {first} with a probability of {}{g}.",
        share(against.p_lower)
    ));
    let shifts = against.shifts.iter().map(|shift| {
        let [from, to] = interval_cells(Statistic::Mean, shift.interval);
        vec![format!("p{}", (shift.p * 1e6).round() / 1e4).into(), Cell::time(shift.shift_ns), from, to]
    });
    let shifts = Piece::table(
        format!("Shift of each quantile of {name} against {first}: below zero is lower"),
        &["latency, µs", "shift", "from", "to"],
        shifts,
    );
    let maxima = against.maxima.as_ref().map(|maxima| Piece::text(maxima_sentence(first, name, maxima)));
    [differences].into_iter().chain(maxima).chain([earlier, shifts]).collect()
}

fn maxima_sentence(first: &str, here: &str, maxima: &Maxima) -> String {
    let of =
        |name: &str, side: usize| format!("{} of {} of {name}", maxima.exceed[side], maxima.stretches[side]);
    let shown = match maxima.larger {
        Some(LargerRun::First) => format!("{first} has the larger ones"),
        Some(LargerRun::Here) => format!("{here} has the larger ones"),
        None => format!("a difference would show from {} or {} on", maxima.needed[0], maxima.needed[1]),
    };
    format!(
        "Largest latencies of equal stretches: {} exceed all of {here}, {} all of {first}; {shown}.",
        of(first, 0),
        of(here, 1)
    )
}

#[cfg(test)]
mod tests;
