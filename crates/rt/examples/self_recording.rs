//! A control program that records itself: every activation of its loop goes into a run file that jitterlab, pandas,
//! polars and DuckDB open.
//!
//! `cargo run --release -p jitterlab-rt --example self_recording -- my.parquet`, then
//! `jitterlab analyze my.parquet`

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use jitterlab_model::{Policy, RunInfo, TaskRun, TaskSpec};
use jitterlab_rt::{Drain, PeriodicLoop, Recorder, record};
use jitterlab_trace::RunWriter;

type Failure = Box<dyn Error + Send + Sync>;

/// Records between two looks at the ring, and room for a hundred times as many.
const COLLECT_EVERY: Duration = Duration::from_millis(20);
const RING: usize = 8_192;

/// The control program: here it only computes something. Returns the granted settings and its result.
fn control(spec: TaskSpec, recorder: Recorder) -> Result<TaskRun, Failure> {
    let mut task = PeriodicLoop::every(Duration::from_nanos(spec.period_ns.unsigned_abs()))
        .name(&spec.name)
        .policy(Policy::Fifo(80))
        .lock_memory()
        .recorder(recorder)
        .count(4_000)
        .build()?;
    for refusal in task.refused() {
        println!("not granted: {} ({}); {}", refusal.what, refusal.why, refusal.remedy);
    }
    while let Some(activation) = task.wait() {
        black_box((0..activation.index() % 1_000).map(|x| (x as f64).sqrt()).sum::<f64>());
    }
    Ok(TaskRun { granted: task.granted().cloned(), result: Some(task.result()), ..TaskRun::new(spec) })
}

/// Takes records out of the ring into the file until the task has ended, on an ordinary thread.
fn collect(mut drain: Drain, writer: &mut RunWriter) -> Result<(), Failure> {
    let mut rows = Vec::with_capacity(drain.capacity());
    loop {
        let finished = drain.is_finished();
        rows.clear();
        drain.pop_into(&mut rows, usize::MAX);
        writer.append(0, &rows)?;
        if finished {
            return Ok(());
        }
        thread::sleep(COLLECT_EVERY);
    }
}

fn main() -> Result<(), Failure> {
    let path = PathBuf::from(env::args().nth(1).unwrap_or_else(|| "self_recording.parquet".into()));
    let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
    let mut info = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [spec.clone()]);
    info.tool = "self_recording".into();
    let mut writer = RunWriter::create(&path, &info)?;
    let (recorder, drain) = record::ring(RING);
    let servo = thread::spawn(move || control(spec, recorder));
    collect(drain, &mut writer)?;
    info.tasks = vec![servo.join().map_err(|_| "the control thread panicked")??];
    let finished = writer.finish(info)?;
    println!("{} activations in {}", finished.rows, finished.path.display());
    Ok(())
}
