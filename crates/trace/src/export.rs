//! Writing run files out as text.

use std::io::{self, BufWriter, Write};

use jitterlab_model::{Distribution, TimingStats};

use crate::{Columns, RunReader, TraceError};

/// The head of [`csv`].
const HEAD: &str = "task,index,due_ns,start_ns,end_ns,cpu,missed,flags";

/// Writes every activation of a run file as a line of comma-separated values, with a head line that names the
/// columns (those of the run file).
///
/// # Errors
/// The run file cannot be read or is damaged, or `out` does not take more.
pub fn csv(reader: &RunReader, out: impl Write) -> Result<(), TraceError> {
    let mut out = BufWriter::new(out);
    let mut outcome = writeln!(out, "{HEAD}");
    reader.for_each_batch(Columns::ALL, |task, rows| {
        for a in rows {
            if outcome.is_err() {
                return;
            }
            let (index, due, start, end) = (a.index, a.due_ns, a.start_ns, a.end_ns);
            outcome =
                writeln!(out, "{task},{index},{due},{start},{end},{},{},{}", a.cpu, a.missed, a.flags.0);
        }
    })?;
    outcome.and_then(|()| out.flush()).map_err(TraceError::io("write the CSV of", reader.path()))
}

/// Writes the latencies of a run file as cyclictest's `-h` does: microseconds, a column per task, the footers that
/// scripts read. Bins end where the slowest task's latencies end, so that nothing overflows; a negative
/// latency (an early wake-up), which that format cannot hold, counts in bin 0 and shows in the minimum.
///
/// # Errors
/// The run file cannot be read or is damaged, or `out` does not take more.
pub fn cyclictest_histogram(reader: &RunReader, out: impl Write) -> Result<(), TraceError> {
    let latencies = latencies(reader)?;
    let mut out = BufWriter::new(out);
    write_histogram(&latencies, &mut out)
        .and_then(|()| out.flush())
        .map_err(TraceError::io("write the histogram of", reader.path()))
}

/// Each task's latencies, from the slices where there are slices.
fn latencies(reader: &RunReader) -> Result<Vec<Distribution>, TraceError> {
    let mut stats: Vec<_> = reader.info().tasks.iter().map(|t| TimingStats::new(t.spec.period_ns)).collect();
    if reader.has_slices() {
        reader.for_each_slice(|slice| slice.add_to(&mut stats[slice.task]))?;
    } else {
        reader.for_each_batch(Columns::TIMING, |task, rows| stats[task].push_all(rows))?;
    }
    Ok(stats.into_iter().map(|s| s.latency).collect())
}

fn write_histogram(latencies: &[Distribution], out: &mut impl Write) -> io::Result<()> {
    let us = |ns: i64| ns.div_euclid(1_000);
    let mut bins = std::collections::BTreeMap::<i64, Vec<u64>>::new();
    for (task, latency) in latencies.iter().enumerate() {
        for bin in latency.bins() {
            let row = bins.entry(us(bin.high_ns).max(0)).or_insert_with(|| vec![0; latencies.len()]);
            row[task] += bin.count;
        }
    }
    writeln!(out, "# Histogram")?;
    for (bin, row) in &bins {
        let counts: Vec<_> = row.iter().map(|n| format!("{n:06}")).collect();
        writeln!(out, "{bin:06} {}", counts.join("\t"))?;
    }
    let mut footer = |name: &str, of: &dyn Fn(&Distribution) -> String| {
        let values: Vec<_> = latencies.iter().map(of).collect();
        writeln!(out, "# {name}: {}", values.join(" "))
    };
    footer("Total", &|d| format!("{:09}", d.count()))?;
    footer("Min Latencies", &|d| format!("{:05}", us(d.min_ns().unwrap_or(0))))?;
    footer("Avg Latencies", &|d| format!("{:05}", us(d.mean_ns().unwrap_or(0.0) as i64)))?;
    footer("Max Latencies", &|d| format!("{:05}", us(d.max_ns().unwrap_or(0))))?;
    footer("Histogram Overflows", &|_| format!("{:05}", 0))
}
