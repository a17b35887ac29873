//! Parts common to the tests: a run's description and plausible activations.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may stop at anything unexpected")]

use jitterlab_model::{Activation, Keep, RunInfo, StopReason, TaskSpec};
use jitterlab_trace::{Columns, RunReader};

/// A directory in memory where there is one: tests that write many files need not wait for a disk to sync each.
pub fn quick_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub const PERIODS_NS: [i64; 2] = [25_000, 1_000_000];

pub fn info(keep: Keep) -> RunInfo {
    let task = |name: &str, period_ns| TaskSpec { name: name.into(), period_ns, ..TaskSpec::default() };
    let tasks = [task("base", PERIODS_NS[0]), task("servo", PERIODS_NS[1])];
    RunInfo { keep, ..RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", tasks) }
}

pub fn closed(keep: Keep) -> RunInfo {
    RunInfo { stop: Some(StopReason::Interrupted), ..info(keep) }
}

/// Activation `k` of a task: a latency of 2 to 6 us that looks random, and a spike of 300 us every 5000th.
pub fn row(task: usize, k: u64) -> Activation {
    let noise = (k.wrapping_add(task as u64 * 77)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let latency = 2_000 + noise as i64 + if k % 5_000 == 4_999 { 300_000 } else { 0 };
    let due_ns = 1_000_000_007 + k as i64 * PERIODS_NS[task];
    let start_ns = due_ns + latency;
    let missed = if latency > PERIODS_NS[task] { 12 } else { 0 };
    Activation {
        index: k,
        due_ns,
        start_ns,
        end_ns: start_ns + 30 + noise as i64 % 8,
        missed,
        ..Activation::default()
    }
}

/// The rows of each task in a run file.
pub fn all_rows(reader: &RunReader) -> Vec<Vec<Activation>> {
    let mut found = vec![Vec::new(); reader.info().tasks.len()];
    reader.for_each_batch(Columns::ALL, |task, rows| found[task].extend_from_slice(rows)).unwrap();
    found
}
