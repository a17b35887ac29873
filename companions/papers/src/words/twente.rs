//! The University of Twente's report: the duration of a loop of 1 ms under ordinary Linux and in real time.

use crate::claims::SystemUnderLoads;
use crate::claims::twente::{
    Choice, Conclusion, LoopTimes, PERIOD_NS, PrintedLoop, TwenteCase, TwenteHost, TwenteVirtual, WorkTime,
};
use jitterlab_analysis::median_interval::MedianInterval;

use super::{PaperFigure, Said, claims, each, intervals};
use jitterlab_model::{Error, Quantity};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::emulated;
use jitterlab_report::words::{count, share, time};

const WHY_NOT_ONE: &str = "The report's program is said to sleep until absolute times, yet its mean is 1.07 to 1.3 ms: with \
    absolute times the mean is the period, whatever the jitter. Its loop must have measured each sleep from the end of \
    the work, or its period was not 1 ms. Here the times are absolute. The report's real-time task ran under Xenomai with \
    default attributes; here it is SCHED_FIFO on this machine's kernel.";

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

/// What the report says of the number of divisions.
fn choice(found: &TwenteHost) -> Vec<Said> {
    let took = |work: &WorkTime| {
        let [_, median, p99, _] = <[String; 4]>::try_from(work_row(work)).unwrap_or_default();
        format!("median {median}, p99 {p99}")
    };
    claims(&found.choice, |choice| match choice {
        Choice::LongerThanPeriod { work } => {
            ("100 000 divisions take longer than the period".into(), took(work))
        }
        Choice::TooLittle { work, sd_ns } => (
            "1000 divisions are too little to matter".into(),
            format!("{}; the report's loop has a standard deviation of {}", took(work), time(*sd_ns as f64)),
        ),
    })
}

pub(super) fn section(found: &TwenteHost) -> Section {
    let header = ["figures", "policy in force", "load", "period here", "the report"].map(String::from);
    let table = Piece::table(
        "Time between successive starts of a loop of 1 ms",
        &header,
        found.cases.iter().map(|case| row(case).into()),
    );
    let mut pieces = vec![table, Piece::Text { text: WHY_NOT_ONE.into() }];
    if !found.work.is_empty() {
        pieces.push(Piece::table(
            "How long the work of an activation takes",
            &WORK,
            found.work.iter().map(work_row),
        ));
        pieces.push(super::table("What the report says of the number of divisions", choice(found)));
    }
    super::section(
        "twente",
        "Twente, figures 1 to 12",
        "The report's six measurements, repeated on this machine. Odd figures are its line plots, even ones its histograms.",
        pieces,
    )
}

/// Every figure by its number in the report, drawn from the run of each measurement, with what was measured here and what
/// the report says in its caption.
///
/// # Errors
/// A run holds nothing to draw.
pub fn run_figures(cases: &[TwenteCase], runs: &[PageRun]) -> Result<Vec<PaperFigure>, Error> {
    let mut figures = Vec::new();
    for (case, run) in cases.iter().zip(runs) {
        for (name, number) in [(Figure::SERIES, case.figure), (Figure::HISTOGRAM, case.figure + 1)] {
            let mut charts = name.charts(Quantity::PeriodError, std::slice::from_ref(run), &[])?;
            for chart in &mut charts {
                chart.caption = format!(
                    "Figure {number}. {} Time between starts here: {}; in the report: {}.",
                    chart.caption,
                    here(case),
                    printed(&case.printed)
                );
            }
            figures.push((format!("figure-{number:02}"), charts));
        }
    }
    Ok(figures)
}

/// Figures, policy, load, what was measured here, what the report says.
fn row(case: &TwenteCase) -> [String; 5] {
    [
        format!("{}, {}", case.figure, case.figure + 1),
        case.policy.to_string(),
        case.load.clone(),
        here(case),
        printed(&case.printed),
    ]
}

fn ms(ns: f64) -> String {
    format!("{:.4}", ns / 1e6)
}

fn here(case: &TwenteCase) -> String {
    match &case.here {
        Some(times) => format!(
            "mean {} ms, sd {} ms, longest {}, {} missed",
            ms(times.mean_ns),
            ms(times.sd_ns),
            time(times.longest_ns as f64),
            count(times.missed)
        ),
        None => "not measured".into(),
    }
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

pub(super) fn virtual_section(found: &TwenteVirtual) -> Section {
    let table = Piece::table("Duration of the loop of 1 ms, in ms of virtual time", &HEADER, rows(found));
    let said = super::table("What the report concludes, and what became of it here", conclusions(found));
    super::section(
        "twente-virtual",
        "Twente, in virtual time",
        "The report's measurements, repeated on an ordinary kernel and on real-time ones.",
        vec![table, said, Piece::Text { text: caution(found) }],
    )
}

const HEADER: [&str; 7] = ["", "loops", "missed", "shortest", "mean", "sd", "longest"];

fn rows(found: &TwenteVirtual) -> impl Iterator<Item = Vec<String>> {
    let of = |system: &SystemUnderLoads<LoopTimes>| {
        let row = |(condition, times): (&String, Option<LoopTimes>)| {
            let numbers = times.map_or_else(
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
            std::iter::once(format!("{}, {condition}", system.system)).chain(numbers).collect()
        };
        system.loads.iter().map(|load| row((&load.condition, load.found))).collect::<Vec<_>>()
    };
    std::iter::once(&found.ordinary).chain(&found.real_time).flat_map(of)
}

fn caution(found: &TwenteVirtual) -> String {
    format!(
        "{} The report's machine had four processors; the virtual machine has one, which every load shares with the task.",
        emulated(found.ns_per_instruction)
    )
}

pub(super) fn conclusions(found: &TwenteVirtual) -> Vec<Said> {
    let sds = |sds_ns: &[Option<f64>]| format!("standard deviations {}", each(sds_ns, time));
    let known = |ns: Option<f64>| ns.map_or_else(|| "unknown".into(), ms);
    let factors = |all: &[Option<MedianInterval>]| intervals(all, |factor| format!("{factor:.2}"));
    claims(&found.conclusions, |conclusion| match conclusion {
        Conclusion::StressEnlargesJitter { sds_ns, growth } => (
            "ordinary Linux: stress enlarges the jitter".into(),
            format!("{}; of a stretch, times that without load: {}", sds(sds_ns), factors(growth)),
        ),
        Conclusion::JitterGrowsWithStress { sds_ns, growth } => (
            "ordinary Linux: the jitter grows with the stress applied".into(),
            format!("{}; of a stretch, times that under the load before: {}", sds(sds_ns), factors(growth)),
        ),
        Conclusion::MeanRisesUnderStress { idle_ns, stressed_ns, growth, missed } => (
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
            format!("{system}: stress does not significantly affect the timing"),
            format!(
                "{}; of a stretch, changed by {}; the report's changed by {}",
                sds(sds_ns),
                intervals(changes_ns, time),
                time(*not_significant_ns)
            ),
        ),
        Conclusion::MoreAccurate { system, factors: of_runs, of_stretches } => (
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
    use crate::claims::UnderLoad;
    use crate::claims::twente::{LoopStretches, PRINTED, TwenteSystem};
    use jitterlab_model::Policy;

    #[test]
    fn the_report_s_numbers_stand_beside_those_measured() {
        let case = |figure, here| TwenteCase {
            figure,
            policy: Policy::Fifo(80),
            load: "none".into(),
            printed: PRINTED[figure as usize / 2],
            here,
        };
        let cases = [case(7, Some(times(500.0))), case(3, None)];
        let text = cases.iter().flat_map(row).collect::<Vec<_>>().join("; ");
        for part in [
            "7, 8; fifo:80; none; mean 1.0000 ms, sd 0.0005 ms, longest 1.10 ms, 0 missed; ",
            "mean 1.08 ms (1.072 in another place), sd 0.031 ms (0.3 in another place)",
            "not measured; no mean, mostly 1.05 to 1.4 ms",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

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
        let found = TwenteVirtual::of(
            system("ordinary", [22e3, 80e3, 120e3].map(Some)),
            vec![system("cobalt", [Some(21e3), None, Some(24e3)])],
            Some(1),
        );
        let text = words(&virtual_section(&found));
        for part in ["caches", "DOES NOT HOLD", "cobalt, idle", "cannot be told", "21 µs, unknown, 24 µs"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
