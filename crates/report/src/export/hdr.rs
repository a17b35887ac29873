//! A log of HdrHistogram, version 1.3: for each second and task a compressed histogram of the latency in nanoseconds, with
//! three significant digits, tagged with the task's name. Where times are not known, one for the whole run.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use jitterlab_model::Error;
use jitterlab_runs::Run;

use super::description::{machine_comments, start_unix_s};
use super::latencies::{LatencyCount, TaskLatencies, for_each_latency};
use super::{ExportSummary, Loss};

const SECOND_NS: i64 = 1_000_000_000;
const DIGITS: u8 = 3;

struct LogLine {
    second: Option<i64>,
    task: usize,
    max_ns: u64,
    histogram: String,
}

/// The log as far as it is gathered, and the second of each task that is being counted.
#[derive(Default)]
struct Log {
    lines: Vec<LogLine>,
    open: BTreeMap<usize, (Option<i64>, Histogram<u64>)>,
}

impl Log {
    fn record(&mut self, seen: &LatencyCount) -> Result<(), String> {
        let second = seen.at_ns.map(|ns| ns.div_euclid(SECOND_NS));
        if self.open.get(&seen.task).is_some_and(|(open, _)| *open != second) {
            self.finish_second(seen.task)?;
        }
        let (_, histogram) = match self.open.entry(seen.task) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(none) => {
                none.insert((second, Histogram::new(DIGITS).map_err(|error| error.to_string())?))
            }
        };
        let latency_ns = u64::try_from(seen.latency_ns).unwrap_or(0);
        histogram.record_n(latency_ns, seen.count).map_err(|error| error.to_string())
    }

    fn finish_second(&mut self, task: usize) -> Result<(), String> {
        let Some((second, histogram)) = self.open.remove(&task) else { return Ok(()) };
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).map_err(|error| error.to_string())?;
        self.lines.push(LogLine { second, task, max_ns: histogram.max(), histogram: STANDARD.encode(bytes) });
        Ok(())
    }
}

/// A tag for each task: its name without blanks and commas, numbered if taken; reports each that differs.
fn unique_tags(run: &Run, tasks: &[usize], exported: &mut ExportSummary) -> BTreeMap<usize, String> {
    let mut tags: BTreeMap<usize, String> = BTreeMap::new();
    for task in tasks {
        let name = &run.info().tasks[*task].spec.name;
        let plain = name.replace(|c: char| c == ',' || c.is_whitespace() || c.is_control(), "_");
        let mut tag = plain.clone();
        for number in 2.. {
            if !tags.values().any(|taken| *taken == tag) {
                break;
            }
            tag = format!("{plain}_{number}");
        }
        if tag != plain {
            exported.losses.push(Loss::Tagged { task: name.clone(), tag: tag.clone() });
        }
        tags.insert(*task, tag);
    }
    tags
}

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let mut exported = ExportSummary::default();
    let of = TaskLatencies::new(run, tasks, &mut exported)?;
    let mut log = Log::default();
    let (mut negative, mut outcome) = (0, Ok(()));
    for_each_latency(run, &of, |seen| {
        negative += if seen.latency_ns < 0 { seen.count } else { 0 };
        if outcome.is_ok() {
            outcome = log.record(&seen);
        }
    })?;
    let closed = of.iter().try_for_each(|one| log.finish_second(one.task));
    outcome.and(closed).map_err(|why| {
        Error::not_measured(format!("{} cannot be written as hdr: {why}", run.path().display()))
    })?;
    exported.record_loss(negative, |count| Loss::Negative { count });

    writeln!(out, "#[Histogram log format version 1.3]")?;
    if let Some(seconds) = start_unix_s(run.info()) {
        writeln!(out, "#[StartTime: {seconds:.3} (seconds since epoch)]")?;
    }
    for comment in machine_comments(run.info()) {
        writeln!(out, "#[{comment}]")?;
    }
    writeln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )?;
    log.lines.sort_by_key(|line| (line.second, line.task));
    let first = log.lines.iter().find_map(|line| line.second).unwrap_or(0);
    let length_ns = run.info().measured_ns();
    if length_ns.is_none() && log.lines.iter().any(|line| line.second.is_none()) {
        exported.losses.push(Loss::NoLength);
    }
    let tags = unique_tags(run, tasks, &mut exported);
    for LogLine { second, task, max_ns, histogram } in &log.lines {
        let (start, length) = match second {
            Some(second) => (second - first, 1.0),
            None => (0, length_ns.unwrap_or(0) as f64 / 1e9),
        };
        let tag = &tags[task];
        writeln!(out, "Tag={tag},{start}.000,{length:.3},{:.6},{histogram}", *max_ns as f64 / 1e6)?;
    }
    Ok(exported)
}
