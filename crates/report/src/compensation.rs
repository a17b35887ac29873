//! Words of `compensate`: the proof, the recommended margin, and its cost.

mod figures;

use jitterlab_analysis::Statistics;
use jitterlab_analysis::compensation_trial::{Candidate, CompensationTrial, Disturbance, TrialNote};
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::proof::{BeforeAndAfter, Proof};
use jitterlab_analysis::recommendation::NistChoice;
use jitterlab_analysis::summary::{P50, P90, P99, P99_9, Percentile};
use jitterlab_analysis::wakeup::WayFigures;
use jitterlab_model::Fitness;
use jitterlab_model::units::Exact;

use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::figure::load;
use crate::section::{Cell, Piece, Section};
use crate::warnings;
use crate::words::{exact_time, share, time};

impl Present for CompensationTrial {
    const KIND: &'static str = "compensation";

    fn conclusion(&self) -> Option<Conclusion> {
        let Candidate { wake, choice, .. } = self.candidates.get(self.chosen)?;
        let factor = self.proof.as_ref().and_then(|proof| proof.p99_factor);
        let (fitness, way) = match factor.map(|factor| factor.interval) {
            Some(Some((low, _))) if low > 1.0 => (Fitness::Good, "BETTER"),
            Some(Some((_, high))) if high < 1.0 => (Fitness::Unfit, "WORSE"),
            Some(_) => (Fitness::CannotTell, "NO CHANGE SHOWN"),
            None => (Fitness::CannotTell, "NOT PROVED"),
        };
        let margin = Exact(choice.margin_ns);
        let extra = self.proof.as_ref().and_then(|proof| proof.extra_load);
        let cost = match extra {
            Some(load) => format!("it takes {} of a processor more", interval_text(Some(load), share)),
            None => format!("it would poll {} of a processor", share(choice.expected_load)),
        };
        let next = match fitness {
            Fitness::Good => format!("jitterlab run --wake {wake} --compensate margin:{margin}"),
            Fitness::Unfit => "leave it out: it makes this machine worse".into(),
            _ => "the same with more --rounds".into(),
        };
        Some(Conclusion {
            fitness,
            asked: false,
            verdict: format!("{way}: waking {} early and polling.", time(choice.margin_ns as f64)),
            number: format!(
                "p99: {}; {cost}, {} of the starts are expected late.",
                factor_text(factor),
                share(choice.expected_late)
            ),
            next,
        })
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces: Vec<Piece> = self.proof.iter().flat_map(|proof| proof_pieces(self, proof)).collect();
        pieces.extend(recommendation_pieces(self));
        pieces.extend(self.notes.iter().map(|found| Piece::note(note_sentence(found))));
        let mut folded = cost_pieces(self);
        folded.extend(load_curve_pieces(&self.load_curve, &self.service, self.period_ns));
        if !self.load_curve.is_empty() {
            folded.push(Piece::Figure(load::extra_load_curve(
                self.period_ns,
                self.service.often_ns,
                &self.load_curve,
                None,
            )));
        }
        folded.extend(margin_pieces(self));
        pieces.push(Piece::details("What a wake-up costs, and what margins and early wake-ups poll", folded));
        pieces.extend(self.files.iter().map(|file| Piece::text(format!("written: {file}"))));
        vec![Section::new(
            "compensation",
            "Compensation",
            "Waking early and polling to the due time: what it brings, and what it costs of the processor.",
            pieces,
        )]
    }
}

/// A median with its interval, for people.
pub fn interval_text(m: Option<MedianInterval>, show: impl Fn(f64) -> String) -> String {
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

/// Factor by which a figure became smaller or larger, and whether the data show it.
fn factor_text(factor: Option<MedianInterval>) -> String {
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

/// Extra load of waking every A and polling in the last A, measured and by the paper's equations.
pub fn load_curve_pieces(points: &[LoadPoint], service: &ServiceTime, period_ns: i64) -> Vec<Piece> {
    let Some(least) = points.iter().min_by(|a, b| a.measured.total_cmp(&b.measured)) else {
        return Vec::new();
    };
    let nist = NistChoice::new(service.often_ns, period_ns);
    let rows = points.iter().map(|p| {
        let shares = [p.measured, p.polled, p.equation_1, p.mean_poll].map(Cell::Share);
        std::iter::once(Cell::Text(exact_time(p.every_ns))).chain(shares).collect()
    });
    let caption = "waking every A and polling in the last A (the NIST paper): extra processor load";
    let equations = format!(
        "Equation 1 with S = {}. Least by equations 2 and 3: A = {}, {}; with half of the last A polled: A = {}, {}. Least \
         as measured: A = {}, {}.",
        time(nist.service_ns),
        time(nist.every_ns),
        share(nist.load),
        time(nist.mean_poll_every_ns),
        share(nist.mean_poll_load),
        exact_time(least.every_ns),
        share(least.measured)
    );
    vec![
        Piece::table(caption, &["A", "measured", "polled", "eq. 1", "mean poll"], rows),
        Piece::text(equations),
    ]
}

pub fn note_sentence(note: &TrialNote) -> String {
    match note {
        TrialNote::Machine { warning } => warnings::warning_sentence(warning),
        TrialNote::Refused { refusal } => {
            format!("{}: {}; {}", refusal.what, refusal.why, refusal.remedy)
        }
        TrialNote::NoLoadPoint { every_ns, overload } => {
            format!("waking every {}: {overload}", exact_time(*every_ns))
        }
        TrialNote::Stopped { overload } => overload.to_string(),
        TrialNote::Interrupted => "interrupted: the proof rests on the whole pairs until then".into(),
        TrialNote::NotSaved { why } => format!("no run file: {why}"),
    }
}

/// A time in ns where it is known.
fn time_cell(value: Option<i64>) -> Cell {
    Cell::optional(value, |ns| Cell::time(ns as f64))
}

fn percentile_cell(of: &Statistics, percentile: Percentile) -> Cell {
    time_cell(of.at(percentile).exactly())
}

/// Cost of a wake-up, and the latencies of early sleeps with the margin that follows from them.
fn cost_pieces(trial: &CompensationTrial) -> Vec<Piece> {
    let ServiceTime { inside_ns, outside_ns, often_every_ns, often_ns } = trial.service;
    let clock = |percentile| {
        trial.clock_floor.at(percentile).exactly().map_or_else(|| "-".into(), |ns| time(ns as f64))
    };
    let facts = [
        (
            "by the clock",
            format!(
                "{} from the due time to the next wait: interrupt, leaving idle, switch to the task, its own code; not the \
                 switch back",
                time(inside_ns)
            ),
        ),
        (
            "processor time",
            format!(
                "{} of the thread: its code, its system calls and the switches as far as the kernel counts them; not the \
                 interrupt",
                time(outside_ns)
            ),
        ),
        (
            "done often",
            format!(
                "{} if it wakes every {}: nothing has time to cool down",
                time(often_ns),
                exact_time(often_every_ns)
            ),
        ),
        ("period", exact_time(trial.period_ns)),
        ("clock", format!("two readings in a row: median {}, p99 {}", clock(P50), clock(P99))),
    ];
    let rows = trial.candidates.iter().map(|Candidate { wake, early_latency: f, choice: r }| {
        vec![
            Cell::Text(wake.to_string()),
            percentile_cell(f, P50),
            percentile_cell(f, P99),
            percentile_cell(f, P99_9),
            time_cell(f.max_ns),
            time_cell(Some(r.margin_ns)),
            Cell::Share(r.expected_load),
            Cell::Share(r.expected_late),
        ]
    });
    vec![
        Piece::facts("cost of a wake-up (S)", facts),
        Piece::table(
            "latency of an early sleep, and the margin that follows from it",
            &["µs", "p50", "p99", "p99.9", "max", "margin", "polls", "late"],
            rows,
        ),
    ]
}

fn margin_pieces(trial: &CompensationTrial) -> Vec<Piece> {
    let Some(figure) = figures::margins_chart(trial) else { return Vec::new() };
    let rows = trial.margins.iter().map(|p| {
        let shares =
            [p.expected_polled, p.measured_polled, p.expected_late, p.measured_late].map(Cell::Share);
        std::iter::once(Cell::Text(exact_time(p.margin_ns))).chain(shares).collect()
    });
    let caption = "one early sleep, then polling: as latencies measured in turns predict, and measured";
    vec![
        Piece::table(caption, &["margin", "polls", "measured", "late", "measured"], rows),
        Piece::Figure(figure),
    ]
}

/// Recommends a wake method and margin, with the polling and late starts to expect.
fn recommendation_pieces(trial: &CompensationTrial) -> Vec<Piece> {
    let Some(Candidate { wake, choice: r, .. }) = trial.candidates.get(trial.chosen) else {
        return Vec::new();
    };
    let mut said = format!(
        "use wake={wake},compensate=margin:{}: polls {} of a processor and leaves {} of the starts late, by {} latencies",
        Exact(r.margin_ns),
        share(r.expected_load),
        share(r.expected_late),
        r.samples
    );
    if r.limited_by_budget {
        said += "; the budget allows no longer margin, and fewer late starts cost more polling";
    }
    if let Some(late) = r.supported_late {
        said += &format!(
            "; so few latencies support no rarer late starts than {}: raise --rounds for less",
            share(late)
        );
    }
    vec![Piece::text(said)]
}

fn proof_pieces(trial: &CompensationTrial, proof: &Proof) -> Vec<Piece> {
    let row = |name: &str, way: &WayFigures| {
        let d = &way.deviation;
        let jitter = way.latency.max_ns.zip(way.latency.min_ns).map(|(max, min)| max - min);
        let load = Cell::optional(way.load, Cell::Share);
        vec![
            Cell::from(name),
            percentile_cell(d, P50),
            percentile_cell(d, P90),
            percentile_cell(d, P99),
            percentile_cell(d, P99_9),
            time_cell(jitter),
            load,
        ]
    };
    let caption = format!("proof: {} pairs of blocks in turns, |start - due|", proof.pairs.len());
    let header = ["µs", "p50", "p90", "p99", "p99.9", "max - min", "load"];
    let rows = [row("uncompensated", &proof.before), row("compensated", &proof.after)];
    let of_blocks = |(name, blocks, factor): (&'static str, BeforeAndAfter, _)| {
        let (before, after) = (interval_text(blocks.before, time), interval_text(blocks.after, time));
        (name, format!("{before} before, {after} after; {}", factor_text(factor)))
    };
    let mut facts = [
        ("p99 of a block", proof.p99_ns, proof.p99_factor),
        ("max - min of a block", proof.jitter_ns, proof.jitter_factor),
    ]
    .map(of_blocks)
    .to_vec();
    facts.push(("extra processor load", interval_text(proof.extra_load, share)));
    facts.extend(limit_facts(trial, proof));
    vec![
        Piece::table(caption, &header, rows),
        Piece::facts("", facts),
        Piece::Figure(figures::before_and_after_chart(trial.period_ns, proof)),
    ]
}

/// Limits of the compensation: the clock, the sleep, interrupts, the host.
fn limit_facts(trial: &CompensationTrial, proof: &Proof) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let floor_ns = trial.clock_floor.at(P50).exactly().unwrap_or(0).max(1) as f64;
    if let Some(p90) = proof.after.deviation.at(P90).exactly() {
        facts.push((
            "limit of the clock",
            format!(
                "p90 of the compensated task is {:.1} readings of the clock ({}); it cannot start more exactly than the clock \
                 can be read",
                p90 as f64 / floor_ns,
                time(floor_ns)
            ),
        ));
    }
    let late = &proof.late;
    if late.overslept > 0 {
        facts.push((
            "margin too short",
            format!(
                "{} of {} starts were late because the sleep took longer than the margin, by up to {}",
                late.overslept,
                late.starts,
                time(late.worst_overslept_ns as f64)
            ),
        ));
    }
    if late.torn > 0 {
        facts.push((
            "late all the same",
            format!(
                "{} were late although the task polled, by up to {}: an interrupt or the host had the processor at that moment, \
                 which no margin can help",
                late.torn,
                time(late.worst_torn_ns as f64)
            ),
        ));
    }
    let Disturbance { steal, interrupts } = trial.disturbance;
    let mut seen = vec![format!("the longest hole in a poll was {}", time(trial.longest_hole_ns as f64))];
    seen.extend(interrupts.map(|n| format!("the processor took {n} interrupts")));
    seen.extend(steal.map(|stolen| format!("the hypervisor took {} of its time", share(stolen))));
    facts.push(("meanwhile", seen.join(", ")));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_analysis::compensation::EmpiricalDistribution;
    use jitterlab_analysis::expectation::MarginPoint;
    use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
    use jitterlab_analysis::wakeup::BlockView;
    use jitterlab_model::{Activation, Flags, TaskResult, WakeMethod};

    #[test]
    fn what_became_larger_is_not_called_smaller() {
        let of = |median, interval| factor_text(Some(MedianInterval { median, interval }));
        assert_eq!(of(0.8, Some((0.5, 0.9))), "LARGER by a factor of 1.2 (1.1 to 2.0 with 95 %)");
        assert_eq!(
            of(0.8, Some((0.5, 1.3))),
            "no change is shown: between 2.0 times larger and 1.3 times smaller (95 %)"
        );
        assert_eq!(of(12.0, Some((9.0, 15.0))), "smaller by a factor of 12 (9.0 to 15 with 95 %)");
        assert_eq!(of(0.8, None), "1.2 times larger at the median, yet too few pairs to show it");
    }

    fn report() -> CompensationTrial {
        let latencies = EmpiricalDistribution::new((0..1_000).map(|x| 3_000.0 + f64::from(x) * 20.0));
        let choice = recommend(&latencies, 500_000, DEFAULT_WISH, 5_000.0).unwrap();
        let figures = Statistics { count: 1_000, ..Statistics::default() }
            .with_percentile(P50, 25)
            .with_percentile(P99, 31);
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
            proof: Some(Proof::new(&[before; 6], &[after; 6], 75)),
            longest_hole_ns: 4_000,
            disturbance: Disturbance { steal: Some(0.02), interrupts: Some(77) },
            files: vec!["a.parquet".into()],
            notes: vec![TrialNote::Interrupted],
        }
    }

    /// Everything at 80 columns.
    fn text(trial: &CompensationTrial, ascii: bool) -> String {
        trial.sections()[0].text(Terminal { columns: 80, ascii, colour: false })
    }

    #[test]
    fn every_part_is_told_within_the_width_of_a_terminal() {
        let report = report();
        for ascii in [true, false] {
            let text = text(&report, ascii);
            for part in [
                "period 500 µs",
                "5 µs if it wakes every 50 µs",
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
                "interrupted: the proof rests on",
            ] {
                let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(unbroken.contains(part), "{part} in {text}");
            }
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn the_head_says_what_was_shown() {
        let said = report().conclusion().unwrap();
        assert!(
            said.verdict == "BETTER: waking 23 µs early and polling."
                && said.number.starts_with("p99: smaller by a factor of 100"),
            "{said:?}"
        );
        assert_eq!(said.next, "jitterlab run --wake timerfd --compensate margin:22980ns");
        let said = CompensationTrial { proof: None, ..report() }.conclusion().unwrap();
        assert!(said.fitness == Fitness::CannotTell && said.verdict.starts_with("NOT PROVED"), "{said:?}");
    }

    #[test]
    fn without_a_proof_nothing_is_claimed() {
        let text = text(&CompensationTrial { proof: None, ..report() }, true);
        assert!(!text.contains("factor") && !text.contains("late although"), "{text}");
    }

    #[test]
    fn the_page_shows_before_and_after() {
        let sections = report().sections();
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
