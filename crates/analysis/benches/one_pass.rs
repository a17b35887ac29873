//! Activations per second that one pass takes from memory on one core: for the usual statistics, and for all
//! that `jitterlab analyze` gathers.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::{Activation, TimingStats};

const PERIOD_NS: i64 = 1_000_000;

/// A trace as measured ones are: a sharp mode, a wide one, rare spikes, and a missed due time now and then.
fn trace(count: usize, miss_every: u64) -> Vec<Activation> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut index = 0;
    (0..count)
        .map(|_| {
            let choice = random() % 1_000;
            let late = match choice {
                0 => 40_000 + random() % 60_000,
                1..200 => 4_000 + random() % 3_000,
                _ => 1_800 + random() % 400,
            } as i64;
            let missed = u32::from(miss_every > 0 && random() % miss_every == 0);
            let due_ns = index as i64 * PERIOD_NS;
            let start_ns = due_ns + late;
            let a = Activation {
                index,
                due_ns,
                start_ns,
                end_ns: start_ns + 30 + (random() % 20) as i64,
                missed,
                ..Activation::default()
            };
            index += 1 + u64::from(missed);
            a
        })
        .collect()
}

fn one_pass(c: &mut Criterion) {
    let mut group = c.benchmark_group("one pass");
    let count = 4_000_000;
    group.throughput(Throughput::Elements(count as u64)).sample_size(20);
    for (name, miss_every) in [("no miss", 0), ("1 in 10 000 missed", 10_000), ("1 in 10 missed", 10)] {
        let trace = trace(2 * count, miss_every);
        let (before, trace) = trace.split_at(count);
        group.bench_function(format!("push, {name}"), |b| {
            b.iter_batched_ref(
                || TimingStats::new(PERIOD_NS),
                |stats| trace.iter().for_each(|a| stats.push(a)),
                BatchSize::LargeInput,
            );
        });
        group.bench_function(format!("push_all, {name}"), |b| {
            b.iter_batched_ref(
                || TimingStats::new(PERIOD_NS),
                |stats| stats.push_all(trace),
                BatchSize::LargeInput,
            );
        });
        // Somewhere in a run of 100 million, in batches as read from a run file.
        let scan = |scan: &mut TaskScan, rows: &[Activation]| {
            rows.chunks(2_048).for_each(|rows| scan.push_all(rows));
        };
        let mut begun = TaskScan::new(PERIOD_NS, 100_000_000);
        scan(&mut begun, before);
        group.bench_function(format!("scan, {name}"), |b| {
            b.iter_batched_ref(|| begun.clone(), |begun| scan(begun, trace), BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, one_pass);
criterion_main!(benches);
