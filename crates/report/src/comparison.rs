//! Runs side by side, for the terminal: what differs first, then what it rests on.

mod page;
mod settings;
mod twente;

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
    let mut text = compared.tasks.iter().map(|task| of_task(task, terminal)).collect::<Vec<_>>().join("\n");
    for run in &compared.warnings {
        for warning in &run.warnings {
            text.push_str(&wrap(&format!("warning: {}: {}", run.run, warnings::sentence(warning))));
        }
    }
    text
}

fn of_task(compared: &TaskCompared, terminal: Terminal) -> String {
    let mut text = format!("task {}\n", compared.task);
    for d in &compared.mismatches {
        text.push_str(&mismatches(&d.first, &d.other, &d.conditions));
    }
    text.extend(compared.settings.iter().map(settings::text));
    text.extend(compared.comparison.iter().map(|found| comparison(found, terminal)));
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

/// Each run against the first: the verdict, then the figures; and what each run's own intervals are.
fn comparison(comparison: &Comparison, terminal: Terminal) -> String {
    let Some(first) = comparison.runs.first() else { return String::new() };
    let mut text: String = verdicts(comparison).iter().map(|sentence| wrap(sentence)).collect();
    for against in &comparison.against_first {
        text.push('\n');
        text.push_str(&difference(first, against, terminal.ascii));
    }
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

/// What is said of each pair, and what a pair cannot say.
fn verdicts(comparison: &Comparison) -> Vec<String> {
    let Some(first) = comparison.runs.first() else { return Vec::new() };
    let others = comparison.against_first.iter().zip(&comparison.runs[1..]);
    let mut sentences: Vec<String> = others.map(|(against, run)| verdict(first, against, run)).collect();
    sentences.push(
        "These are runs, not settings: two runs of one setting differ, too. To compare two settings, measure each several \
         times in turns (A B A B) and give all runs: compare A1 A2 A3 --with B1 B2 B3."
            .into(),
    );
    sentences
}

/// What differs between a run and the first, in a sentence.
fn verdict(first: &ComparedRun, against: &AgainstFirst, run: &ComparedRun) -> String {
    let names = format!("{} and {}", first.name, against.name);
    let real = |higher: bool| {
        let found = against.differences.iter().filter(|d| d.real && (d.difference > 0.0) == higher);
        found.map(changed).collect::<Vec<String>>()
    };
    let (lower, higher) = (real(false), real(true));
    let sides = [
        (!lower.is_empty()).then(|| format!("{} has lower {}", against.name, list(&lower))),
        (!higher.is_empty()).then(|| format!("HIGHER {}", list(&higher))),
    ];
    let sides = sides.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if !sides.is_empty() {
        let sides = if lower.is_empty() { format!("{} has {sides}", against.name) } else { sides };
        return format!("These two runs differ: {sides}.");
    }
    let within = against.differences.iter().filter_map(|d| Some((d.statistic, d.interval?)));
    let within: Vec<String> = within
        .take(2)
        .map(|(statistic, [low, high])| {
            format!(
                "{} changed by {} to {}",
                statistic.name(),
                signed(statistic, low),
                signed(statistic, high)
            )
        })
        .collect();
    if !within.is_empty() {
        return format!("No difference between {names} is shown: the {}.", list(&within));
    }
    let why = [first, run].into_iter().find(|run| !matches!(run.basis, Basis::Dependence { .. }));
    match why {
        Some(run) => format!("Nothing can be said of {names}: of {}, {}.", run.name, basis(&run.basis)),
        None => {
            format!("Nothing can be said of {names}: what varies in them is a burst or two; measure longer.")
        }
    }
}

/// A figure that differs, with its size.
fn changed(d: &Difference) -> String {
    let by = match (d.statistic, d.ratio) {
        (_, Some(ratio)) if ratio > 2.0 => format!("{ratio:.3} times"),
        (_, Some(ratio)) if ratio > 0.0 => share((ratio - 1.0).abs()),
        _ => signed(d.statistic, d.difference),
    };
    format!("{} ({by})", d.statistic.name())
}

/// A difference with its sign and unit.
fn signed(statistic: Statistic, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    match statistic {
        Statistic::MissedShare => format!("{sign}{value:.2e}"),
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

/// The word for a difference.
fn word(d: &Difference) -> &'static str {
    match (d.real, d.interval) {
        (true, _) if d.difference < 0.0 => "lower",
        (true, _) => "HIGHER",
        (false, Some(_)) => "not shown",
        (false, None) if d.statistic == Statistic::Maximum => "not shown",
        (false, None) => refusal(d.refusal),
    }
}

fn difference(first: &ComparedRun, against: &AgainstFirst, ascii: bool) -> String {
    let mut text = format!("{} against {}, latency in µs\n", against.name, first.name);
    let row = |d: &Difference| {
        let [from, to] = bounds(d.statistic, d.interval);
        let ratio = d.ratio.map_or("-".into(), |r| format!("{r:.3}"));
        vec![d.statistic.name().into(), figure(d.statistic, d.difference), from, to, ratio, word(d).into()]
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
            row[place(from)..=place(to)].fill(line);
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
