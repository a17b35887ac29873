//! NIST's report on jitter and motor control: table 1 (section 4), the jitter of a task of 500 us and its compensation
//! (sections 2 and 3), and what it takes from motors and loops.

use std::f64::consts::PI;

use crate::loads::LoadFigures;
use crate::nist::{ClusterCauses, NistReproduction, NistVirtual};
use crate::nist_control::{ControlRow, NistControl};
use crate::nist_jitter::NistJitter;
use crate::paper::Paper;
use crate::torques::{NistTorques, TorqueRow};

use super::nist_figures::{figure_1, figure_2, figure_4, figure_6};
use super::{PaperFigure, Results, loads};
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_model::ReadClock;
use jitterlab_report::compensation::{interval, load_curve};
use jitterlab_report::figure::load;
use jitterlab_report::section::{Cell, Piece};
use jitterlab_report::waiting::clock;
use jitterlab_report::why;
use jitterlab_report::words::{exact, share, time};

impl Results for NistReproduction {
    const PAPER: Paper = Paper::Nist;
    const NAME: &'static str = "nist";

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = torques(&self.torques).into();
        pieces.extend(jitter(&self.jitter));
        pieces.extend(clusters(&self.clusters));
        pieces.extend(figure_3(&self.loads));
        pieces.extend(control(&self.control));
        pieces
    }

    /// Figures 1, 2, 4, 5 and 6.
    fn figures(&self) -> Vec<PaperFigure> {
        let found = &self.jitter;
        let printed_ns = found.printed.service_ns;
        let beside = format!("the paper: equation 1, S = {}", time(printed_ns));
        let beside = Some((printed_ns, beside.as_str()));
        let loads = load::curve(found.period_ns, found.service.often_ns, &found.load_curve, beside);
        let figures = [
            ("figure-1", figure_1(&found.short, &found.short_clusters).into()),
            ("figure-2", vec![figure_2(&found.long)]),
            ("figure-4", found.early_calls.iter().map(figure_4).collect()),
            ("figure-5", vec![loads]),
            ("figure-6", vec![figure_6(&found.uncompensated, &found.compensated)]),
        ];
        figures.map(|(name, charts)| (name.into(), charts)).into()
    }
}

impl Results for NistVirtual {
    const PAPER: Paper = Paper::Nist;
    const NAME: &'static str = "nist-virtual";

    fn pieces(&self) -> Vec<Piece> {
        clusters(&self.clusters).into_iter().chain(figure_3(&self.loads)).collect()
    }
}

/// Table 1 with computed and printed values.
fn torques(found: &NistTorques) -> [Piece; 2] {
    let caption = "Table 1: torque of jitter in oz-in, printed and computed";
    [
        Piece::table(caption, &TORQUES, found.rows.iter().map(torque_row)),
        Piece::table(Paper::Nist.words("equations"), &EQUATIONS, found.rows.iter().map(equations)),
    ]
}

const TORQUES: [&str; 10] =
    ["motor", "Tu", "3.60 µs", "4.08 µs", "Tu %", "3.60 µs", "Tc", ".098 µs", "Tc %", ".098 µs"];

fn torque_row(row: &TorqueRow) -> Vec<String> {
    let TorqueRow { printed, uncompensated, uncompensated_found, compensated } = row;
    vec![
        format!("{} oz-in", printed.holding_oz_in),
        format!("{}", printed.uncompensated_oz_in.0),
        format!("{:.4}", uncompensated.oz_in),
        format!("{:.4}", uncompensated_found.oz_in),
        format!("{}", printed.uncompensated_percent),
        format!("{:.3}", uncompensated.percent),
        format!("{}", printed.compensated_oz_in.0),
        format!("{:.5}", compensated.oz_in),
        format!("{}", printed.compensated_percent),
        format!("{:.4}", compensated.percent),
    ]
}

const EQUATIONS: [&str; 6] = ["motor", "w, rad/s", "4: µrad", "6: oz-in/rad", "5: oz-in", "7: oz-in"];

/// Equations 4, 6 and 5 in turn, and 7, which is all of them in one.
fn equations(row: &TorqueRow) -> Vec<String> {
    let speed = 2.0 * PI * row.printed.rev_per_s;
    let displacement = speed * row.uncompensated.jitter_s;
    let spring_oz_in = PI / 2.0 * row.printed.holding_oz_in / row.printed.step_deg.to_radians();
    vec![
        format!("{} oz-in", row.printed.holding_oz_in),
        format!("{speed:.2}"),
        format!("{:.2}", displacement * 1e6),
        format!("{spring_oz_in:.0}"),
        format!("{:.4}", -spring_oz_in * displacement),
        format!("{:.4}", -row.uncompensated.oz_in),
    ]
}

/// Figures 1, 2, 4, 5 and 6 in numbers.
fn jitter(found: &NistJitter) -> Vec<Piece> {
    let printed = &found.printed;
    let words = |name| Paper::Nist.words(name);
    let read = match &found.clock_fit {
        Some(fit) => clock(ReadClock::Tsc, fit),
        None => "Starts are times of the monotonic clock.".into(),
    };
    let about = format!("about {}", time(printed.jitter_in_figure_2_ns));
    let paper = format!("{} (figure 6), {about} (figure 2)", time(printed.jitter_ns));
    let series = [
        series_row("1", &found.short, paper),
        series_row("2", &found.long, about),
        series_row("6, uncompensated", &found.uncompensated, time(printed.jitter_ns)),
        series_row("6, compensated", &found.compensated, time(printed.compensated_jitter_ns)),
    ];
    let header = ["figure, in µs", "samples", "jitter", "first", "beyond", "jitter in the paper"];
    let mut pieces = vec![
        Piece::text(read),
        Piece::table("Deviations from the least-squares line through the starts", &header, series),
        Piece::text(words("series")),
    ];
    let boxed = [("1", &found.short_clusters), ("2", &found.long_clusters)];
    let several = boxed.into_iter().filter(|(_, clusters)| clusters.len() > 1);
    let rows = several.flat_map(|(figure, clusters)| clusters.iter().map(move |of| cluster_row(figure, of)));
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        let header = ["figure, in µs", "from", "to", "share", "centre"];
        pieces.push(Piece::table("Boxed clusters", &header, rows));
    }
    let calls = found.early_calls.as_ref().map_or_else(|| words("no-calls"), |calls| figure_4(calls).caption);
    pieces.push(Piece::text(format!("Figure 4 (the paper: \"about 9 calls will return\"): {calls}")));
    pieces.push(Piece::text(format!(
        "Figure 5: extra load of waking every A. Paper: S = {} assumed, least {} at {}",
        time(printed.service_ns),
        share(printed.least_load),
        exact(printed.least_load_every_ns)
    )));
    pieces.extend(load_curve(&found.load_curve, &found.service, found.period_ns));
    pieces.extend(compensation(found));
    pieces
}

/// A series of samples in numbers, with the paper's.
fn series_row(figure: &str, series: &Deviations, paper: String) -> Vec<Cell> {
    let first = series.each_ns.first().copied();
    let beyond = first.map(|first| series.each_ns.iter().filter(|ns| ns.abs() > first.abs()).count());
    vec![
        figure.into(),
        Cell::Count(series.each_ns.len() as u64),
        Cell::time(series.residual.peak_to_peak()),
        Cell::new(first, Cell::time),
        Cell::new(beyond, |number| Cell::Count(number as u64)),
        paper.into(),
    ]
}

fn cluster_row(figure: &str, of: &LatencyCluster) -> Vec<Cell> {
    let [low, high] = [of.low_ns, of.high_ns].map(|ns| Cell::time(ns as f64));
    vec![figure.into(), low, high, Cell::Share(of.weight), Cell::time(of.centre_ns)]
}

fn compensation(found: &NistJitter) -> [Piece; 2] {
    let printed = &found.printed;
    let factor = printed.jitter_ns / printed.compensated_jitter_ns;
    let (plain, compensated) = (found.uncompensated_jitter_ns, found.compensated_jitter_ns);
    let rows = [
        ["uncompensated jitter".into(), interval(plain, time), time(printed.jitter_ns)],
        ["compensated jitter".into(), interval(compensated, time), time(printed.compensated_jitter_ns)],
        [
            "the first over the second".into(),
            interval(found.factor, |f| format!("{f:.1}")),
            format!("{factor:.1} (\"about {}\")", printed.factor),
        ],
        [
            "extra processor load".into(),
            interval(found.extra_load, share),
            format!("about {}", share(printed.extra_load)),
        ],
    ];
    let caption = format!(
        "Figure 6: compensated by waking {} early and polling, series of 100 samples in turns",
        time(found.margin_ns as f64)
    );
    let read = format!("{} {} apart.", Paper::Nist.words("polling"), time(found.floor_ns as f64));
    [Piece::table(caption, &["", "here", "paper"], rows.map(Vec::from)), Piece::text(read)]
}

/// Clusters of figures 1 and 2 with the paths that make them.
fn clusters(found: &ClusterCauses) -> Option<Piece> {
    match (&found.refused, found.typical()) {
        (Some(why), _) => Some(Piece::note(format!("The code paths of the clusters were not traced: {why}"))),
        (None, typical) => typical.and_then(why::clusters),
    }
}

/// Computers with what their jitter takes without feedback and with it.
fn control(found: &NistControl) -> impl Iterator<Item = Piece> {
    let row = |of: &ControlRow| {
        let computer = of.computer.as_str().into();
        vec![computer, Cell::time(of.jitter_ns), Cell::Share(of.torque), Cell::Share(of.loop_cost)]
    };
    let header = ["in µs", "jitter", "torque", "loop"];
    let table = Piece::table(Paper::Nist.words("control"), &header, found.rows.iter().map(row));
    let missing = found.without_microcontroller.as_ref();
    let missing = missing.map(|why| Piece::note(format!("No microcontroller was simulated: {why}")));
    [table].into_iter().chain(missing)
}

fn figure_3(found: &LoadFigures) -> impl Iterator<Item = Piece> {
    let table = loads::table("Figure 3: latency of a task of 500 µs", found);
    let basis = loads::basis(found, &Paper::Nist.words("devices"));
    [table, basis].into_iter().chain(loads::done(found))
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;
    use crate::statement::Tested;

    #[test]
    fn table_1_shows_the_finding() {
        let found = NistTorques::compute();
        let words = words(torques(&found));
        let [_, uncompensated, ..] = found.evidence();
        let tested = Tested::new(&Paper::Nist.statements(), uncompensated).unwrap();
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
