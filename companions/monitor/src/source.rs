//! Where activations come from: own tasks, or threads of programs that run anyway, found again when they come back.

use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jitterlab_host::watch::{NotWatched, Target, Watch, WatchRequest};
use jitterlab_host::{CausesWanted, Finished, Measurement, Request, Sink};
use jitterlab_model::{Activation, Error, RunCauses, TaskSpec};

use crate::counter::Counter;

/// A unit that does not run is looked for so often.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Length of the search for periodic threads.
const FIND_NS: i64 = 2_000_000_000;

/// Source of activations.
#[derive(Debug, Clone)]
pub enum Source {
    /// Tasks of its own.
    Tasks(Vec<TaskSpec>),
    /// Threads that run anyway.
    Threads(Target),
}

/// A counter that the thread that collects and the one that looks at the clock share.
#[derive(Clone)]
pub struct Shared(pub Arc<Mutex<Counter>>);

impl Shared {
    /// The counter, whatever happened to the thread that had it.
    pub fn lock(&self) -> MutexGuard<'_, Counter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Shared {
    fn activations(&mut self, task: usize, rows: &[Activation]) {
        self.lock().activations(task, rows);
    }

    fn causes(&mut self, causes: &RunCauses) {
        self.lock().causes(causes);
    }

    fn causes_wanted(&mut self, looked_for: bool) -> CausesWanted {
        self.lock().causes_wanted(looked_for)
    }

    fn causes_refused(&mut self, error: &Error) {
        self.lock().causes_refused(error);
    }
}

/// Measures until `interrupted` is set; `look` is called several times a second.
pub fn measure(
    source: &Source,
    counter: &Shared,
    look: &mut dyn FnMut(),
    interrupted: &Arc<AtomicBool>,
) -> Result<(), Error> {
    match source {
        Source::Tasks(tasks) => {
            let keep = counter.lock().keep(tasks.first().map_or(1_000_000, |task| task.period_ns));
            let request = Request {
                keep,
                seldom: true,
                interrupted: Arc::clone(interrupted),
                ..Request::for_tasks(tasks.clone())
            };
            let measurement = Measurement::prepare(request)?;
            counter.lock().begin(stream_id()?, measurement.info().clone());
            let mut sink = counter.clone();
            let finished = measurement.run(&mut sink, &mut |_| look_at(counter, look), interrupted)?;
            finish(counter, &finished);
            not_at_its_end(&finished)
        }
        Source::Threads(target) => {
            while !interrupted.load(Ordering::Relaxed) {
                watch(target, counter, look, interrupted)?;
            }
            Ok(())
        }
    }
}

/// Watches threads until they end; where there are none, waits a while.
fn watch(
    target: &Target,
    counter: &Shared,
    look: &mut dyn FnMut(),
    interrupted: &Arc<AtomicBool>,
) -> Result<(), Error> {
    let command = std::env::args().collect();
    let request = WatchRequest { target: target.clone(), find_ns: FIND_NS, duration_ns: None, command };
    let mut found = match Watch::find(&request, interrupted) {
        Ok(found) => found,
        Err(_) if interrupted.load(Ordering::Relaxed) => return Ok(()),
        Err(error)
            if [NotWatched::Absent, NotWatched::NotPeriodic].into_iter().any(|case| error.is(case)) =>
        {
            let begun = std::time::Instant::now();
            while begun.elapsed() < LOOK_AGAIN && !interrupted.load(Ordering::Relaxed) {
                look();
                std::thread::sleep(Duration::from_millis(100));
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let period_ns = found.info().tasks.first().map_or(1_000_000, |task| task.spec.period_ns);
    found.keep(counter.lock().keep(period_ns));
    counter.lock().begin(stream_id()?, found.info().clone());
    let mut sink = counter.clone();
    let finished = found.run(&mut sink, &mut |_| look_at(counter, look), interrupted);
    finish(counter, &finished);
    Ok(())
}

fn look_at(counter: &Shared, look: &mut dyn FnMut()) {
    counter.lock().tick();
    look();
}

fn finish(counter: &Shared, finished: &Finished) {
    let results: Vec<_> = finished.info.tasks.iter().map(|task| task.result.clone()).collect();
    counter.lock().finish(&results);
}

/// Reason why tasks ended that nobody ended.
fn not_at_its_end(finished: &Finished) -> Result<(), Error> {
    use jitterlab_model::StopReason;
    match &finished.info.stop {
        Some(StopReason::Overloaded { overload, .. }) => Err((*overload).into()),
        Some(StopReason::WaitFailed { why, .. }) => {
            Err(Error::refused(format!("a task could not wait any more: {why}")))
        }
        _ => Ok(()),
    }
}

/// A name for a stretch of measuring that no other has.
pub fn stream_id() -> Result<String, Error> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|error| Error::refused("cannot draw a name for what is measured").because(error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
