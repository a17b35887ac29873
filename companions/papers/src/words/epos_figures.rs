//! The EPOS paper's figures, drawn from the measurements here.

use crate::claims::epos::{EposReproduction, LedThread, Row};
use jitterlab_mcu::Strategy;

use super::PaperFigure;
use jitterlab_report::chart::{Axis, Chart, Layer, Shape, Stroke};
use jitterlab_report::words::plural;

const PERIODIC: usize = 0;
const SINGLE_SHOT: usize = 1;
const ANCHORED: usize = 2;

/// The columns of [`Row::errors_us`]: name, colour, and shape. Lines are the paper's values, and those
/// measured with the compare register rightly programmed; points are those measured with it programmed as in
/// the paper.
const CURVES: [(&str, usize, Look); 7] = [
    ("periodic, paper", PERIODIC, Look::Paper),
    ("periodic, programmed as in the paper", PERIODIC, Look::Points),
    ("periodic", PERIODIC, Look::Measured),
    ("single shot, paper", SINGLE_SHOT, Look::Paper),
    ("single shot, programmed as in the paper", SINGLE_SHOT, Look::Points),
    ("single shot", SINGLE_SHOT, Look::Measured),
    ("anchored", ANCHORED, Look::Measured),
];

#[derive(Clone, Copy, PartialEq)]
enum Look {
    Paper,
    Points,
    Measured,
}

/// Smallest error drawn, in percent: an exact value lies at the foot of a logarithmic axis.
const LEAST_PERCENT: f64 = 1e-7;

/// Figures 5 and 7.
pub(super) fn figures(found: &EposReproduction) -> Vec<PaperFigure> {
    vec![("figure-5".into(), figure_5(&found.rows())), ("figure-7".into(), figure_7(&found.led_thread))]
}

fn figure_7(threads: &[LedThread]) -> Vec<Chart> {
    let range_us = range_us(threads);
    threads.iter().map(|thread| period_along_time(thread, range_us)).collect()
}

/// Figure 5: the size of the mean error in percent of the period, a panel for each timer clock.
fn figure_5(rows: &[Row]) -> Vec<Chart> {
    rows.chunk_by(|a, b| a.timer_hz == b.timer_hz).map(errors).collect()
}

fn errors(block: &[Row]) -> Chart {
    let clock = block.first().map_or(0.0, |row| row.timer_hz);
    let layer = |(i, (name, colour, look)): (usize, &(&str, usize, Look))| {
        let points = block.iter().filter_map(|row| {
            let period_us = f64::from(row.period_us);
            row.errors_us[i].map(|us| [period_us, (us.abs() / period_us * 100.0).max(LEAST_PERCENT)])
        });
        let points = points.collect();
        let shape = match look {
            Look::Paper => Shape::Line { points, stroke: Stroke::Dashed },
            Look::Points => Shape::Points(points),
            Look::Measured => Shape::Line { points, stroke: Stroke::Solid },
        };
        Layer::new(*name, *colour, shape)
    };
    Chart {
        name: "epos-5".into(),
        caption: format!(
            "Timer clock {clock:.0} Hz: size of the mean error against the period. No error at all is drawn at the foot of the axis."
        ),
        x: Axis::log("period, µs"),
        y: Axis::log("error, %"),
        layers: CURVES.iter().enumerate().map(layer).collect(),
        height: 460,
    }
}

/// Figure 7: the period of the led thread along time, a panel for each strategy, all over one range. Rounds that the alarm's own event
/// lengthens are left out: they come under every strategy, and would hide what a tick does.
fn period_along_time(thread: &LedThread, range_us: [f64; 2]) -> Chart {
    let colour = match thread.figures.strategy {
        Strategy::Periodic => PERIODIC,
        Strategy::SingleShot => SINGLE_SHOT,
        Strategy::Anchored => ANCHORED,
    };
    let begins_ns = thread.rounds_ns.iter().scan(0, |at_ns, length_ns| {
        let begin_ns = *at_ns;
        *at_ns += length_ns;
        Some(begin_ns)
    });
    let rounds = begins_ns.zip(&thread.rounds_ns);
    let (events, others): (Vec<_>, Vec<_>) = rounds.partition(|(_, ns)| thread.has_the_event(**ns));
    let points =
        others.into_iter().map(|(at_ns, length_ns)| [at_ns as f64 / 1e6, *length_ns as f64 / 1e3]).collect();
    let mut layers = vec![Layer::new("round", colour, Shape::Line { points, stroke: Stroke::Solid })];
    let printed = thread.printed.map(|of| Layer::new("mean in the paper", 4, Shape::Level(of.mean_us)));
    layers.extend(printed);
    Chart {
        name: "epos-7".into(),
        caption: format!(
            "Period of the led thread, timer {}. Left out: {} with the alarm's own event.",
            thread.figures.strategy.name(),
            plural(events.len() as u64, "round")
        ),
        x: Axis::linear("time, ms"),
        y: Axis::linear("period, µs").holding(range_us),
        layers,
        height: 240,
    }
}

/// From the shortest to the longest round without the event under all strategies, and to the paper's mean.
fn range_us(threads: &[LedThread]) -> [f64; 2] {
    let without = |thread: &&LedThread| {
        thread.rounds_ns.iter().copied().filter(|ns| !thread.has_the_event(*ns)).collect::<Vec<_>>()
    };
    let rounds = threads.iter().flat_map(|thread| without(&thread)).map(|ns| ns as f64 / 1e3);
    let printed = threads.iter().filter_map(|thread| thread.printed).map(|of| of.mean_us);
    rounds.chain(printed).fold([f64::INFINITY, 0.0], |[low, high], us| [low.min(us), high.max(us)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::epos::tests::thread;
    use jitterlab_report::figure::svg;

    #[test]
    fn every_curve_of_figure_5_is_drawn_and_named() {
        let errors =
            [Some(173.0), Some(173.6), Some(0.0), Some(921_704.0), Some(8_681.0), Some(0.1), Some(-0.9)];
        let row = |period_us, timer_hz| Row { period_us, timer_hz, errors_us: errors };
        let rows = [row(100, 7_200.0), row(1_000, 7_200.0), row(100, 115_200.0), row(10_000_000, 115_200.0)];
        let svg = svg(&figure_5(&rows)).unwrap();
        for (name, ..) in CURVES {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("Timer clock 7200 Hz") && svg.contains("Timer clock 115200 Hz"));
        assert_eq!(
            svg.matches("<circle").count(),
            2 * (4 + 2),
            "in both panels points of two curves, and the legend's"
        );
        let empty = Row { period_us: 100, timer_hz: 7_200.0, errors_us: [None; 7] };
        assert!(jitterlab_report::figure::svg(&figure_5(&[empty])).is_ok());
    }

    #[test]
    fn figure_7_has_a_panel_for_each_strategy() {
        let threads = Strategy::ALL.map(thread);
        let charts = figure_7(&threads);
        let svg = svg(&charts).unwrap();
        assert!(Strategy::ALL.iter().all(|s| svg.contains(s.name())));
        assert_eq!(svg.matches("time, ms").count(), 3);
        // The round of 26.2 us is longer by what a tick takes: not the event's.
        let Shape::Line { points, .. } = &charts[0].layers[0].shape else { panic!("no line") };
        assert_eq!(points[2], [0.0466, 20.4]);
    }
}
