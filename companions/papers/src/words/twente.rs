//! The University of Twente's report: the duration of a loop of 1 ms under ordinary Linux and in real time.

use crate::claims::loads::UnderLoad;
use crate::claims::twente::{PERIOD_NS, TwenteReproduction, WorkTime, printed};
use crate::systems::System;

use super::{PaperFigure, loads};
use jitterlab_model::{Error, Quantity};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::words::{count, share, time};

const WHY_NOT_ONE: &str = "The report's program is said to sleep until absolute times, yet its mean is 1.07 to 1.3 ms: with \
    absolute times the mean is the period, whatever the jitter. Its loop must have measured each sleep from the end of \
    the work, or its period was not 1 ms. Here the times are absolute. The report's real-time system is Xenomai; here it is every \
    one that there is.";

const FOUR: &str = "The report's machine had four processors; the virtual machine has one, which every load shares with the task.";

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

pub(super) fn section(found: &TwenteReproduction) -> Section {
    let mut pieces = vec![loads::table("Duration of the loop of 1 ms", &found.loops), in_report()];
    if !found.work.is_empty() {
        let caption = "How long the work of an activation takes";
        pieces.push(Piece::table(caption, &WORK, found.work.iter().map(work_row)));
    }
    pieces.extend(loads::done(&found.loops));
    pieces.extend([loads::basis(&found.loops, FOUR), Piece::text(WHY_NOT_ONE)]);
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
    case: &UnderLoad,
    number: usize,
    run: &[PageRun],
) -> Result<Vec<PaperFigure>, Error> {
    let first = 2 * number + if system.is_ordinary() { 1 } else { 7 };
    let printed =
        printed().into_iter().find(|of| of.figures[0] == first).map_or_else(String::new, |of| of.duration);
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

/// The report's own numbers, by its figures.
fn in_report() -> Piece {
    let rows = printed().into_iter().map(|of| {
        let [series, histogram] = of.figures;
        vec![format!("{series}, {histogram}"), of.system, of.duration]
    });
    Piece::table("The same in the report, from no load to the larger one", &["figures", "", "loop"], rows)
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::super::{Found, Reproduction, sections};
    use super::*;
    use crate::claims::loads::{LoadFigures, SystemUnderLoads, under};

    #[test]
    fn statements_are_sentences_and_what_is_unknown_is_said() {
        let system = |name: &str, sds: [Option<f64>; 3]| SystemUnderLoads {
            system: name.into(),
            loads: sds.map(|sd| under("idle", sd)).into(),
        };
        let systems = vec![
            system("ordinary", [22e3, 80e3, 120e3].map(Some)),
            system("cobalt", [Some(21e3), None, Some(24e3)]),
        ];
        let shown = |in_virtual_time| {
            let loops =
                LoadFigures { systems: systems.clone(), in_virtual_time, ns_per_instruction: Some(1) };
            let found = Found::Twente(TwenteReproduction { loops, work: Vec::new() });
            words(&sections(&Reproduction::new("here".into(), found))[0])
        };
        let text = shown(false);
        for part in [
            "DOES NOT HOLD",
            "7, 8 Xenomai mean 1.08 ms (1.072 in another place), sd 0.031 ms (0.3 in another place)",
            "3, 4 ordinary no mean, mostly 1.05 to 1.4 ms",
            "cobalt: stress does not significantly affect the timing cannot be told",
            "21 µs, unknown, 24 µs",
            "3 times in turns",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let text = shown(true);
        assert!(text.contains("caches") && !text.contains("in turns"), "{text}");
    }
}
