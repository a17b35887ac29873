//! The University of Twente's report: the duration of a loop of 1 ms under ordinary Linux and in real time.

use serde_json::{Value, json};

use crate::loads::{LoadResult, TimingSpread};
use crate::systems::System;
use crate::twente::{TwenteReproduction, loop_jitters_ns};

use super::{PaperFigure, Results, histogram_bars, loads_table, reached_loads_table, repetitions_note};
use crate::paper::Paper::{self, Twente};
use jitterlab_report::chart::{Layer, Shape, Stroke};
use jitterlab_report::section::Piece;

impl Results for TwenteReproduction {
    const PAPER: Paper = Twente;

    fn pieces(&self) -> Vec<Piece> {
        let words = |name| Twente.paragraph(name, ());
        let printed = Twente.table("printed", printed_loops());
        let tables = [loads_table(Twente, &self.loops), printed, Twente.table("work", &self.work)];
        let basis = vec![repetitions_note(&self.loops, &words("four")), Piece::text(words("why-not-one"))];
        [tables.concat(), reached_loads_table(Twente, &self.loops), basis].concat()
    }

    fn is_virtual(&self) -> bool {
        self.loops.ns_per_instruction.is_some()
    }
}

/// The report's measurements in the order of its figures: ordinary, then real-time, by load.
fn printed_loops() -> Vec<Value> {
    Twente.data_part("printed")
}

const BIN_NS: f64 = 100_000.0;

/// Figures of a system under a load, as in the report: durations and jitter by loop; histogram of jitter.
pub fn load_charts(system: &System, load: &LoadResult, number: usize) -> [PaperFigure; 2] {
    let first = 2 * number + if system.is_ordinary() { 1 } else { 7 };
    let printed = printed_loops().into_iter().find(|of| of["figures"][0] == first).unwrap_or_default();
    let here = load.found.map_or_else(|| "not measured".into(), |found| Twente.paragraph("here", found));
    let of = if system.is_ordinary() { String::new() } else { format!("-{}", system.name) };
    let histogram = vec![Layer::new("", 0, histogram_bars(loop_jitters_ns(load), 0.0, BIN_NS))];
    let series = series_layers(load, printed["mean_ms"].as_f64());
    [(first, "series", series), (first + 1, "histogram", histogram)].map(|(number, kind, layers)| {
        let values = json!({
            "number": number,
            "system": system.name,
            "load": load.load,
            "here": here,
            "report": printed["loop"],
        });
        let charts = Twente.chart(kind, values, layers).into_iter().collect();
        (format!("figure-{number:02}{of}"), charts)
    })
}

/// Duration and jitter of each loop, mean and standard deviation of all, and the mean of the report.
fn series_layers(load: &LoadResult, report_ms: Option<f64>) -> Vec<Layer> {
    let line = |values: &[f64]| {
        let points = (1u32..).zip(values).map(|(k, ns)| [f64::from(k), *ns]).collect();
        Shape::Line { points, stroke: Stroke::Solid }
    };
    let mut layers = vec![
        Layer::new("duration", 0, line(&load.first)),
        Layer::new("jitter", 4, line(&loop_jitters_ns(load).collect::<Vec<_>>())),
    ];
    if let Some(TimingSpread { mean_ns, sd_ns, .. }) = load.found {
        let middle = load.first.len() as f64 / 2.0;
        let bar = vec![[middle, mean_ns - sd_ns, mean_ns, mean_ns + sd_ns]];
        layers.push(Layer::new("mean and standard deviation", 2, Shape::Intervals(bar)));
    }
    layers.extend(report_ms.map(|ms| Layer::new("mean in the report", 3, Shape::Level(ms * 1e6))));
    layers
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::loads::{LoadFigures, SystemResults, example_load};
    use jitterlab_model::SystemFacts;

    #[test]
    fn statements_are_sentences_and_what_is_unknown_is_said() {
        let system = |name: &str, sds: [Option<f64>; 3]| SystemResults {
            system: name.into(),
            loads: sds.map(|sd| example_load("idle", sd)).into(),
        };
        let systems = vec![
            system("ordinary", [22e3, 80e3, 120e3].map(Some)),
            system("cobalt", [Some(21e3), None, Some(24e3)]),
        ];
        let shown = |ns_per_instruction| {
            let loops = LoadFigures { systems: systems.clone(), ns_per_instruction };
            let found = TwenteReproduction { loops, ..TwenteReproduction::default() };
            words(&Reproduction::new("here".as_ref(), &found, found.evidence()).unwrap().section)
        };
        let text = shown(None);
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
        let text = shown(Some(1));
        assert!(text.contains("caches") && !text.contains("in turns"), "{text}");
    }

    #[test]
    fn the_report_s_numbers_are_those_of_its_figures() {
        let all = printed_loops();
        let figures = all.iter().flat_map(|of| [0, 1].map(|number| of["figures"][number].as_u64()));
        assert_eq!(figures.collect::<Option<Vec<_>>>(), Some((1..=12).collect()));
        assert_eq!([0, 3].map(|number| all[number]["mean_ms"].as_f64()), [Some(1.15), Some(1.08)]);
    }

    #[test]
    fn figures_are_those_of_the_report_with_its_value_in_them() {
        let system = &System::all_of_machine(&SystemFacts::default())[0];
        let [(name, durations), (_, histogram)] = load_charts(system, &example_load("idle", Some(22e3)), 0);
        assert_eq!((name.as_str(), durations[0].layers.len()), ("figure-01", 4));
        assert!(durations[0].caption.contains("in the report, on a Raspberry Pi 4: mean 1.15 ms"));
        let Shape::Bars(bars) = &histogram[0].layers[0].shape else { panic!("no bars") };
        // Off by nothing and by 20 us, and by 260 us.
        assert_eq!(bars, &[[0.0, 1e5, 2.0], [2e5, 3e5, 1.0]]);
    }
}
