//! The JSON of cyclictest and its relatives in rt-tests (`--json`).
//!
//! Keys of the head end with a colon. There is no overflow count: it is what the histogram lacks of the cycles.
//! oslat's bins are named by their upper edge, and its last one holds everything above.

use std::collections::BTreeMap;

use serde::Deserialize;

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::{us, word_after};
use super::{Hints, Import, Input, Mistake, Peer};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "cyclictest --json", recognise, parse };

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "cmdline:", default)]
    command: String,
    #[serde(rename = "rt_test_version:", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    resolution_in_ns: u8,
    thread: BTreeMap<String, Thread>,
}

#[derive(Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    #[serde(default)]
    cycles: Option<u64>,
    min: f64,
    max: f64,
    avg: f64,
    cpu: Option<i64>,
}

fn recognise(input: &Input) -> bool {
    input.text.trim_start().starts_with('{') && input.text.contains("\"rt_test_version:\"")
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let report: Report = serde_json::from_str(input.text)?;
    let program = report.command.split_whitespace().next().unwrap_or("rt-tests");
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut import = Import::new(&format!("{program} {}", report.version), "CLOCK_MONOTONIC");
    import.info.command = report.command.split_whitespace().map(str::to_owned).collect();
    import.info.started = report.start_time;
    let unit_ns = if report.resolution_in_ns == 1 { 1 } else { 1_000 };
    let by_upper_edge = program == "oslat";
    let option = |short: &str, long: &str| {
        let long_form =
            || report.command.split_whitespace().find_map(|w| w.strip_prefix(long)?.strip_prefix('='));
        let stuck =
            || report.command.split_whitespace().find_map(|w| w.strip_prefix(short)?.parse::<i64>().ok());
        let value = word_after(&report.command, short)
            .or_else(|| word_after(&report.command, long))
            .or_else(long_form);
        value.and_then(|v| v.parse::<i64>().ok()).or_else(stuck)
    };
    let told = option("-i", "--interval").map(|us| us.saturating_mul(1_000));
    let (base_ns, assumed) = import.period(told, hints, 1_000_000);
    // Without a histogram each thread's interval is longer than the one before (500 us unless -d is given).
    let distance_ns = match report.thread.values().all(|t| t.histogram.is_empty()) {
        true => option("-d", "--distance").unwrap_or(500).saturating_mul(1_000),
        false => 0,
    };
    let mut threads: Vec<_> = report.thread.into_iter().collect();
    threads.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
    for (thread, (name, figures)) in threads.into_iter().enumerate() {
        let period_ns = base_ns.saturating_add(distance_ns.saturating_mul(thread as i64));
        let ns = |value: f64| us(value * unit_ns as f64 / 1_000.0);
        let mut bins = Vec::new();
        for (bin, count) in &figures.histogram {
            let bin: f64 = bin.parse().map_err(|_| Unreadable::not(bin, Wanted::Bin))?;
            bins.push((ns(bin), *count));
        }
        bins.sort_unstable();
        let max_ns = ns(figures.max).saturating_add(unit_ns - 1);
        let mut histogram = Histogram {
            min_ns: Some(ns(figures.min)),
            max_ns: Some(max_ns),
            mean_ns: Some(figures.avg * unit_ns as f64),
            ..Histogram::default()
        };
        let last = bins.last().map_or(0, |b| b.0);
        let width = bins.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(unit_ns);
        for &(edge, count) in &bins {
            match by_upper_edge {
                true if edge == last => histogram.add_overflow(edge.saturating_sub(width), count),
                true => histogram.add(edge.saturating_sub(width), edge, count),
                false => histogram.add(edge, edge.saturating_add(unit_ns - 1), count),
            }
        }
        let beyond = figures.cycles.unwrap_or(0).saturating_sub(histogram.count());
        if bins.is_empty() {
            histogram.add_overflow(ns(figures.min), beyond);
            import.warn(Warning::OnlyExtremes);
        } else if beyond > 0 {
            histogram.add_overflow(last.saturating_add(unit_ns), beyond);
            import.warn(Warning::AboveHistogram { task: format!("thread{name}"), count: beyond });
        }
        if histogram.count() > 0 {
            let cpu = figures.cpu.and_then(|c| u16::try_from(c).ok());
            let measured = histogram.latency(period_ns);
            import.task(format!("thread{name}"), (period_ns, assumed), cpu, &[Gap::Missed], measured);
        }
    }
    match program {
        "oslat" => import.warn(Warning::NoPeriod { tool: "oslat".into() }),
        _ => import.warn(Warning::MissedNotCounted { tool: program.into() }),
    }
    import.complete()
}
