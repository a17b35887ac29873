//! Does a late activation make the next one late? The autocorrelation of the latencies.

use crate::words::count;

use super::task::{Task, tasks};
use crate::chart::{Axis, Chart, Layer, Shape, Stroke};
use crate::run_view::PageRun;
use crate::section::Piece;

/// Chart of the autocorrelation of the tasks with enough activations in a row.
pub(super) fn autocorrelation_pieces(runs: &[PageRun]) -> Vec<Piece> {
    let mut layers = Vec::new();
    let mut listed = Vec::new();
    for (number, Task { name, task, .. }) in tasks(runs).enumerate() {
        let values = &task.patterns.dependence.autocorrelation;
        let longest = task.scan.windows.stretch_values().iter().map(Vec::len).max().unwrap_or(0);
        if values.len() < 3 {
            continue;
        }
        let bound = 1.96 / (longest as f64).sqrt();
        listed.push(format!(
            "{name}: {} activations in a row; independent latencies stay within ±{bound:.4} nineteen times of twenty",
            count(longest as u64)
        ));
        let points = values.iter().enumerate().skip(1).map(|(lag, value)| [lag as f64, *value]);
        let shape = Shape::Line { points: points.collect(), stroke: Stroke::Solid };
        layers.push(Layer::new(name, number, shape));
    }
    if layers.is_empty() {
        return Vec::new();
    }
    layers.insert(0, Layer::new("", 4, Shape::Level(0.0)));
    let chart = Chart {
        name: "autocorrelation".into(),
        caption: format!("{}.", listed.join("; ")),
        x: Axis::linear("activations apart"),
        y: Axis::linear("correlation of latencies"),
        layers,
        height: 340,
    };
    vec![Piece::Figure(chart)]
}
