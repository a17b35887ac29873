//! Period against the period before: what kind of pattern the jitter has, at a glance.

use std::collections::BTreeMap;

use crate::words::count;

use jitterlab_model::units::Human;

use super::task::tasks;
use crate::chart::{Axis, Cells, Chart, Layer, Shape};
use crate::section::{Piece, Section};
use crate::shown::{PageRun, PageTask};

/// Cells along each side.
const CELLS: usize = 120;

/// One figure for each task, where it has enough activations.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    let charts = tasks(runs).filter_map(|t| chart(&t.name, &pairs(t.task)));
    let pieces: Vec<Piece> = charts.map(Piece::Figure).collect();
    if pieces.is_empty() {
        return None;
    }
    Some(Section {
        id: "pairs".into(),
        title: "Period to period".into(),
        lead: "Each period error against the next one. A late start makes one period long and the next short, a point on the falling diagonal; separate islands are separate causes.".into(),
        pieces,
    })
}

fn chart(name: &str, pairs: &[(i64, i64)]) -> Option<Chart> {
    if pairs.len() < 100 {
        return None;
    }
    let ends = || pairs.iter().flat_map(|(a, b)| [*a, *b]);
    let (low, high) = (ends().min()?, ends().max()?);
    let width_ns = ((high - low) as f64 / (CELLS - 1) as f64).max(1.0);
    let cell = |ns: i64| ((ns - low) as f64 / width_ns).round() as usize;
    let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    pairs.iter().for_each(|(a, b)| *counts.entry((cell(*a), cell(*b))).or_default() += 1);
    let at = |cell: usize| low as f64 + cell as f64 * width_ns;
    let decades = f64::from(counts.values().max()?.max(&10).ilog10() + 1);
    let shade = |count: u64| (count as f64).log10() / decades;
    let words = |(a, b): (usize, usize), pairs: u64| {
        format!("{}, then {}: {} pairs", Human(at(a)), Human(at(b)), count(pairs))
    };
    let cells =
        counts.iter().map(|(key, count)| ([at(key.0), at(key.1)], shade(*count), words(*key, *count)));
    let ticks = (0..=decades as u32).map(|power| (f64::from(power) / decades, count(10u64.pow(power))));
    let cells = Cells {
        size: [width_ns; 2],
        cells: cells.collect(),
        labelled: false,
        key: ("pairs".into(), ticks.collect()),
    };
    Some(Chart {
        name: "pairs",
        caption: format!(
            "{name}: {} pairs of successive period errors: those of the first activations, and those around the largest values.",
            count(pairs.len() as u64)
        ),
        x: Axis::linear("period error").time(),
        y: Axis::linear("the next one").time(),
        layers: vec![Layer::new("", 0, Shape::Cells(cells))],
        height: 460,
    })
}

/// Successive period errors: of the first activations, and of the blocks around the largest values behind them.
fn pairs(task: &PageTask) -> Vec<(i64, i64)> {
    let series = &task.series;
    let latencies = &series.first_latencies_ns;
    let errors: Vec<i64> = latencies.windows(2).map(|w| w[1] - w[0]).collect();
    let mut pairs: Vec<(i64, i64)> = errors.windows(2).map(|w| (w[0], w[1])).collect();
    let known = series.exact.first().map_or(0, |e| e.index).saturating_add(latencies.len() as u64);
    let later = series.exact.windows(2).filter(|w| w[0].index >= known && w[1].index == w[0].index + 1);
    pairs.extend(later.filter_map(|w| w[0].values_ns[2].zip(w[1].values_ns[2])));
    pairs
}
