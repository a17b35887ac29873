//! The programs of rt-tests when they write JSON (`--json`): a head whose keys end with a colon, and figures by thread.
//!
//! There is no overflow count: it is the cycles less the histogram. oslat names bins by their upper edges, and its last
//! one
//! holds everything above as well.

use std::collections::BTreeMap;

use serde::Deserialize;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::command::{Command, RT_TESTS};
use super::statement::{Statement, Statements};
use super::text::{parse_json, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails, oslat};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "rt-tests --json", recognise, parse };

/// The programs, and their quantity if it is not periodic.
const PROGRAMS: [(&str, Option<Aperiodic>); 8] = [
    ("cyclictest", None),
    ("cyclicdeadline", None),
    ("signaltest", Some(Aperiodic::Signals)),
    ("ptsematest", Some(Aperiodic::Wakers)),
    ("svsematest", Some(Aperiodic::Wakers)),
    ("pmqtest", Some(Aperiodic::Wakers)),
    ("sigwaittest", Some(Aperiodic::Wakers)),
    ("oslat", Some(Aperiodic::Gaps)),
];

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "cmdline:", default)]
    command: String,
    #[serde(rename = "rt_test_version:", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    /// 1 if values are in nanoseconds, 0 (or nothing) if in microseconds.
    #[serde(default)]
    resolution_in_ns: u8,
    #[serde(default)]
    num_threads: usize,
    thread: BTreeMap<String, Thread>,
}

/// A thread, or a pair where one thread wakes the other.
#[derive(Deserialize)]
#[serde(untagged)]
enum Thread {
    Pair { sender: Sender, receiver: Figures },
    One(Figures),
}

#[derive(Deserialize)]
struct Sender {
    samples: u64,
}

#[derive(Deserialize)]
struct Figures {
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    #[serde(default)]
    cycles: u64,
    min: f64,
    max: f64,
    avg: f64,
    /// Some programs write -1 where a thread was bound to none.
    cpu: Option<i64>,
}

/// The program that wrote a file, if it is of rt-tests.
fn program(text: &str) -> Option<(&'static str, Option<Aperiodic>)> {
    let text = text.trim_start();
    if !text.starts_with('{') || !text.contains("\"rt_test_version:\"") {
        return None;
    }
    let (_, command) = text.split_once("\"cmdline:\"")?;
    let (_, command) = command.split_once('"')?;
    let name = command.split('"').next()?.split_whitespace().next()?.rsplit('/').next()?;
    PROGRAMS.into_iter().find(|(program, _)| *program == name)
}

fn recognise(input: &Input) -> bool {
    program(input.text).is_some()
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let report: Report = parse_json(input.text)?;
    let (program, aperiodic) = program(input.text).ok_or(Unreadable::Nothing)?;
    let command = Command::new(&report.command, RT_TESTS);
    let clock = match program {
        "oslat" => "TSC",
        _ if command.option_number(["c", "clock"]) == Some(1) => "realtime",
        _ => "monotonic",
    };
    let mut import = Import::new(&format!("{program} {}", report.version), clock);
    import.info.command = report.command.split_whitespace().map(str::to_owned).collect();
    import.info.started = report.start_time.clone();
    let unit_ns = if report.resolution_in_ns == 1 { 1 } else { 1_000 };
    let interval = command.option_number(["i", "interval"]).map(|us| us.saturating_mul(1_000));
    let base = match aperiodic {
        None => import.period_or_default(interval, hints, 1_000_000),
        Some(_) => Period::None,
    };
    let mut threads: Vec<_> = report.thread.into_iter().collect();
    threads.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
    // Without a histogram each thread's interval is longer than the one before (500 us unless -d is given).
    let is_histogram =
        threads.iter().any(|(_, thread)| matches!(thread, Thread::One(of) if !of.histogram.is_empty()));
    let distance_ns = if is_histogram {
        0
    } else {
        command.option_number(["d", "distance"]).unwrap_or(500).saturating_mul(1_000)
    };
    let listed = threads.len();
    for (number, (name, thread)) in (0..).zip(threads) {
        let (count, figures) = match thread {
            Thread::Pair { sender, receiver } => (sender.samples, receiver),
            Thread::One(figures) => (figures.cycles, figures),
        };
        let cpu = figures.cpu.and_then(|cpu| u16::try_from(cpu).ok());
        let named = cpu.filter(|_| program == "oslat").map(|cpu| format!("cpu{cpu}"));
        let details = TaskDetails::new(
            named.unwrap_or_else(|| format!("thread{name}")),
            base.lengthened_by(distance_ns.saturating_mul(number)),
        );
        let details = match (program, aperiodic) {
            ("cyclictest", _) => details.with_skips_when_late(),
            (_, None) => details.with_skips(),
            (_, Some(_)) => details,
        };
        let extremes = [figures.min, figures.avg, figures.max];
        let stated = match program {
            "oslat" => oslat::statements(extremes, bins(&figures.histogram, 1_000)?),
            _ => statements(extremes, count, &figures.histogram, unit_ns)?,
        };
        import.add_latencies(details.on_cpu(cpu), &stated);
    }
    import.warn_of_unlisted_threads(report.num_threads, listed);
    match aperiodic {
        Some(measures) => import.warn(Warning::NoPeriod { tool: program.into(), measures }),
        None => import.warn_uncounted_misses(program),
    }
    import.complete()
}

/// Bins of JSON in nanoseconds, with their counts.
fn bins(histogram: &BTreeMap<String, u64>, unit_ns: i64) -> Result<Vec<(i64, u64)>, Unreadable> {
    let bin = |(bin, count): (&String, &u64)| {
        let value: f64 = bin.parse().map_err(|_| Unreadable::unexpected(bin, "a bin"))?;
        Ok((us(value * unit_ns as f64 / 1_000.0), *count))
    };
    histogram.iter().map(bin).collect()
}

/// Statements by smallest, mean and largest value, the number of values, and bins by their lower edges: values in no
/// bin are above the last.
pub(super) fn statements(
    extremes: [f64; 3],
    count: u64,
    histogram: &BTreeMap<String, u64>,
    unit_ns: i64,
) -> Result<Statements, Unreadable> {
    let mut stated = Statements::from_extremes(extremes, count, unit_ns);
    let bins = bins(histogram, unit_ns)?;
    bins.iter().for_each(|(low, count)| stated.add_bin(*low, low.saturating_add(unit_ns - 1), *count));
    if let Some((last, _)) = bins.iter().max() {
        let (from, count) = (last.saturating_add(unit_ns), count.saturating_sub(stated.binned_count()));
        stated.add([Statement::Overflow { from, count }]);
    }
    Ok(stated)
}
