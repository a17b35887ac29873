//! A task on a thread of its own, from its description, as a bench starts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jitterlab_model::{Error, Granted, OwnWork, Policy, ReadClock, Refusal, TaskResult, TaskSpec};

use crate::builder::wake_or_nanosleep;
use crate::counters::TaskCounters;
use crate::error::{SystemRequest, no_thread_error, thread_panic_error};
use crate::fitted::{self, FittedClock, ReadCounter};
use crate::linux::Linux;
use crate::periodic::{LoopEnd, PeriodicLoop};
use crate::record::{self, Drain, Recorder};
use crate::setup::{LONGEST_COMPUTING, ThreadSetup};
use crate::spare_processor;
use crate::sys::signal::{self, ThreadId};
use crate::sys::{self, usage};
use crate::system::System;
use crate::workload::Workload;
use crate::xenomai;
use crate::xenomai::Core;

/// Options of a [`TaskThread`] besides its [`TaskSpec`].
#[derive(Debug, Clone)]
pub struct ThreadOptions {
    /// True if the memory of the process is to be locked. Default: yes.
    pub lock_memory: bool,
    /// Number of activations in the ring to the recorder; 0 for no recording. Default: 0.
    pub ring: usize,
    /// Ends after this many activations. Default: never.
    pub count: Option<u64>,
    /// Ends with the first activation of this latency or more, and sets the stop flag. Default: never.
    pub stop_above_ns: Option<i64>,
    /// True if a task that leaves no time on its processor to others is stopped (see [`crate::Builder::guarded`]).
    /// Default: no.
    pub guarded: bool,
}

impl Default for ThreadOptions {
    fn default() -> Self {
        ThreadOptions { lock_memory: true, ring: 0, count: None, stop_above_ns: None, guarded: false }
    }
}

/// Result of a task's thread.
#[derive(Debug)]
pub struct TaskEnd {
    /// Counters and resource usage of the task.
    pub result: TaskResult,
    /// Reason for the end.
    pub end: LoopEnd,
}

impl TaskEnd {
    /// Result of a task that never began.
    fn never_started() -> Self {
        TaskEnd { result: TaskResult::default(), end: LoopEnd::Stopped }
    }
}

/// The beginning of a run, common to all its tasks, and its end.
#[derive(Debug, Clone, Copy)]
struct StartSignal {
    epoch_ns: i64,
    until_ns: i64,
}

/// A task that runs, or waits to, on a thread of its own.
#[derive(Debug)]
pub struct TaskThread {
    granted: Granted,
    refused: Vec<Refusal>,
    counters: Arc<TaskCounters>,
    drain: Option<Drain>,
    id: ThreadId,
    go: Option<Sender<StartSignal>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<TaskEnd>,
}

struct SetupReport {
    granted: Granted,
    refused: Vec<Refusal>,
    id: ThreadId,
}

/// The stack of a task's thread. All of it becomes present when memory is locked, so it is no larger than needed.
const STACK_BYTES: usize = 512 * 1024;

impl TaskThread {
    /// Makes the thread, sets it up and reports the settings in force; it then waits for [`TaskThread::start`]. A
    /// missing policy counts as [`Policy::Other`]. Every task of a run shares `stop`, which ends them all.
    ///
    /// ```
    /// use jitterlab_rt::{Linux, System, TaskThread, ThreadOptions};
    ///
    /// let spec = "period=1ms,policy=other".parse()?;
    /// let options = ThreadOptions { lock_memory: false, count: Some(5), ..ThreadOptions::default() };
    /// let mut task = TaskThread::spawn(&spec, &options, &Default::default())?;
    /// task.start(Linux.now_ns(), None);
    /// assert_eq!(task.finish()?.result.executed, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No thread; a description that contradicts itself; a task that would poll on the only processor there is (for
    /// several tasks together ask [`spare_processor::check`] first); a core that does not take it.
    pub fn spawn(
        spec: &TaskSpec,
        options: &ThreadOptions,
        stop: &Arc<AtomicBool>,
    ) -> Result<TaskThread, Error> {
        Self::spawn_with(spec, options, stop, None)
    }

    /// Makes the thread with somebody's own work in place of the description's work.
    ///
    /// # Errors
    /// As [`TaskThread::spawn`].
    pub fn spawn_with(
        spec: &TaskSpec,
        options: &ThreadOptions,
        stop: &Arc<AtomicBool>,
        work: Option<Box<dyn OwnWork>>,
    ) -> Result<TaskThread, Error> {
        spec.validate()?;
        spare_processor::check(std::slice::from_ref(spec), &sys::sched::cpus().map_err(no_thread_error)?)?;
        signal::accept_interrupts().map_err(no_thread_error)?;
        let counters = Arc::new(TaskCounters::default());
        let (recorder, drain) = match options.ring {
            0 => (None, None),
            capacity => {
                let (recorder, drain) = record::ring(capacity);
                (Some(recorder), Some(drain))
            }
        };
        let (go, gone) = mpsc::channel();
        let (say_ready, ready) = mpsc::channel();
        let body = ThreadBody {
            spec: spec.clone(),
            options: options.clone(),
            counters: counters.clone(),
            recorder,
            stop: stop.clone(),
            work,
        };
        let thread = thread::Builder::new()
            .name(spec.name.chars().take(15).filter(|c| *c != '\0').collect())
            .stack_size(STACK_BYTES)
            .spawn(move || body.run(&say_ready, &gone))
            .map_err(no_thread_error)?;
        let SetupReport { granted, refused, id } = ready.recv().map_err(|_| thread_panic_error())??;
        Ok(TaskThread { granted, refused, counters, drain, id, go: Some(go), stop: stop.clone(), thread })
    }

    /// Returns the scheduling in force, read back from the system.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Returns the refused requests.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Number of the thread in the kernel (its TID).
    pub fn thread_id(&self) -> i32 {
        self.id.number()
    }

    /// Returns the counters of the task, to look at any time.
    pub fn counters(&self) -> &Arc<TaskCounters> {
        &self.counters
    }

    /// Hands out the reading end of its ring, once; `None` without recording and at further calls.
    pub fn take_drain(&mut self) -> Option<Drain> {
        self.drain.take()
    }

    /// Starts the task: its grid begins at `epoch_ns` on CLOCK_MONOTONIC (plus its offset) and ends before `until_ns`.
    /// Only the first call has an effect.
    pub fn start(&mut self, epoch_ns: i64, until_ns: Option<i64>) {
        if let Some(go) = self.go.take() {
            // A thread that is gone has nothing to start; finish() returns the reason.
            let _ = go.send(StartSignal { epoch_ns, until_ns: until_ns.unwrap_or(i64::MAX) });
        }
    }

    /// Returns true if the task has come to its end.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Cuts the task's wait short by a signal. Unless the stop flag is set it goes on waiting.
    pub fn interrupt(&self) {
        if !self.thread.is_finished() {
            signal::interrupt(self.id);
        }
    }

    /// Waits for the task's end by itself and takes its result. A task that was never started does not run. Once the
    /// stop flag is set this cuts the task's wait short, however long its period is.
    ///
    /// # Errors
    /// A panic on the task's thread.
    pub fn finish(mut self) -> Result<TaskEnd, Error> {
        self.go = None;
        while !self.thread.is_finished() {
            if self.stop.load(Ordering::Relaxed) {
                self.interrupt();
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().map_err(|_| thread_panic_error())
    }
}

struct ThreadBody {
    spec: TaskSpec,
    options: ThreadOptions,
    counters: Arc<TaskCounters>,
    recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    work: Option<Box<dyn OwnWork>>,
}

impl ThreadBody {
    fn run(self, say_ready: &Sender<Result<SetupReport, Error>>, go: &Receiver<StartSignal>) -> TaskEnd {
        let ThreadBody { spec, options, .. } = &self;
        let setup = ThreadSetup {
            cpu: spec.cpu,
            lock_memory: options.lock_memory,
            longest_computing: options.guarded.then_some(LONGEST_COMPUTING),
            ..ThreadSetup::new(
                format!("task {}", spec.name),
                spec.policy.unwrap_or(Policy::Other),
                spec.period_ns,
            )
        };
        let (granted, mut refused) = setup.apply();
        sys::restartable::unregister();
        if let Some(core) = Core::for_wake(spec.wake) {
            #[cfg(feature = "xenomai")]
            let error = match xenomai::attach(core, spec.policy.unwrap_or(Policy::Other), &spec.name) {
                Ok(system) => return run_task(system, self, granted, refused, say_ready, go),
                Err(error) => error,
            };
            #[cfg(not(feature = "xenomai"))]
            let error = xenomai::not_built_error(core);
            let _ = say_ready.send(Err(error));
            return TaskEnd::never_started();
        }
        match counter_for_clock(spec.read) {
            None => run_task(Linux, self, granted, refused, say_ready, go),
            Some(read) => {
                if let (ReadClock::Tsc, Some(why)) = (spec.read, sys::counter::unusable_reason()) {
                    refused.push(SystemRequest::Counter.refusal(&setup.name, why.to_string(), None));
                    return run_task(Linux, self, granted, refused, say_ready, go);
                }
                run_task(FittedClock::new(read), self, granted, refused, say_ready, go)
            }
        }
    }
}

/// Counter to read in place of CLOCK_MONOTONIC; `None` for that clock itself.
fn counter_for_clock(read: ReadClock) -> Option<ReadCounter> {
    match read {
        ReadClock::Monotonic => None,
        ReadClock::MonotonicRaw => Some(fitted::monotonic_raw),
        ReadClock::Tsc => Some(fitted::processor_counter),
    }
}

/// Runs the task on its thread from the start signal to its end, and returns its result.
fn run_task<S: System>(
    system: S,
    body: ThreadBody,
    granted: Granted,
    mut refused: Vec<Refusal>,
    say_ready: &Sender<Result<SetupReport, Error>>,
    go: &Receiver<StartSignal>,
) -> TaskEnd {
    let ThreadBody { spec, options, counters, recorder, stop, mut work } = body;
    let wake = match wake_or_nanosleep(&system, &spec, &mut refused) {
        Ok(wake) => wake,
        Err(error) => {
            let _ = say_ready.send(Err(error));
            return TaskEnd::never_started();
        }
    };
    if say_ready.send(Ok(SetupReport { granted, refused, id: signal::this_thread() })).is_err() {
        return TaskEnd::never_started();
    }
    let Ok(StartSignal { epoch_ns, until_ns }) = go.recv() else { return TaskEnd::never_started() };
    let mut builder = PeriodicLoop::from_spec(system, &spec)
        .with_wake_up(wake)
        .start_at_ns(epoch_ns)
        .until_ns(until_ns)
        .count(options.count.unwrap_or(u64::MAX))
        .stop_flag(stop)
        .counters(counters);
    if options.guarded {
        builder = builder.guarded();
    }
    if let Some(limit_ns) = options.stop_above_ns {
        builder = builder.stop_above(Duration::from_nanos(limit_ns.unsigned_abs()));
    }
    if let Some(recorder) = recorder {
        builder = builder.recorder(recorder);
    }
    // Refused in spawn() already, if at all.
    let Ok(mut task) = builder.build() else { return TaskEnd::never_started() };
    let mut workload = Workload::new(spec.work);
    let before = usage::of_this_thread();
    while let Some(running) = task.wait() {
        match &mut work {
            None => workload.run(running.system(), running.start_ns()),
            Some(own) => {
                own.activate(running.due_ns(), running.start_ns(), &|| running.system().now_ns());
            }
        }
    }
    // Before anything else: asking Linux for the usage moves a thread of a Xenomai core to Linux's side.
    let result = task.result();
    let used = usage::of_this_thread().since(before);
    let result = TaskResult {
        cpu_time_ns: Some(used.cpu_time_ns),
        minor_faults: Some(used.minor_faults),
        major_faults: Some(used.major_faults),
        voluntary_switches: Some(used.voluntary_switches),
        involuntary_switches: Some(used.involuntary_switches),
        ..result
    };
    TaskEnd { result, end: task.into_end() }
}
