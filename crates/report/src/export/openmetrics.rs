//! A run for Prometheus and compatible tools: counters, the figures of each quantity, and the latency's histogram. Unknown
//! values have no sample.

use std::io::{self, Write};

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::Statistics;
use jitterlab_model::{Distribution, Error, Known, RunInfo, TaskRun};
use jitterlab_runs::Run;

use super::ExportSummary;
use super::description::{machine_labels, start_unix_s};
use super::exposition::{Dialect, Exposition, MetricType};

/// The upper edges of the buckets of a decade.
const STEPS: [i64; 3] = [1, 2, 5];

/// Writes OpenMetrics, at the time of the run's end.
pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let info = run.info();
    let ended = start_unix_s(info).zip(info.measured_ns()).map(|(began, ns)| began + ns as f64 / 1e9);
    write_in_dialect(run, tasks, Dialect::OpenMetrics { at: ended.map(|end| format!("{end:.3}")) }, out)
}

pub(super) fn write_classic(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    write_in_dialect(run, tasks, Dialect::Classic, out)
}

fn write_in_dialect(
    run: &Run,
    tasks: &[usize],
    dialect: Dialect,
    out: &mut dyn Write,
) -> Result<ExportSummary, Error> {
    let info = run.info();
    // The run's warnings are part of the export.
    let (stats, _) = run.timing()?.into_parts();
    let mut text = Exposition::new(out, dialect);
    let of: Vec<(Summary, &Distribution)> = tasks
        .iter()
        .map(|task| (Summary::new(&info.tasks[*task], &stats[*task]), &stats[*task].latency))
        .collect();

    write_description(&mut text, info, &run.label(), tasks)?;

    type Count = fn(&Summary) -> Known<u64>;
    let counters: [(&str, &str, Count); 3] = [
        ("jitterlab_activations", "Activations that ran.", |s| s.executed),
        ("jitterlab_missed", "Due times never served.", |s| s.missed),
        ("jitterlab_records_lost", "Activations without a record.", |s| s.dropped),
    ];
    for (name, help, count) in counters {
        text.begin_family(name, MetricType::Counter, help)?;
        for (summary, value) in of.iter().filter_map(|(s, _)| Some((s, count(s).exactly()?))) {
            text.write_sample(&format!("{name}_total"), &[("task", &summary.task)], value as f64)?;
        }
    }
    text.begin_family("jitterlab_period_seconds", MetricType::Gauge, "Distance of due times.")?;
    for (task, (summary, _)) in tasks.iter().zip(&of) {
        if let Some(period_ns) = info.tasks[*task].period_ns().exactly() {
            text.write_sample(
                "jitterlab_period_seconds",
                &[("task", &summary.task)],
                period_ns as f64 / 1e9,
            )?;
        }
    }
    write_figures(&mut text, &of)?;
    write_histograms(&mut text, &of)?;
    text.finish()?;
    Ok(ExportSummary {
        values: of.iter().map(|(_, latency)| latency.count()).sum(),
        ..ExportSummary::default()
    })
}

/// Writes the description of the run: source, host, load, and the policy of each task.
fn write_description(
    text: &mut Exposition<'_>,
    info: &RunInfo,
    file: &str,
    tasks: &[usize],
) -> io::Result<()> {
    text.begin_family("jitterlab_run", MetricType::Info, "What was measured.")?;
    let bench = info.bench.to_string();
    let mut labels = vec![
        ("file", file),
        ("tool", &*info.tool),
        ("bench", &*bench),
        ("clock", &*info.clock),
        ("started", &*info.started),
    ];
    let machine = machine_labels(info);
    labels.extend(machine.iter().map(|(name, value)| (&**name, &**value)));
    text.write_sample("jitterlab_run_info", &labels, 1.0)?;
    text.begin_family("jitterlab_task", MetricType::Info, "How a task was scheduled.")?;
    for task in tasks.iter().map(|task| &info.tasks[*task]) {
        if let Some(policy) = policy_text(task) {
            text.write_sample("jitterlab_task_info", &[("task", &task.spec.name), ("policy", &policy)], 1.0)?;
        }
    }
    Ok(())
}

/// The policy in force; `None` if unknown.
fn policy_text(task: &TaskRun) -> Option<String> {
    task.granted.as_ref().map(|granted| granted.policy.to_string())
}

/// Writes the figures of each quantity that are known exactly.
fn write_figures(text: &mut Exposition<'_>, of: &[(Summary, &Distribution)]) -> io::Result<()> {
    const NAME: &str = "jitterlab_timing_seconds";
    text.begin_family(NAME, MetricType::Gauge, "Figures of each quantity.")?;
    for (summary, _) in of {
        for (quantity, statistics) in summary.quantities() {
            for (statistic, ns) in known_figures(statistics) {
                let labels =
                    [("task", &*summary.task), ("quantity", quantity.id()), ("statistic", statistic)];
                text.write_sample(NAME, &labels, ns / 1e9)?;
            }
        }
    }
    Ok(())
}

fn known_figures(of: &Statistics) -> Vec<(&'static str, f64)> {
    let exact = |value: Option<i64>| value.map(|ns| ns as f64);
    let percentiles = of.percentiles().map(|(p, value)| (p.name, exact(value.exactly())));
    let all = [("min", exact(of.min_ns)), ("mean", of.mean_ns), ("sd", of.sd_ns), ("max", exact(of.max_ns))];
    all.into_iter().chain(percentiles).filter_map(|(name, ns)| Some((name, ns?))).collect()
}

/// Writes the histogram of each task's latency, where it has one, in buckets.
fn write_histograms(text: &mut Exposition<'_>, of: &[(Summary, &Distribution)]) -> io::Result<()> {
    const NAME: &str = "jitterlab_latency_seconds";
    text.begin_family(NAME, MetricType::Histogram, "Start minus due time.")?;
    for (summary, latency) in of.iter().filter(|(_, latency)| latency.has_percentiles()) {
        let task: &[(&str, &str)] = &[("task", &summary.task)];
        let mut below = 0;
        let mut bins = latency.bins().peekable();
        for edge_ns in (3..10).flat_map(|decade| STEPS.map(|step| step * 10_i64.pow(decade))) {
            // The upper edge counts, as for percentiles: no bucket shows a latency as shorter than it may have been.
            while let Some(bin) = bins.next_if(|bin| bin.high_ns <= edge_ns) {
                below += bin.count;
            }
            let edge = format!("{}", edge_ns as f64 / 1e9);
            text.write_sample(&format!("{NAME}_bucket"), &[task, &[("le", &*edge)]].concat(), below as f64)?;
        }
        let all = latency.count() as f64;
        text.write_sample(&format!("{NAME}_bucket"), &[task, &[("le", "+Inf")]].concat(), all)?;
        text.write_sample(&format!("{NAME}_count"), task, all)?;
        let takes_sum = text.has_sum(latency.min_ns().is_none_or(|min| min < 0));
        if let Some(mean_ns) = latency.mean_ns().filter(|_| takes_sum) {
            text.write_sample(&format!("{NAME}_sum"), task, mean_ns * all / 1e9)?;
        }
    }
    Ok(())
}
