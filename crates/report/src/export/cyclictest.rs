//! The histogram of cyclictest's `-h`: microseconds, a column per task, the footers that scripts read.
//!
//! As there, a bin b holds latencies from b up to below b + 1, bins end at a second, and latencies above are
//! only counted.

use std::io::Write;

use jitterlab_model::Error;
use jitterlab_runs::Run;

use super::description::machine_comments;
use super::latencies::{TaskLatencies, for_each_latency};
use super::{ExportSummary, Loss};

/// The largest histogram that cyclictest makes, in microseconds.
const LIMIT_US: i64 = 1_000_000;

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let mut exported = ExportSummary::default();
    let of = TaskLatencies::new(run, tasks, &mut exported)?;
    let column = |task: usize| of.iter().position(|one| one.task == task).unwrap_or(0);
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut overflows: Vec<u64> =
        of.iter().map(|one| one.all.values_beyond_bins().map_or(0, |beyond| beyond.count)).collect();
    let (mut negative, mut above) = (0, 0);
    for_each_latency(run, &of, |seen| {
        negative += if seen.latency_ns < 0 { seen.count } else { 0 };
        let bin = whole_microseconds(seen.latency_ns);
        if bin >= LIMIT_US {
            overflows[column(seen.task)] += seen.count;
            above += seen.count;
            return;
        }
        let bin = bin as usize;
        if rows.len() <= bin {
            rows.resize_with(bin + 1, || vec![0; of.len()]);
        }
        rows[bin][column(seen.task)] += seen.count;
    })?;
    exported.record_loss(negative, |count| Loss::Negative { count });
    exported.record_loss(above, |count| Loss::Overflow { count, above_ns: LIMIT_US * 1_000 });

    writeln!(out, "# Histogram")?;
    for (bin, row) in rows.iter().enumerate() {
        let counts: Vec<String> = row.iter().map(|n| format!("{n:06}")).collect();
        writeln!(out, "{bin:06} {}", counts.join("\t"))?;
    }
    let mut footer = |name: &str, width: usize, of: Vec<i64>| {
        let values: Vec<String> = of.into_iter().map(|value| format!("{value:0width$}")).collect();
        writeln!(out, "# {name}: {}", values.join(" "))
    };
    let total = |column: usize| rows.iter().map(|row| row[column] as i64).sum();
    let figure = |pick: fn(&TaskLatencies) -> Option<i64>| {
        of.iter().map(|one| whole_microseconds(pick(one).unwrap_or(0))).collect()
    };
    footer("Total", 9, (0..of.len()).map(total).collect())?;
    footer("Min Latencies", 5, figure(|one| one.summary.latency.min_ns))?;
    footer("Avg Latencies", 5, figure(|one| one.summary.latency.mean_ns.map(|mean| mean as i64)))?;
    footer("Max Latencies", 5, figure(|one| one.summary.latency.max_ns))?;
    footer("Histogram Overflows", 5, overflows.into_iter().map(|n| n as i64).collect())?;
    for (number, one) in of.iter().enumerate() {
        writeln!(out, "# Thread {number}: {}", one.summary.task.replace(char::is_control, " "))?;
    }
    for comment in machine_comments(run.info()) {
        writeln!(out, "# {comment}")?;
    }
    Ok(exported)
}

/// Whole microseconds of a time, at least 0.
fn whole_microseconds(ns: i64) -> i64 {
    ns.max(0) / 1_000
}
