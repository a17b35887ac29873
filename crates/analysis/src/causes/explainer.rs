//! Explanation of each activation once all events of its time are known, from events and activations as they arrive.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jitterlab_model::causes::{
    CauseClass, ExecutionContext, ExecutionSpan, QuotaCount, RunCauses, SparseHistogram, Tracer,
};
use jitterlab_model::{Activation, Flags};

use super::cause_sums::{FragmentWithCause, SplitActivation, TaskCauseSums};
use super::event::{Event, EventKind, Functions, HandlerKind, NameId, NameTable};
use super::fragment_cause::{CauseId, FAULT_NS, FragmentContext};
use super::fragments::split_into_fragments;
use super::machine::Machine;
use super::paths::wake_path;
use super::periods::LimitPeriods;
use super::processor::{ObservedThread, Occupant, Processor};
use super::thread::Thread;

/// Longest time between two accountings of processor time, after which stolen time is known, in ns.
const STOLEN_KNOWN_AFTER_NS: i64 = 20_000_000;
/// Least and greatest time in ns that is kept around a late activation; between these it equals the latency.
const SHOWN_AROUND_NS: (i64, i64) = (100_000, 2_000_000);
/// Most spans kept around one activation.
const MAX_SPANS: usize = 400;
/// Most changes remembered of a processor: some seconds.
const MAX_CHANGES: usize = 4 << 20;

/// Explains the activations of some threads.
#[derive(Debug)]
pub struct Explainer {
    names: NameTable,
    machine: Machine,
    functions: Functions,
    processors: BTreeMap<u16, Processor>,
    known: HashMap<i32, ObservedThread>,
    periods: LimitPeriods,
    tasks: Vec<TaskExplainer>,
}

/// Events of one task's thread, its activations that are not explained yet, and the causes so far.
#[derive(Debug)]
struct TaskExplainer {
    thread: Thread,
    queue: VecDeque<Activation>,
    /// The activation before the next one.
    previous: Option<Activation>,
    /// Lengths of its work.
    work: SparseHistogram,
    cause_sums: TaskCauseSums,
}

impl Explainer {
    /// Creates an explainer for threads, given by their thread IDs in the order of their tasks; events use `names`.
    pub fn new(threads: &[i32], mut names: NameTable, machine: Machine) -> Self {
        let functions = Functions {
            replenish: names.intern("dl_task_timer"),
            limit: names.intern("sched_rt_period_timer"),
            quota: names.intern("sched_cfs_period_timer"),
            sleep: names.intern("hrtimer_wakeup"),
            ticks: ["tick_sched_timer", "tick_nohz_handler"].map(|name| names.intern(name)),
        };
        let task = |pid: &i32| TaskExplainer {
            thread: Thread::new(*pid),
            queue: VecDeque::new(),
            previous: None,
            work: SparseHistogram::default(),
            cause_sums: TaskCauseSums::default(),
        };
        Explainer {
            names,
            machine,
            functions,
            processors: BTreeMap::new(),
            known: HashMap::new(),
            periods: LimitPeriods::default(),
            tasks: threads.iter().map(task).collect(),
        }
    }

    /// Returns the table of the names that events use.
    pub fn names(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Sets the threads of a task's process, and the path of its control group.
    pub fn set_process(&mut self, task: usize, threads: Vec<i32>, group: Option<String>) {
        if let Some(task) = self.tasks.get_mut(task) {
            (task.thread.siblings, task.thread.group) = (threads, group);
        }
    }

    /// Adds the kernel's count of a CPU quota of a task between two times.
    pub fn add_quota(&mut self, task: usize, (from_ns, to_ns): (i64, i64), counted: QuotaCount) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.thread.quota.is_set = true;
            if counted.throttled > 0 {
                task.thread.quota.used_up.push_back((from_ns, to_ns));
            }
            task.cause_sums.add_quota(counted);
        }
    }

    /// Processes the next event. Events of all processors together are in order of time.
    pub fn process_event(&mut self, event: &Event) {
        let Explainer { names, machine, functions, processors, known, periods, tasks } = self;
        let (machine, functions) = (*machine, *functions);
        if let EventKind::CallsLost { from_ns } = event.what {
            return tasks.iter_mut().for_each(|task| task.thread.note_lost_events(from_ns, event.t_ns));
        }
        if let EventKind::Waking { cpu, .. } = &event.what {
            let target = processors.entry(*cpu).or_insert_with(|| Processor::new(machine, functions));
            target.note_wake_up(event.t_ns);
        }
        match &event.what {
            EventKind::Switch { from, from_name, from_priority, to, name, priority, .. } => {
                for (pid, name, priority) in [(from, from_name, from_priority), (to, name, priority)] {
                    known.insert(
                        *pid,
                        ObservedThread { pid: *pid, name: Some(*name), priority: Some(*priority) },
                    );
                }
            }
            EventKind::Migrate { pid, .. } => {
                processors.values_mut().for_each(|processor| processor.forget_hold_off(*pid));
            }
            EventKind::ThreadRenamed { name } => {
                let seen = ObservedThread { pid: event.pid, name: None, priority: None };
                known.entry(event.pid).or_insert(seen).name = Some(*name);
                return;
            }
            EventKind::TimerExpire { function, .. } => periods.note_expiry(event.t_ns, *function, functions),
            EventKind::Freeze { group, on } => {
                let by = known.get(&event.pid).and_then(|seen| seen.name);
                let path = names.name(*group);
                tasks.iter_mut().for_each(|task| task.thread.note_freeze(event.t_ns, path, on.then_some(by)));
            }
            _ => {}
        }
        let processor = processors.entry(event.cpu).or_insert_with(|| Processor::new(machine, functions));
        // Of other processors, no more is recorded than who stops or freezes threads.
        if !matches!(event.what, EventKind::Signal { .. } | EventKind::Freeze { .. }) {
            processor.process_event(event, known);
        }
        let by = known.get(&event.pid).and_then(|seen| seen.name);
        for task in tasks {
            task.thread.process_event(event, processor, functions, by);
        }
    }

    /// Queues the next activations of a task, in order.
    pub fn queue_activations(&mut self, task: usize, rows: &[Activation]) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.queue.extend(rows);
        }
    }

    /// Explains the activations that end before all events are known (`complete_ns`), and forgets older events.
    pub fn advance(&mut self, complete_ns: i64) {
        self.explain_until(complete_ns.saturating_sub(STOLEN_KNOWN_AFTER_NS));
        let needed = self.tasks.iter().filter_map(|task| {
            let next = task.queue.front().map(|a| a.due_ns);
            // The next one may be due since before the end of this.
            next.or(task.previous.map(|a| a.due_ns.min(a.end_ns)))
                .map(|ns| ns.saturating_sub(SHOWN_AROUND_NS.1))
        });
        let needed = needed.min().unwrap_or(complete_ns.saturating_sub(STOLEN_KNOWN_AFTER_NS));
        for processor in self.processors.values_mut() {
            // A task without further activations would keep everything.
            processor.forget_before(needed.max(processor.occupants.nth_last_change(MAX_CHANGES)));
        }
        for task in &mut self.tasks {
            task.thread.forget_before(needed);
        }
        self.periods.forget_before(needed);
    }

    /// Explains the rest and returns all causes. There are no further events.
    pub fn finish(mut self, tracer: Tracer) -> RunCauses {
        self.explain_until(i64::MAX);
        self.causes(tracer)
    }

    /// Returns the causes known so far.
    pub fn causes(&mut self, tracer: Tracer) -> RunCauses {
        let Explainer { tasks, names, .. } = self;
        RunCauses { tasks: tasks.iter_mut().map(|task| task.cause_sums.causes(names)).collect(), tracer }
    }

    /// Returns the causes since the last call. The sums restart from zero; the typical steps stay.
    pub fn take_causes(&mut self, tracer: Tracer) -> RunCauses {
        let Explainer { tasks, names, .. } = self;
        RunCauses { tasks: tasks.iter_mut().map(|task| task.cause_sums.take_causes(names)).collect(), tracer }
    }

    fn explain_until(&mut self, end_ns: i64) {
        let Explainer { tasks, processors, names, machine, periods, .. } = self;
        for task in tasks {
            while task.queue.front().is_some_and(|a| a.end_ns <= end_ns) {
                let Some(activation) = task.queue.pop_front() else { break };
                let split = task.split_latency(&activation, processors, names, *machine, periods);
                task.cause_sums.add(split, names);
                task.work.record(activation.execution_ns());
                task.previous = Some(activation);
            }
        }
    }
}

impl TaskExplainer {
    /// Splits an activation's latency into fragments with their causes, and finds the interruptions of its work.
    fn split_latency(
        &self,
        a: &Activation,
        processors: &BTreeMap<u16, Processor>,
        names: &NameTable,
        machine: Machine,
        periods: &LimitPeriods,
    ) -> SplitActivation {
        let free_ns = self.previous.map_or(i64::MIN, |p| p.end_ns);
        let wake = self.thread.last_wake(free_ns, a.start_ns);
        let thread = &self.thread;
        let due_timer = wake
            .map_or_else(|| thread.last_timer_before(a.start_ns), |wake| thread.timer_behind(wake))
            .map(|armed| armed.on_clock_of(a.due_ns));
        let context = FragmentContext {
            thread,
            processors,
            names,
            wake,
            due_timer,
            polled: a.flags.contains(Flags::POLLED),
            machine,
            periods,
            previous_cpu: self.previous.map(|p| p.cpu),
            worked_until_ns: self.previous.map(|p| p.end_ns),
            work: &self.work,
        };
        let mut cuts: Vec<i64> = thread
            .armed
            .iter()
            .copied()
            .chain(due_timer)
            .flat_map(|armed| [armed.t_ns, armed.soft_ns, armed.hard_ns])
            .collect();
        cuts.extend(self.previous.map(|p| p.end_ns));
        if let Some(wake) = wake {
            cuts.push(wake.t_ns);
            let interrupt = processors.get(&wake.cpu).and_then(|on| on.timer_interrupt_at(wake.t_ns));
            cuts.extend(
                interrupt.into_iter().flat_map(|interrupt| [interrupt.event_ns, interrupt.let_in_ns]),
            );
        }
        let faults = self.thread.faults.iter().filter(|t| (a.due_ns - FAULT_NS..a.start_ns).contains(*t));
        cuts.extend(faults.flat_map(|t| [*t, t + FAULT_NS]));
        cuts.extend(processors.values().flat_map(|on| on.silences.edges(a.due_ns, a.start_ns)));
        let held = processors.values().flat_map(|on| &on.hold_offs);
        cuts.extend(held.flat_map(|held| [held.from_ns, held.to_ns]));
        let late = split_into_fragments(&self.thread, processors, (a.due_ns, a.start_ns), a.cpu, &cuts);
        let path = wake_path(&late, processors, self.previous.map(|p| p.end_ns));
        let with_cause = |(from_ns, to_ns, cause)| {
            let (at_ns, ns) = (from_ns - a.due_ns, to_ns - from_ns);
            FragmentWithCause { at_ns, ns, cause }
        };
        let fragments =
            late.iter().flat_map(|fragment| context.split_by_cause(fragment)).map(with_cause).collect();
        let mut interruptions: Vec<(CauseId, i64)> = Vec::new();
        let mut interrupt =
            |cause: CauseId, ns: i64| match interruptions.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += ns,
                None => interruptions.push((cause, ns)),
            };
        for fragment in split_into_fragments(&self.thread, processors, (a.start_ns, a.end_ns), a.cpu, &[]) {
            context.interruptions(&fragment).into_iter().for_each(|(cause, ns)| interrupt(cause, ns));
        }
        // No event shows the end of a page fault: it lasts at most until the next fault or the end of the activation.
        let faults = self.thread.faults.iter().filter(|t| (a.start_ns..a.end_ns).contains(*t));
        let faults: Vec<i64> = faults.copied().collect();
        for (t, next) in faults.iter().zip(faults.iter().skip(1).chain([&a.end_ns])) {
            interrupt(CauseClass::PageFault.into(), (next - t).min(FAULT_NS));
        }
        let on = processors.get(&wake.map_or(a.cpu, |wake| wake.cpu));
        let on = on.filter(|_| self.cause_sums.wants_spans(a.latency_ns()));
        let spans = on.map_or_else(Vec::new, |on| self.surrounding_spans(a, on));
        SplitActivation { activation: *a, fragments, path, interruptions, spans }
    }

    /// Returns the execution on a processor around an activation.
    fn surrounding_spans(&self, a: &Activation, processor: &Processor) -> Vec<(ExecutionSpan, NameId)> {
        let around_ns = a.latency_ns().clamp(SHOWN_AROUND_NS.0, SHOWN_AROUND_NS.1);
        let (from, to) = (a.due_ns - around_ns, a.start_ns + around_ns);
        let spans = processor.occupants.segments(from, to).filter_map(|(from, to, occupant)| {
            let (context, name) = match occupant {
                Occupant::Thread(seen) if seen.pid == self.thread.pid => (ExecutionContext::Task, seen.name?),
                Occupant::Thread(ObservedThread { pid: 0, .. })
                | Occupant::Unknown
                | Occupant::Unrecorded => return None,
                Occupant::Thread(seen) => (ExecutionContext::Thread, seen.name?),
                Occupant::Handler(handler) if handler.kind == HandlerKind::Softirq => {
                    (ExecutionContext::Softirq, handler.name)
                }
                Occupant::Handler(handler) => (ExecutionContext::Interrupt, handler.name),
                Occupant::Callback(function) => (ExecutionContext::Interrupt, function),
                Occupant::Tracer => return None,
            };
            Some((ExecutionSpan { context, name: 0, at_ns: from - a.due_ns, ns: to - from }, name))
        });
        let mut spans: Vec<(ExecutionSpan, NameId)> = spans.collect();
        if spans.len() > MAX_SPANS {
            spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.ns));
            spans.truncate(MAX_SPANS);
            spans.sort_by_key(|(span, _)| span.at_ns);
        }
        spans
    }
}
