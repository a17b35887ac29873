//! What the page's script draws from.

use std::collections::BTreeMap;

use jitterlab_model::load::LoadSpec;
use jitterlab_model::{Distribution, RunInfo};
use serde::Serialize;
use serde_json::Value;

use super::pack::{Column, Packer};
use super::series::{Exact, QUANTITIES, Series, Step};
use super::{PageError, PageRun, PageTask};
use crate::chart::plotly;
use crate::figure::{caption, cluster_words};
use crate::section::{Block, Section};
use crate::typeset::times;

/// Everything the script needs, the packed columns beside it.
#[derive(Debug, Serialize)]
pub struct Plots<'a> {
    runs: Vec<Run<'a>>,
    figures: Vec<Drawing>,
}

/// A chart as the script draws it.
#[derive(Debug, Serialize)]
struct Drawing {
    /// Section and place within it.
    id: String,
    data: Value,
    layout: Value,
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    label: &'a str,
    phases: Vec<Phase>,
    tasks: Vec<Task<'a>>,
}

/// When a load began.
#[derive(Debug, Serialize)]
struct Phase {
    text: String,
    from_ns: i64,
}

#[derive(Debug, Serialize)]
struct Task<'a> {
    name: &'a str,
    period_ns: i64,
    /// How long and how it was measured.
    conditions: String,
    length_ns: i64,
    per_step: u64,
    complete: bool,
    /// Whether steps are seconds, and of the activations only spikes were kept.
    spikes_only: bool,
    steps: Steps,
    exact: ExactColumns,
    /// Clusters of latencies: from, to, words; none if there is but one.
    clusters: Vec<(i64, i64, String)>,
    /// Occupied bins as low, high, count.
    bins: BTreeMap<&'static str, Vec<(i64, i64, u64)>>,
}

#[derive(Debug, Serialize)]
struct Steps {
    due: Column,
    executed: Column,
    missed: Column,
    /// For each quantity its minimum, mean and maximum.
    extents: BTreeMap<&'static str, [Column; 3]>,
}

#[derive(Debug, Serialize)]
struct ExactColumns {
    due: Column,
    index: Column,
    missed: Column,
    values: BTreeMap<&'static str, Column>,
}

/// The script's data, and the packed columns in base64.
pub fn data<'a>(runs: &'a [PageRun], sections: &'a [Section]) -> Result<(Plots<'a>, String), PageError> {
    let mut packer = Packer::default();
    let drawn = runs.iter().map(|run| {
        let origin_ns = origin(run);
        Run {
            label: &run.label,
            phases: phases(&run.info).into_iter().map(|(text, from_ns)| Phase { text, from_ns }).collect(),
            tasks: run.tasks.iter().map(|task| self::task(run, task, origin_ns, &mut packer)).collect(),
        }
    });
    let runs = drawn.collect();
    let placed =
        sections.iter().flat_map(|section| section.blocks.iter().enumerate().map(move |b| (section, b)));
    let figures = placed.filter_map(|(section, (place, block))| {
        let Block::Figure(chart) = block else { return None };
        let (data, layout) = plotly(chart);
        Some(Drawing { id: format!("{}-{place}", section.id), data, layout })
    });
    Ok((Plots { runs, figures: figures.collect() }, packer.finish()?))
}

/// The earliest due time of the run.
fn origin(run: &PageRun) -> i64 {
    let first = |series: &Series| {
        let step = series.steps.first().map(|s| s.due_ns);
        step.into_iter().chain(series.exact.first().map(|e| e.due_ns)).min()
    };
    run.tasks.iter().filter_map(|task| first(&task.series)).min().unwrap_or(0)
}

/// Loads that began while the run went on, and when; one that ran from the beginning is no phase.
pub fn phases(info: &RunInfo) -> Vec<(String, i64)> {
    let length_ns = info.duration_ns.or(info.measured_ns()).unwrap_or(0);
    let specs = info.load.specs().unwrap_or_default().iter();
    let from_ns = |spec: &LoadSpec| (length_ns as f64 * f64::from(spec.start_percent) / 100.0) as i64;
    specs.filter(|spec| spec.start_percent > 0).map(|spec| (spec.to_string(), from_ns(spec))).collect()
}

fn task<'a>(run: &'a PageRun, task: &'a PageTask, origin_ns: i64, packer: &mut Packer) -> Task<'a> {
    let PageTask { figures, series, patterns, .. } = task;
    let clusters = patterns.clusters.iter().map(|c| (c.low_ns, c.high_ns, cluster_words(c)));
    let clusters: Vec<_> = clusters.collect();
    let result = run.info.tasks.get(task.number).and_then(|t| t.result.as_ref());
    let last =
        series.exact.last().map(|e| e.due_ns).into_iter().chain(series.steps.last().map(|s| s.due_ns)).max();
    let end_ns = result.map(|r| r.last_end_ns).or(last).unwrap_or(origin_ns);
    let stats = &figures.stats;
    let corrected = stats.corrected().unwrap_or_default();
    let quantities = [
        ("latency", &stats.latency),
        ("corrected_latency", &corrected),
        ("execution", &stats.execution),
        ("period_error", &stats.period_error),
        ("cycle_to_cycle", &stats.cycle_to_cycle),
    ];
    let bins = |values: &Distribution| values.bins().map(|b| (b.low_ns, b.high_ns, b.count)).collect();
    Task {
        name: &figures.summary.task,
        period_ns: figures.summary.period_ns,
        conditions: times(&caption::conditions(&run.info, task)),
        length_ns: end_ns.saturating_sub(origin_ns),
        per_step: series.per_step,
        complete: series.complete,
        spikes_only: matches!(run.info.keep, jitterlab_model::Keep::Spikes { .. }),
        steps: steps(&series.steps, origin_ns, packer),
        exact: exact(&series.exact, origin_ns, packer),
        clusters: if clusters.len() > 1 { clusters } else { Vec::new() },
        bins: quantities.into_iter().map(|(name, values)| (name, bins(values))).collect(),
    }
}

fn steps(steps: &[Step], origin_ns: i64, packer: &mut Packer) -> Steps {
    let due = packer.advancing(steps.iter().map(|s| s.due_ns - origin_ns));
    let executed = packer.column(steps.iter().map(|s| Some(s.executed as i64)));
    let missed = packer.column(steps.iter().map(|s| Some(s.missed as i64)));
    let extents = QUANTITIES.iter().enumerate().map(|(i, name)| {
        let some = |value: fn(&super::series::Extent) -> i64| {
            steps.iter().map(move |s| Some(&s.extents[i]).filter(|e| e.count > 0).map(value))
        };
        let mean = steps.iter().map(|s| s.extents[i].mean_ns());
        (*name, [packer.column(some(|e| e.min_ns)), packer.column(mean), packer.column(some(|e| e.max_ns))])
    });
    let extents = extents.collect();
    Steps { due, executed, missed, extents }
}

fn exact(rows: &[Exact], origin_ns: i64, packer: &mut Packer) -> ExactColumns {
    let due = packer.advancing(rows.iter().map(|e| e.due_ns - origin_ns));
    let index = packer.advancing(rows.iter().map(|e| e.index as i64));
    let missed = packer.column(rows.iter().map(|e| Some(e.missed.into())));
    let values = QUANTITIES.iter().enumerate();
    let values = values.map(|(i, name)| (*name, packer.column(rows.iter().map(|e| e.values_ns[i]))));
    let values = values.collect();
    ExactColumns { due, index, missed, values }
}
