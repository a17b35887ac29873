//! A task on a thread of its own, from its description: what a bench starts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jitterlab_model::{Activation, Granted, Policy, ReadClock, Refusal, TaskResult, TaskSpec, WakeMethod};

use crate::builder::wake_or_nanosleep;
use crate::counters::TaskCounters;
use crate::fitted::{self, Fitted, ReadCounter};
use crate::periodic::PeriodicLoop;
use crate::polling;
use crate::record::{self, Drain, Recorder};
use crate::setup::{LONGEST_COMPUTING, ThreadSetup};
use crate::sys::signal::{self, ThreadId};
use crate::sys::{self, usage};
use crate::system::{Linux, System};
use crate::workload::{Activity, Workload};
use crate::xenomai::{self, Core};

/// What a [`TaskThread`] should do besides its [`TaskSpec`].
#[derive(Debug, Clone)]
pub struct Plan {
    /// Whether the memory of the process is locked. Default: yes.
    pub lock_memory: bool,
    /// How many activations the ring to the recorder holds; 0 for no recording. Default: 0.
    pub ring: usize,
    /// Ends after this many activations. Default: never.
    pub count: Option<u64>,
    /// Sets the stop flag at the first latency of this or more. Default: never.
    pub stop_above_ns: Option<i64>,
    /// See [`ThreadSetup::longest_computing`].
    pub longest_computing: Option<Duration>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            lock_memory: true,
            ring: 0,
            count: None,
            stop_above_ns: None,
            longest_computing: Some(LONGEST_COMPUTING),
        }
    }
}

/// What a task's thread left behind.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Its counters and what it used.
    pub result: TaskResult,
    /// Why it was stopped for the machine's safety, as a sentence, if it was.
    pub overload: Option<String>,
    /// The activation that reached the limit on the latency, if one did.
    pub above: Option<Activation>,
}

/// The beginning of a run, common to all its tasks, and its end.
#[derive(Debug, Clone, Copy)]
struct Go {
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
    go: Option<Sender<Go>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Outcome>,
}

struct Ready {
    granted: Granted,
    refused: Vec<Refusal>,
    id: ThreadId,
}

/// The stack of a task's thread. All of it becomes present when memory is locked, so it is no larger than needed.
const STACK_BYTES: usize = 512 * 1024;

impl TaskThread {
    /// Makes the thread, sets it up and reports what it got; it then waits for [`TaskThread::start`]. A missing
    /// policy counts as [`Policy::Other`]. Every task of a run shares `stop`, which ends them all.
    ///
    /// # Errors
    /// The system's, if no thread could be made; a description that contradicts itself; a task that would poll on the only processor there is (for
    /// several tasks together ask [`polling::refusal`] first).
    pub fn spawn(spec: &TaskSpec, plan: &Plan, stop: &Arc<AtomicBool>) -> io::Result<TaskThread> {
        Self::spawn_with(spec, plan, stop, None)
    }

    /// The same, with somebody's own activity in place of the description's work.
    ///
    /// # Errors
    /// As [`TaskThread::spawn`].
    pub fn spawn_with(
        spec: &TaskSpec,
        plan: &Plan,
        stop: &Arc<AtomicBool>,
        activity: Option<Box<dyn Activity>>,
    ) -> io::Result<TaskThread> {
        let bad_use = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        spec.validate().map_err(|error| bad_use(error.to_string()))?;
        if let Some(why) = polling::refusal(std::slice::from_ref(spec), &sys::sched::cpus()?) {
            return Err(bad_use(why));
        }
        signal::accept_interrupts()?;
        let counters = Arc::new(TaskCounters::default());
        let (recorder, drain) = match plan.ring {
            0 => (None, None),
            capacity => {
                let (recorder, drain) = record::ring(capacity);
                (Some(recorder), Some(drain))
            }
        };
        let (go, gone) = mpsc::channel();
        let (say_ready, ready) = mpsc::channel();
        let body = Body {
            spec: spec.clone(),
            plan: plan.clone(),
            counters: counters.clone(),
            recorder,
            stop: stop.clone(),
            activity,
        };
        let thread = thread::Builder::new()
            .name(spec.name.chars().take(15).filter(|c| *c != '\0').collect())
            .stack_size(STACK_BYTES)
            .spawn(move || body.run(&say_ready, &gone))?;
        let Ready { granted, refused, id } =
            ready.recv().map_err(|_| io::Error::other("the task's thread ended while it was set up"))??;
        Ok(TaskThread { granted, refused, counters, drain, id, go: Some(go), stop: stop.clone(), thread })
    }

    /// How the thread really runs, read back from the system.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// What was asked for and not given.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Its counters, to look at any time.
    pub fn counters(&self) -> &Arc<TaskCounters> {
        &self.counters
    }

    /// The reading end of its ring, once; `None` without recording and at further calls.
    pub fn take_drain(&mut self) -> Option<Drain> {
        self.drain.take()
    }

    /// Lets the task begin: its grid starts at `epoch_ns` on CLOCK_MONOTONIC (plus its offset) and ends before
    /// `until_ns`. Only the first call has an effect.
    pub fn start(&mut self, epoch_ns: i64, until_ns: Option<i64>) {
        if let Some(go) = self.go.take() {
            // A thread that is gone has nothing to start; finish() tells.
            let _ = go.send(Go { epoch_ns, until_ns: until_ns.unwrap_or(i64::MAX) });
        }
    }

    /// Whether the task has come to its end.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Cuts the task's wait short by a signal. Unless the stop flag is set it goes on waiting.
    pub fn interrupt(&self) {
        if !self.thread.is_finished() {
            signal::interrupt(self.id);
        }
    }

    /// Waits for the task's end by itself and takes what it left behind. A task that was never started does not
    /// run. Once the stop flag is set this cuts the task's wait short, however long its period is.
    ///
    /// # Errors
    /// A panic on the task's thread.
    pub fn finish(mut self) -> io::Result<Outcome> {
        self.go = None;
        while !self.thread.is_finished() {
            if self.stop.load(Ordering::Relaxed) {
                self.interrupt();
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().map_err(|_| io::Error::other("the task's thread panicked"))
    }
}

struct Body {
    spec: TaskSpec,
    plan: Plan,
    counters: Arc<TaskCounters>,
    recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    activity: Option<Box<dyn Activity>>,
}

impl Body {
    fn run(self, say_ready: &Sender<io::Result<Ready>>, go: &Receiver<Go>) -> Outcome {
        let Body { spec, plan, .. } = &self;
        let setup = ThreadSetup {
            cpu: spec.cpu,
            lock_memory: plan.lock_memory,
            longest_computing: plan.longest_computing,
            ..ThreadSetup::new(
                format!("task {}", spec.name),
                spec.policy.unwrap_or(Policy::Other),
                spec.period_ns,
            )
        };
        let (granted, mut refused) = setup.apply();
        sys::restartable::leave();
        if let Some(core) = core_of(spec.wake) {
            return match xenomai::attach(core, spec.policy.unwrap_or(Policy::Other), &spec.name) {
                Ok(system) => drive(system, self, granted, refused, say_ready, go),
                Err(error) => {
                    let _ = say_ready.send(Err(io::Error::other(error)));
                    Outcome::default()
                }
            };
        }
        match counter_of(spec.read) {
            None => drive(Linux, self, granted, refused, say_ready, go),
            Some(read) => {
                if let (ReadClock::Tsc, Some(why)) = (spec.read, sys::counter::unusable()) {
                    refused.push(Refusal {
                        what: format!("the {} for task {}", sys::counter::NAME, spec.name),
                        why: why.into(),
                        remedy: "use read=monotonic-raw; until then read=monotonic is used".into(),
                    });
                    return drive(Linux, self, granted, refused, say_ready, go);
                }
                drive(Fitted::new(read), self, granted, refused, say_ready, go)
            }
        }
    }
}

/// The core that a wake-up method runs on, if it is one of Xenomai's.
pub fn core_of(wake: WakeMethod) -> Option<Core> {
    match wake {
        WakeMethod::Cobalt => Some(Core::Cobalt),
        WakeMethod::Evl => Some(Core::Evl),
        _ => None,
    }
}

/// The counter to read instead of CLOCK_MONOTONIC.
fn counter_of(read: ReadClock) -> Option<ReadCounter> {
    match read {
        ReadClock::Monotonic => None,
        ReadClock::MonotonicRaw => Some(fitted::monotonic_raw),
        ReadClock::Tsc => Some(fitted::processor_counter),
    }
}

/// The life of the thread once it is set up.
fn drive<S: System>(
    system: S,
    body: Body,
    granted: Granted,
    mut refused: Vec<Refusal>,
    say_ready: &Sender<io::Result<Ready>>,
    go: &Receiver<Go>,
) -> Outcome {
    let Body { spec, plan, counters, recorder, stop, mut activity } = body;
    let wake = wake_or_nanosleep(&system, &spec, &mut refused);
    let guarded = matches!(granted.policy, Policy::Fifo(_) | Policy::RoundRobin(_));
    if spec.wake == WakeMethod::Spin {
        signal::allow_holding_cpu();
    }
    if say_ready.send(Ok(Ready { granted, refused, id: signal::this_thread() })).is_err() {
        return Outcome::default();
    }
    let Ok(Go { epoch_ns, until_ns }) = go.recv() else { return Outcome::default() };
    let mut builder = PeriodicLoop::of_task(system, &spec)
        .wake_by(wake)
        .start_at_ns(epoch_ns)
        .until_ns(until_ns)
        .count(plan.count.unwrap_or(u64::MAX))
        .stop_flag(stop)
        .counters(counters)
        .guarded(guarded);
    if let Some(limit_ns) = plan.stop_above_ns {
        builder = builder.stop_above(Duration::from_nanos(limit_ns.unsigned_abs()));
    }
    if let Some(recorder) = recorder {
        builder = builder.recorder(recorder);
    }
    // Refused in spawn() already, if at all.
    let Ok(mut task) = builder.build() else { return Outcome::default() };
    let mut workload = Workload::new(spec.work);
    let before = usage::of_this_thread();
    while let Some(running) = task.wait() {
        match &mut activity {
            None => workload.run(running.system(), running.start_ns()),
            Some(own) => {
                own.activate(running.due_ns(), running.start_ns(), &|| running.system().now_ns());
            }
        }
    }
    let used = usage::of_this_thread().since(before);
    let result = TaskResult {
        cpu_time_ns: Some(used.cpu_time_ns),
        minor_faults: Some(used.minor_faults),
        major_faults: Some(used.major_faults),
        voluntary_switches: Some(used.voluntary_switches),
        involuntary_switches: Some(used.involuntary_switches),
        ..task.result()
    };
    Outcome { result, overload: task.overload().map(|o| o.to_string()), above: task.above() }
}
