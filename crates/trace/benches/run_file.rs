//! Size and speed of the run file: `cargo bench -p jitterlab-trace [-- RUN.parquet]`.
//!
//! Records two tasks (25 us and 1 ms) as fast as it goes, closes the file, and reads it back on one core. The
//! activations are those of the given run file, repeated until there are 24.6 million, or made up with the
//! latencies of a virtual machine: a body of some microseconds with a long tail. Where only spikes are kept they
//! are taken in random order, since repetition would compress too well. Speeds are by processor time, so that
//! a busy machine spoils them little.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at anything unexpected")]

use std::time::Duration;

use jitterlab_model::{Activation, Keep, RunInfo, TaskSpec};
use jitterlab_trace::{Columns, RunReader, RunWriter, journal_path};

const PERIODS_NS: [i64; 2] = [25_000, 1_000_000];
const SECONDS: u64 = 600;

fn main() {
    let source = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let sample = source.map_or_else(made_up, |path| {
        let reader = RunReader::open(path).unwrap();
        let mut rows = vec![Vec::new(); 2];
        reader.for_each_batch(Columns::ALL, |task, part| rows[task].extend_from_slice(part)).unwrap();
        rows
    });
    for (keep, name) in [(Keep::All, "all"), (Keep::Spikes { above_ns: 50_000 }, "spikes above 50 us")] {
        println!("-- keep {name}");
        measure(keep, &sample);
    }
}

fn measure(keep: Keep, sample: &[Vec<Activation>]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.parquet");
    let tasks = PERIODS_NS.map(|period_ns| TaskSpec { period_ns, ..TaskSpec::default() });
    let info = RunInfo { keep, ..RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", tasks) };
    let mut writer = RunWriter::create(&path, &info).unwrap();
    let mut next = [0u64; 2];
    let mut random = generator();
    let mut rows = Vec::new();
    let mut appending = 0.0;
    for tenth in 0..SECONDS * 10 {
        for task in 0..2 {
            let due_times = (tenth + 1) * 100_000_000 / PERIODS_NS[task] as u64;
            rows.clear();
            while next[task] < due_times {
                let k = if keep == Keep::All { next[task] as usize } else { (random() >> 8) as usize };
                let a = sample[task][k % sample[task].len()];
                let due_ns = next[task] as i64 * PERIODS_NS[task];
                let (start_ns, end_ns) = (due_ns + a.latency_ns(), due_ns + a.response_ns());
                rows.push(Activation { index: next[task], due_ns, start_ns, end_ns, ..a });
                next[task] += 1 + u64::from(a.missed);
            }
            let begin = cpu_seconds();
            writer.append(task, &rows).unwrap();
            appending += cpu_seconds() - begin;
        }
        // As fast as the disk takes it: a run that fell behind would drop rows.
        while tenth % 8 == 7 && writer.waiting_bytes() > 4 << 20 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let threads = threads_seconds("journal");
    let journal = std::fs::metadata(journal_path(&path)).unwrap().len();
    let begin = cpu_seconds();
    let finished = writer.finish(info).unwrap();
    let closing = cpu_seconds() - begin;
    let activations = next[0] as f64 + next[1] as f64;
    println!("activations               {:>10}", activations);
    println!("rows in the file          {:>10}", finished.rows);
    println!("append                    {:>10.1} ns each", appending * 1e9 / activations);
    println!("writing and syncing       {:>10.1} ns each", threads * 1e9 / activations);
    println!(
        "recorder at 41 k/s        {:>10.3} % of one processor",
        (appending + threads) / SECONDS as f64 * 100.0
    );
    println!("close                     {closing:>10.2} s");
    println!("journal                   {:>10.3} bytes each", journal as f64 / activations);
    println!(
        "run file                  {:>10.3} bytes each, {} bytes",
        finished.bytes as f64 / activations,
        finished.bytes
    );
    for (columns, name) in [
        (Columns::ALL, "read all"),
        (Columns::TIMING, "read for timing"),
        (Columns::LATENCY, "read for latency"),
    ] {
        let reader = RunReader::open(&path).unwrap();
        let begin = cpu_seconds();
        let mut sum = 0i64;
        reader
            .for_each_batch(columns, |_, rows| sum += rows.iter().map(|a| a.latency_ns()).sum::<i64>())
            .unwrap();
        let seconds = cpu_seconds() - begin;
        println!(
            "{name:<25} {:>10.1} M activations/s (latency sum {sum})",
            finished.rows as f64 / seconds / 1e6
        );
    }
    let mut slices = 0;
    let begin = cpu_seconds();
    RunReader::open(&path).unwrap().for_each_slice(|_| slices += 1).unwrap();
    println!("slices                    {slices:>10} read in {:.2} s", cpu_seconds() - begin);
    println!("largest memory            {:>10} KiB", peak_memory_kib());
}

/// Marsaglia's xorshift, the same numbers each time.
fn generator() -> impl FnMut() -> u64 {
    let mut state = 0x1234_5678_9abc_def1u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Latencies of a body that is roughly log-normal around 3.6 us, a tail to some 300 us; work of 26 to 34 ns.
fn made_up() -> Vec<Vec<Activation>> {
    let mut random = generator();
    let mut uniform = || (random() >> 11) as f64 / (1u64 << 53) as f64;
    let mut row = || {
        let normal = (0..6).map(|_| uniform()).sum::<f64>() - 3.0;
        let tail = if uniform() < 0.002 { 20.0 * uniform() } else { 1.0 };
        let latency = (3_600.0 * (0.45 * normal).exp() * tail) as i64;
        Activation {
            start_ns: latency,
            end_ns: latency + 26 + (8.0 * uniform()) as i64,
            ..Activation::default()
        }
    };
    vec![(0..1_000_000).map(|_| row()).collect(), (0..100_000).map(|_| row()).collect()]
}

fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn run_seconds(thread: &std::path::Path) -> f64 {
    let statistics = std::fs::read_to_string(thread.join("schedstat")).unwrap();
    statistics.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Processor time of this thread so far.
fn cpu_seconds() -> f64 {
    run_seconds("/proc/thread-self".as_ref())
}

/// Processor time of all threads of a name.
fn threads_seconds(name: &str) -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|t| t.unwrap().path());
    let named = threads.filter(|t| std::fs::read_to_string(t.join("comm")).unwrap().starts_with(name));
    named.map(|t| run_seconds(&t)).sum()
}
