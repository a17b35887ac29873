//! Causes of late starts, found while tasks are measured.

use std::time::{Duration, Instant};

use jitterlab_analysis::causes::{Explainer, Limits, Machine, NameTable, Platform};
use jitterlab_model::causes::CauseClass;
use jitterlab_model::{Activation, CpuSet, Error, RunCauses, SystemFacts, TaskSpec, Warning};
use jitterlab_rt::TaskThread;

use super::task_groups::TaskGroups;
use super::trace_events::{Detail, TraceEvents};

/// The parameter on a kernel's command line by which a guest knows that nothing happens outside of it in its time: the
/// nanoseconds of an instruction.
pub const VIRTUAL_TIME: &str = "jitterlab.virtual_time";

/// Shortest time between two writes of the causes to the file; later a tenth of the time so far, if that is
/// longer.
const KEEP_EVERY: Duration = Duration::from_secs(10);

/// Schedule of the writes of causes to the run file, with the time of the last one.
pub(super) struct CausesSchedule {
    begun: Instant,
    at: Duration,
}

impl Default for CausesSchedule {
    fn default() -> Self {
        CausesSchedule { begun: Instant::now(), at: Duration::ZERO }
    }
}

impl CausesSchedule {
    /// Returns the causes if they are requested and due; else `None`.
    pub(super) fn due_causes(
        &mut self,
        wanted: CauseRequest,
        explainer: &mut Explainer,
        events: &TraceEvents,
    ) -> Option<RunCauses> {
        match wanted {
            CauseRequest::Piece => Some(explainer.take_causes(events.tracer_state())),
            CauseRequest::NowAndThen => self.is_due().then(|| explainer.causes(events.tracer_state())),
            CauseRequest::Nothing | CauseRequest::Later => None,
        }
    }

    /// True if it is time to write the causes again, which then counts as done.
    fn is_due(&mut self) -> bool {
        let elapsed = self.begun.elapsed();
        let due = elapsed >= self.at + KEEP_EVERY.max(self.at / 10);
        if due {
            self.at = elapsed;
        }
        due
    }
}

/// Request for causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CauseRequest {
    /// No causes from now on: they are not looked for.
    Nothing,
    /// Causes later: they are looked for.
    Later,
    /// All since they are looked for, seldom.
    NowAndThen,
    /// Those since the last piece, at once.
    Piece,
}

/// Tasks whose causes are looked for, and the machine.
pub(super) struct TracedTasks {
    /// True for each task that runs under Linux's scheduler: events of Linux say nothing about the others.
    is_linux_task: Vec<bool>,
    threads: Vec<i32>,
    cpus: CpuSet,
    /// The other processors.
    others: CpuSet,
    /// Activations a second, of all tasks.
    rate_hz: f64,
    machine: Machine,
}

impl TracedTasks {
    /// Collects threads and rate of the tasks, their CPUs and the others, and properties of the machine.
    pub(super) fn new(tasks: &[TaskSpec], threads: &[TaskThread], facts: &SystemFacts) -> Self {
        let cpus: CpuSet = threads.iter().flat_map(|thread| thread.granted().cpus.iter().copied()).collect();
        TracedTasks {
            is_linux_task: tasks.iter().map(|task| !task.wake.traits().core).collect(),
            threads: threads.iter().map(TaskThread::thread_id).collect(),
            others: facts.online_cpus().without(&cpus),
            cpus,
            rate_hz: tasks.iter().map(|task| 1e9 / task.period_ns as f64).sum(),
            machine: machine_properties(facts),
        }
    }
}

/// The kernel's events of the tasks' processors, and their explanation.
pub(super) struct CauseFinder {
    /// True for each task that runs under Linux's scheduler: events of Linux say nothing about the others.
    is_linux_task: Vec<bool>,
    events: TraceEvents,
    explainer: Explainer,
    groups: TaskGroups,
    kept: CausesSchedule,
}

impl CauseFinder {
    /// Begins to record the kernel's events on the processors of `explained`.
    pub(super) fn begin_recording(explained: &TracedTasks) -> Result<Self, Error> {
        let TracedTasks { is_linux_task, threads, cpus, others, rate_hz, machine } = explained;
        let mut names = NameTable::default();
        let mut events = TraceEvents::prepare(&mut names)?;
        // If events of a processor are lost, its task's own events stay known.
        events.record_threads(Detail::Threads, cpus, threads)?;
        events.record_everything(cpus, others, *rate_hz)?;
        let mut explainer = Explainer::new(threads, names, *machine);
        let groups = TaskGroups::new(std::process::id() as i32, threads, &mut explainer);
        Ok(CauseFinder {
            is_linux_task: is_linux_task.clone(),
            events,
            explainer,
            groups,
            kept: CausesSchedule::default(),
        })
    }

    /// Reads and processes new events; returns the time in ns up to which all are known.
    pub(super) fn read_events(&mut self) -> i64 {
        let (events, complete_ns) = self.events.read_events(self.explainer.names());
        events.iter().for_each(|event| self.explainer.process_event(event));
        self.groups.update(&mut self.explainer);
        complete_ns
    }

    /// Queues the next activations of a task to be explained, unless it runs outside Linux's scheduler.
    pub(super) fn take_activations(&mut self, task: usize, rows: &[Activation]) {
        if self.is_linux_task.get(task) == Some(&true) {
            self.explainer.queue_activations(task, rows);
        }
    }

    /// Explains activations that end before `complete_ns`; returns the wanted causes if they are due.
    pub(super) fn explain_complete(&mut self, complete_ns: i64, wanted: CauseRequest) -> Option<RunCauses> {
        self.explainer.advance(complete_ns);
        self.kept.due_causes(wanted, &mut self.explainer, &self.events)
    }

    /// Explains the rest and returns all causes, the tasks having ended.
    pub(super) fn finish(mut self) -> RunCauses {
        self.read_events();
        let tracer = self.events.tracer_state();
        self.explainer.finish(tracer)
    }
}

/// Properties of the machine that the causes of late starts depend on.
pub(super) fn machine_properties(facts: &SystemFacts) -> Machine {
    let option = |name: &str| facts.kernel.options.get(name).map(|value| value == "y");
    let virtual_time = facts.kernel.parameter(VIRTUAL_TIME);
    let platform = match facts.virtualisation.virtual_machine {
        _ if virtual_time.is_some() => {
            let ns_per_instruction = virtual_time.and_then(|ns| ns.parse().ok()).unwrap_or(1);
            Platform::VirtualTime { ns_per_instruction }
        }
        Some(false) => Platform::Hardware,
        _ if option("PARAVIRT_TIME_ACCOUNTING") == Some(true) => Platform::StealTimeHypervisor,
        _ => Platform::Hypervisor,
    };
    let limits = match (facts.kernel.release.as_deref().and_then(has_fair_server), option("RT_GROUP_SCHED")) {
        (Some(false), _) => Limits::Bandwidth,
        (Some(true), Some(false)) => Limits::FairServer,
        _ => Limits::Either,
    };
    Machine { platform, handler_time_apart: option("IRQ_TIME_ACCOUNTING") != Some(false), limits }
}

/// True if this release has the fair server (Linux 6.12 or later); `None` if its number is unreadable.
fn has_fair_server(release: &str) -> Option<bool> {
    let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    Some((numbers.next()??, numbers.next()??) >= (6, 12))
}

/// Warnings about the cost of event recording and about lost events.
pub(super) fn recording_warnings(causes: &RunCauses) -> Vec<Warning> {
    let sums = causes.tasks.iter().flat_map(|task| &task.causes);
    let tracer = sums.filter(|sum| sum.cause.class == CauseClass::Tracer);
    let recorded = Warning::EventsRecorded {
        event_ns: causes.tracer.event_ns,
        noting_ns: tracer.filter_map(|sum| sum.delays.quantile_ns(0.5)).max(),
    };
    let lost = (causes.tracer.lost > 0).then_some(Warning::EventsLost { events: causes.tracer.lost });
    std::iter::once(recorded).chain(lost).collect()
}
