//! Runs side by side, for the terminal: what differs first, then what it rests on.

mod causes;
pub(crate) mod head;
mod junit;
mod page;
mod settings;
mod table;
mod twente;

pub use causes::piece as causes;
pub use junit::{junit, markdown};
pub use page::{section, sections};

use std::fmt::Write as _;

use jitterlab_analysis::compare::{
    AgainstFirst, Basis, ComparedRun, Comparison, Difference, Estimate, Larger, Maxima, Mismatch, Refusal,
    RunsCompared, Statistic, TaskCompared, Weight,
};

use crate::chart::Terminal;
use crate::check::paragraph;
use crate::table::columns;
use crate::warnings;
use crate::words::{count, list, microseconds, share, time};
use crate::wrap::wrap;

/// Everything that is said of the runs.
#[must_use]
pub fn text(compared: &RunsCompared, terminal: Terminal) -> String {
    let text = compared.tasks.iter().map(|task| of_task(task, terminal)).collect::<Vec<_>>().join("\n");
    text + &warned(compared)
}

/// The runs of each task in one table.
#[must_use]
pub fn answer(compared: &RunsCompared) -> String {
    let of_task = |task: &TaskCompared| {
        let table =
            task.comparison.as_ref().map_or_else(String::new, |found| side_by_side(&task.task, found));
        table
            + &task.causes.as_ref().map_or_else(String::new, |found| causes::text(&task.task, found))
            + &task.settings.as_ref().map_or_else(String::new, |found| settings::text(&task.task, found))
            + &task
                .mismatches
                .iter()
                .map(|d| mismatches(&d.first, &d.other, &d.conditions))
                .collect::<String>()
    };
    let text = compared.tasks.iter().map(of_task).collect::<Vec<_>>().join("\n");
    text + &warned(compared)
}

/// What a reader has to know, each once, with the runs that it is true of.
fn warned(compared: &RunsCompared) -> String {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    let each =
        compared.warnings.iter().flat_map(|of| of.warnings.iter().map(move |warning| (&of.run, warning)));
    for (run, warning) in each {
        let sentence = warnings::sentence(warning);
        match said.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, runs)) => runs.push(run.clone()),
            None => said.push((sentence, vec![run.clone()])),
        }
    }
    said.iter().map(|(sentence, runs)| wrap(&format!("warning: {}: {sentence}", list(runs)))).collect()
}

fn side_by_side(task: &str, compared: &Comparison) -> String {
    let table = table::side_by_side(compared);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let legend = if table.legend.is_empty() { String::new() } else { wrap(&table.legend) };
    wrap(&format!("latency of {task} in µs; what really differs first, what differs most on top"))
        + &columns(&header, table.rows)
        + &legend
}

fn of_task(compared: &TaskCompared, terminal: Terminal) -> String {
    let mut text = format!("task {}\n", compared.task);
    for d in &compared.mismatches {
        text.push_str(&mismatches(&d.first, &d.other, &d.conditions));
    }
    text.extend(compared.settings.iter().map(|found| settings::text(&compared.task, found)));
    text.extend(compared.comparison.iter().map(|found| comparison(found, terminal)));
    text.extend(compared.causes.iter().map(|found| causes::text(&compared.task, found)));
    text.extend(compared.twente.iter().map(|found| twente::twente(found)));
    text
}

/// What differs between the conditions of two runs.
fn mismatches(first: &str, other: &str, all: &[Mismatch]) -> String {
    let mut text = String::new();
    for m in all {
        let weight = if m.weight == Weight::Refuse { "not comparable" } else { "differs" };
        let line = format!("{weight}: {}: {} in {first}, {} in {other}", m.what, m.first, m.other);
        text.push_str(&paragraph(&line, 2, 4));
    }
    if all.iter().filter(|m| m.weight == Weight::Warn).count() > 1 {
        let line = "more than one condition differs: no difference below can be put down to one of them";
        text.push_str(&paragraph(line, 2, 4));
    }
    text
}

/// Each run against the first, and what each run's own intervals are.
fn comparison(comparison: &Comparison, terminal: Terminal) -> String {
    let Some(first) = comparison.runs.first() else { return String::new() };
    let of = comparison.against_first.iter().map(|against| difference(first, against, terminal.ascii));
    let mut text = of.collect::<Vec<String>>().join("\n");
    text.push_str("\nlatency in µs, with the interval that holds the figure of such runs\n");
    for run in &comparison.runs {
        text.push_str(&wrap(&format!(
            "{}: {} wake-ups, jitter {}, max {}; {}.",
            run.name,
            count(run.count),
            known(run.jitter_ns),
            known(run.max_ns),
            basis(&run.basis)
        )));
        text.push_str(&columns(&["", "value", "from", "to", ""], run.estimates.iter().map(estimate)));
    }
    text + &wrap(
        "Intervals are of 95 %; those of differences hold all at once. A maximum has none: it says how long a run was as \
         much as how good.",
    )
}

/// A difference with its sign and unit.
fn signed(statistic: Statistic, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    match statistic {
        Statistic::MissedShare => format!("{sign}{}", share(value)),
        _ => format!("{sign}{}", time(value)),
    }
}

/// What a run's intervals rest on.
fn basis(basis: &Basis) -> String {
    match *basis {
        Basis::Dependence { effective, correlation_ns: Some(ns), .. } => format!(
            "they stay alike for about {} and say as much of their mean as {} independent ones",
            time(ns),
            count(effective.round() as u64)
        ),
        Basis::Dependence { effective, part_ns, .. } => format!(
            "if they stay alike, then for less than {}; they say as much of their mean as {} independent ones",
            time(part_ns),
            count(effective.round() as u64)
        ),
        Basis::IfIndependent => {
            "only a histogram is known: intervals hold if latencies are independent of each other".into()
        }
        Basis::TooDependent { correlation_ns, needs_ns } => format!(
            "latencies stay alike for {} or longer, or their level moved: too large a part of the run for intervals; \
             measure {} or longer",
            time(correlation_ns),
            time(needs_ns)
        ),
        Basis::TooShort => "the run is too short for intervals".into(),
    }
}

fn refusal(refusal: Option<Refusal>) -> &'static str {
    match refusal {
        Some(Refusal::FewEvents) => "too few events",
        Some(Refusal::TooDependent) => "too dependent",
        Some(Refusal::TooShort) => "too short a run",
        Some(Refusal::Unknown) => "unknown",
        Some(Refusal::NoMethod) | None => "",
    }
}

fn known(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| time(ns as f64))
}

/// A figure in its unit: a share for missed due times, else microseconds.
fn figure(statistic: Statistic, value: f64) -> String {
    if statistic == Statistic::MissedShare { share(value) } else { microseconds(value) }
}

fn estimate(e: &Estimate) -> Vec<String> {
    let [from, to] = bounds(e.statistic, e.interval);
    vec![e.statistic.name().into(), figure(e.statistic, e.value), from, to, refusal(e.refusal).into()]
}

fn bounds(statistic: Statistic, interval: Option<[f64; 2]>) -> [String; 2] {
    interval.map_or(["-".into(), "-".into()], |both| both.map(|v| figure(statistic, v)))
}

fn difference(first: &ComparedRun, against: &AgainstFirst, ascii: bool) -> String {
    let mut text = format!("{} against {}, latency in µs\n", against.name, first.name);
    let row = |d: &Difference| {
        let [from, to] = bounds(d.statistic, d.interval);
        let ratio = d.ratio.map_or("-".into(), |r| format!("{r:.3}"));
        vec![
            d.statistic.name().into(),
            figure(d.statistic, d.difference),
            from,
            to,
            ratio,
            table::word(d).into(),
        ]
    };
    text.push_str(&columns(
        &["", "difference", "from", "to", "ratio", "real?"],
        against.differences.iter().map(row),
    ));
    if let Some(maxima) = &against.maxima {
        text.push_str(&wrap(&worst(&first.name, &against.name, maxima)));
    }
    let g = against
        .hedges_g
        .map_or(String::new(), |g| format!("; the means differ by {g:+.2} standard deviations (Hedges' g)"));
    text.push_str(&wrap(&format!(
        "A wake-up of {} is earlier than one of {} with a probability of {}{g}.",
        against.name,
        first.name,
        share(against.p_lower)
    )));
    text + &shift_plot(against, ascii)
}

/// How the largest latencies compare.
fn worst(first: &str, here: &str, maxima: &Maxima) -> String {
    let of =
        |name: &str, side: usize| format!("{} of {} of {name}", maxima.exceed[side], maxima.stretches[side]);
    let shown = match maxima.larger {
        Some(Larger::First) => format!("{first} has the larger ones"),
        Some(Larger::Here) => format!("{here} has the larger ones"),
        None => format!("a difference would show from {} or {} on", maxima.needed[0], maxima.needed[1]),
    };
    format!(
        "Largest latencies of equal stretches: {} exceed all of {here}, {} all of {first}; {shown}.",
        of(first, 0),
        of(here, 1)
    )
}

/// Width of either half of the plot.
const HALF: usize = 20;

/// How far each quantile is shifted: to the left is lower (better) here. Its interval as a line, its value as a point.
fn shift_plot(against: &AgainstFirst, ascii: bool) -> String {
    let reach = |v: f64| v.abs().max(1.0).log2();
    let all = against.shifts.iter().flat_map(|s| s.interval.into_iter().flatten().chain([s.shift_ns]));
    let most = all.map(reach).fold(1.0, f64::max);
    let place = |v: f64| {
        let offset = (reach(v) / most * HALF as f64).round() as usize;
        if v < 0.0 { HALF - offset.min(HALF) } else { HALF + offset.min(HALF) }
    };
    let (line, point, zero) = if ascii { ('-', 'o', '|') } else { ('─', '●', '│') };
    let mut text = String::from("shift of each quantile, logarithmic; left is lower than in the first run\n");
    for shift in &against.shifts {
        let mut row = vec![' '; 2 * HALF + 1];
        row[HALF] = zero;
        if let Some([from, to]) = shift.interval {
            // One that was read may be the wrong way round.
            row[place(from.min(to))..=place(from.max(to))].fill(line);
        }
        row[place(shift.shift_ns)] = point;
        let bar: String = row.into_iter().collect();
        let name = format!("p{}", (shift.p * 1e6).round() / 1e4);
        let _ = writeln!(text, "  {name:>6} {bar} {}", time(shift.shift_ns));
    }
    text
}

#[cfg(test)]
mod tests;
