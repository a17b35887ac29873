//! NIST's report on jitter and motor control: table 1 (section 4), the jitter of a task of 500 us and its compensation
//! (sections 2 and 3), and what it takes from motors and loops.

use serde_json::{Value, json};

use crate::loads::LoadFigures;
use crate::nist::{ClusterCauses, MachineResults, NistReproduction};
use crate::nist_control::NistControl;
use crate::nist_jitter::{NistJitter, PERIOD_NS, PRINTED_SERVICE_NS};
use crate::paper::Paper::{self, Nist};

use super::nist_figures::{deviations_chart, figure_1, figure_4};
use super::{PaperFigure, Results, loads_table, reached_loads_table, repetitions_note};
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::nist_deviations::Deviations;
use jitterlab_model::ReadClock;
use jitterlab_report::compensation::{interval_text, load_curve_pieces};
use jitterlab_report::figure::load;
use jitterlab_report::section::Piece;
use jitterlab_report::waiting::clock_text;
use jitterlab_report::why;
use jitterlab_report::words::{share, time};

impl Results for NistReproduction {
    const PAPER: Paper = Nist;

    fn is_virtual(&self) -> bool {
        self.machine.is_none()
    }

    fn pieces(&self) -> Vec<Piece> {
        let machine = self.machine.as_ref();
        let of_machine = machine.map(|found| {
            let torques = ["torques", "equations"].map(|table| Nist.table(table, &found.torques));
            [torques.concat(), jitter_pieces(&found.jitter)].concat()
        });
        let mut pieces = of_machine.unwrap_or_default();
        pieces.extend(clusters_piece(&self.clusters));
        pieces.extend(figure_3_pieces(&self.loads));
        pieces.extend(machine.map(|found| control_pieces(&found.control)).into_iter().flatten());
        pieces
    }

    fn figures(&self) -> Vec<PaperFigure> {
        let Some(MachineResults { jitter, .. }) = &self.machine else { return Vec::new() };
        let printed = Nist.paragraph("equation-1", ());
        let beside = Some((PRINTED_SERVICE_NS, printed.as_str()));
        let loads = load::extra_load_curve(PERIOD_NS, jitter.service.often_ns, &jitter.load_curve, beside);
        let both = [("uncompensated", &jitter.uncompensated), ("compensated", &jitter.compensated)];
        let figures = [
            ("figure-1", figure_1(&jitter.short, &jitter.short_clusters)),
            ("figure-2", deviations_chart(&[("", &jitter.long)], Vec::new()).into_iter().collect()),
            ("figure-4", jitter.early_calls.iter().filter_map(figure_4).collect()),
            ("figure-5", vec![loads]),
            ("figure-6", deviations_chart(&both, Vec::new()).into_iter().collect()),
        ];
        figures.map(|(name, charts)| (name.into(), charts)).into()
    }
}

fn jitter_pieces(found: &NistJitter) -> Vec<Piece> {
    let read = match &found.clock_fit {
        Some(fit) => clock_text(ReadClock::Tsc, fit),
        None => "Starts are times of the monotonic clock.".into(),
    };
    let series = [
        series_values("1", &found.short, "3.6 µs (figure 6), about 3.5 µs (figure 2)"),
        series_values("2", &found.long, "about 3.5 µs"),
        series_values("6, uncompensated", &found.uncompensated, "3.6 µs"),
        series_values("6, compensated", &found.compensated, "98 ns"),
    ];
    let boxed = |figure, of: &[LatencyCluster]| {
        let several = of.iter().filter(|_| of.len() > 1);
        several.map(|of| json!({"figure": figure, "of": of})).collect::<Vec<_>>()
    };
    let boxed = [boxed("1", &found.short_clusters), boxed("2", &found.long_clusters)].concat();
    let calls = found.early_calls.as_ref().and_then(figure_4);
    let calls = calls.map_or_else(|| Nist.paragraph("no-calls", ()), |chart| chart.caption);
    let mut pieces = vec![Piece::text(read)];
    pieces.extend(Nist.table("series", series));
    pieces.extend(Nist.table("clusters", boxed));
    pieces.push(Piece::text(Nist.paragraph("figure-4", json!({"calls": calls}))));
    pieces.push(Piece::text(Nist.paragraph("figure-5", ())));
    pieces.extend(load_curve_pieces(&found.load_curve, &found.service, PERIOD_NS));
    let here = [
        interval_text(found.uncompensated_jitter_ns, time),
        interval_text(found.compensated_jitter_ns, time),
        interval_text(found.factor, |factor| format!("{factor:.1}")),
        interval_text(found.extra_load, share),
    ];
    let values = json!({"here": here, "margin_ns": found.margin_ns, "floor_ns": found.floor_ns});
    pieces.extend(Nist.table("compensation", values));
    pieces
}

/// Values for a series' table row: samples, jitter, first deviation, and the paper's jitter.
fn series_values(figure: &str, series: &Deviations, paper: &str) -> Value {
    let first_ns = series.each_ns.first().copied();
    let beyond = first_ns.map(|first| series.each_ns.iter().filter(|ns| ns.abs() > first.abs()).count());
    json!({
        "figure": figure,
        "samples": series.each_ns.len(),
        "jitter_ns": series.residual.peak_to_peak(),
        "first_ns": first_ns,
        "beyond": beyond,
        "paper": paper,
    })
}

/// Clusters of figures 1 and 2 with the paths that make them.
fn clusters_piece(found: &ClusterCauses) -> Option<Piece> {
    if found.refused.is_some() {
        return Some(Piece::note(Nist.paragraph("not-traced", found)));
    }
    found.median_series().and_then(why::clusters_piece)
}

fn control_pieces(found: &NistControl) -> Vec<Piece> {
    let mut pieces = Nist.table("control", &found.rows);
    let missing = found.without_microcontroller.as_ref();
    pieces.extend(missing.map(|_| Piece::note(Nist.paragraph("no-microcontroller", found))));
    pieces
}

fn figure_3_pieces(found: &LoadFigures) -> Vec<Piece> {
    let basis = repetitions_note(found, &Nist.paragraph("devices", ()));
    [loads_table(Nist, found), vec![basis], reached_loads_table(Nist, found)].concat()
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;
    use crate::statement::TestedStatement;
    use crate::torques;

    #[test]
    fn table_1_shows_the_finding() {
        let words =
            words(["torques", "equations"].map(|table| Nist.table(table, torques::recompute_table())));
        let uncompensated = Nist.printed_evidence("table-1-uncompensated").unwrap();
        let tested = TestedStatement::new(&Nist.statements(), uncompensated).unwrap();
        let numbers = "digits cut off, they follow from any jitter in 4.0596 to 4.1057 µs";
        assert!(tested.numbers.starts_with(numbers), "{}", tested.numbers);
        // Printed, from the stated 3.60 us, from 4.08 us.
        for row in [
            "23 oz-in 0.88 0.7804 0.8844",
            "80 oz-in 1.3 1.2124 1.3741",
            "500 oz-in 19 16.9646 19.2265",
            "23 oz-in 94.25 339.29 2300 -0.7804 -0.7804",
            "500 oz-in 94.25 339.29 50000 -16.9646 -16.9646",
        ] {
            assert!(words.contains(row), "{row}: {words}");
        }
    }
}
