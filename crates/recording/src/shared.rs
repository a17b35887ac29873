//! State shared by the loops, probes and writing thread of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jitterlab_model::{Error, Refusal, RunInfo, StopReason, TaskResult, TaskRun, TaskSpec, Warning};
use jitterlab_rt::sys::origin;
use jitterlab_rt::{Drain, Linux, Recorder, System, TaskCounters, record};
use jitterlab_trace::RunWriter;

use crate::figures::Figures;
use crate::fitting::GridFitting;

/// Error for a use of a run in a child of its process.
#[must_use]
pub fn forked_process_error() -> Error {
    Error::bad_use("the run is of the process that began it, and this process is a fork of that")
        .remedy("begin a run of its own here")
}

/// Time that activations stay in their ring.
const COLLECT_EVERY: Duration = Duration::from_millis(20);
/// A ring holds as many activations as fit into this time: a stalled disk or a busy machine loses none of them.
const RING: Duration = Duration::from_secs(2);
/// Least and largest number of activations in a ring.
const RING_ROWS: std::ops::RangeInclusive<u128> = 1_024..=1 << 18;

/// State that the loops, probes and writing thread of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    shared: Mutex<SharedRun>,
    /// Ends every loop of the run.
    pub(crate) stop: Arc<AtomicBool>,
    is_recorded: bool,
    closing: AtomicBool,
    /// The process that began the run.
    process: u32,
}

#[derive(Debug)]
struct SharedRun {
    info: RunInfo,
    /// True if the description has more than the journal's.
    changed: bool,
    task_states: Vec<TaskState>,
}

/// State of a task while the run goes on.
#[derive(Debug, Default)]
struct TaskState {
    taken: bool,
    counters: Option<Arc<TaskCounters>>,
    /// New from the moment its loop or probe is made until the writing thread takes it.
    drain: Option<Drain>,
    /// GridFitting of a task that does not state its due times; the writing thread finds them.
    fitting: Option<GridFitting>,
    /// Times at which its loop or probe was made and ended, in nanoseconds of CLOCK_MONOTONIC.
    began_ns: i64,
    ended_ns: Option<i64>,
}

/// A task that its loop or probe has taken.
#[derive(Debug)]
pub(crate) struct TakenTask {
    pub(crate) number: usize,
    pub(crate) spec: TaskSpec,
    /// Destination of its activations, if they are recorded.
    pub(crate) recorder: Option<Recorder>,
    /// True if its due times are found when they are recorded.
    pub(crate) fitted: bool,
}

impl SharedRun {
    /// Index of the task of this name.
    fn task_index(&self, name: &str) -> Result<usize, Error> {
        let names = || self.info.tasks.iter().map(|task| &task.spec.name);
        names().position(|known| known == name).ok_or_else(|| {
            Error::bad_use(format!(
                "the run has no task {name:?}: it has {}",
                names().cloned().collect::<Vec<_>>().join(", ")
            ))
        })
    }
}

impl Shared {
    /// State of a run that begins; `fittings` find the due times of tasks that do not state them.
    pub(crate) fn new(info: RunInfo, fittings: Vec<Option<GridFitting>>, is_recorded: bool) -> Self {
        let task_states =
            fittings.into_iter().map(|fitting| TaskState { fitting, ..TaskState::default() }).collect();
        Shared {
            shared: Mutex::new(SharedRun { info, changed: false, task_states }),
            stop: Arc::default(),
            is_recorded,
            closing: AtomicBool::new(false),
            process: origin::fork_count(),
        }
    }

    /// Returns true in the process that began the run, false in a child of fork(2). There nobody writes its
    /// file, and its locks may be held for ever.
    pub(crate) fn is_original_process(&self) -> bool {
        self.process == origin::fork_count()
    }

    /// Returns an error in a child of fork(2).
    pub(crate) fn check_process(&self) -> Result<&Self, Error> {
        if self.is_original_process() {
            return Ok(self);
        }
        Err(forked_process_error())
    }

    fn lock_run(&self) -> MutexGuard<'_, SharedRun> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out the task of this name to a loop or probe, once.
    pub(crate) fn take_task(&self, name: &str) -> Result<TakenTask, Error> {
        let mut shared = self.lock_run();
        let number = shared.task_index(name)?;
        let SharedRun { info, task_states, .. } = &mut *shared;
        let (spec, state) = (info.tasks[number].spec.clone(), &mut task_states[number]);
        if std::mem::replace(&mut state.taken, true) {
            return Err(Error::bad_use(format!("task {} has had its loop or probe already", spec.name))
                .remedy("name another one"));
        }
        let recorder = self.is_recorded.then(|| {
            let period_ns = match &state.fitting {
                // It may be any.
                Some(fitting) => fitting.period_ns().unwrap_or(1),
                None => spec.period_ns,
            };
            let rows = RING.as_nanos() / u128::from(period_ns.max(1).unsigned_abs());
            let (recorder, drain) = record::ring(rows.clamp(*RING_ROWS.start(), *RING_ROWS.end()) as usize);
            state.drain = Some(drain);
            recorder
        });
        Ok(TakenTask { number, spec, recorder, fitted: state.fitting.is_some() })
    }

    /// Frees a task whose loop or probe could not be made.
    pub(crate) fn release_task(&self, task: usize) {
        let mut shared = self.lock_run();
        let state = &mut shared.task_states[task];
        *state = TaskState { fitting: state.fitting.take(), ..TaskState::default() };
    }

    /// Notes that the loop or probe of a task was made, and how it runs.
    pub(crate) fn note_task_began(
        &self,
        task: usize,
        run: &TaskRun,
        counters: Arc<TaskCounters>,
        refused: &[Refusal],
    ) {
        let mut shared = self.lock_run();
        shared.task_states[task].counters = Some(counters);
        shared.task_states[task].began_ns = Linux.now_ns();
        shared.info.refused.extend_from_slice(refused);
        let known = &mut shared.info.tasks[task];
        let mut unknown = run.unknown.clone();
        unknown.retain(|gap| !known.unknown.contains(gap));
        known.unknown.extend(unknown);
        known.granted.clone_from(&run.granted);
        shared.changed = true;
    }

    /// Notes the time from which on nothing is due: the loop is to end, or the loop or probe is over.
    pub(crate) fn note_task_end(&self, task: usize) {
        self.lock_run().task_states[task].ended_ns.get_or_insert_with(|| Linux.now_ns());
    }

    /// Notes that the loop or probe of a task is over, with its results.
    pub(crate) fn note_task_result(
        &self,
        task: usize,
        run: TaskRun,
        stop: Option<StopReason>,
        warning: Option<Warning>,
    ) {
        self.note_task_end(task);
        let mut shared = self.lock_run();
        shared.info.tasks[task] = run;
        shared.info.stop = shared.info.stop.take().or(stop);
        shared.info.warnings.extend(warning);
    }

    /// Returns the figures of a task so far.
    pub(crate) fn figures(&self, name: &str) -> Result<Figures, Error> {
        let shared = self.lock_run();
        let state = &shared.task_states[shared.task_index(name)?];
        let counted = state.counters.as_ref().map(|counters| counters.snapshot()).unwrap_or_default();
        let timing =
            state.fitting.as_ref().map_or_else(|| counted.clone(), |fitting| fitting.grid_result(&counted));
        let TaskResult { missed, min_latency_ns, max_latency_ns, .. } = timing;
        let (executed, lost, has_timing) = (counted.executed, counted.dropped, timing.executed > 0);
        Ok(Figures { executed, lost, has_timing, missed, min_latency_ns, max_latency_ns })
    }

    /// Returns the requests refused so far.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        self.lock_run().info.refused.clone()
    }

    /// Ends the writing thread and every loop.
    pub(crate) fn end_all(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.closing.store(true, Ordering::Release);
    }

    /// The whole description of a run that is over.
    pub(crate) fn final_description(&self) -> RunInfo {
        let shared = self.lock_run();
        let mut info = shared.info.clone();
        for (task, state) in info.tasks.iter_mut().zip(&shared.task_states) {
            // Its loop or probe goes on, but is not recorded any more.
            let shown = || state.counters.as_ref().map(|counters| counters.snapshot());
            task.result = task.result.take().or_else(shown);
            info.warnings.extend(state.fitting.as_ref().map(|fitting| fitting.add_to_description(task)));
            let ended_ns = state.ended_ns.unwrap_or_else(|| Linux.now_ns());
            info.warnings.extend(task.check_final_silence(state.began_ns, ended_ns));
        }
        info.stop.get_or_insert(StopReason::Closed);
        info
    }

    /// Takes activations out of the rings into the file until the run is closed.
    pub(crate) fn write_until_closed(&self, mut writer: RunWriter) -> RunWriter {
        let mut drains: Vec<(usize, Drain)> = Vec::new();
        let mut rows = Vec::new();
        loop {
            // In this order: records made before the end are seen once the end is seen.
            let closing = self.closing.load(Ordering::Acquire);
            let new = |(task, state): (usize, &mut TaskState)| Some((task, state.drain.take()?));
            let described = {
                let mut shared = self.lock_run();
                drains.extend(shared.task_states.iter_mut().enumerate().filter_map(new));
                std::mem::take(&mut shared.changed).then(|| shared.info.clone())
            };
            // Needed by `recover` if the program is killed.
            described.iter().for_each(|info| writer.describe(info));
            for (task, drain) in &mut drains {
                rows.clear();
                drain.pop_into(&mut rows, usize::MAX);
                if let Some(fitting) = &mut self.lock_run().task_states[*task].fitting {
                    rows = fitting.place_on_grid(&rows, closing || drain.is_finished());
                }
                // The warning is given once, when recording ends; the figures go on.
                if let Err(error) = writer.append(*task, &rows) {
                    let warning = Warning::RecordingEnded { reason: error.to_string() };
                    self.lock_run().info.warnings.push(warning);
                }
            }
            drains.retain(|(_, drain)| !drain.is_finished());
            if closing {
                return writer;
            }
            thread::sleep(COLLECT_EVERY);
        }
    }
}
