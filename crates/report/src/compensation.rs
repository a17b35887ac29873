//! What compensating the jitter of a task costs and brings on a machine: measured, recommended, proven.

mod figures;

pub use figures::sections;

use std::fmt::Write as _;

use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::NistChoice;
use jitterlab_analysis::summary::{P50, P90, P99, P99_9};
use jitterlab_analysis::trial::{Candidate, CompensationTrial, Disturbance, TrialNote};
use jitterlab_analysis::wakeup::WayFigures;
use jitterlab_model::Fitness;
use jitterlab_model::units::{Exact, Human};

use crate::chart::Terminal;
use crate::head::Head;
use crate::table;
use crate::wakeups::time;
use crate::warnings;
use crate::words::{exact, share};
use crate::wrap::{wrap, wrap_indented};

/// A median with its interval, for people.
pub fn interval(m: Option<MedianInterval>, show: impl Fn(f64) -> String) -> String {
    match m {
        None => "not measured".into(),
        Some(MedianInterval { median, interval: None }) => {
            format!("{} (too few pairs for an interval)", show(median))
        }
        Some(MedianInterval { median, interval: Some((low, high)) }) => {
            format!("{} ({} to {} with 95 %)", show(median), show(low), show(high))
        }
    }
}

/// How many times smaller or larger something became, and whether that is shown.
fn change(factor: Option<MedianInterval>) -> String {
    let times = |f: f64| if f >= 9.95 { format!("{f:.0}") } else { format!("{f:.1}") };
    let either = |f: f64| match f {
        f if f >= 1.0 => format!("{} times smaller", times(f)),
        f => format!("{} times larger", times(1.0 / f)),
    };
    match factor {
        None => "not compared".into(),
        Some(MedianInterval { median, interval: None }) => {
            format!("{} at the median, yet too few pairs to show it", either(median))
        }
        Some(MedianInterval { median, interval: Some((low, high)) }) if low > 1.0 => {
            format!("smaller by a factor of {} ({} to {} with 95 %)", times(median), times(low), times(high))
        }
        Some(MedianInterval { median, interval: Some((low, high)) }) if high < 1.0 => format!(
            "LARGER by a factor of {} ({} to {} with 95 %)",
            times(1.0 / median),
            times(1.0 / high),
            times(1.0 / low)
        ),
        Some(MedianInterval { interval: Some((low, high)), .. }) => {
            format!("no change is shown: between {} and {} (95 %)", either(low), either(high))
        }
    }
}

/// The three lines: whether compensating is shown to help, what it costs, how to use it.
pub(crate) fn head(trial: &CompensationTrial) -> Option<Head> {
    let Candidate { wake, choice, .. } = trial.candidates.get(trial.chosen)?;
    let factor = trial.proof.as_ref().and_then(|proof| proof.p99_factor);
    let (fitness, way) = match factor.map(|factor| factor.interval) {
        Some(Some((low, _))) if low > 1.0 => (Fitness::Good, "BETTER"),
        Some(Some((_, high))) if high < 1.0 => (Fitness::Unfit, "WORSE"),
        Some(_) => (Fitness::CannotTell, "NO CHANGE SHOWN"),
        None => (Fitness::CannotTell, "NOT PROVED"),
    };
    let margin = Exact(choice.margin_ns);
    let extra = trial.proof.as_ref().and_then(|proof| proof.extra_load);
    let cost = match extra {
        Some(load) => format!("it takes {} of a processor more", interval(Some(load), share)),
        None => format!("it would poll {} of a processor", share(choice.expected_load)),
    };
    let next = match fitness {
        Fitness::Good => format!("jitterlab run --wake {wake} --compensate margin:{margin}"),
        Fitness::Unfit => "leave it out: it makes this machine worse".into(),
        _ => "the same with more --rounds".into(),
    };
    Some(Head {
        fitness,
        asked: false,
        verdict: format!("{way}: waking {} early and polling.", Human(choice.margin_ns as f64)),
        number: format!(
            "p99: {}; {cost}, {} of the starts are expected late.",
            change(factor),
            share(choice.expected_late)
        ),
        next,
    })
}

const BAR: usize = 28;

/// Measured load as a bar, with a mark where equation 1 lies; both end at `most`.
fn load_bar(point: &LoadPoint, most: f64, ascii: bool) -> String {
    let at = |load: f64| ((load / most).clamp(0.0, 1.0) * (BAR - 1) as f64).round() as usize;
    let (bar, mark) = if ascii { ('#', '|') } else { ('█', '│') };
    let filled = at(point.measured.max(0.0));
    let cells = (0..BAR).map(|i| match i {
        i if i == at(point.equation_1) => mark,
        i if i <= filled => bar,
        _ => ' ',
    });
    cells.collect()
}

/// The load curve as a table with bars.
pub fn load_table(points: &[LoadPoint], service: &ServiceTime, period_ns: i64, ascii: bool) -> String {
    let nist = NistChoice::of(service.often_ns, period_ns);
    let most = points.iter().map(|p| p.measured.max(p.equation_1)).fold(f64::MIN_POSITIVE, f64::max).min(1.0);
    let rows = points.iter().map(|p| {
        vec![
            exact(p.every_ns),
            share(p.measured),
            share(p.polled),
            share(p.equation_1),
            share(p.mean_poll),
            load_bar(p, most, ascii),
        ]
    });
    let mut out = table::columns(&["A", "measured", "polled", "eq. 1", "mean poll", ""], rows);
    let _ = write!(
        out,
        "  bar: measured; mark: equation 1 with S = {}. Least by equations 2 and 3:\n  \
         A = {}, {}; with half of the last A polled: A = {}, {}.\n",
        Human(nist.service_ns),
        Human(nist.every_ns),
        share(nist.load),
        Human(nist.mean_poll_every_ns),
        share(nist.mean_poll_load),
    );
    if let Some(least) = points.iter().min_by(|a, b| a.measured.total_cmp(&b.measured)) {
        let _ =
            writeln!(out, "  Least as measured: A = {}, {}.", exact(least.every_ns), share(least.measured));
    }
    out
}

/// For people, at 80 columns.
#[must_use]
pub fn text(trial: &CompensationTrial, terminal: Terminal) -> String {
    let mut out = String::new();
    write_what_is(trial, &mut out);
    write_load_curve(trial, &mut out, terminal.ascii);
    write_margins(trial, &mut out);
    write_recommendation(trial, &mut out);
    write_proof(trial, &mut out, terminal);
    for found in &trial.notes {
        let _ = writeln!(out, "note: {}", note(found));
    }
    for file in &trial.files {
        let _ = writeln!(out, "written: {file}");
    }
    out
}

/// What a reader has to know, as a clause.
#[must_use]
pub fn note(note: &TrialNote) -> String {
    match note {
        TrialNote::Machine { warning } => warnings::sentence(warning),
        TrialNote::Refused { refusal } => {
            format!("{}: {}; {}", refusal.what, refusal.why, refusal.remedy)
        }
        TrialNote::NoLoadPoint { every_ns, overload } => {
            format!("waking every {}: {overload}", exact(*every_ns))
        }
        TrialNote::Stopped { overload } => overload.to_string(),
        TrialNote::Interrupted => "interrupted: the proof rests on the whole pairs until then".into(),
        TrialNote::NotSaved { why } => format!("no run file: {why}"),
    }
}

fn write_what_is(trial: &CompensationTrial, out: &mut String) {
    let ServiceTime { inside_ns, outside_ns, often_every_ns, often_ns } = trial.service;
    let _ = write!(
        out,
        "period {}; the clock read twice in a row: median {}, p99 {}\n\n\
         a wake-up costs (S)\n  \
         {:>8}  by the clock, from the due time to the next wait: interrupt,\n            \
         leaving idle, switch to the task, its own code; not the switch back\n  \
         {:>8}  of processor time of the thread: its code, its system calls and\n            \
         the switches as far as the kernel counts them; not the interrupt\n  \
         {:>8}  the same if it wakes every {}: nothing has time to cool down\n\n",
        exact(trial.period_ns),
        time(trial.clock_floor.at(P50).exactly()),
        time(trial.clock_floor.at(P99).exactly()),
        Human(inside_ns).to_string(),
        Human(outside_ns).to_string(),
        Human(often_ns).to_string(),
        exact(often_every_ns),
    );
    out.push_str("latency of an early sleep, and the margin that follows from it\n");
    let rows = trial.candidates.iter().map(|c| {
        let (f, r) = (&c.early_latency, &c.choice);
        vec![
            c.wake.to_string(),
            time(f.at(P50).exactly()),
            time(f.at(P99).exactly()),
            time(f.at(P99_9).exactly()),
            time(f.max_ns),
            Human(r.margin_ns as f64).to_string(),
            share(r.expected_load),
            share(r.expected_late),
        ]
    });
    let header = ["", "p50", "p99", "p99.9", "max", "margin", "polls", "late"];
    out.push_str(&table::columns(&header, rows));
    out.push('\n');
}

fn write_load_curve(trial: &CompensationTrial, out: &mut String, ascii: bool) {
    if trial.load_curve.is_empty() {
        return;
    }
    out.push_str("waking every A and polling in the last A (the NIST paper): extra processor load\n");
    out.push_str(&load_table(&trial.load_curve, &trial.service, trial.period_ns, ascii));
    out.push('\n');
}

fn write_margins(trial: &CompensationTrial, out: &mut String) {
    if trial.margins.is_empty() {
        return;
    }
    out.push_str(&wrap(
        "one early sleep, then polling: as latencies measured in turns foretell, and measured",
    ));
    let rows = trial.margins.iter().map(|p| {
        vec![
            exact(p.margin_ns),
            share(p.expected_polled),
            share(p.measured_polled),
            share(p.expected_late),
            share(p.measured_late),
        ]
    });
    out.push_str(&table::columns(&["margin", "polls", "measured", "late", "measured"], rows));
    out.push('\n');
}

fn write_recommendation(trial: &CompensationTrial, out: &mut String) {
    let Some(Candidate { wake, choice: r, .. }) = trial.candidates.get(trial.chosen) else {
        return;
    };
    out.push_str(&wrap(&format!(
        "use wake={wake},compensate=margin:{}: polls {} of a processor and leaves {} of the starts late, by {} latencies",
        Exact(r.margin_ns),
        share(r.expected_load),
        share(r.expected_late),
        r.samples
    )));
    if r.limited_by_budget {
        out.push_str("  the budget allows no longer margin; fewer late starts cost more polling\n");
    }
    if let Some(late) = r.supported_late {
        out.push_str(&wrap_indented(&format!(
            "so few latencies support no rarer late starts than {}: raise --rounds for less",
            share(late)
        )));
    }
    out.push('\n');
}

fn write_proof(trial: &CompensationTrial, out: &mut String, terminal: Terminal) {
    let Some(proof) = &trial.proof else { return };
    let _ = writeln!(out, "proof: {} pairs of blocks in turns, |start - due|", proof.pairs.len());
    let row = |name: &str, way: &WayFigures| {
        let d = &way.deviation;
        let jitter = way.latency.max_ns.zip(way.latency.min_ns).map(|(max, min)| max - min);
        vec![
            name.into(),
            time(d.at(P50).exactly()),
            time(d.at(P90).exactly()),
            time(d.at(P99).exactly()),
            time(d.at(P99_9).exactly()),
            time(jitter),
            way.load.map_or_else(|| "-".into(), share),
        ]
    };
    out.push_str(&table::columns(
        &["", "p50", "p90", "p99", "p99.9", "max - min", "load"],
        [row("uncompensated", &proof.before), row("compensated", &proof.after)],
    ));
    for (what, blocks, factor) in
        [("p99", proof.p99_ns, proof.p99_factor), ("max - min", proof.jitter_ns, proof.jitter_factor)]
    {
        let ns = |ns: f64| Human(ns).to_string();
        out.push_str(&wrap_indented(&format!(
            "{what} of a block: {} before, {} after; {}",
            interval(blocks.before, ns),
            interval(blocks.after, ns),
            change(factor)
        )));
    }
    out.push_str(&wrap_indented(&format!("extra processor load {}", interval(proof.extra_load, share))));
    write_floor(trial, out, proof);
    out.push('\n');
    out.push_str(&terminal.figures(&Some(figures::before_and_after(trial.period_ns, proof))));
    out.push('\n');
}

/// What sets the limit: the clock, the sleep, interrupts, the host.
fn write_floor(trial: &CompensationTrial, out: &mut String, proof: &Proof) {
    let floor_ns = trial.clock_floor.at(P50).exactly().unwrap_or(0).max(1);
    if let Some(p90) = proof.after.deviation.at(P90).exactly() {
        out.push_str(&wrap_indented(&format!(
            "p90 of the compensated task is {:.1} readings of the clock ({}); it cannot start more exactly than the clock \
             can be read",
            p90 as f64 / floor_ns as f64,
            Human(floor_ns as f64),
        )));
    }
    let late = &proof.late;
    if late.overslept > 0 {
        out.push_str(&wrap_indented(&format!(
            "{} of {} starts were late because the sleep took longer than the margin, by up to {}",
            late.overslept,
            late.starts,
            Human(late.worst_overslept_ns as f64)
        )));
    }
    if late.torn > 0 {
        out.push_str(&wrap_indented(&format!(
            "{} were late although the task polled, by up to {}: an interrupt or the host had the processor at that \
             moment, which no margin can help",
            late.torn,
            Human(late.worst_torn_ns as f64)
        )));
    }
    let Disturbance { steal, interrupts } = trial.disturbance;
    let mut seen = vec![format!("the longest hole in a poll was {}", Human(trial.longest_hole_ns as f64))];
    seen.extend(interrupts.map(|n| format!("the processor took {n} interrupts")));
    seen.extend(steal.map(|stolen| format!("the hypervisor took {} of its time", share(stolen))));
    out.push_str(&wrap_indented(&format!("meanwhile {}", seen.join(", "))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::Statistics;
    use jitterlab_analysis::compensation::EmpiricalLaw;
    use jitterlab_analysis::expectation::MarginPoint;
    use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
    use jitterlab_analysis::wakeup::BlockView;
    use jitterlab_model::{Activation, Flags, TaskResult, WakeMethod};

    #[test]
    fn what_became_larger_is_not_called_smaller() {
        let of = |median, interval| change(Some(MedianInterval { median, interval }));
        assert_eq!(of(0.8, Some((0.5, 0.9))), "LARGER by a factor of 1.2 (1.1 to 2.0 with 95 %)");
        assert_eq!(
            of(0.8, Some((0.5, 1.3))),
            "no change is shown: between 2.0 times larger and 1.3 times smaller (95 %)"
        );
        assert_eq!(of(12.0, Some((9.0, 15.0))), "smaller by a factor of 12 (9.0 to 15 with 95 %)");
        assert_eq!(of(0.8, None), "1.2 times larger at the median, yet too few pairs to show it");
    }

    fn report() -> CompensationTrial {
        let latencies = EmpiricalLaw::new((0..1_000).map(|x| 3_000.0 + f64::from(x) * 20.0));
        let choice = recommend(&latencies, 500_000, DEFAULT_WISH, 5_000.0).unwrap();
        let figures = Statistics { count: 1_000, ..Statistics::default() }.with(P50, 25).with(P99, 31);
        let result = |cpu| TaskResult {
            executed: 200,
            last_end_ns: 100_000_000,
            cpu_time_ns: Some(cpu),
            ..TaskResult::default()
        };
        let starts = |late_ns: i64, flags| -> Vec<Activation> {
            let dues = (0..200i64).map(|k| k * 500_000);
            dues.map(|due_ns| {
                let start_ns = due_ns + due_ns / 500_000 % 2 * late_ns;
                Activation { due_ns, start_ns, flags, ..Activation::default() }
            })
            .collect()
        };
        let (plain, early) = (result(1_000_000), result(4_000_000));
        let (late, punctual) = (starts(10_000, Flags::default()), starts(100, Flags::POLLED));
        let before = BlockView { period_ns: 500_000, result: &plain, activations: &late };
        let after = BlockView { period_ns: 500_000, result: &early, activations: &punctual };
        CompensationTrial {
            period_ns: 500_000,
            clock_floor: figures,
            service: ServiceTime {
                inside_ns: 21_000.0,
                outside_ns: 9_000.0,
                often_every_ns: 50_000,
                often_ns: 5_000.0,
            },
            candidates: vec![Candidate { wake: WakeMethod::Timerfd, early_latency: figures, choice }],
            chosen: 0,
            load_curve: vec![LoadPoint {
                every_ns: 50_000,
                measured: 0.171,
                polled: 0.05,
                equation_1: 0.19,
                mean_poll: 0.14,
            }],
            margins: vec![MarginPoint {
                margin_ns: 20_000,
                expected_polled: 0.0123,
                measured_polled: 0.0121,
                expected_late: 0.1,
                measured_late: 0.12,
            }],
            proof: Some(Proof::of(&[before; 6], &[after; 6], 75)),
            longest_hole_ns: 4_000,
            disturbance: Disturbance { steal: Some(0.02), interrupts: Some(77) },
            files: vec!["a.parquet".into()],
            notes: vec![TrialNote::Interrupted],
        }
    }

    #[test]
    fn every_part_is_told_within_the_width_of_a_terminal() {
        let report = report();
        for ascii in [true, false] {
            let text = text(&report, Terminal { columns: 80, ascii, colour: false });
            for part in [
                "period 500 µs",
                "5 µs  the same if it wakes every 50 µs",
                "17 %",
                "19 %",
                "1.2 %",
                "use wake=timerfd,compensate=margin:22980ns",
                "S = 5 µs",
                "A = 50 µs",
                "smaller by a factor of 100 (100 to 100 with 95 %)",
                "extra processor load 3.0 %",
                "600 were late although the task polled, by up to 100 ns",
                "took 77 interrupts",
                "took 2.0 % of its time",
                "written: a.parquet",
                "note: interrupted: the proof rests on",
            ] {
                let unbroken = text.replace("\n  ", " ");
                assert!(text.contains(part) || unbroken.contains(part), "{part} in {text}");
            }
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn the_head_says_what_was_shown() {
        let said = head(&report()).unwrap();
        assert!(
            said.verdict == "BETTER: waking 23 µs early and polling."
                && said.number.starts_with("p99: smaller by a factor of 100"),
            "{said:?}"
        );
        assert_eq!(said.next, "jitterlab run --wake timerfd --compensate margin:22980ns");
        let said = head(&CompensationTrial { proof: None, ..report() }).unwrap();
        assert!(said.fitness == Fitness::CannotTell && said.verdict.starts_with("NOT PROVED"), "{said:?}");
    }

    #[test]
    fn without_a_proof_nothing_is_claimed() {
        let text = text(
            &CompensationTrial { proof: None, ..report() },
            Terminal { columns: 80, ascii: true, colour: false },
        );
        assert!(!text.contains("factor") && !text.contains("late although"), "{text}");
    }

    #[test]
    fn the_page_shows_before_and_after() {
        let sections = sections(&report());
        let names: Vec<&str> = sections[0].charts().iter().map(|chart| chart.name.as_ref()).collect();
        assert_eq!(names, ["compensation", "load-curve", "margin"]);
    }

    #[test]
    fn programs_read_the_same_figures() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["load_curve"][0]["equation_1"], 0.19);
        assert_eq!(json["candidates"][0]["wake"], "timerfd");
        assert_eq!(json["proof"]["late"]["torn"], 600);
    }
}
