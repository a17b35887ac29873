//! A thread that runs already: found again in every block, watched, and never changed itself.

use std::sync::atomic::AtomicBool;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::{CpuSet, Error, TaskRun, TaskSpec, Watched};

use crate::record::record_watched;
use crate::watch::{NotWatched, Target, ThreadWatch, WatchRequest};

/// Time of the first search for periodic threads, and number of their periods that the search in each block
/// lasts.
const FIND_NS: i64 = 2_000_000_000;
const PERIODS: i64 = 40;
const LEAST_FIND_NS: i64 = 200_000_000;
/// With other work running, a thread may not be periodic for a moment: number of searches in a block.
const MAX_TRIES: usize = 5;

/// A thread that is tuned as it runs.
#[derive(Debug, Clone)]
pub struct RunningThread {
    /// Name, period and policy of the thread, as far as they were seen.
    pub(super) task: TaskSpec,
    /// The CPUs that it may use.
    pub(super) cpus: CpuSet,
    /// Description of the thread and its program.
    pub(super) watched: Watched,
}

impl RunningThread {
    /// Finds the one periodic thread of this name.
    pub(super) fn find(name: &str, interrupted: &AtomicBool) -> Result<Self, Error> {
        let watch = ThreadWatch::start(&watch_request(name, FIND_NS, None), interrupted)?;
        let task = only_task(name, &watch.info().tasks)?;
        let cpus = task.granted.iter().flat_map(|granted| granted.cpus.iter().copied()).collect();
        let watched = task.watched.clone().ok_or_else(|| not_one_thread_error(name, 0))?;
        Ok(RunningThread { task: task.spec.clone(), cpus, watched })
    }

    /// Watches the thread for this time.
    pub(super) fn measure(&self, duration_ns: i64, interrupted: &AtomicBool) -> Result<MeasuredRun, Error> {
        let find_ns = self.task.period_ns.saturating_mul(PERIODS).clamp(LEAST_FIND_NS, FIND_NS);
        let request = watch_request(&self.task.name, find_ns, Some(duration_ns));
        let mut tries = 1;
        let watch = loop {
            match ThreadWatch::start(&request, interrupted) {
                Err(error) if error.is(NotWatched::NotPeriodic) && tries < MAX_TRIES => tries += 1,
                found => break found?,
            }
        };
        only_task(&self.task.name, &watch.info().tasks)?;
        record_watched(watch, None, &mut |_| (), interrupted)?.require_complete()
    }
}

fn watch_request(name: &str, find_ns: i64, duration_ns: Option<i64>) -> WatchRequest {
    WatchRequest { target: Target::Thread(name.into()), find_ns, duration_ns, command: Vec::new() }
}

fn not_one_thread_error(name: &str, found: usize) -> Error {
    Error::bad_use(format!(
        "{found} periodic threads are named {name:?}: one can be tuned at a time, so give it a name of its own"
    ))
}

/// Returns the only task, or an error if there are none or several.
fn only_task<'a>(name: &str, tasks: &'a [TaskRun]) -> Result<&'a TaskRun, Error> {
    match tasks {
        [task] => Ok(task),
        _ => Err(not_one_thread_error(name, tasks.len())),
    }
}
