//! rt-tests' oslat: for each core a histogram of how long its busy loop stood still, as text and as JSON (`--json`).
//!
//! Bins are named by their upper edge, and the last one holds everything above as well. There is a value for each pass of
//! the loop, and nothing periodic.

use std::collections::BTreeMap;

use serde::Deserialize;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::histogram::Histogram;
use super::rt_tests::{self, Report};
use super::text::{json, lines, numbers, us};
use super::{Hints, Import, Input, Mistake, Peer, Period, Told};
use crate::error::{Unreadable, Wanted};

pub(super) const JSON: Peer = Peer { name: "oslat --json", recognise: is_json, parse: parse_json };
pub(super) const TEXT: Peer = Peer { name: "oslat", recognise: is_text, parse: parse_text };

/// What is known of a core: values in microseconds.
#[derive(Deserialize)]
struct Core {
    cpu: Option<i64>,
    min: f64,
    avg: f64,
    max: f64,
    histogram: BTreeMap<String, u64>,
}

fn is_json(input: &Input) -> bool {
    rt_tests::program(input) == Some("oslat")
}

fn parse_json(input: &Input, _: &Hints) -> Result<Import, Mistake> {
    let report: Report<Core> = json(input.text)?;
    let mut import = report.import("TSC");
    for (name, core) in report.into_threads() {
        let mut bins = Vec::new();
        for (edge, count) in &core.histogram {
            bins.push((us(edge.parse().map_err(|_| Unreadable::not(edge, Wanted::Bin))?), *count));
        }
        let cpu = rt_tests::cpu(core.cpu);
        let named = cpu.map_or(format!("thread{name}"), |cpu| format!("cpu{cpu}"));
        add(&mut import, named, cpu, [core.min, core.avg, core.max], bins);
    }
    finish(import)
}

fn is_text(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| value(line, "Counter Freq").is_some())
        && lines(input.text).any(|(_, line)| line.contains("(us):"))
}

/// What stands behind a name and its colon, without units in parentheses.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, values) = line.split_once(':').filter(|(before, _)| before.trim() == name)?;
    Some(values.split('(').next().unwrap_or(values).trim())
}

fn parse_text(input: &Input, _: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("oslat", "TSC");
    let mut cores: Vec<u16> = Vec::new();
    let mut bins: Vec<(i64, Vec<u64>)> = Vec::new();
    let mut figures = [const { Vec::new() }; 3];
    const FIGURES: [&str; 3] = ["Minimum", "Average", "Maximum"];
    for (number, line) in lines(input.text) {
        if let Some(listed) = value(line, "Core") {
            if !cores.is_empty() {
                return Err(Unreadable::Second.at(number));
            }
            cores = numbers(listed).ok_or_else(|| Unreadable::not(listed, Wanted::Numbers).at(number))?;
        } else if let Some((edge, counts)) = line.split_once("(us):").filter(|(edge, _)| !edge.contains(':'))
        {
            let edge = edge.trim().parse().map_err(|_| Unreadable::not(edge, Wanted::Bin).at(number))?;
            let counts = counts.split('(').next().unwrap_or(counts);
            let counts: Vec<u64> =
                numbers(counts).ok_or_else(|| Unreadable::not(counts, Wanted::Count).at(number))?;
            if counts.len() != cores.len() {
                return Err(Unreadable::CountsOfRow { counts: counts.len(), columns: cores.len() }.at(number));
            }
            bins.push((us(edge), counts));
        }
        for (name, values) in FIGURES.iter().zip(&mut figures) {
            if let Some(listed) = value(line, name) {
                *values = numbers::<f64>(listed)
                    .ok_or_else(|| Unreadable::not(listed, Wanted::Numbers).at(number))?;
            }
        }
    }
    for (column, cpu) in cores.into_iter().enumerate() {
        let [min, avg, max] = figures.each_ref().map(|values| values.get(column).copied());
        let (Some(min), Some(avg), Some(max)) = (min, avg, max) else {
            return Err(Unreadable::Cut.into());
        };
        let of_core = bins.iter().map(|(edge, counts)| (*edge, counts[column])).collect();
        add(&mut import, format!("cpu{cpu}"), Some(cpu), [min, avg, max], of_core);
    }
    finish(import)
}

/// Adds a core of which the bins are known by their upper edges.
fn add(import: &mut Import, name: String, cpu: Option<u16>, extremes: [f64; 3], mut bins: Vec<(i64, u64)>) {
    bins.sort_unstable();
    // Whole units here too: a largest of 5 us may be 5.9 us.
    let mut histogram = Histogram::of_extremes(extremes, 0, 1_000);
    let width = bins.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|w| *w > 0).min().unwrap_or(1_000);
    let last = bins.last().map_or(0, |bin| bin.0);
    for (edge, count) in bins {
        let low = edge.saturating_sub(width);
        if edge == last { histogram.add_overflow(low, count) } else { histogram.add(low, edge, count) }
    }
    let told = Told::new(name, Period::None).on(cpu);
    import.task(told, histogram.latency(Period::None.ns()));
}

fn finish(mut import: Import) -> Result<Import, Mistake> {
    import.warn(Warning::NoPeriod { tool: "oslat".into(), measures: Aperiodic::Gaps });
    import.complete()
}
