//! The University of Twente's report: the duration of a loop of 1 ms under ordinary Linux and in real time.

use crate::claims::twente::{
    Choice, Conclusion, LoopTimes, PERIOD_NS, PRINTED, PrintedLoop, TwenteReproduction, WorkTime,
};
use crate::claims::{SystemUnderLoads, UnderLoad};
use crate::systems::System;
use jitterlab_analysis::median_interval::MedianInterval;

use super::{PaperFigure, StatementWords, claims, each, intervals};
use jitterlab_model::{Error, Quantity};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::emulated;
use jitterlab_report::words::{count, share, time};

const WHY_NOT_ONE: &str = "The report's program is said to sleep until absolute times, yet its mean is 1.07 to 1.3 ms: with \
    absolute times the mean is the period, whatever the jitter. Its loop must have measured each sleep from the end of \
    the work, or its period was not 1 ms. Here the times are absolute. The report's real-time system is Xenomai; here it is every \
    one that there is.";

const WORK: [&str; 4] = ["divisions", "median", "p99", "of the period"];

fn work_row(work: &WorkTime) -> Vec<String> {
    let known = |ns: Option<i64>| ns.map_or_else(|| "unknown".into(), |ns| time(ns as f64));
    let of_period = work.median_ns.map(|ns| share(ns as f64 / PERIOD_NS as f64));
    vec![
        count(u64::from(work.divisions)),
        known(work.median_ns),
        known(work.p99_ns),
        of_period.unwrap_or_else(|| "unknown".into()),
    ]
}

/// Statements of the report about the number of divisions.
fn choice(found: &TwenteReproduction) -> Vec<StatementWords> {
    let took = |work: &WorkTime| {
        let [_, median, p99, _] = <[String; 4]>::try_from(work_row(work)).unwrap_or_default();
        format!("median {median}, p99 {p99}")
    };
    claims(&found.choice, |choice| {
        let (statement, numbers) = match choice {
            Choice::LongerThanPeriod { work } => {
                ("100 000 divisions take longer than the period".into(), took(work))
            }
            Choice::TooLittle { work, sd_ns } => {
                let sd = time(*sd_ns as f64);
                let numbers = format!("{}; the report's loop has a standard deviation of {sd}", took(work));
                ("1000 divisions are too little to matter".into(), numbers)
            }
        };
        ("choice-of-k", statement, numbers)
    })
}

/// All statements of the report about the measurements.
pub(super) fn statements(found: &TwenteReproduction) -> Vec<StatementWords> {
    conclusions(found).into_iter().chain(choice(found)).collect()
}

pub(super) fn section(found: &TwenteReproduction) -> Section {
    let said = super::table("What the report says, and what became of it here", statements(found));
    let (of, how) =
        if found.in_virtual_time { (" of virtual time", caution(found)) } else { ("", super::in_turns()) };
    let table = Piece::table(format!("Duration of the loop of 1 ms, in ms{of}"), &HEADER, rows(found));
    let mut pieces = vec![said, table, in_report(found)];
    if !found.work.is_empty() {
        let caption = "How long the work of an activation takes";
        pieces.push(Piece::table(caption, &WORK, found.work.iter().map(work_row)));
    }
    pieces.extend([how, WHY_NOT_ONE.into()].map(|text| Piece::Text { text }));
    super::section(
        "twente",
        "Twente, figures 1 to 12",
        "The report's measurements, repeated on an ordinary system and on the real-time ones that there are.",
        pieces,
    )
}

/// The figures of a system under the load of this number: the series and the histogram, by the report's numbers.
///
/// # Errors
/// The run holds nothing to draw.
pub fn figures_of(
    system: &System,
    case: &UnderLoad<LoopTimes>,
    number: usize,
    run: &[PageRun],
) -> Result<Vec<PaperFigure>, Error> {
    let first = 2 * number + if system.is_ordinary() { 1 } else { 7 };
    let printed = printed(&PRINTED[(first - 1) / 2]);
    let here = case.found.map_or_else(
        || "not measured".into(),
        |times| format!("mean {} ms, sd {} ms, {} missed", ms(times.mean_ns), ms(times.sd_ns), times.missed),
    );
    let draw = |(name, number): (Figure, usize)| {
        let mut charts = name.charts(Quantity::PeriodError, run, &[])?;
        for chart in &mut charts {
            chart.caption = format!(
                "Figure {number}, {}. {} Time between starts here: {here}; in the report: {printed}.",
                system.name, chart.caption
            );
        }
        let of = if system.is_ordinary() { String::new() } else { format!("-{}", system.name) };
        Ok((format!("figure-{number:02}{of}"), charts))
    };
    [(Figure::SERIES, first), (Figure::HISTOGRAM, first + 1)].into_iter().map(draw).collect()
}

fn ms(ns: f64) -> String {
    format!("{:.4}", ns / 1e6)
}

/// `mean 1.08 ms (1.072 in another place), sd 0.031 ms`.
fn printed(printed: &PrintedLoop) -> String {
    let with_other = |name: &str, value: Option<f64>, other: Option<f64>| {
        let other = other.map_or(String::new(), |other| format!(" ({other} in another place)"));
        value.map(|value| format!("{name} {value} ms{other}"))
    };
    let mostly = printed.mostly_ms.map(|(from, to)| format!("mostly {from} to {to} ms"));
    let mean = with_other("mean", printed.mean_ms, printed.other_mean_ms);
    let parts = [
        Some(mean.unwrap_or_else(|| "no mean".into())),
        mostly,
        with_other("sd", printed.sd_ms, printed.other_sd_ms),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

const HEADER: [&str; 7] = ["", "loops", "missed", "shortest", "mean", "sd", "longest"];

fn rows(found: &TwenteReproduction) -> impl Iterator<Item = Vec<String>> {
    let of = |system: &SystemUnderLoads<LoopTimes>| {
        let row = |load: &UnderLoad<LoopTimes>| {
            let numbers = load.found.map_or_else(
                || ["-"; 6].map(String::from),
                |t| {
                    [
                        t.executed.to_string(),
                        t.missed.to_string(),
                        ms(t.shortest_ns as f64),
                        ms(t.mean_ns),
                        ms(t.sd_ns),
                        ms(t.longest_ns as f64),
                    ]
                },
            );
            let name = format!("{}, {}", system.system, load.condition);
            std::iter::once(name).chain(numbers).collect()
        };
        system.loads.iter().map(row).collect::<Vec<_>>()
    };
    std::iter::once(&found.ordinary).chain(&found.real_time).flat_map(of)
}

/// The report's own numbers, by its figures.
fn in_report(found: &TwenteReproduction) -> Piece {
    let loads = found.ordinary.loads.iter().map(|load| &load.condition).cycle();
    let rows = (1..).step_by(2).zip(&PRINTED).zip(loads).map(|((figure, of), load)| {
        let system = if figure < 7 { "ordinary" } else { "Xenomai" };
        vec![format!("{figure}, {}", figure + 1), format!("{system}, {load}"), printed(of)]
    });
    Piece::table("The same in the report", &["figures", "", "loop"], rows)
}

fn caution(found: &TwenteReproduction) -> String {
    format!(
        "{} The report's machine had four processors; the virtual machine has one, which every load shares with the task.",
        emulated(found.ns_per_instruction)
    )
}

fn conclusions(found: &TwenteReproduction) -> Vec<StatementWords> {
    let sds = |sds_ns: &[Option<f64>]| format!("standard deviations {}", each(sds_ns, time));
    let known = |ns: Option<f64>| ns.map_or_else(|| "unknown".into(), ms);
    let factors = |all: &[Option<MedianInterval>]| intervals(all, |factor| format!("{factor:.2}"));
    claims(&found.conclusions, |conclusion| match conclusion {
        Conclusion::StressEnlargesJitter { sds_ns, growth } => (
            "stress-enlarges",
            "ordinary Linux: stress enlarges the jitter".into(),
            format!("{}; of a stretch, times that without load: {}", sds(sds_ns), factors(growth)),
        ),
        Conclusion::JitterGrowsWithStress { sds_ns, growth } => (
            "proportional",
            "ordinary Linux: the jitter grows with the stress applied".into(),
            format!("{}; of a stretch, times that under the load before: {}", sds(sds_ns), factors(growth)),
        ),
        Conclusion::MeanRisesUnderStress { idle_ns, stressed_ns, growth, missed } => (
            "mean-rises",
            "ordinary Linux: the mean rises under stress, from 1.15 to 1.3 ms".into(),
            format!(
                "{} to {} ms; of a stretch, {} times as long, above 1.05 or not; {} loops missed",
                known(*idle_ns),
                known(*stressed_ns),
                factors(&[*growth]),
                missed.map_or_else(|| "unknown".into(), count)
            ),
        ),
        Conclusion::StressDoesNotMatter { system, sds_ns, changes_ns, not_significant_ns } => (
            "stress-does-not-matter",
            format!("{system}: stress does not significantly affect the timing"),
            format!(
                "{}; of a stretch, changed by {}; the report's changed by {}",
                sds(sds_ns),
                intervals(changes_ns, time),
                time(*not_significant_ns)
            ),
        ),
        Conclusion::MoreAccurate { system, factors: of_runs, of_stretches } => (
            "more-accurate",
            format!("{system}: the period is met more accurately than on ordinary Linux"),
            format!(
                "ordinary Linux's standard deviation is {} times as large; of a stretch: {}",
                each(of_runs, |factor| format!("{factor:.1}")),
                factors(of_stretches)
            ),
        ),
    })
}

/// A measurement for tests.
#[cfg(test)]
pub(super) fn times(sd_ns: f64) -> LoopTimes {
    LoopTimes { mean_ns: 1e6, sd_ns, shortest_ns: 900_000, longest_ns: 1_100_000, executed: 5_000, missed: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;
    use crate::claims::twente::{LoopStretches, TwenteSystem};

    #[test]
    fn conclusions_are_sentences_and_what_is_unknown_is_said() {
        let load = |found| UnderLoad { condition: "idle".into(), load: "none".into(), found };
        let stretches = |sd: Option<f64>| LoopStretches {
            means_ns: vec![1e6; 10],
            sds_ns: sd.map_or(vec![], |sd| vec![sd; 10]),
        };
        let system = |name: &str, sds: [Option<f64>; 3]| TwenteSystem {
            found: SystemUnderLoads { system: name.into(), loads: sds.map(|sd| load(sd.map(times))).into() },
            stretches: sds.map(stretches).into(),
        };
        let found = TwenteReproduction::new(
            system("ordinary", [22e3, 80e3, 120e3].map(Some)),
            vec![system("cobalt", [Some(21e3), None, Some(24e3)])],
            Vec::new(),
        );
        let text = words(&section(&found));
        for part in [
            "DOES NOT HOLD",
            "cobalt, idle 5000 0 0.9000 1.0000 0.0210 1.1000",
            "7, 8 Xenomai, idle mean 1.08 ms (1.072 in another place), sd 0.031 ms (0.3 in another place)",
            "3, 4 ordinary, idle no mean, mostly 1.05 to 1.4 ms",
            "cannot be told",
            "21 µs, unknown, 24 µs",
            "3 times in turns",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let text = words(&section(&found.in_virtual_time(Some(1))));
        assert!(text.contains("caches") && !text.contains("in turns"), "{text}");
    }
}
