//! The histogram: counts on a logarithmic axis, so that a value seen once stands beside one seen a million times.

use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_model::Distribution;
use jitterlab_model::units::Human;

use super::Quantity;
use super::caption::{Drawable, drawables, of_all};
use crate::chart::{Axis, Chart, Layer, Shape, time_unit};
use crate::page::PageRun;

/// Bars across the figure, at most.
const BARS: f64 = 180.0;

/// Neighbouring bins joined until they are about `width` wide where they are drawn: low, high + 1, count. None is lost,
/// none is split.
fn bars(values: &Distribution, place: impl Fn(i64) -> f64, width: f64) -> Vec<(i64, i64, u64)> {
    let mut bars: Vec<(i64, i64, u64)> = Vec::new();
    for bin in values.bins() {
        let end = bin.high_ns.saturating_add(1);
        match bars.last_mut() {
            Some((low, high, count)) if place(end) - place(*low) <= width => {
                (*high, *count) = (end, *count + bin.count);
            }
            _ => bars.push((bin.low_ns, end, bin.count)),
        }
    }
    bars
}

/// The histograms of all tasks over each other.
pub fn chart(quantity: Quantity, runs: &[PageRun]) -> Option<Chart> {
    let drawables = drawables(quantity, runs);
    let all = || drawables.iter().map(|d| quantity.of(d.task));
    let low_ns = all().filter_map(Distribution::min_ns).min()?;
    let high_ns = all().filter_map(Distribution::max_ns).max()?.max(low_ns + 1);
    // A few large values would press all others into one line.
    let far =
        all().any(|d| d.value_at_rank(d.count().div_ceil(2)).is_some_and(|median| high_ns > 30 * median));
    let log = far && low_ns > 0;
    let place = |ns: i64| if log { (ns as f64).log10() } else { ns as f64 };
    let width = (place(high_ns) - place(low_ns)) / BARS;
    let (per, unit) = time_unit(if log {
        low_ns as f64 * 10.0
    } else {
        high_ns.unsigned_abs().max(low_ns.unsigned_abs()) as f64
    });
    let layers = drawables.iter().enumerate().map(|(number, d)| {
        let bars = bars(quantity.of(d.task), place, width).into_iter();
        let bars = bars.map(|(low, high, count)| [low as f64 / per, high as f64 / per, count as f64]);
        Layer::new(&d.name, number, Shape::Bars(bars.collect()))
    });
    let layers: Vec<Layer> = layers.chain(clusters(quantity, &drawables, per)).collect();
    let title = format!("{quantity}, {unit}");
    Some(Chart {
        name: "histogram",
        caption: of_all(quantity, &drawables),
        x: if log { Axis::log(title) } else { Axis::linear(title) },
        y: Axis::log("count"),
        layers,
        height: 460,
    })
}

/// What stands at a cluster's box.
pub(crate) fn cluster_words(cluster: &LatencyCluster) -> String {
    let percent = 100.0 * cluster.weight;
    let share = if percent < 0.1 { format!("{percent:.1e}") } else { format!("{percent:.1}") };
    format!("{share} % at {}", Human(cluster.centre_ns))
}

/// Boxes around the clusters of latencies, as NIST's figure 1 has them. Of several tasks they would hide each other.
fn clusters(quantity: Quantity, drawables: &[Drawable<'_>], per: f64) -> Option<Layer> {
    let [only] = drawables else { return None };
    let clusters = Some(&only.task.patterns.clusters).filter(|_| quantity == Quantity::Latency)?;
    let boxes =
        clusters.iter().map(|c| (c.low_ns as f64 / per, (c.high_ns + 1) as f64 / per, cluster_words(c)));
    (clusters.len() > 1).then(|| Layer::new("", 1, Shape::Boxes(boxes.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_is_in_a_bar(values in prop::collection::vec(-9_000i64..9_000_000, 1..300), width in 1f64..1e6) {
            let mut distribution = Distribution::new();
            values.iter().for_each(|v| distribution.record(*v));
            let bars = bars(&distribution, |ns| ns as f64, width);
            prop_assert_eq!(bars.iter().map(|b| b.2).sum::<u64>(), values.len() as u64);
            prop_assert!(bars.windows(2).all(|w| w[0].1 <= w[1].0));
        }
    }
}
