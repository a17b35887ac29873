//! Period against the period before: what kind of pattern the jitter has, at a glance.

use std::collections::BTreeMap;

use jitterlab_analysis::verdict::grouped;
use serde_json::json;

use super::super::PageRun;
use super::super::section::{Block, Figure, Section};
use super::{plain, tasks};

/// Cells along each side.
const CELLS: usize = 120;

/// From one pair to many, to be told apart on light and dark ground.
const COLOURS: [(f64, &str); 3] = [(0.0, "#c9962b"), (0.5, "#d1495b"), (1.0, "#7b5fb0")];

/// One figure for each task, where it has enough activations.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut blocks = Vec::new();
    for (number, (name, task)) in tasks(runs).enumerate() {
        let pairs = pairs(task);
        if pairs.len() < 100 {
            continue;
        }
        let ends = pairs.iter().flat_map(|(a, b)| [*a, *b]);
        let (low, high) = (ends.clone().min()? as f64 / 1e3, ends.max()? as f64 / 1e3);
        let width = ((high - low) / (CELLS - 1) as f64).max(1e-3);
        let cell = |ns: i64| ((ns as f64 / 1e3 - low) / width).round() as usize;
        let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        pairs.iter().for_each(|(a, b)| *counts.entry((cell(*a), cell(*b))).or_default() += 1);
        let at = |cell: usize| (1e3 * (low + cell as f64 * width)).round() / 1e3;
        let column =
            |of: fn(&(usize, usize)) -> usize| counts.keys().map(|key| at(of(key))).collect::<Vec<_>>();
        let decades: Vec<f64> = counts.values().map(|count| (*count as f64).log10()).collect();
        let words: Vec<String> = counts.values().map(|count| format!("{} pairs", grouped(*count))).collect();
        let most = counts.values().max()?.ilog10() + 1;
        let ticks: Vec<u32> = (0..=most).collect();
        let trace = json!({
            "type": "scatter", "mode": "markers", "x": column(|key| key.0), "y": column(|key| key.1), "text": words,
            "hovertemplate": "%{x} µs, then %{y} µs: %{text}<extra></extra>",
            "marker": {
                "symbol": "square", "size": 5, "color": decades, "colorscale": COLOURS,
                "colorbar": {"title": {"text": "pairs"}, "tickvals": ticks, "thickness": 12,
                    "ticktext": ticks.iter().map(|power| grouped(10u64.pow(*power))).collect::<Vec<_>>()}
            }
        });
        blocks.push(Block::Figure(Figure {
            id: format!("pairs-{number}"),
            caption: format!(
                "{}: {} pairs of successive period errors: those of the first activations, and those around the largest values.",
                name,
                grouped(pairs.len() as u64)
            ),
            data: json!([trace]),
            layout: json!({
                "xaxis": {"title": {"text": "period error, µs"}},
                "yaxis": {"title": {"text": format!("{}: the next one, µs", plain(&name))}},
                "showlegend": false
            }),
            height: 460,
        }));
    }
    if blocks.is_empty() {
        return None;
    }
    Some(Section {
        id: "pairs".into(),
        title: "Period to period".into(),
        lead: "Each period error against the next one. A late start makes one period long and the next short, a point on the falling diagonal; separate islands are separate causes.".into(),
        blocks,
    })
}

/// Successive period errors: of the first activations, and of the blocks around the largest values behind them.
fn pairs(task: &super::super::PageTask) -> Vec<(i64, i64)> {
    let series = &task.series;
    let latencies = &series.first_latencies_ns;
    let errors: Vec<i64> = latencies.windows(2).map(|w| w[1] - w[0]).collect();
    let mut pairs: Vec<(i64, i64)> = errors.windows(2).map(|w| (w[0], w[1])).collect();
    let known = series.exact.first().map_or(0, |e| e.index).saturating_add(latencies.len() as u64);
    let later = series.exact.windows(2).filter(|w| w[0].index >= known && w[1].index == w[0].index + 1);
    pairs.extend(later.filter_map(|w| w[0].values_ns[2].zip(w[1].values_ns[2])));
    pairs
}
