//! Runs side by side, for the terminal.

use std::fmt::Write as _;

use crate::warnings;
use crate::words::{count, microseconds, share, time};
use jitterlab_analysis::compare::{
    AgainstFirst, BIN_NS, Comparison, Difference, Estimate, Mismatch, RunsCompared, Statistic, TaskCompared,
    TwenteRun, Weight,
};

use crate::chart::{Axis, Chart, Layer, Shape, Terminal};
use crate::check::paragraph;
use crate::section::{Piece, Section};
use crate::table::columns;
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
    text.extend(compared.comparison.iter().map(|found| comparison(found, terminal)));
    text.extend(compared.twente.iter().map(|found| twente(found)));
    text
}

/// The page's section; `None` where nothing is compared.
#[must_use]
pub fn section(compared: &[(&str, &Comparison)]) -> Option<Section> {
    let mut pieces = Vec::new();
    for (task, comparison) in compared {
        pieces.extend(chart(task, comparison).map(Piece::Figure));
        let base = comparison.runs.first().map_or("", |run| run.name.as_str());
        pieces.extend(comparison.against_first.iter().map(|other| difference_table(task, base, other)));
    }
    (!pieces.is_empty()).then(|| Section {
        id: "comparison".into(),
        title: "Comparison".into(),
        lead: "Every figure of the latency against that of the first run, with the interval that holds the true change; all intervals together hold with 95 %. An interval that reaches over zero shows no real difference.".into(),
        pieces,
    })
}

/// What the page shows of it.
#[must_use]
pub fn sections(compared: &RunsCompared) -> Vec<Section> {
    let found = compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.comparison.as_ref()?)));
    section(&found.collect::<Vec<_>>()).into_iter().collect()
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

/// The figures of all runs with their intervals, then each run against the first.
fn comparison(comparison: &Comparison, terminal: Terminal) -> String {
    let mut text = String::from("latency in µs, with the interval that holds the figure of such runs\n");
    for run in &comparison.runs {
        let _ = writeln!(
            text,
            "{}: {} wake-ups, jitter {}, max {}",
            run.name,
            count(run.count),
            known(run.jitter_ns),
            known(run.max_ns)
        );
        text.push_str(&columns(&["", "value", "from", "to"], run.estimates.iter().map(estimate)));
    }
    for against in &comparison.against_first {
        text.push('\n');
        text.push_str(&difference(&comparison.runs[0].name, against, terminal.ascii));
    }
    text.push_str(&wrap(
        "Intervals are of 95 % (block bootstrap over parts of the runs); those of differences hold all at once. A maximum has \
         none: it says how long a run was as much as how good.",
    ));
    text
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
    vec![e.statistic.name().into(), figure(e.statistic, e.value), from, to]
}

fn bounds(statistic: Statistic, interval: Option<[f64; 2]>) -> [String; 2] {
    interval.map_or(["-".into(), "-".into()], |both| both.map(|v| figure(statistic, v)))
}

fn difference(first: &str, against: &AgainstFirst, ascii: bool) -> String {
    let mut text = format!("{} against {first}\n", against.name);
    let row = |d: &Difference| {
        let [from, to] = bounds(d.statistic, d.interval);
        let verdict = match (d.interval, d.real) {
            (None, _) => "too short to say",
            (_, false) => "not shown",
            (_, true) if d.difference < 0.0 => "lower",
            (_, true) => "HIGHER",
        };
        let ratio = d.ratio.map_or("-".into(), |r| format!("{r:.3}"));
        vec![d.statistic.name().into(), figure(d.statistic, d.difference), from, to, ratio, verdict.into()]
    };
    text.push_str(&columns(
        &["", "difference", "from", "to", "ratio", "real?"],
        against.differences.iter().map(row),
    ));
    let g = against
        .hedges_g
        .map_or(String::new(), |g| format!("; the means differ by {g:+.2} standard deviations (Hedges' g)"));
    text.push_str(&wrap(&format!(
        "A wake-up of {} is earlier than one of {first} with a probability of {}{g}.",
        against.name,
        share(against.p_lower)
    )));
    text + &shift_plot(against, ascii)
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

/// The comparison of the University of Twente's report: durations of loops, and their jitter in bins of 0.1 ms.
fn twente(runs: &[TwenteRun]) -> String {
    let ms = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.4}", ns / 1e6));
    let whole = |ns: Option<i64>| ms(ns.map(|ns| ns as f64));
    let rows = runs.iter().map(|r| {
        vec![
            r.name.clone(),
            count(r.count),
            ms(r.mean_ns),
            ms(r.sd_ns),
            whole(r.min_ns),
            whole(r.max_ns),
            ms(r.mean_period_error_ns),
        ]
    });
    let mut text = String::from("duration of a loop in ms, from one start to the next\n");
    text.push_str(&columns(&["", "loops", "mean", "sd", "shortest", "longest", "mean |error|"], rows));
    text.push_str("loops by the size of their period error (jitter, in the report), in ms\n");
    let names = runs.iter().map(|r| r.name.as_str());
    let header: Vec<&str> = std::iter::once("|error|").chain(names).collect();
    let longest = runs.iter().map(|r| r.histogram.len()).max().unwrap_or(0);
    let loops = |r: &TwenteRun, bin: usize| r.histogram.get(bin).copied().unwrap_or(0);
    let occupied = (0..longest).filter(|bin| runs.iter().any(|r| loops(r, *bin) > 0));
    let rows = occupied.map(|bin| {
        let from = bin as f64 * BIN_NS as f64 / 1e6;
        let label = format!("{from:.1} to {:.1}", from + BIN_NS as f64 / 1e6);
        std::iter::once(label).chain(runs.iter().map(|r| count(loops(r, bin)))).collect()
    });
    text + &columns(&header, rows)
}

/// The change of a figure, as a share of the first run's.
fn relative(difference: &Difference) -> Option<[f64; 3]> {
    let [low, high] = difference.interval?;
    let first = difference.difference / (difference.ratio? - 1.0);
    let percent = |ns: f64| 100.0 * ns / first;
    let all = [percent(low), percent(difference.difference), percent(high)];
    all.iter().all(|v| v.is_finite()).then_some(all)
}

fn chart(task: &str, comparison: &Comparison) -> Option<Chart> {
    // The share of missed due times is no latency: the table has it.
    let shown = || Statistic::ALL.iter().filter(|s| **s != Statistic::MissedShare);
    let names: Vec<&str> = shown().map(|s| s.name()).collect();
    let others = comparison.against_first.len() as f64;
    let layer = |(k, other): (usize, &AgainstFirst)| {
        // Runs stand side by side at each name.
        let shift = (k as f64 - (others - 1.0) / 2.0) * 0.6 / others;
        let values = other.differences.iter().filter_map(|d| {
            let [low, middle, high] = relative(d)?;
            let at = shown().position(|s| *s == d.statistic)?;
            Some([at as f64 + shift, low, middle, high])
        });
        Layer::new(&other.name, k, Shape::Intervals(values.collect()))
    };
    let layers: Vec<Layer> = comparison.against_first.iter().enumerate().map(layer).collect();
    if layers.iter().all(|l| matches!(&l.shape, Shape::Intervals(v) if v.is_empty())) {
        return None;
    }
    let base = &comparison.runs.first()?.name;
    let level = Layer::new("", 4, Shape::Level(0.0));
    Some(Chart {
        name: "comparison",
        caption: format!(
            "Latency of task {task} in {}, against {base}: change of each figure in percent; below zero is better. Bars: 95 % intervals of all together.",
            comparison.against_first.iter().map(|o| o.name.as_str()).collect::<Vec<_>>().join(", "),
        ),
        x: Axis::names("figure of the latency", names),
        y: Axis::linear(format!("change against {base}, %")),
        layers: [level].into_iter().chain(layers).collect(),
        height: 400,
    })
}

fn difference_table(task: &str, base: &str, other: &AgainstFirst) -> Piece {
    let rows = other.differences.iter().map(|d| {
        let show = |v: f64| match d.statistic {
            Statistic::MissedShare => format!("{:+.4} %", 100.0 * v),
            _ => format!("{}{}", if v > 0.0 { "+" } else { "" }, time(v)),
        };
        vec![
            d.statistic.name().into(),
            show(d.difference),
            d.interval
                .map_or("too short a run".into(), |[low, high]| format!("{} to {}", show(low), show(high))),
            d.ratio.map_or("–".into(), |r| format!("{r:.3}")),
            if d.real { "real" } else { "not shown" }.into(),
        ]
    });
    Piece::Table {
        caption: format!(
            "Task {task}: {} against {base}; a latency of it is the lower one with a probability of {:.1} %",
            other.name,
            100.0 * other.p_lower
        ),
        header: ["statistic", "change", "interval", "ratio", "difference"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::compare::{compare, twente as twente_of};
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::Activation;

    fn scan(base_ns: i64) -> TaskScan {
        let mut scan = TaskScan::new(1_000_000, 20_000);
        let rows: Vec<Activation> = (0..20_000u64)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let noise = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as i64;
                let start_ns = due_ns + base_ns + noise;
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        scan
    }

    #[test]
    fn what_became_better_stands_to_the_left() {
        let (a, b) = (scan(9_000), scan(3_000));
        let runs = [("before".to_owned(), &a), ("after".to_owned(), &b)];
        let text = comparison(&compare(&runs), Terminal { columns: 80, ascii: true, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let p50 = text.lines().find(|l| l.trim_start().starts_with("p50") && l.contains("lower")).unwrap();
        assert!(p50.contains("-6.0"), "{p50}");
        let plot = text.lines().rfind(|l| l.trim_start().starts_with("p50 ")).unwrap();
        assert!(plot.find('o').unwrap() < plot.find('|').unwrap(), "{plot}");
    }

    #[test]
    fn a_refusal_names_the_difference() {
        let period = Mismatch {
            what: "period".into(),
            first: "1ms".into(),
            other: "250us".into(),
            weight: Weight::Refuse,
        };
        assert!(mismatches("a", "b", &[period]).contains("not comparable: period: 1ms in a, 250us in b"));
    }

    #[test]
    fn loops_are_shown_as_the_report_does() {
        let a = scan(3_000);
        let text = twente(&twente_of(&[("plain".to_owned(), &a)]));
        assert!(text.contains("0.0 to 0.1") && text.contains("1.0000"), "{text}");
    }
}
