//! Slices and runs to test with.

use jitterlab_fleet::limit_counts::LimitCounts;
use jitterlab_fleet::tables::{Interval, Stream, Tables, TaskSlice};
use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec, TimingStats};

/// Slices of `hours` with a few activations each, from 2026-11-26T22:00:00Z on.
pub fn sample(machine: &str, hours: i64) -> Tables {
    let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
    let info = RunInfo::new(Bench::Host, "monotonic", [spec]);
    let stream = Stream::new("0123456789abcdef".into(), String::new(), machine, &info);
    let mut tables = Tables::default();
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
        let (stats, limits) = (stats.take(), limits.take_counts());
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

/// Activations of a task that misses a due time now and then.
pub fn activations(seed: u64, count: usize, period_ns: i64) -> Vec<Activation> {
    let mut state = 2 * (seed % (1 << 40)) + 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut rows, mut index) = (Vec::new(), 0);
    for _ in 0..count {
        let late =
            if random() % 40 == 0 { (random() % 5_000_000) as i64 } else { (random() % 40_000) as i64 };
        let missed = (late / period_ns) as u64;
        index += missed;
        let due_ns = index as i64 * period_ns;
        let start_ns = due_ns + late - missed as i64 * period_ns;
        let end_ns = start_ns + (random() % 9_000) as i64;
        rows.push(Activation {
            index,
            due_ns,
            start_ns,
            end_ns,
            missed: missed as u32,
            ..Activation::default()
        });
        index += 1;
    }
    rows
}

/// Activations of a task that is never very late and misses nothing.
pub fn steady(seed: u64, count: usize, period_ns: i64) -> Vec<Activation> {
    let late = activations(seed, count, period_ns);
    let steady = |(index, a): (usize, &Activation)| {
        let due_ns = index as i64 * period_ns;
        let start_ns = due_ns + a.latency_ns() % 40_000;
        let end_ns = start_ns + a.execution_ns();
        Activation { index: index as u64, due_ns, start_ns, end_ns, ..Activation::default() }
    };
    late.iter().enumerate().map(steady).collect()
}
