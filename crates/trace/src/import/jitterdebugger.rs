//! jitterdebugger: `results.json` with histograms, `samples.raw` with every activation, and the output of
//! jittersamples.
//!
//! It numbers its threads, one on each CPU it was given. Which those are is only known if it was given all: a copy of
//! /proc/cpuinfo next to the results lists these.

use std::collections::BTreeMap;

use jitterlab_model::{Activation, Warning};
use serde::Deserialize;

use super::{
    Hints, Import, ImportError, Importer, Input, Measured, Period, TaskDetails, rt_tests, starts, text,
};
use crate::error::Unreadable;

pub(super) const RESULTS: Importer =
    Importer { name: "jitterdebugger results.json", recognise: is_results, parse: parse_results };
pub(super) const SAMPLES: Importer =
    Importer { name: "jitterdebugger samples.raw", recognise: is_samples, parse: parse_samples };
pub(super) const CSV: Importer =
    Importer { name: "jittersamples' samples.csv", recognise: is_csv, parse: parse_csv };

/// jitterdebugger's interval unless one is given.
const DEFAULT_PERIOD_NS: i64 = 1_000_000;

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    sysinfo: SystemInfo,
    cpu: BTreeMap<String, Thread>,
}

#[derive(Deserialize, Default)]
struct SystemInfo {
    /// Length of a unit: 1000 or 1. (cyclictest's field of the same name is a switch.)
    resolution_in_ns: Option<i64>,
}

#[derive(Deserialize)]
struct Thread {
    histogram: BTreeMap<String, u64>,
    count: u64,
    min: f64,
    max: f64,
    avg: f64,
}

fn is_results(input: &Input) -> bool {
    input.text.trim_start().starts_with('{')
        && input.text.contains("\"cpu\"")
        && input.text.contains("\"histogram\"")
        && !input.text.contains("\"rt_test_version:\"")
}

/// Details of a thread by its number and the number of all; its processor, if as many were online.
fn task_details(input: &Input, (thread, threads): (usize, usize), period: Period) -> TaskDetails {
    let online: Option<Vec<u16>> = input.read_neighbour("cpuinfo").map(|copy| {
        let processors = copy.lines().filter(|line| line.starts_with("processor"));
        processors.filter_map(|line| line.split_once(':')?.1.trim().parse().ok()).collect()
    });
    let cpu = online.filter(|cpus| cpus.len() == threads).and_then(|cpus| cpus.get(thread).copied());
    TaskDetails::new(format!("thread{thread}"), period).on_cpu(cpu).with_catch_up()
}

fn parse_results(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let report: Report = text::parse_json(input.text)?;
    let mut import = Import::new("jitterdebugger", "monotonic");
    let unit_ns = import.unit_or_default(report.sysinfo.resolution_in_ns, hints, 1_000);
    let period = import.period_or_default(None, hints, DEFAULT_PERIOD_NS);
    let mut threads: Vec<_> = report.cpu.into_iter().collect();
    threads.sort_by_key(|(name, _)| name.parse::<u16>().unwrap_or(u16::MAX));
    let of = threads.len();
    for (number, (_, thread)) in threads.into_iter().enumerate() {
        let extremes = [thread.min, thread.avg, thread.max];
        let stated = rt_tests::statements(extremes, thread.count, &thread.histogram, unit_ns)?;
        import.add_latencies(task_details(input, (number, of), period), &stated);
    }
    import.warn(Warning::CatchesUp { tool: "jitterdebugger".into() });
    import.complete()
}

/// A sample: thread, time of the wake-up in ns, latency in units.
type Sample = (usize, i64, i64);

/// Packed, little endian: thread u32, seconds and nanoseconds of the wake-up as the system's time_t, latency u64.
#[derive(Debug, Clone, Copy)]
struct Layout {
    length: usize,
    time: usize,
}

/// Layouts on 64-bit systems, and on 32-bit ones whose time_t has 32 bits.
const LAYOUTS: [Layout; 2] = [Layout { length: 28, time: 8 }, Layout { length: 20, time: 4 }];

impl Layout {
    fn sample(self, bytes: &[u8]) -> Option<Sample> {
        let field = |from: usize, length: usize| {
            let mut wide = [0; 8];
            wide.get_mut(..length)?.copy_from_slice(bytes.get(from..from + length)?);
            i64::try_from(u64::from_le_bytes(wide)).ok()
        };
        let seconds = field(4, self.time)?;
        let ns = field(4 + self.time, self.time).filter(|ns| *ns < 1_000_000_000)?;
        let latency = field(4 + 2 * self.time, 8)?;
        let thread = usize::try_from(field(0, 4)?).ok().filter(|thread| *thread < 65_536)?;
        Some((thread, text::clamped_ns(seconds, 1_000_000_000).saturating_add(ns), latency))
    }

    /// All samples; `None` if one of them is not valid in this layout.
    fn samples(self, bytes: &[u8]) -> Option<Vec<Sample>> {
        let whole = !bytes.is_empty() && bytes.len().is_multiple_of(self.length);
        whole.then(|| bytes.chunks_exact(self.length).map(|one| self.sample(one)).collect())?
    }

    /// Returns true if the first samples are valid, and time goes on.
    fn fits(self, bytes: &[u8]) -> bool {
        let first = bytes.get(..bytes.len().min(100 * self.length)).unwrap_or_default();
        self.samples(first).is_some_and(|samples| {
            let mut last = BTreeMap::new();
            samples.iter().all(|(thread, at, _)| last.insert(*thread, *at).is_none_or(|before| before < *at))
        })
    }
}

fn layout_of(input: &Input) -> Option<Layout> {
    let fits = |layout: &Layout| input.bytes.len().is_multiple_of(layout.length) && layout.fits(input.bytes);
    // Text may look like numbers, but no wake-up was 20 million years ago.
    LAYOUTS.into_iter().find(fits).filter(|_| input.bytes.contains(&0))
}

fn is_samples(input: &Input) -> bool {
    layout_of(input).is_some()
}

fn parse_samples(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let samples = layout_of(input).and_then(|layout| layout.samples(input.bytes));
    import_samples(input, hints, samples.ok_or(Unreadable::Samples)?)
}

/// Thread, time and latency of a line such as `0;3481.733683453;35`.
fn sample_of(line: &str) -> Option<Sample> {
    let mut fields = line.split(';');
    let (thread, at, latency) = (fields.next()?, fields.next()?, fields.next()?);
    let exact =
        at.split_once('.').is_some_and(|(_, fraction)| fraction.len() == 9) && fields.next().is_none();
    let at = text::decimal_ns(at, 1_000_000_000)?;
    exact.then_some((thread.parse().ok()?, at, latency.trim().parse().ok()?))
}

fn is_csv(input: &Input) -> bool {
    let mut lines = input.text.lines().take(100).peekable();
    !input.columns_given && lines.peek().is_some() && lines.all(|line| sample_of(line).is_some())
}

fn parse_csv(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut samples = Vec::new();
    for (number, line) in text::lines(input.text).filter(|(_, line)| !line.is_empty()) {
        samples.push(
            sample_of(line)
                .ok_or_else(|| Unreadable::unexpected(line, "thread, time and latency").at_line(number))?,
        );
    }
    import_samples(input, hints, samples)
}

fn import_samples(input: &Input, hints: &Hints, samples: Vec<Sample>) -> Result<Import, ImportError> {
    let mut import = Import::new("jitterdebugger", "monotonic");
    let report = input
        .read_neighbour("results.json")
        .and_then(|text| serde_json::from_slice::<Report>(text.as_bytes()).ok());
    let unit_ns = import.unit_or_default(report.and_then(|r| r.sysinfo.resolution_in_ns), hints, 1_000);
    let mut threads: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
    for (thread, start_ns, latency) in samples {
        let latency_ns = text::clamped_ns(latency, unit_ns);
        let of_thread = threads.entry(thread).or_default();
        if of_thread.last().is_some_and(|(before, _)| *before > start_ns) {
            return Err(Unreadable::SecondMeasurement.into());
        }
        of_thread.push((start_ns, latency_ns));
    }
    let of = threads.len();
    for (thread, samples) in threads {
        let period = import.period_or_default(period_of(&samples), hints, DEFAULT_PERIOD_NS);
        let row = |(start_ns, latency_ns): (i64, i64)| {
            let due_ns = start_ns.saturating_sub(latency_ns);
            Activation { due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
        };
        // None is missed, so a due time without a sample is one whose sample was lost: its buffer was full.
        let (rows, _) = starts::snap_to_due_grid(samples.into_iter().map(row), period.ns());
        import.add_task(task_details(input, (thread, of), period), Measured::Rows(rows));
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
