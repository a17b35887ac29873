//! jitterdebugger: `results.json` with histograms, `samples.raw` with every activation.

use std::collections::BTreeMap;

use jitterlab_model::{Activation, Warning};
use serde::Deserialize;

use super::histogram::Histogram;
use super::{Hints, Import, Input, Measured, Mistake, Peer, text};
use crate::error::{Unreadable, Wanted};

pub(super) const RESULTS: Peer =
    Peer { name: "jitterdebugger results.json", recognise: is_results, parse: parse_results };
pub(super) const SAMPLES: Peer =
    Peer { name: "jitterdebugger samples.raw", recognise: is_samples, parse: parse_samples };

/// jitterdebugger's interval unless one is given.
const DEFAULT_PERIOD_NS: i64 = 1_000_000;

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    sysinfo: SystemInfo,
    cpu: BTreeMap<String, Cpu>,
}

#[derive(Deserialize, Default)]
struct SystemInfo {
    /// Length of a unit: 1000 or 1. (cyclictest's field of the same name is a switch.)
    resolution_in_ns: Option<i64>,
}

#[derive(Deserialize)]
struct Cpu {
    histogram: BTreeMap<String, u64>,
    count: u64,
    min: u64,
    max: u64,
    avg: f64,
}

fn is_results(input: &Input) -> bool {
    input.text.trim_start().starts_with('{')
        && input.text.contains("\"cpu\"")
        && input.text.contains("\"histogram\"")
}

fn parse_results(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let report: Report = serde_json::from_str(input.text)?;
    let mut import = Import::new("jitterdebugger", "CLOCK_MONOTONIC");
    let unit_ns = report.sysinfo.resolution_in_ns.or(hints.unit_ns).unwrap_or(1_000).clamp(1, 1_000_000);
    let period = import.period(None, hints, DEFAULT_PERIOD_NS);
    let ns = |value: u64| text::ns(value as i64, unit_ns);
    let mut cpus: Vec<_> = report.cpu.into_iter().collect();
    cpus.sort_by_key(|(name, _)| name.parse::<u16>().unwrap_or(u16::MAX));
    for (name, cpu) in cpus {
        let mut histogram = Histogram {
            min_ns: Some(ns(cpu.min)),
            max_ns: Some(ns(cpu.max).saturating_add(unit_ns - 1)),
            mean_ns: Some(cpu.avg * unit_ns as f64),
            ..Histogram::default()
        };
        let mut limit_ns = 0;
        for (bin, count) in &cpu.histogram {
            let bin: u64 = bin.parse().map_err(|_| Unreadable::not(bin, Wanted::Bin))?;
            let high_ns = ns(bin).saturating_add(unit_ns - 1);
            histogram.add(ns(bin), high_ns, *count);
            limit_ns = limit_ns.max(high_ns.saturating_add(1));
        }
        let beyond = cpu.count.saturating_sub(histogram.count());
        if beyond > 0 {
            histogram.add_overflow(limit_ns, beyond);
            import.warn(Warning::AboveHistogram { task: format!("cpu{name}"), count: beyond });
        }
        if histogram.count() > 0 {
            let measured = histogram.latency(period.0);
            import.task(format!("cpu{name}"), period, name.parse().ok(), &[], measured);
        }
    }
    import.complete()
}

/// Packed, little endian: thread u32, seconds i64, nanoseconds i64 of the wake-up, latency u64.
const SAMPLE: usize = 28;

fn is_samples(input: &Input) -> bool {
    let plausible = |s: &[u8]| number(s, 12).is_some_and(|ns| ns < 1_000_000_000) && s[3] == 0;
    !input.bytes.is_empty()
        && input.bytes.len().is_multiple_of(SAMPLE)
        && input.bytes.chunks_exact(SAMPLE).take(100).all(plausible)
        && !input.bytes.starts_with(b"#")
}

fn number(sample: &[u8], at: usize) -> Option<u64> {
    sample.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn parse_samples(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("jitterdebugger", "CLOCK_MONOTONIC");
    let beside = std::fs::read_to_string(input.path.with_file_name("results.json")).ok();
    let report = beside.and_then(|text| serde_json::from_str::<Report>(&text).ok());
    let told = report.and_then(|r| r.sysinfo.resolution_in_ns);
    let unit_ns = told.or(hints.unit_ns).unwrap_or_else(|| {
        import.warn(Warning::UnitAssumed { unit_ns: 1_000 });
        1_000
    });
    let mut threads: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for sample in input.bytes.chunks_exact(SAMPLE) {
        let (Some(seconds), Some(ns), Some(latency)) =
            (number(sample, 4), number(sample, 12), number(sample, 20))
        else {
            continue;
        };
        let start_ns = text::ns(seconds as i64, 1_000_000_000).saturating_add(ns as i64);
        let latency_ns = text::ns(latency as i64, unit_ns);
        let thread = u32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]]);
        threads.entry(thread).or_default().push((start_ns, latency_ns));
    }
    for (thread, samples) in threads {
        let period = import.period(period_of(&samples), hints, DEFAULT_PERIOD_NS);
        let rows = (0..).zip(samples).map(|(index, (start_ns, latency_ns))| Activation {
            index,
            due_ns: start_ns.saturating_sub(latency_ns),
            start_ns,
            end_ns: start_ns,
            ..Activation::default()
        });
        let rows = rows.collect();
        import.task(format!("thread{thread}"), period, None, &[], Measured::Rows(rows));
    }
    import.warn(Warning::CatchesUp { tool: "jitterdebugger".into() });
    if unit_ns > 1 {
        import.warn(Warning::Cut { unit_ns });
    }
    import.complete()
}

/// The median distance of due times, to the nearest microsecond.
fn period_of(samples: &[(i64, i64)]) -> Option<i64> {
    let due = |s: &(i64, i64)| s.0.saturating_sub(s.1);
    let mut distances: Vec<i64> = samples.windows(2).map(|p| due(&p[1]).saturating_sub(due(&p[0]))).collect();
    let middle = distances.len() / 2;
    (!distances.is_empty())
        .then(|| (*distances.select_nth_unstable(middle).1).saturating_add(500) / 1_000 * 1_000)
}
