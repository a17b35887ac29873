//! Hours as rows that a fleet adds up.

use std::path::Path;

use jitterlab_fleet::tables::{limit_row, to_i64};
use jitterlab_fleet::{CauseRow, Delivery, Interval, Stream, Tables, TaskSlice, WorstRow};
use jitterlab_model::{Error, RunInfo, TimingStats};

use crate::hour::{Hour, HourTask};
use crate::words::class_id;

/// Hours of tasks at most in one delivery, so that many tasks take no more memory than few.
const TASK_HOURS: usize = 48;

/// Writes hours of one stream into the outbox; the same hours give the same files.
pub fn deliver_hours(folder: &Path, hours: &[Hour], info: &RunInfo) -> Result<(), Error> {
    let many = (TASK_HOURS / info.tasks.len().max(1)).max(1);
    for hours in hours.chunks(many) {
        for delivery in Delivery::split(hours_to_tables(hours, info)) {
            delivery.write(folder)?;
        }
    }
    Ok(())
}

/// Rows of a fleet's tables for hours of one stream.
pub fn hours_to_tables(hours: &[Hour], info: &RunInfo) -> Tables {
    let mut all = Tables::default();
    for hour in hours {
        let stream = Stream::new(hour.stream.clone(), hour.boot.clone(), &hour.machine, info);
        let interval = Interval {
            seq: to_i64(hour.seq),
            start_s: Some(hour.utc_ns.0.div_euclid(SECOND_NS)),
            mono_ns: Some(hour.mono_ns),
            length_ms: (hour.end_mono_ns - hour.mono_ns) / 1_000_000,
            clock_step_ns: Some(hour.clock_step_ns),
            clock_ok: None,
            gap_ms: hour.gap_ns / 1_000_000,
        };
        for (task, run) in hour.tasks.iter().zip(&info.tasks) {
            let mut stats = TimingStats::new(task.period_ns);
            task.add_to(&mut stats);
            let mut rows = Tables::default();
            let max_at_s = task.worst_starts.first().map(|late| late.utc_ns.div_euclid(SECOND_NS));
            rows.push(
                &stream,
                &interval,
                &TaskSlice {
                    task: run,
                    stats: &stats,
                    lost: task.lost,
                    max_at_s,
                    limits: None,
                    causes: None,
                    epoch_offset_ns: None,
                },
            );
            replace_counts(&mut rows, task);
            all.append(rows);
        }
    }
    all
}

const SECOND_NS: i64 = 1_000_000_000;

/// Replaces the limits of a task's rows by the hour's own counts, and adds its causes and its worst starts.
fn replace_counts(rows: &mut Tables, task: &HourTask) {
    let Some(key) = rows.slices.first().cloned() else { return };
    rows.limits.clear();
    rows.limits.extend(task.limit_counts.iter().filter_map(|above| {
        limit_row(&key, &above.purpose, above.measure, above.limit_ns, Some(above.count))
    }));
    rows.causes.extend(task.causes.iter().map(|sum| CauseRow {
        class: class_id(Some(&sum.cause)),
        who: sum.cause.who.clone().unwrap_or_default(),
        times: to_i64(sum.times),
        sum_ns: sum.sum_ns,
        max_ns: sum.max_ns,
        proven_ns: sum.proven_ns,
        likely_ns: sum.likely_ns,
        ..CauseRow::from_slice(&key)
    }));
    rows.worst.extend(task.worst_starts.iter().map(|late| WorstRow {
        at_s: Some(late.utc_ns.div_euclid(SECOND_NS)),
        latency_ns: late.latency_ns,
        class: late.cause.as_ref().map(|cause| class_id(Some(cause))).unwrap_or_default(),
        who: late.cause.as_ref().and_then(|cause| cause.who.clone()).unwrap_or_default(),
        ..WorstRow::from_slice(&key)
    }));
}
