//! Period against the period before: the kind of pattern in the jitter, at a glance.

use std::collections::BTreeMap;

use crate::words::count;

use jitterlab_model::units::Human;

use super::task::tasks;
use crate::chart::{Axis, Cells, Chart, Layer, Scale, Shape};
use crate::run_view::{PageRun, PageTask};
use crate::section::Piece;

/// Cells along each side.
const CELLS_PER_SIDE: usize = 121;

/// Chart of successive period errors of each task that has enough activations.
pub(super) fn pairs_pieces(runs: &[PageRun]) -> Vec<Piece> {
    let charts = tasks(runs).filter_map(|t| pairs_chart(&t.name, &period_error_pairs(t.task)));
    charts.map(Piece::Figure).collect()
}

fn pairs_chart(name: &str, pairs: &[(i64, i64)]) -> Option<Chart> {
    if pairs.len() < 100 {
        return None;
    }
    // Equal axes, on which both a microsecond and a millisecond show.
    let axis = |title: &str| Axis::new(title, Scale::SignedLog).time();
    let (x, y) = (axis("period error"), axis("the next one"));
    let place = |ns: i64| x.position(ns as f64).unwrap_or(0.0);
    let far = pairs.iter().flat_map(|(a, b)| [a, b]).map(|ns| place(*ns).abs()).fold(1.0, f64::max);
    let width = 2.0 * far / (CELLS_PER_SIDE - 1) as f64;
    // The middle one is around zero.
    let cell = |ns: i64| ((place(ns) + far) / width).round() as usize;
    let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    pairs.iter().for_each(|(a, b)| *counts.entry((cell(*a), cell(*b))).or_default() += 1);
    let at = |cell: usize| x.value_at(cell as f64 * width - far);
    let decades = f64::from(counts.values().max()?.max(&10).ilog10() + 1);
    let shade = |count: u64| (count as f64).log10() / decades;
    let words = |(a, b): (usize, usize), pairs: u64| {
        format!("{}, then {}: {} pairs", Human(at(a)), Human(at(b)), count(pairs))
    };
    let cells =
        counts.iter().map(|(key, count)| ([at(key.0), at(key.1)], shade(*count), words(*key, *count)));
    let ticks = (0..=decades as u32).map(|power| (f64::from(power) / decades, count(10u64.pow(power))));
    let cells = Cells {
        size: [width; 2],
        cells: cells.collect(),
        labelled: false,
        key: ("pairs".into(), ticks.collect()),
    };
    Some(Chart {
        name: "pairs".into(),
        caption: format!(
            "{name}: {} pairs of successive period errors: those of the first activations, and those around the largest values.",
            count(pairs.len() as u64)
        ),
        layers: vec![
            // Both axes reach as far, to either side.
            Layer::new(
                "",
                0,
                Shape::Frames(vec![[x.value_at(-far), x.value_at(-far), x.value_at(far), x.value_at(far)]]),
            ),
            Layer::new("", 0, Shape::Cells(cells)),
        ],
        x,
        y,
        height: 460,
    })
}

/// Successive period errors: of the first activations, and of the blocks around the largest values behind them.
fn period_error_pairs(task: &PageTask) -> Vec<(i64, i64)> {
    let series = &task.series;
    let latencies = &series.first_latencies_ns;
    let errors: Vec<i64> = latencies.windows(2).map(|w| w[1] - w[0]).collect();
    let mut pairs: Vec<(i64, i64)> = errors.windows(2).map(|w| (w[0], w[1])).collect();
    let known = series.exact.first().map_or(0, |e| e.index).saturating_add(latencies.len() as u64);
    let later = series.exact.windows(2).filter(|w| w[0].index >= known && w[1].index == w[0].index + 1);
    pairs.extend(later.filter_map(|w| w[0].values_ns[2].zip(w[1].values_ns[2])));
    pairs
}
