//! OpenMetrics text, version 1.0, for Prometheus and compatible tools: counters, the figures of each
//! quantity, and the latency's histogram. Unknown values have no sample.
//!
//! Samples carry the time of the run's end where that is known, so that `promtool tsdb create-blocks-from openmetrics` takes them.
use std::io::{self, Write};

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::Statistics;
use jitterlab_model::{Distribution, Error, Known};
use jitterlab_runs::Run;

use super::Exported;
use super::started::started;
use crate::printable::printable_name;

/// The upper edges of the buckets of a decade.
const STEPS: [i64; 3] = [1, 2, 5];

/// Text that grows, and the time behind each sample.
struct Text<'a> {
    out: &'a mut dyn Write,
    at: String,
}

impl Text<'_> {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> io::Result<()> {
        writeln!(self.out, "# TYPE {name} {kind}")?;
        if name.ends_with("_seconds") {
            writeln!(self.out, "# UNIT {name} seconds")?;
        }
        writeln!(self.out, "# HELP {name} {help}")
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) -> io::Result<()> {
        let labels: Vec<String> =
            labels.iter().map(|(key, of)| format!("{key}=\"{}\"", escaped(of))).collect();
        writeln!(self.out, "{name}{{{}}} {value}{}", labels.join(","), self.at)
    }
}

fn escaped(text: &str) -> String {
    printable_name(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, Error> {
    let info = run.info();
    // The run's warnings are part of the export.
    let (stats, _) = run.timing()?.into_parts();
    let ended = started(info).zip(info.measured_ns()).map(|(began, ns)| began + ns as f64 / 1e9);
    let text = &mut Text { out, at: ended.map_or_else(String::new, |end| format!(" {end:.3}")) };
    let of: Vec<(Summary, &Distribution)> = tasks
        .iter()
        .map(|task| (Summary::new(&info.tasks[*task], &stats[*task]), &stats[*task].latency))
        .collect();

    text.family("jitterlab_run", "info", "What was measured.")?;
    let (bench, file) = (info.bench.to_string(), run.label());
    let labels = [
        ("file", &*file),
        ("tool", &info.tool),
        ("bench", &bench),
        ("clock", &info.clock),
        ("started", &info.started),
    ];
    text.sample("jitterlab_run_info", &labels, 1.0)?;

    type Count = fn(&Summary) -> Known<u64>;
    let counters: [(&str, &str, Count); 3] = [
        ("jitterlab_activations", "Activations that ran.", |s| s.executed),
        ("jitterlab_missed", "Due times never served.", |s| s.missed),
        ("jitterlab_records_lost", "Activations without a record.", |s| s.dropped),
    ];
    for (name, help, count) in counters {
        text.family(name, "counter", help)?;
        for (summary, value) in of.iter().filter_map(|(s, _)| Some((s, count(s).exactly()?))) {
            text.sample(&format!("{name}_total"), &[("task", &summary.task)], value as f64)?;
        }
    }
    text.family("jitterlab_period_seconds", "gauge", "Distance of due times.")?;
    for (task, (summary, _)) in tasks.iter().zip(&of) {
        if let Some(period_ns) = info.tasks[*task].period_ns().exactly() {
            text.sample("jitterlab_period_seconds", &[("task", &summary.task)], period_ns as f64 / 1e9)?;
        }
    }
    figures(text, &of)?;
    histograms(text, &of)?;
    writeln!(text.out, "# EOF")?;
    Ok(Exported { values: of.iter().map(|(_, latency)| latency.count()).sum(), ..Exported::default() })
}

/// The figures of each quantity that are known exactly.
fn figures(text: &mut Text, of: &[(Summary, &Distribution)]) -> io::Result<()> {
    const NAME: &str = "jitterlab_timing_seconds";
    text.family(NAME, "gauge", "Figures of each quantity.")?;
    for (summary, _) in of {
        for (quantity, statistics) in summary.quantities() {
            for (statistic, ns) in known(statistics) {
                let labels =
                    [("task", &*summary.task), ("quantity", quantity.id()), ("statistic", statistic)];
                text.sample(NAME, &labels, ns / 1e9)?;
            }
        }
    }
    Ok(())
}

fn known(of: &Statistics) -> Vec<(&'static str, f64)> {
    let exact = |value: Option<i64>| value.map(|ns| ns as f64);
    let percentiles = of.percentiles().map(|(p, value)| (p.name, exact(value.exactly())));
    let all = [("min", exact(of.min_ns)), ("mean", of.mean_ns), ("sd", of.sd_ns), ("max", exact(of.max_ns))];
    all.into_iter().chain(percentiles).filter_map(|(name, ns)| Some((name, ns?))).collect()
}

/// The latency's histogram, where it has one.
fn histograms(text: &mut Text, of: &[(Summary, &Distribution)]) -> io::Result<()> {
    const NAME: &str = "jitterlab_latency_seconds";
    text.family(NAME, "histogram", "Start minus due time.")?;
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
            text.sample(&format!("{NAME}_bucket"), &[task, &[("le", &*edge)]].concat(), below as f64)?;
        }
        let all = latency.count() as f64;
        text.sample(&format!("{NAME}_bucket"), &[task, &[("le", "+Inf")]].concat(), all)?;
        text.sample(&format!("{NAME}_count"), task, all)?;
        // The format has no sum where values are below 0.
        if let Some(mean_ns) = latency.mean_ns().filter(|_| latency.min_ns().is_some_and(|min| min >= 0)) {
            text.sample(&format!("{NAME}_sum"), task, mean_ns * all / 1e9)?;
        }
    }
    Ok(())
}
