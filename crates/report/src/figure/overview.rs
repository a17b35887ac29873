//! Small figures of the latency over time and its percentiles, from an analysis.

use jitterlab_analysis::TaskAnalysis;
use jitterlab_model::Quantity;

use super::percentiles;
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::words::count;

/// Charts of latency over time, one for each task, and of the percentiles of all that have latencies.
pub fn overview_charts(tasks: &[TaskAnalysis]) -> Vec<Chart> {
    let measured = tasks.iter().map(|task| &task.measured).filter(|task| task.summary.latency.count > 0);
    let histograms: Vec<_> =
        measured.map(|task| (task.summary.task.as_str(), task.latency_histogram())).collect();
    let named = histograms.iter().filter(|(_, values)| values.has_percentiles());
    let named: Vec<_> = named.map(|(name, values)| (*name, values)).collect();
    let caption = "The curve of n latencies ends at 1−1/n.".to_owned();
    let percentiles = percentiles::curves_chart(Quantity::Latency, &named, caption);
    let percentiles = percentiles.map(|chart| Chart { height: Chart::GLANCE, ..chart });
    tasks.iter().filter_map(over_time_chart).chain(percentiles).collect()
}

/// The smallest and the largest latency over time.
fn over_time_chart(task: &TaskAnalysis) -> Option<Chart> {
    let (summary, over_time) = (&task.measured.summary, &task.over_time);
    // One stretch with only its extremes known makes no curve.
    if over_time.parts.len() < 2 {
        return None;
    }
    let name = &summary.task;
    let part_ns = over_time.part_due_times as f64 * summary.period_ns as f64;
    let (mut band, mut missed) = (Vec::new(), Vec::new());
    for (k, part) in (0u32..).zip(&over_time.parts) {
        let Some(part) = part else { continue };
        let at = (f64::from(k) + 0.5) * part_ns;
        band.push([at, part.min_ns as f64, part.max_ns as f64]);
        if part.missed > 0 {
            missed.push([at, part.max_ns as f64]);
        }
    }
    let mut layers = vec![Layer::new("smallest to largest", 0, Shape::Band(band))];
    if !missed.is_empty() {
        layers.push(Layer::new("due times missed", 3, Shape::Points(missed)));
    }
    Some(Chart {
        name: "over-time".into(),
        caption: format!(
            "{name} over time: every extreme of its {} latencies is drawn.",
            count(summary.latency.count)
        ),
        x: Axis::linear("time").time(),
        y: Axis::linear(format!("{name}: latency")).time(),
        layers,
        height: Chart::GLANCE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::{Activation, RunInfo, TaskSpec};

    #[test]
    fn a_single_late_activation_of_a_long_run_stands_out() {
        let spec = TaskSpec { name: "servo".into(), period_ns: 1_000_000, ..TaskSpec::default() };
        let mut scan = TaskScan::new(spec.period_ns, 100_000);
        let rows: Vec<Activation> = (0..100_000)
            .map(|k| Activation {
                index: k as u64,
                due_ns: k * spec.period_ns,
                start_ns: k * spec.period_ns + if k == 50_000 { 900_000 } else { 5_000 },
                ..Activation::default()
            })
            .collect();
        scan.push_all(&rows);
        let info = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [spec]);
        let analysis = TaskAnalysis::new(&scan, &info.tasks[0], &info);
        let text =
            Terminal { columns: 80, ascii: true, colour: false }.figures(&overview_charts(&[analysis]));
        let (over_time, percentiles) = text.split_once("is drawn.").unwrap();
        let top = over_time.lines().nth(1).unwrap();
        assert_eq!(top.matches('#').count(), 1, "{text}");
        assert!((44..50).contains(&top.find('#').unwrap()), "{text}");
        assert!(percentiles.contains("99.99 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.is_ascii(), "{text}");
    }
}
