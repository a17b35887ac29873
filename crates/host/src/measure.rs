//! Periodic tasks measured on this machine.
//!
//! The measured threads live in `jitterlab-rt`; here are the ordinary threads around them: one collects the
//! records, the caller's watches. They stay off the measured processors where there are others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::{
    Activation, CpuSet, Error, Keep, LoadSpec, OwnWork, Refusal, RunCauses, RunInfo, StopReason, TaskRun,
    TaskSpec, Warning,
};
use jitterlab_rt::{Drain, Linux, LoopEnd, System, TaskEnd, TaskThread, ThreadOptions};

use super::cause_finder::{self, CauseFinder, CauseRequest, TracedTasks};
use super::changes::cpus_isolated_by_others;
use super::dma_latency::{DmaLatency, HeldDmaLatency};
use super::error::dma_latency_refusal;
use super::facts::{self, Root};
use super::isolate::Isolation;
use super::load::Loads;
use super::prepare::{self, MovedThread};
use super::pulse::{self, EdgeTimes};

/// Request for a measurement.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tasks; at least one. Unspecified settings are chosen.
    pub tasks: Vec<TaskSpec>,
    /// End of the run, if it has one.
    pub duration_ns: Option<i64>,
    /// Activations after which each task ends, if there is such a number.
    pub count: Option<u64>,
    /// Latency from which on the run ends, if there is one.
    pub stop_above_ns: Option<i64>,
    /// Rows that the recorder will keep; only noted here.
    pub keep: Keep,
    /// Request to `/dev/cpu_dma_latency`.
    pub dma_latency: DmaLatency,
    /// Loads that run from the first activation to the last.
    pub loads: Vec<LoadSpec>,
    /// The CPUs to keep everything else off, if any.
    pub isolate: Option<CpuSet>,
    /// True to record the kernel's events, which show why activations are late. They are also recorded if a
    /// latency ends the run.
    pub why: bool,
    /// True for measurements of months, which cost less: the rings are read, and the caller's watch is called, twice a
    /// second.
    pub seldom: bool,
    /// The command line, to be noted in the run's description.
    pub command: Vec<String>,
    /// Ends the preparation when it is set: of many tasks that takes a while.
    pub interrupted: Arc<AtomicBool>,
}

impl Request {
    /// Request for tasks without limits: every activation kept, no load, until the user ends it.
    pub fn for_tasks(tasks: Vec<TaskSpec>) -> Self {
        Request {
            tasks,
            duration_ns: None,
            count: None,
            stop_above_ns: None,
            keep: Keep::All,
            dma_latency: DmaLatency::default(),
            loads: Vec::new(),
            isolate: None,
            why: false,
            seldom: false,
            command: std::env::args().collect(),
            interrupted: Arc::default(),
        }
    }
}

/// Receiver of the records, on an ordinary thread of its own.
pub trait Sink: Send {
    /// Takes the next activations of a task, in order.
    fn take_activations(&mut self, task: usize, rows: &[Activation]);

    /// Takes the causes of late activations until now, where they are found out; of [`CauseRequest::Piece`] since the last piece.
    fn take_causes(&mut self, _: &RunCauses) {}

    /// Returns the present request for causes; called several times a second. `looked_for` is true during a search.
    fn request_causes(&mut self, looked_for: bool) -> CauseRequest {
        if looked_for { CauseRequest::NowAndThen } else { CauseRequest::Nothing }
    }

    /// Notes that the requested causes cannot be looked for.
    fn note_refused_causes(&mut self, _: &Error) {}
}

/// The activation that reached the limit, with those before it.
#[derive(Debug, Clone)]
pub struct LimitExceeded {
    /// Index of its task.
    pub task: usize,
    pub activation: Activation,
    /// The last activations of its task, it at the end; fewer where records were lost.
    pub around: Vec<Activation>,
}

#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// The complete description of the run.
    pub info: RunInfo,
    /// Activation that ended the run, if its latency reached the limit.
    pub above: Option<LimitExceeded>,
    /// Causes of late activations, where they were found out.
    pub causes: Option<RunCauses>,
}

/// Activations shown before one that reached the limit.
const NEIGHBOURS: usize = 8;
/// The ring of a task holds its records of this time, so that a collector held up by load loses nothing.
const RING_NS: i64 = 4_000_000_000;
/// Seldom: even on another processor, each look into the rings was seen to delay an activation or two.
const COLLECT_EVERY: Duration = Duration::from_millis(200);
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// Replaces both intervals in measurements of months. Trace events come too fast for it.
const SELDOM: Duration = Duration::from_millis(500);
/// From the last preparation to the first due time, which all tasks share.
const LEAD_NS: i64 = 2_000_000;

/// Tasks with threads that are set up and wait for the beginning.
pub struct Measurement {
    info: RunInfo,
    root: Root,
    threads: Vec<TaskThread>,
    explained: Arc<TracedTasks>,
    why: Option<CauseFinder>,
    seldom: bool,
    stop: Arc<AtomicBool>,
    loads: Loads,
    isolation: Option<Isolation>,
    /// Durations of the pulse edges of each task.
    pulses: Vec<Option<Arc<EdgeTimes>>>,
    _moved: MovedThread,
    _latency: Option<HeldDmaLatency>,
}

impl Measurement {
    /// Chooses open settings, isolates CPUs, starts the loads' workers, and sets up the tasks' threads.
    ///
    /// # Errors
    /// Tasks that cannot be run as described, and threads that cannot be made. Refusals of the system that do
    /// not prevent the run are noted in [`RunInfo::refused`] instead.
    pub fn prepare(request: Request) -> Result<Self, Error> {
        Self::prepare_with(request, None)
    }

    /// Prepares as [`prepare`](Self::prepare) does, with the caller's own work for the first task.
    pub fn prepare_with(request: Request, mut work: Option<Box<dyn OwnWork>>) -> Result<Self, Error> {
        prepare::prepare_cores(&request.tasks)?;
        let Request { count, stop_above_ns, .. } = request;
        let root = Root::system();
        let mut refused = Vec::new();
        let latency = match request.dma_latency.hold() {
            Ok(held) => Some(held),
            Err(error) => {
                refused.push(dma_latency_refusal(request.dma_latency, &error));
                None
            }
        };
        let mut facts = facts::read(&root);
        let prepared = prepare::prepare_tasks(
            &facts,
            request.tasks,
            request.isolate.as_ref(),
            &cpus_isolated_by_others(&root),
        )?;
        let isolation = match &request.isolate {
            Some(cpus) => Some(Isolation::begin(&root, cpus, &facts.usable_cpus())?),
            None => None,
        };
        if isolation.is_some() {
            facts = facts::read(&root);
        }
        let moved = MovedThread::to(&prepared.housekeeping);
        let length = request.duration_ns.and_then(|ns| u64::try_from(ns).ok()).map(Duration::from_nanos);
        let loads =
            Loads::prepare(&request.loads, &facts, &prepared.measured, &prepared.housekeeping, length)?;

        let stop = Arc::new(AtomicBool::new(false));
        let mut threads: Vec<TaskThread> = Vec::new();
        let mut pulses = Vec::new();
        for spec in &prepared.tasks {
            if request.interrupted.load(Ordering::Relaxed) {
                return Err(Error::not_measured("interrupted before anything was measured"));
            }
            let ring = (RING_NS / spec.period_ns).clamp(4_096, 1 << 20) as usize;
            let options =
                ThreadOptions { ring, count, stop_above_ns, guarded: true, ..ThreadOptions::default() };
            let (work, times) = pulse::with_pulses(spec, work.take())
                .map_err(|error| error.within(format!("task {}", spec.name)))?;
            pulses.push(times);
            let thread = TaskThread::spawn_with(spec, &options, &stop, work)
                .map_err(|error| error.within(format!("task {}", spec.name)))?;
            for refusal in thread.refused() {
                if !refused.contains(refusal) {
                    refused.push(refusal.clone());
                }
            }
            threads.push(thread);
        }
        let explained = Arc::new(TracedTasks::new(&prepared.tasks, &threads, &facts));
        let why = match (request.why || request.stop_above_ns.is_some())
            .then(|| CauseFinder::begin_recording(&explained))
        {
            Some(Ok(why)) => Some(why),
            Some(Err(error)) => {
                refused.push(Refusal::from_error("the kernel's trace events", &error));
                None
            }
            None => None,
        };
        let mut warnings = prepared.warnings;
        warnings.extend(loads.placement_warnings(&prepared.measured));
        warnings.extend(isolation.iter().map(|isolation| Warning::Isolated(isolation.report().clone())));
        let tasks = prepared
            .tasks
            .into_iter()
            .zip(&threads)
            .map(|(spec, thread)| TaskRun { granted: Some(thread.granted().clone()), ..TaskRun::new(spec) });
        let info = RunInfo {
            duration_ns: request.duration_ns,
            count,
            stop_above_ns,
            keep: request.keep,
            load: loads.requested_load(),
            placement: Some(prepared.placement),
            tasks: tasks.collect(),
            refused,
            warnings,
            facts_before: Some(facts),
            ..prepare::new_run_info(request.command)
        };
        Ok(Measurement {
            info,
            root,
            threads,
            explained,
            why,
            seldom: request.seldom,
            stop,
            loads,
            isolation,
            pulses,
            _moved: moved,
            _latency: latency,
        })
    }

    /// Adds names and values that the user gave the run to its description.
    pub fn add_labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        self.info.labels.extend(labels);
    }

    /// True if the kernel's events are recorded.
    pub fn records_events(&self) -> bool {
        self.why.is_some()
    }

    /// The run's description as far as it is known before the first activation.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Measures until an end is reached or `interrupted` is set. `sink` gets every record; `watch` is called
    /// several times a second, with the time since the common beginning of the tasks' grids.
    pub fn run(
        mut self,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(i64),
        interrupted: &AtomicBool,
    ) -> Result<FinishedRun, Error> {
        let drains: Vec<Drain> = self.threads.iter_mut().filter_map(TaskThread::take_drain).collect();
        let bound = self.info.tasks.iter().map(prepare::bound_cpu).collect();
        let mut collector = Collector::new(drains, bound, Arc::clone(&self.explained), self.why.take(), sink);
        let watch_every = if self.seldom { SELDOM } else { WATCH_EVERY };
        collector.every = if self.seldom { SELDOM } else { COLLECT_EVERY };
        self.loads.start();
        let mut was_interrupted = false;
        let ended = thread::scope(|scope| {
            let collecting =
                thread::Builder::new().spawn_scoped(scope, || collector.collect_until_finished());
            let collecting = match collecting {
                Ok(collecting) => collecting,
                Err(error) => {
                    return Err(Error::refused("cannot start the thread that collects what is measured")
                        .because(error)
                        .remedy("see `ulimit -u`"));
                }
            };
            let epoch_ns = Linux.now_ns() + LEAD_NS;
            let until_ns = self.info.duration_ns.map(|d| epoch_ns.saturating_add(d));
            for thread in &mut self.threads {
                thread.start(epoch_ns, until_ns);
            }
            while !self.threads.iter().all(TaskThread::is_finished) {
                if interrupted.load(Ordering::Relaxed) {
                    was_interrupted = true;
                    self.stop.store(true, Ordering::Relaxed);
                }
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                self.info.warnings.extend(self.loads.take_failures());
                watch((Linux.now_ns() - epoch_ns).max(0));
                thread::sleep(watch_every);
            }
            // All at once: one after the other, many tasks of a long period would take long.
            if self.stop.load(Ordering::Relaxed) {
                self.threads.iter().for_each(TaskThread::interrupt);
            }
            let names = self.info.tasks.iter().map(|task| task.spec.name.clone());
            let ended = self.threads.drain(..).zip(names).map(|(thread, task)| {
                thread.finish().map_err(|error| error.within(format!("task {}", task)))
            });
            let ended = ended.collect::<Result<Vec<_>, _>>();
            collecting.thread().unpark();
            // The machine is not kept while causes are still being found.
            self.end_loads_and_isolation();
            ended
        });
        let ended = ended?;
        let causes = collector.causes.take();
        self.info.warnings.extend(causes.iter().flat_map(cause_finder::recording_warnings));
        let above = limit_exceeded(&ended, &mut collector.last);
        self.info.stop = Some(self.stop_reason(&ended, above.as_ref(), was_interrupted));
        for (task, ended) in self.info.tasks.iter_mut().zip(ended) {
            task.result = Some(ended.result);
        }
        self.info.warnings.extend(self.info.tasks.iter().filter_map(prepare::core_warning));
        let pulsed = |(task, times): (&TaskRun, &Option<Arc<EdgeTimes>>)| {
            times.as_ref()?.warning(&task.spec.name, task.spec.pulse.clone()?)
        };
        self.info.warnings.extend(self.info.tasks.iter().zip(&self.pulses).filter_map(pulsed));
        let taken = cpus_isolated_by_others(&self.root);
        let left_cpu = self.info.tasks.iter().zip(&collector.elsewhere).filter_map(|(task, elsewhere)| {
            prepare::left_cpu_warning(task, *elsewhere, self.info.facts_after.as_ref()?, &taken)
        });
        self.info.warnings.extend(left_cpu.collect::<Vec<_>>());
        Ok(FinishedRun { info: self.info, above, causes })
    }

    /// Ends loads and isolation, and notes how the machine was until then.
    fn end_loads_and_isolation(&mut self) {
        self.info.warnings.extend(self.loads.take_failures());
        self.info.loads = self.loads.stop();
        self.info.facts_after = Some(facts::read(&self.root));
        let problems = self.isolation.take().map(Isolation::end).unwrap_or_default();
        self.info.warnings.extend(problems.into_iter().map(|what| Warning::NotRestored { what }));
    }

    fn stop_reason(&self, ended: &[TaskEnd], above: Option<&LimitExceeded>, interrupted: bool) -> StopReason {
        let of_a_task = ended.iter().enumerate().find_map(|(task, ended)| match &ended.end {
            LoopEnd::Overload(overload) => Some(StopReason::Overloaded { task, overload: *overload }),
            LoopEnd::Wait(error) => Some(StopReason::WaitFailed { task, why: error.to_string() }),
            _ => None,
        });
        match (of_a_task, above) {
            (Some(reason), _) => reason,
            (None, Some(LimitExceeded { task, activation, .. })) => StopReason::Above {
                task: *task,
                index: activation.index,
                latency_ns: activation.latency_ns(),
            },
            _ if interrupted => StopReason::Interrupted,
            _ if self.info.count.is_some_and(|n| ended.iter().all(|e| e.result.executed >= n)) => {
                StopReason::Count
            }
            _ => StopReason::Duration,
        }
    }
}

/// The first activation that reached the limit, with those before it of its task; `None` if none did.
fn limit_exceeded(ended: &[TaskEnd], last: &mut [VecDeque<Activation>]) -> Option<LimitExceeded> {
    let reached = ended.iter().enumerate().filter_map(|(task, ended)| match ended.end {
        LoopEnd::Above(activation) => Some((task, activation)),
        _ => None,
    });
    let (task, activation) = reached.min_by_key(|(_, activation)| activation.start_ns)?;
    let around = last.get_mut(task).map(std::mem::take).unwrap_or_default();
    Some(LimitExceeded { task, activation, around: around.into() })
}

/// Takes records out of the rings and hands them on.
struct Collector<'a> {
    drains: Vec<Drain>,
    sink: &'a mut dyn Sink,
    /// The last activations of each task.
    last: Vec<VecDeque<Activation>>,
    /// The one processor of each task that is bound to one, and the number of its activations on others.
    bound: Vec<Option<u16>>,
    elsewhere: Vec<u64>,
    rows: Vec<Activation>,
    /// Tasks whose causes are looked for.
    explained: Arc<TracedTasks>,
    why: Option<CauseFinder>,
    /// Time between two looks into the rings while no causes are looked for.
    every: Duration,
    /// True if looking for causes was refused.
    is_refused: bool,
    /// Causes of late activations, once all are explained.
    causes: Option<RunCauses>,
}

impl<'a> Collector<'a> {
    const BATCH: usize = 8_192;

    fn new(
        drains: Vec<Drain>,
        bound: Vec<Option<u16>>,
        explained: Arc<TracedTasks>,
        why: Option<CauseFinder>,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let last = drains.iter().map(|_| VecDeque::with_capacity(NEIGHBOURS + 1)).collect();
        let elsewhere = vec![0; drains.len()];
        let rows = Vec::with_capacity(Self::BATCH);
        let (every, is_refused, causes) = (COLLECT_EVERY, false, None);
        Collector { drains, sink, last, bound, elsewhere, rows, explained, why, every, is_refused, causes }
    }

    fn collect_until_finished(&mut self) {
        loop {
            let before = Instant::now();
            let finished = self.drains.iter().all(Drain::is_finished);
            let complete_ns = self.why.as_mut().map(CauseFinder::read_events);
            for task in 0..self.drains.len() {
                while self.collect_batch(task) == Self::BATCH {}
            }
            if finished {
                return self.explain_rest();
            }
            self.explain_as_requested(complete_ns);
            let every = if self.why.is_some() { COLLECT_EVERY } else { self.every };
            thread::park_timeout(every.saturating_sub(before.elapsed()));
        }
    }

    /// Explains activations that end before `complete_ns`; begins or ends the search for causes as the sink requests.
    fn explain_as_requested(&mut self, complete_ns: Option<i64>) {
        let wanted = self.sink.request_causes(self.why.is_some());
        let (looked_for, is_wanted) = (self.why.is_some(), wanted != CauseRequest::Nothing);
        if looked_for && !is_wanted {
            return self
                .why
                .take()
                .map(CauseFinder::finish)
                .iter()
                .for_each(|causes| self.sink.take_causes(causes));
        }
        if !looked_for && is_wanted && !self.is_refused {
            match CauseFinder::begin_recording(&self.explained) {
                Ok(why) => self.why = Some(why),
                Err(error) => {
                    self.is_refused = true;
                    self.sink.note_refused_causes(&error);
                }
            }
        }
        let found = self.why.as_mut().zip(complete_ns);
        if let Some(causes) = found.and_then(|(why, ns)| why.explain_complete(ns, wanted)) {
            self.sink.take_causes(&causes);
        }
    }

    fn explain_rest(&mut self) {
        self.causes = self.why.take().map(CauseFinder::finish);
        self.causes.iter().for_each(|causes| self.sink.take_causes(causes));
    }

    /// Hands on at most one batch of a task, and returns the number of its records.
    fn collect_batch(&mut self, task: usize) -> usize {
        self.rows.clear();
        let taken = self.drains[task].pop_into(&mut self.rows, Self::BATCH);
        if taken > 0 {
            self.sink.take_activations(task, &self.rows);
            if let Some(why) = &mut self.why {
                why.take_activations(task, &self.rows);
            }
            if let Some(cpu) = self.bound[task] {
                self.elsewhere[task] += self.rows.iter().filter(|row| row.cpu != cpu).count() as u64;
            }
            let last = &mut self.last[task];
            let news = &self.rows[taken.saturating_sub(NEIGHBOURS + 1)..];
            last.drain(..(last.len() + news.len()).saturating_sub(NEIGHBOURS + 1));
            last.extend(news);
        }
        taken
    }
}
