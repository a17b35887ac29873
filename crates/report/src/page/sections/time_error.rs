//! The figures of clocks: MTIE and TDEV over the observation time, as ITU-T G.810 defines them.

use jitterlab_analysis::time_error::time_error;
use jitterlab_analysis::verdict::grouped;
use serde_json::json;

use super::super::PageRun;
use super::super::section::{Block, Figure, Section};
use super::{colour, plain, tasks};

/// The section, where a task has enough activations in a row.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut traces = Vec::new();
    let mut told = Vec::new();
    for (number, (name, task)) in tasks(runs).enumerate() {
        let first: Vec<f64> = task.series.first_latencies_ns.iter().map(|ns| *ns as f64).collect();
        let points = time_error(&first, task.figures.summary.period_ns as f64);
        if points.len() < 3 {
            continue;
        }
        told.push(format!("{name}: the first {} activations", grouped(first.len() as u64)));
        let seconds: Vec<f64> = points.iter().map(|p| p.tau_ns / 1e9).collect();
        let curves = [
            ("MTIE", "solid", points.iter().map(|p| p.mtie_ns / 1e3).collect::<Vec<_>>()),
            ("TDEV", "dash", points.iter().map(|p| p.tdev_ns / 1e3).collect()),
        ];
        for (figure, dash, values) in curves {
            traces.push(json!({
                "type": "scatter", "mode": "lines+markers", "name": plain(&format!("{name}: {figure}")),
                "x": seconds, "y": values, "line": {"color": colour(number), "dash": dash}, "marker": {"size": 4}
            }));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let figure = Figure {
        id: "time-error".into(),
        caption: format!("{}. Solid: MTIE; dashed: TDEV.", told.join("; ")),
        data: json!(traces),
        layout: json!({
            "xaxis": {"type": "log", "title": {"text": "observation time, s"}},
            "yaxis": {"type": "log", "title": {"text": "time error, µs"}},
            "showlegend": true
        }),
        height: 380,
    };
    Some(Section {
        id: "time-error".into(),
        title: "Time error".into(),
        lead: "The starts of the task seen as a clock. MTIE (maximum time interval error) is the largest change of latency within any stretch of the given length; TDEV (time deviation) is what remains when fast noise is averaged over that length. Both as in ITU-T G.810.".into(),
        blocks: vec![Block::Figure(figure)],
    })
}
