//! The University of Twente's report: the duration of a loop of 1 ms under ordinary Linux and in real time.

use crate::loads::{Spread, UnderLoad};
use crate::systems::System;
use crate::twente::{PERIOD_NS, TwenteReproduction, WorkTime, jitters, printed};

use super::{PaperFigure, Results, bars, loads};
use crate::paper::Paper;
use jitterlab_report::chart::{Axis, Chart, Layer, Shape, Stroke};
use jitterlab_report::section::{Cell, Piece};
use jitterlab_report::words::count;

impl Results for TwenteReproduction {
    const PAPER: Paper = Paper::Twente;
    const NAME: &'static str = "twente";

    fn pieces(&self) -> Vec<Piece> {
        let words = |name| Paper::Twente.words(name);
        let mut pieces = vec![loads::table("Duration of the loop of 1 ms", &self.loops), in_report()];
        if !self.work.is_empty() {
            let header = ["in µs", "median", "p99", "of the period"];
            let rows = self.work.iter().map(work_row);
            pieces.push(Piece::table("How long the work of an activation takes", &header, rows));
        }
        pieces.extend(loads::done(&self.loops));
        pieces.extend([loads::basis(&self.loops, &words("four")), Piece::text(words("why-not-one"))]);
        pieces
    }

    fn next(&self) -> Option<String> {
        self.loops.in_virtual_time.then(|| Paper::Twente.heading("twente-virtual").next)
    }
}

fn work_row(work: &WorkTime) -> Vec<Cell> {
    let time = |ns: Option<i64>| Cell::new(ns, |ns| Cell::time(ns as f64));
    let of_period = Cell::new(work.median_ns, |ns| Cell::Share(ns as f64 / PERIOD_NS as f64));
    let name = Cell::Text(format!("{} divisions", count(work.divisions.into())));
    vec![name, time(work.median_ns), time(work.p99_ns), of_period]
}

/// Bins of the report's histograms.
const BIN_NS: f64 = 100_000.0;

/// The figures of a system under the load of this number, as in the report: over the loops the duration of each, its jitter, mean
/// and standard deviation; and how often which jitter came.
pub fn figures_of(system: &System, load: &UnderLoad, number: usize) -> [PaperFigure; 2] {
    let first = 2 * number + if system.is_ordinary() { 1 } else { 7 };
    let printed = printed().into_iter().find(|of| of.figures[0] == first);
    let here = load.found.map_or_else(
        || "not measured".into(),
        |times| format!("mean {} ms, sd {} ms, {} missed", ms(times.mean_ns), ms(times.sd_ns), times.missed),
    );
    let report = printed.as_ref().map_or("no numbers", |of| of.duration.as_str());
    let caption = |number: usize, shows: &str| {
        format!(
            "Figure {number}, {}, load {}: {shows} Jitter: how far a loop's duration is from 1 ms. Here: {here}; in the report, on a \
             Raspberry Pi 4: {report}.",
            system.name, load.load
        )
    };
    let of = if system.is_ordinary() { String::new() } else { format!("-{}", system.name) };
    let series = series(load, printed.as_ref().and_then(|of| of.mean_ms));
    let durations = Chart {
        name: "twente-loops".into(),
        caption: caption(first, "duration of each loop of the first run."),
        x: Axis::linear("loop"),
        y: Axis::linear("duration").time(),
        layers: series,
        height: 380,
    };
    let histogram = Chart {
        name: "twente-jitter".into(),
        caption: caption(first + 1, "loops of the first run by their jitter, in bins of 0.1 ms."),
        x: Axis::linear("jitter").time().holding([0.0, 5.0 * BIN_NS]),
        y: Axis::linear("loops"),
        layers: vec![Layer::new("", 0, bars(jitters(load), 0.0, BIN_NS))],
        height: 300,
    };
    [(first, durations), (first + 1, histogram)]
        .map(|(number, chart)| (format!("figure-{number:02}{of}"), vec![chart]))
}

/// Duration and jitter of each loop, mean and standard deviation of all, and the mean of the report.
fn series(load: &UnderLoad, report_ms: Option<f64>) -> Vec<Layer> {
    let line = |values: &[f64]| {
        let points = (1u32..).zip(values).map(|(k, ns)| [f64::from(k), *ns]).collect();
        Shape::Line { points, stroke: Stroke::Solid }
    };
    let mut layers = vec![
        Layer::new("duration", 0, line(&load.first)),
        Layer::new("jitter", 4, line(&jitters(load).collect::<Vec<_>>())),
    ];
    if let Some(Spread { mean_ns, sd_ns, .. }) = load.found {
        let middle = load.first.len() as f64 / 2.0;
        let bar = vec![[middle, mean_ns - sd_ns, mean_ns, mean_ns + sd_ns]];
        layers.push(Layer::new("mean and standard deviation", 2, Shape::Intervals(bar)));
    }
    layers.extend(report_ms.map(|ms| Layer::new("mean in the report", 3, Shape::Level(ms * 1e6))));
    layers
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
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::loads::{LoadFigures, SystemUnderLoads, under};
    use jitterlab_model::SystemFacts;

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
            let found = TwenteReproduction { loops, ..TwenteReproduction::default() };
            words(&Reproduction::new("here".as_ref(), &found, found.evidence()).unwrap().section)
        };
        let text = shown(false);
        for part in [
            "DOES NOT HOLD",
            "7, 8 Xenomai mean 1.08 ms (1.072 in another place), sd 0.031 ms (0.3 in another place)",
            "3, 4 ordinary mean close to 1.2 ms, mostly 1.05 to 1.4 ms",
            "cobalt: stress does not significantly affect the timing cannot be told",
            "21 µs, unknown, 24 µs",
            "3 times in turns",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let text = shown(true);
        assert!(text.contains("caches") && !text.contains("in turns"), "{text}");
    }

    #[test]
    fn figures_are_those_of_the_report_with_its_value_in_them() {
        let system = &System::all_on(&SystemFacts::default())[0];
        let [(name, durations), (_, histogram)] = figures_of(system, &under("idle", Some(22e3)), 0);
        assert_eq!((name.as_str(), durations[0].layers.len()), ("figure-01", 4));
        assert!(durations[0].caption.contains("in the report, on a Raspberry Pi 4: mean 1.15 ms"));
        let Shape::Bars(bars) = &histogram[0].layers[0].shape else { panic!("no bars") };
        // Off by nothing and by 20 us, and by 260 us.
        assert_eq!(bars, &[[0.0, 1e5, 2.0], [2e5, 3e5, 1.0]]);
    }
}
