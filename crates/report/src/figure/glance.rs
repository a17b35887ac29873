//! What `analyze` ends with: the latency over time and its percentiles, small, from what one pass has gathered.

use crate::words::count;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::RunInfo;

use super::{Quantity, percentiles};
use crate::chart::{Axis, Chart, Layer, Shape, Terminal};

/// Both figures for each task that has latencies.
pub fn figures(info: &RunInfo, scans: &[TaskScan], terminal: Terminal) -> String {
    let tasks = || info.tasks.iter().map(|task| &task.spec).zip(scans);
    let over_time =
        tasks().filter_map(|(spec, scan)| over_time(&spec.name, spec.period_ns, scan, 2 * terminal.columns));
    let named: Vec<_> = tasks()
        .map(|(spec, scan)| (spec.name.as_str(), &scan.timing.latency))
        .filter(|(_, latency)| latency.count() > 0)
        .collect();
    let caption = "The curve of n latencies ends at 1 − 1/n.".to_owned();
    let percentiles = percentiles::curves(Quantity::Latency, &named, caption);
    let percentiles = percentiles.map(|chart| Chart { height: Chart::GLANCE, ..chart });
    terminal.figures(&over_time.chain(percentiles).collect::<Vec<_>>())
}

/// The smallest and the largest latency over time, in at most so many parts of the run.
fn over_time(name: &str, period_ns: i64, scan: &TaskScan, parts: usize) -> Option<Chart> {
    let (length, blocks) = scan.blocks.blocks();
    // One stretch of which only the extremes are known has no course.
    if blocks.len() < 2 {
        return None;
    }
    let joint = blocks.len().div_ceil(parts).max(1);
    let latency = &scan.timing.latency;
    let part_ns = (length * joint as u64) as f64 * period_ns as f64;
    let (mut band, mut missed) = (Vec::new(), Vec::new());
    for (k, part) in (0u32..).zip(blocks.chunks(joint)) {
        let known = || part.iter().flatten();
        let Some((low, high)) = known().map(|b| b.min_ns).min().zip(known().map(|b| b.max_ns).max()) else {
            continue;
        };
        let at = (f64::from(k) + 0.5) * part_ns;
        band.push([at, low as f64, high as f64]);
        if known().any(|block| block.missed > 0) {
            missed.push([at, high as f64]);
        }
    }
    let mut layers = vec![Layer::new("smallest to largest", 0, Shape::Band(band))];
    if !missed.is_empty() {
        layers.push(Layer::new("due times missed", 3, Shape::Points(missed)));
    }
    Some(Chart {
        name: "over-time",
        caption: format!(
            "{name} over time: every extreme of its {} latencies is drawn.",
            count(latency.count())
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
    use jitterlab_model::{Activation, TaskSpec};

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
        let text = figures(&info, &[scan], Terminal { columns: 80, ascii: true, colour: false });
        let (over_time, percentiles) = text.split_once("is drawn.").unwrap();
        let top = over_time.lines().nth(1).unwrap();
        assert_eq!(top.matches('#').count(), 1, "{text}");
        assert!((44..50).contains(&top.find('#').unwrap()), "{text}");
        assert!(percentiles.contains("99.99 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.is_ascii(), "{text}");
    }
}
