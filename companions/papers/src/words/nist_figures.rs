//! Figures 1, 2, 4 and 6 of the NIST paper: deviations of starts from the line through them, and the early calls of one.

use serde_json::json;

use super::histogram_bars;
use crate::early_calls::{Call, EarlyCalls};
use crate::paper::Paper;
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::nist_deviations::Deviations;
use jitterlab_model::units::Human;
use jitterlab_report::words::{count, plural};

use jitterlab_report::chart::{Chart, Layer, Shape, Span, Stroke};
use jitterlab_report::figure::histogram::cluster_label;

const BARS: f64 = 60.0;
/// Number of samples beyond which their points would hide the line between them.
const CONNECTED: usize = 1_000;

/// Figure 1: a short series and its histogram, clusters boxed in both where there are several.
pub fn figure_1(deviations: &Deviations, clusters: &[LatencyCluster]) -> Vec<Chart> {
    let clusters = if clusters.len() > 1 { clusters } else { &[] };
    let samples = deviations.each_ns.len() as f64;
    let frame = |c: &LatencyCluster| [1.0, c.low_ns as f64, samples, c.high_ns as f64];
    let frames = Layer::new("", 1, Shape::Frames(clusters.iter().map(frame).collect()));
    let series = deviations_chart(&[("", deviations)], vec![frames]);
    series.into_iter().chain(histogram(deviations, clusters)).collect()
}

/// Figure 4: the calls of one activation on a time line, as bars in two rows.
pub fn figure_4(calls: &EarlyCalls) -> Option<Chart> {
    let bar = |call: &Call, row: f64, words: &str| Span {
        from: call.woken_ns as f64,
        to: call.done_ns as f64,
        lane: row,
        words: format!("{words}, {}", Human(call.duration_ns() as f64)),
    };
    let returned = calls.returned.iter().map(|call| bar(call, 1.0, "called, slept again"));
    let served = calls.service_ns().map_or_else(String::new, |ns| {
        format!(" after {} in the median, as the task itself sees it", Human(ns as f64))
    });
    let layers = vec![
        Layer::new("", 0, Shape::Spans(returned.collect())),
        Layer::new("", 3, Shape::Spans(vec![bar(&calls.polled, 0.0, "polls")])),
        Layer::new("", 5, Shape::Marks(vec![(0.0, "T: due".into())])),
        Layer::new("", 1, Shape::Boxes(letter_boxes(calls))),
    ];
    let values = json!({
        "every_ns": calls.every_ns,
        "returned": plural(calls.returned.len() as u64, "call"),
        "served": served,
        "polled_ns": calls.polled.duration_ns(),
        "of": calls.of,
    });
    Paper::Nist.chart("calls", values, layers)
}

/// The paper's letters: A from one call to the next, and S, which the next one took.
fn letter_boxes(calls: &EarlyCalls) -> Vec<(f64, f64, String)> {
    let Some([first, second]) = calls.returned.first_chunk() else { return Vec::new() };
    let length = |ns: i64| Human(ns as f64);
    let a_ns = second.woken_ns - first.woken_ns;
    vec![
        (first.woken_ns as f64, second.woken_ns as f64, format!("A = {}", length(a_ns))),
        (second.woken_ns as f64, second.done_ns as f64, format!("S = {}", length(second.duration_ns()))),
    ]
}

/// Figures 2 and 6: the deviations of named series over their samples, below `more`.
pub fn deviations_chart(all: &[(&str, &Deviations)], more: Vec<Layer>) -> Option<Chart> {
    let layer = |(number, (name, deviations)): (usize, &(&str, &Deviations))| {
        let points: Vec<[f64; 2]> =
            (1u32..).zip(&deviations.each_ns).map(|(k, ns)| [f64::from(k), *ns]).collect();
        let shape = if points.len() > CONNECTED {
            Shape::Points(points)
        } else {
            Shape::Line { points, stroke: Stroke::Dotted }
        };
        Layer::new(*name, number, shape)
    };
    let jitters = all.iter().map(|(name, d)| {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let (samples, jitter) = (count(d.each_ns.len() as u64), Human(d.residual.peak_to_peak()));
        format!("{name}{samples} samples, jitter {jitter}")
    });
    let values = json!({"series": jitters.collect::<Vec<_>>().join("; ")});
    Paper::Nist.chart("series", values, all.iter().enumerate().map(layer).chain(more).collect())
}

/// Histogram of the deviations, with boxes around the clusters.
fn histogram(deviations: &Deviations, clusters: &[LatencyCluster]) -> Option<Chart> {
    let low = deviations.residual.min;
    // A little wider, so that the largest value is in the last bar.
    let width = (deviations.residual.peak_to_peak() * 1.000_001 / BARS).max(f64::MIN_POSITIVE);
    let boxes = clusters.iter().map(|c| (c.low_ns as f64, c.high_ns as f64, cluster_label(c)));
    let layers = vec![
        Layer::new("", 0, histogram_bars(deviations.each_ns.iter().copied(), low, width)),
        Layer::new("", 1, Shape::Boxes(boxes.collect())),
    ];
    Paper::Nist.chart("histogram", json!({"samples": deviations.each_ns.len()}), layers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::clusters::latency_clusters;
    use jitterlab_model::Activation;
    use jitterlab_report::chart::Drawing;

    /// Starts of a 500 us task that take one of two code paths, 2 us apart.
    fn two_paths(samples: u64) -> Deviations {
        let start = |k: u64| {
            let late_ns = (k * 7 % 3 % 2 * 2_000 + k * 37 % 100) as i64;
            Activation { index: k, start_ns: k as i64 * 500_000 + late_ns, ..Activation::default() }
        };
        Deviations::from_series(&(0..samples).map(start).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_early_call_is_drawn_however_short() {
        let call = |woken_ns, duration_ns| Call { woken_ns, done_ns: woken_ns + duration_ns };
        let calls = EarlyCalls {
            every_ns: 50_000,
            returned: (1..=8).rev().map(|k| call(k * -50_000, 350)).collect(),
            polled: call(-24_550, 24_552),
            of: 1_000,
            mean_polled_ns: 24_552,
        };
        let chart = figure_4(&calls).unwrap();
        assert!(chart.caption.contains("8 calls slept again after 350 ns"), "{}", chart.caption);
        let svg = Drawing::new(&[chart]).svg();
        let (_, calls) = svg.split_once("stroke:#0072B2").unwrap();
        assert_eq!(calls.split("/>").next().unwrap().matches('m').count(), 8, "{svg}");
        assert!(["T: due", "A = 50 µs", "S = 350 ns"].iter().all(|letter| svg.contains(letter)), "{svg}");
    }

    #[test]
    fn every_sample_is_drawn_and_every_cluster_is_boxed_twice() {
        let deviations = two_paths(100);
        let clusters = latency_clusters(&deviations.distribution());
        assert_eq!(clusters.len(), 2);
        let [series, histogram] = figure_1(&deviations, &clusters).try_into().unwrap();
        let drawn = |chart: &Chart, layer: usize| match &chart.layers[layer].shape {
            Shape::Line { points, .. } | Shape::Points(points) => points.len(),
            Shape::Frames(frames) => frames.len(),
            Shape::Boxes(boxes) => boxes.len(),
            Shape::Bars(bars) => bars.iter().map(|bar| bar[2] as usize).sum(),
            other => panic!("{other:?}"),
        };
        assert_eq!([drawn(&series, 0), drawn(&series, 1)], [100, 2]);
        assert_eq!([drawn(&histogram, 0), drawn(&histogram, 1)], [100, 2]);
        assert_eq!(Drawing::new(&[series]).svg().matches("h0").count(), 100);
        assert_eq!(drawn(&deviations_chart(&[("", &two_paths(2_000))], Vec::new()).unwrap(), 0), 2_000);
        let both = deviations_chart(&[("a", &deviations), ("b", &two_paths(50))], Vec::new()).unwrap();
        assert_eq!([drawn(&both, 0), drawn(&both, 1)], [100, 50]);
    }
}
