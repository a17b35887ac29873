//! The figure of a comparison: the change of each figure of the latency.

use jitterlab_analysis::compare::{AgainstFirst, Comparison, Difference, Statistic};

use crate::chart::{Axis, Chart, Layer, Shape};
use crate::words::list;

/// Change of a figure in percent: lower end, value, upper end; `None` without an interval.
fn relative_change(difference: &Difference) -> Option<[f64; 3]> {
    let [low, high] = difference.interval?;
    let first = difference.difference / (difference.ratio? - 1.0);
    let percent = |ns: f64| 100.0 * ns / first;
    let all = [percent(low), percent(difference.difference), percent(high)];
    all.iter().all(|v| v.is_finite()).then_some(all)
}

pub(super) fn changes_chart(task: &str, comparison: &Comparison) -> Option<Chart> {
    // The table shows the other figures, which are no latencies.
    let of_latency = |s: &&Statistic| !matches!(s, Statistic::MissedShare | Statistic::MedianExecution);
    let shown = || Statistic::ALL.iter().filter(of_latency);
    let names: Vec<&str> = shown().map(|s| s.name()).collect();
    let others = comparison.against_first.len() as f64;
    let layer = |(k, other): (usize, &AgainstFirst)| {
        // Runs are drawn side by side at each name.
        let shift = (k as f64 - (others - 1.0) / 2.0) * 0.6 / others;
        let values = other.differences.iter().filter_map(|d| {
            let [low, middle, high] = relative_change(d)?;
            let at = shown().position(|s| *s == d.statistic)?;
            Some([at as f64 + shift, low, middle, high])
        });
        // In the colour that the run has in the other figures.
        Layer::new(&other.name, k + 1, Shape::Intervals(values.collect()))
    };
    let layers: Vec<Layer> = comparison.against_first.iter().enumerate().map(layer).collect();
    if layers.iter().all(|l| matches!(&l.shape, Shape::Intervals(v) if v.is_empty())) {
        return None;
    }
    let base = &comparison.runs.first()?.name;
    let is_empty = |layer: &&Layer| matches!(&layer.shape, Shape::Intervals(values) if values.is_empty());
    let (without, drawn): (Vec<&Layer>, Vec<&Layer>) = layers.iter().partition(is_empty);
    let names_of = |of: &[&Layer]| list(&of.iter().map(|layer| layer.name.to_string()).collect::<Vec<_>>());
    let lacking = match without.as_slice() {
        [] => String::new(),
        some => format!(" No interval is known of {}.", names_of(some)),
    };
    let caption = format!(
        "Latency of task {task} in {}, against {base}: change of each figure in percent; below zero is better. Bars: 95 % \
         intervals of all together.{lacking}",
        names_of(&drawn)
    );
    let level = Layer::new("", 0, Shape::Level(0.0));
    Some(Chart {
        name: "comparison".into(),
        caption,
        x: Axis::names("figure of the latency", names),
        y: Axis::linear(format!("change against {base}, %")),
        layers: [level].into_iter().chain(layers).collect(),
        height: 400,
    })
}
