//! Slices and runs to test with.

use jitterlab_fleet::tables::{Interval, LimitCounts, Stream, Tables, TaskSlice};
use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec, TimingStats};

/// Slices of `hours` with a few activations each, from 2026-11-26T22:00:00Z on.
pub fn sample(machine: &str, hours: i64) -> Tables {
    let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
    let info = RunInfo::new(Bench::Host, "monotonic", [spec]);
    let stream = Stream::new("0123456789abcdef".into(), String::new(), machine, &info);
    let mut tables = Tables::new();
    let mut stats = TimingStats::new(1_000_000);
    let mut limits = LimitCounts::new(1_000_000);
    for seq in 0..hours {
        for index in 0..50 {
            let due_ns = (seq * 50 + index) * 1_000_000;
            let start_ns = due_ns + 3_000 + 17_000 * index;
            let row = Activation {
                index: index as u64,
                due_ns,
                start_ns,
                end_ns: start_ns,
                ..Activation::default()
            };
            stats.push(&row);
            limits.push(&row);
        }
        let start_s = Some(1_795_730_400 + 3_600 * seq);
        let interval = Interval { seq, start_s, length_ms: 3_600_000, ..Interval::default() };
        let (stats, limits) = (stats.take(), limits.take());
        tables.push(
            &stream,
            &interval,
            &TaskSlice {
                task: &info.tasks[0],
                stats: &stats,
                lost: 0,
                max_at_s: None,
                limits: Some(&limits),
                causes: None,
                epoch_offset_ns: None,
            },
        );
    }
    tables
}
