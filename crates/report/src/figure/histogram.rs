//! The histogram: counts on a logarithmic axis, so that a value seen once is visible next to one seen a
//! million times.

use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_model::units::Human;
use jitterlab_model::{Distribution, Quantity};

use super::series::has_far_outliers;
use super::task::{Task, joint_caption, tasks_with_values};
use crate::chart::{Axis, Chart, Layer, Scale, Shape};
use crate::quantity;
use crate::run_view::PageRun;
use crate::words::share;

/// Chart of the histograms of all tasks over each other; empty without any.
pub(super) fn charts(quantity: Quantity, runs: &[PageRun]) -> Vec<Chart> {
    let mut tasks = tasks_with_values(quantity, runs);
    tasks.retain(|(_, values)| values.has_shape());
    histogram_chart(quantity, &tasks).into_iter().collect()
}

fn histogram_chart(quantity: Quantity, tasks: &[(Task<'_>, Distribution)]) -> Option<Chart> {
    let all = || tasks.iter().map(|(_, values)| values);
    let low_ns = all().filter_map(Distribution::min_ns).min()?;
    let layers = tasks.iter().enumerate();
    let layers = layers
        .map(|(number, (task, values))| Layer::new(&task.name, number, Shape::from_distribution(values)));
    let mut limits: Vec<(f64, String, usize)> = Vec::new();
    for limit in tasks.iter().flat_map(|(task, values)| task.limits(quantity, values)) {
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    let limits = limits
        .into_iter()
        .map(|(ns, words, colour)| Layer::coloured("", colour, Shape::Marks(vec![(ns, words)])));
    Some(Chart {
        name: "histogram".into(),
        caption: joint_caption(quantity, tasks),
        x: Axis::time_from(quantity::name(quantity), low_ns, all().any(has_far_outliers)),
        y: Axis::log("count").with_other_scale(Scale::Linear),
        layers: layers.chain(cluster_boxes(quantity, tasks)).chain(limits).collect(),
        height: 460,
    })
}

/// Label of a cluster's box.
pub fn cluster_label(cluster: &LatencyCluster) -> String {
    format!("{} at {}", share(cluster.weight), Human(cluster.centre_ns))
}

/// Boxes around the clusters of a single task's latencies, as NIST's figure 1 has them; else `None`.
fn cluster_boxes(quantity: Quantity, tasks: &[(Task<'_>, Distribution)]) -> Option<Layer> {
    let [(only, _)] = tasks else { return None };
    let clusters = Some(&only.task.patterns.clusters).filter(|_| quantity == Quantity::Latency)?;
    let boxes = clusters.iter().map(|c| (c.low_ns as f64, c.high_ns as f64 + 1.0, cluster_label(c)));
    (clusters.len() > 1).then(|| Layer::new("", 1, Shape::Boxes(boxes.collect())))
}
