//! The figures of clocks: MTIE and TDEV over the observation time, as ITU-T G.810 defines them.

use crate::words::count;
use jitterlab_analysis::allan_and_mtie::{TimeErrorPoint, time_error};

use super::task::{Task, tasks};
use crate::chart::{Axis, Chart, Layer, Shape, Stroke};
use crate::run_view::PageRun;
use crate::section::Piece;

/// Chart of MTIE and TDEV of the tasks with enough activations in a row.
pub(super) fn time_error_pieces(runs: &[PageRun]) -> Vec<Piece> {
    let mut layers = Vec::new();
    let mut listed = Vec::new();
    for (number, Task { name, task, .. }) in tasks(runs).enumerate() {
        let first: Vec<f64> = task.series.first_latencies_ns.iter().map(|ns| *ns as f64).collect();
        let points = time_error(&first, task.measured.summary.period_ns as f64);
        if points.len() < 3 {
            continue;
        }
        listed.push(format!("{name}: the first {} activations", count(first.len() as u64)));
        let curve = |of: fn(&TimeErrorPoint) -> f64| points.iter().map(|p| [p.tau_ns, of(p)]).collect();
        let mtie = Shape::Line { points: curve(|p| p.mtie_ns), stroke: Stroke::Dotted };
        let tdev = Shape::Line { points: curve(|p| p.tdev_ns), stroke: Stroke::Dashed };
        layers.push(Layer::new(format!("{name}: MTIE"), number, mtie));
        layers.push(Layer::new(format!("{name}: TDEV"), number, tdev));
    }
    if layers.is_empty() {
        return Vec::new();
    }
    let chart = Chart {
        name: "time-error".into(),
        caption: format!(
            "{}. Solid: MTIE, the maximum time interval error; dashed: TDEV, the time deviation.",
            listed.join("; ")
        ),
        x: Axis::log("observation time").time(),
        y: Axis::log("time error").time(),
        layers,
        height: 380,
    };
    vec![Piece::Figure(chart)]
}
