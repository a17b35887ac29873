//! Sources of activations: own tasks, or threads of programs that run anyway, found again when they come back.

use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jitterlab_host::watch::{NotWatched, Target, ThreadWatch, WatchRequest};
use jitterlab_host::{CauseRequest, FinishedRun, Measurement, Request, Sink};
use jitterlab_model::{Activation, Error, RunCauses, TaskSpec};

use crate::counter::Counter;

/// Interval between searches for threads that do not run.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Length of the search for periodic threads.
const FIND_NS: i64 = 2_000_000_000;

/// Source of activations.
#[derive(Debug, Clone)]
pub enum Source {
    /// Tasks of the monitor's own.
    Tasks(Vec<TaskSpec>),
    /// Threads that run anyway.
    Threads(Target),
}

/// A counter that the threads of sources share.
#[derive(Clone)]
pub struct SharedCounter(pub Arc<Mutex<Counter>>);

impl SharedCounter {
    /// Locks the counter, even if a thread that held it panicked.
    pub fn lock(&self) -> MutexGuard<'_, Counter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for SharedCounter {
    fn take_activations(&mut self, task: usize, rows: &[Activation]) {
        self.lock().add_activations(task, rows);
    }

    fn take_causes(&mut self, causes: &RunCauses) {
        self.lock().add_causes(causes);
    }

    fn request_causes(&mut self, looked_for: bool) -> CauseRequest {
        self.lock().next_cause_request(looked_for)
    }

    fn note_refused_causes(&mut self, error: &Error) {
        self.lock().disable_causes(error);
    }
}

/// Measures until `interrupted` is set; `on_tick` is called several times a second.
pub fn measure(
    source: &Source,
    counter: &SharedCounter,
    on_tick: &mut dyn FnMut(),
    interrupted: &Arc<AtomicBool>,
) -> Result<(), Error> {
    match source {
        Source::Tasks(tasks) => {
            let keep = counter.lock().keep_rule(tasks.first().map_or(1_000_000, |task| task.period_ns));
            let request = Request {
                keep,
                seldom: true,
                interrupted: Arc::clone(interrupted),
                ..Request::for_tasks(tasks.clone())
            };
            let measurement = Measurement::prepare(request)?;
            counter.lock().begin_stream(new_stream_id()?, measurement.info().clone());
            let mut sink = counter.clone();
            let finished = measurement.run(&mut sink, &mut |_| tick(counter, on_tick), interrupted)?;
            end_stream(counter, &finished);
            check_stop(&finished)
        }
        Source::Threads(target) => {
            while !interrupted.load(Ordering::Relaxed) {
                watch_threads(target, counter, on_tick, interrupted)?;
            }
            Ok(())
        }
    }
}

/// Watches threads until they end; waits a while if there are none.
fn watch_threads(
    target: &Target,
    counter: &SharedCounter,
    on_tick: &mut dyn FnMut(),
    interrupted: &Arc<AtomicBool>,
) -> Result<(), Error> {
    let command = std::env::args().collect();
    let request = WatchRequest { target: target.clone(), find_ns: FIND_NS, duration_ns: None, command };
    let mut found = match ThreadWatch::start(&request, interrupted) {
        Ok(found) => found,
        Err(_) if interrupted.load(Ordering::Relaxed) => return Ok(()),
        Err(error)
            if [NotWatched::Absent, NotWatched::NotPeriodic].into_iter().any(|case| error.is(case)) =>
        {
            let begun = std::time::Instant::now();
            while begun.elapsed() < LOOK_AGAIN && !interrupted.load(Ordering::Relaxed) {
                on_tick();
                std::thread::sleep(Duration::from_millis(100));
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let period_ns = found.info().tasks.first().map_or(1_000_000, |task| task.spec.period_ns);
    found.set_keep(counter.lock().keep_rule(period_ns));
    counter.lock().begin_stream(new_stream_id()?, found.info().clone());
    let mut sink = counter.clone();
    let finished = found.run(&mut sink, &mut |_| tick(counter, on_tick), interrupted);
    end_stream(counter, &finished);
    Ok(())
}

fn tick(counter: &SharedCounter, on_tick: &mut dyn FnMut()) {
    counter.lock().tick();
    on_tick();
}

fn end_stream(counter: &SharedCounter, finished: &FinishedRun) {
    let results: Vec<_> = finished.info.tasks.iter().map(|task| task.result.clone()).collect();
    counter.lock().end_stream(&results);
}

/// Fails if tasks ended by an overload or a failed wait.
fn check_stop(finished: &FinishedRun) -> Result<(), Error> {
    use jitterlab_model::StopReason;
    match &finished.info.stop {
        Some(StopReason::Overloaded { overload, .. }) => Err((*overload).into()),
        Some(StopReason::WaitFailed { why, .. }) => {
            Err(Error::refused(format!("a task could not wait any more: {why}")))
        }
        _ => Ok(()),
    }
}

/// A random name for a stretch of measuring: 16 hexadecimal digits.
pub fn new_stream_id() -> Result<String, Error> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|error| Error::refused("cannot draw a name for what is measured").because(error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
