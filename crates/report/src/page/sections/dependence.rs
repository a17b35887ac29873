//! Does a late activation make the next one late? The autocorrelation of the latencies.

use jitterlab_analysis::correlation::autocorrelation;
use jitterlab_analysis::verdict::grouped;
use serde_json::json;

use super::super::PageRun;
use super::super::section::{Block, Figure, Section};
use super::{colour, plain, tasks};

/// Lags that are drawn.
const LAGS: usize = 200;

/// The section, where a task has enough activations in a row.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut traces = Vec::new();
    let mut told = Vec::new();
    for (number, (name, task)) in tasks(runs).enumerate() {
        let first: Vec<f64> = task.series.first_latencies_ns.iter().map(|ns| *ns as f64).collect();
        if first.len() < 4 * LAGS {
            continue;
        }
        let values = autocorrelation(&first, LAGS);
        let lags: Vec<usize> = (1..values.len()).collect();
        let bound = 1.96 / (first.len() as f64).sqrt();
        told.push(format!(
            "{name}: the first {} activations; independent latencies stay within ±{bound:.4} nineteen times of twenty",
            grouped(first.len() as u64)
        ));
        traces.push(json!({
            "type": "scatter", "mode": "lines", "name": plain(&name), "x": lags, "y": values.get(1..)?,
            "line": {"color": colour(number), "shape": "hvh"}
        }));
    }
    if traces.is_empty() {
        return None;
    }
    let many = traces.len() > 1;
    let figure = Figure {
        id: "autocorrelation".into(),
        caption: format!("{}.", told.join("; ")),
        data: json!(traces),
        layout: json!({
            "xaxis": {"title": {"text": "activations apart"}},
            "yaxis": {"title": {"text": "correlation of latencies"}},
            "showlegend": many
        }),
        height: 320,
    };
    Some(Section {
        id: "autocorrelation".into(),
        title: "Autocorrelation".into(),
        lead: "Whether a late activation makes the ones after it late. A peak at k activations means that something comes back every k periods; a slow fall means that disturbances last.".into(),
        blocks: vec![Block::Figure(figure)],
    })
}
