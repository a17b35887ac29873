//! Is one run better than another: every figure against the first run's, with the interval it may lie in.

use jitterlab_analysis::compare::{AgainstFirst, Comparison, Difference, Statistic, compare};
use jitterlab_model::units::Human;

use crate::chart::{Axis, Chart, Layer, Shape};
use crate::section::{Block, Section};
use crate::shown::PageRun;

/// For each task that several runs have, its runs against the first one.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    let first = runs.first().filter(|_| runs.len() > 1)?;
    let mut blocks = Vec::new();
    for task in &first.tasks {
        let name = &task.figures.summary.task;
        let same = |run: &'_ PageRun| -> Option<usize> {
            run.tasks.iter().position(|t| t.figures.summary.task == *name)
        };
        let named: Vec<(String, &jitterlab_analysis::scan::TaskScan)> = runs
            .iter()
            .filter_map(|run| run.tasks.get(same(run)?).map(|task| (run.label.clone(), &task.scan)))
            .collect();
        if named.len() < 2 {
            continue;
        }
        let comparison = compare(&named);
        blocks.extend(chart(name, &comparison).map(Block::Figure));
        blocks.extend(
            comparison.against_first.iter().map(|other| table(name, &comparison.runs[0].name, other)),
        );
    }
    if blocks.is_empty() {
        return None;
    }
    Some(Section {
        id: "comparison".into(),
        title: "Comparison".into(),
        lead: "Every figure of the latency against that of the first run, with the interval that holds the true change; all intervals together hold with 95 %. An interval that reaches over zero shows no real difference.".into(),
        blocks,
    })
}

/// The change of a figure, as a share of the first run's.
fn share(difference: &Difference) -> Option<[f64; 3]> {
    let [low, high] = difference.interval?;
    let first = difference.difference / (difference.ratio? - 1.0);
    let percent = |ns: f64| 100.0 * ns / first;
    let all = [percent(low), percent(difference.difference), percent(high)];
    all.iter().all(|v| v.is_finite()).then_some(all)
}

fn chart(task: &str, comparison: &Comparison) -> Option<Chart> {
    // The share of missed due times is no latency: the table has it.
    let shown = || Statistic::ALL.iter().filter(|s| **s != Statistic::MissedShare);
    let names: Vec<&str> = shown().map(|s| s.name()).collect();
    let others = comparison.against_first.len() as f64;
    let layer = |(k, other): (usize, &AgainstFirst)| {
        // Runs stand side by side at each name.
        let shift = (k as f64 - (others - 1.0) / 2.0) * 0.6 / others;
        let values = other.differences.iter().filter_map(|d| {
            let [low, middle, high] = share(d)?;
            let at = shown().position(|s| *s == d.statistic)?;
            Some([at as f64 + shift, low, middle, high])
        });
        Layer::new(&other.name, k, Shape::Intervals(values.collect()))
    };
    let layers: Vec<Layer> = comparison.against_first.iter().enumerate().map(layer).collect();
    if layers.iter().all(|l| matches!(&l.shape, Shape::Intervals(v) if v.is_empty())) {
        return None;
    }
    let base = &comparison.runs.first()?.name;
    let level = Layer::new("", 4, Shape::Level(0.0));
    Some(Chart {
        name: "comparison",
        caption: format!(
            "Latency of task {task} in {}, against {base}: change of each figure in percent; below zero is better. Bars: 95 % intervals of all together.",
            comparison.against_first.iter().map(|o| o.name.as_str()).collect::<Vec<_>>().join(", "),
        ),
        x: Axis::names("figure of the latency", names),
        y: Axis::linear(format!("change against {base}, %")),
        layers: [level].into_iter().chain(layers).collect(),
        height: 400,
    })
}

fn table(task: &str, base: &str, other: &AgainstFirst) -> Block {
    let rows = other.differences.iter().map(|d| {
        let show = |v: f64| match d.statistic {
            Statistic::MissedShare => format!("{:+.4} %", 100.0 * v),
            _ => format!("{}{}", if v > 0.0 { "+" } else { "" }, Human(v)),
        };
        vec![
            d.statistic.name().into(),
            show(d.difference),
            d.interval
                .map_or("too short a run".into(), |[low, high]| format!("{} to {}", show(low), show(high))),
            d.ratio.map_or("–".into(), |r| format!("{r:.3}")),
            if d.real { "real" } else { "not shown" }.into(),
        ]
    });
    Block::Table {
        caption: format!(
            "Task {task}: {} against {base}; a latency of it is the lower one with a probability of {:.1} %",
            other.name,
            100.0 * other.p_lower
        ),
        header: ["figure", "change", "interval", "ratio", "difference"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}
