//! Takes events and activations as they arrive, and explains each activation once all events of its time are known.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jitterlab_model::causes::{
    CauseClass, ExecutionContext, ExecutionSpan, QuotaCount, RunCauses, SparseHistogram, Tracer,
};
use jitterlab_model::{Activation, Flags};

use super::cause_sums::{FragmentWithCause, SplitActivation, TaskCauseSums};
use super::event::{Event, EventKind, Functions, HandlerKind, NameId, NameTable};
use super::fragment_cause::{CauseId, FAULT_NS, FragmentContext};
use super::fragments::split;
use super::machine::Machine;
use super::paths::path;
use super::periods::Periods;
use super::processor::{ObservedThread, Occupant, Processor};
use super::thread::Thread;

/// Longest time between two accountings of processor time: stolen time is known this much later.
const SETTLE_NS: i64 = 20_000_000;
/// Least and greatest time shown around a late activation, in ns; between these it equals the latency.
const AROUND_NS: (i64, i64) = (100_000, 2_000_000);
/// Most spans kept around one activation.
const SPANS: usize = 400;
/// Most changes remembered of a processor: some seconds.
const CHANGES: usize = 4 << 20;

/// Explains the activations of some threads.
#[derive(Debug)]
pub struct Explainer {
    names: NameTable,
    machine: Machine,
    functions: Functions,
    processors: BTreeMap<u16, Processor>,
    known: HashMap<i32, ObservedThread>,
    /// Expiries of the timers of the limit on real-time computing and of CPU quotas.
    periods: Periods,
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    thread: Thread,
    queue: VecDeque<Activation>,
    /// The activation before the next one.
    previous: Option<Activation>,
    /// Lengths of its work.
    work: SparseHistogram,
    gathered: TaskCauseSums,
}

impl Explainer {
    /// Creates an explainer for threads, given by their thread IDs in the order of their tasks; events use `names`.
    pub fn new(threads: &[i32], mut names: NameTable, machine: Machine) -> Self {
        let functions = Functions {
            replenish: names.number("dl_task_timer"),
            limit: names.number("sched_rt_period_timer"),
            quota: names.number("sched_cfs_period_timer"),
            sleep: names.number("hrtimer_wakeup"),
            ticks: ["tick_sched_timer", "tick_nohz_handler"].map(|name| names.number(name)),
        };
        let task = |pid: &i32| Task {
            thread: Thread::new(*pid),
            queue: VecDeque::new(),
            previous: None,
            work: SparseHistogram::default(),
            gathered: TaskCauseSums::default(),
        };
        Explainer {
            names,
            machine,
            functions,
            processors: BTreeMap::new(),
            known: HashMap::new(),
            periods: Periods::default(),
            tasks: threads.iter().map(task).collect(),
        }
    }

    /// Returns the names that events use.
    pub fn names(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Sets the threads of a task's process, and the path of its control group.
    pub fn process(&mut self, task: usize, threads: Vec<i32>, group: Option<String>) {
        if let Some(task) = self.tasks.get_mut(task) {
            (task.thread.siblings, task.thread.group) = (threads, group);
        }
    }

    /// Notes that a CPU quota is set for a task, and whether it was used up between these times.
    pub fn quota(&mut self, task: usize, (from_ns, to_ns): (i64, i64), counted: QuotaCount) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.thread.quota.is_set = true;
            if counted.throttled > 0 {
                task.thread.quota.used_up.push_back((from_ns, to_ns));
            }
            task.gathered.count_quota(counted);
        }
    }

    /// Takes the next event. Events of all processors together are in order of time.
    pub fn event(&mut self, event: &Event) {
        let Explainer { names, machine, functions, processors, known, periods, tasks } = self;
        let (machine, functions) = (*machine, *functions);
        if let EventKind::CallsLost { from_ns } = event.what {
            return tasks.iter_mut().for_each(|task| task.thread.lost(from_ns, event.t_ns));
        }
        if let EventKind::Waking { cpu, .. } = &event.what {
            let target = processors.entry(*cpu).or_insert_with(|| Processor::new(machine, functions));
            target.woken(event.t_ns);
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
                processors.values_mut().for_each(|processor| processor.moved(*pid));
            }
            EventKind::Named { name } => {
                let seen = ObservedThread { pid: event.pid, name: None, priority: None };
                known.entry(event.pid).or_insert(seen).name = Some(*name);
                return;
            }
            EventKind::Expire { function, .. } => periods.expired(event.t_ns, *function, functions),
            EventKind::Freeze { group, on } => {
                let by = known.get(&event.pid).and_then(|seen| seen.name);
                let path = names.name(*group);
                tasks.iter_mut().for_each(|task| task.thread.freeze(event.t_ns, path, on.then_some(by)));
            }
            _ => {}
        }
        let processor = processors.entry(event.cpu).or_insert_with(|| Processor::new(machine, functions));
        // Of other processors, no more is recorded than who stops or freezes threads.
        if !matches!(event.what, EventKind::Signal { .. } | EventKind::Freeze { .. }) {
            processor.event(event, known);
        }
        let by = known.get(&event.pid).and_then(|seen| seen.name);
        for task in tasks {
            task.thread.event(event, processor, functions, by);
        }
    }

    /// Takes the next activations of a task, in order.
    pub fn activations(&mut self, task: usize, rows: &[Activation]) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.queue.extend(rows);
        }
    }

    /// Explains the activations whose events are complete: all events before `complete_ns` have been taken.
    pub fn advance(&mut self, complete_ns: i64) {
        self.explain_until(complete_ns.saturating_sub(SETTLE_NS));
        let needed = self.tasks.iter().filter_map(|task| {
            let next = task.queue.front().map(|a| a.due_ns);
            // The next one may be due since before the end of this.
            next.or(task.previous.map(|a| a.due_ns.min(a.end_ns))).map(|ns| ns.saturating_sub(AROUND_NS.1))
        });
        let needed = needed.min().unwrap_or(complete_ns.saturating_sub(SETTLE_NS));
        for processor in self.processors.values_mut() {
            // A task without further activations would keep everything.
            processor.forget_before(needed.max(processor.ran.nth_last(CHANGES)));
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
        RunCauses { tasks: tasks.iter_mut().map(|task| task.gathered.causes(names)).collect(), tracer }
    }

    /// Returns the causes since the last piece. Counting restarts from zero and keeps the usual steps.
    pub fn take(&mut self, tracer: Tracer) -> RunCauses {
        let Explainer { tasks, names, .. } = self;
        RunCauses { tasks: tasks.iter_mut().map(|task| task.gathered.take(names)).collect(), tracer }
    }

    fn explain_until(&mut self, end_ns: i64) {
        let Explainer { tasks, processors, names, machine, periods, .. } = self;
        for task in tasks {
            while task.queue.front().is_some_and(|a| a.end_ns <= end_ns) {
                let Some(activation) = task.queue.pop_front() else { break };
                let draft = task.explain(&activation, processors, names, *machine, periods);
                task.gathered.push(draft, names);
                task.work.record(activation.execution_ns());
                task.previous = Some(activation);
            }
        }
    }
}

impl Task {
    fn explain(
        &self,
        a: &Activation,
        processors: &BTreeMap<u16, Processor>,
        names: &NameTable,
        machine: Machine,
        periods: &Periods,
    ) -> SplitActivation {
        let free_ns = self.previous.map_or(i64::MIN, |p| p.end_ns);
        let wake = self.thread.last_wake(free_ns, a.start_ns);
        let thread = &self.thread;
        let armed = wake
            .map_or_else(|| thread.armed_before(a.start_ns), |wake| thread.armed_for(wake))
            .map(|armed| armed.as_due_at(a.due_ns));
        let around = FragmentContext {
            thread,
            processors,
            names,
            wake,
            armed,
            polled: a.flags.contains(Flags::POLLED),
            machine,
            periods,
            before: self.previous.map(|p| p.cpu),
            worked_until_ns: self.previous.map(|p| p.end_ns),
            work: &self.work,
        };
        let mut cuts: Vec<i64> = thread
            .armed
            .iter()
            .copied()
            .chain(armed)
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
        let held = processors.values().flat_map(|on| &on.held_off);
        cuts.extend(held.flat_map(|held| [held.from_ns, held.to_ns]));
        let late = split(&self.thread, processors, (a.due_ns, a.start_ns), a.cpu, &cuts);
        let path = path(&late, processors, self.previous.map(|p| p.end_ns));
        let judged = late.iter().flat_map(|fragment| around.verdicts(fragment));
        let fragments = judged.map(|(from_ns, to_ns, verdict)| FragmentWithCause {
            at_ns: from_ns - a.due_ns,
            ns: to_ns - from_ns,
            verdict,
        });
        let fragments = fragments.collect();
        let mut interruptions: Vec<(CauseId, i64)> = Vec::new();
        let mut interrupt =
            |cause: CauseId, ns: i64| match interruptions.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += ns,
                None => interruptions.push((cause, ns)),
            };
        for fragment in split(&self.thread, processors, (a.start_ns, a.end_ns), a.cpu, &[]) {
            around.interruptions(&fragment).into_iter().for_each(|(cause, ns)| interrupt(cause, ns));
        }
        // No event shows the end of a page fault: it lasts at most until the next fault or the end of the activation.
        let faults = self.thread.faults.iter().filter(|t| (a.start_ns..a.end_ns).contains(*t));
        let faults: Vec<i64> = faults.copied().collect();
        for (t, next) in faults.iter().zip(faults.iter().skip(1).chain([&a.end_ns])) {
            interrupt(CauseClass::PageFault.into(), (next - t).min(FAULT_NS));
        }
        let wanted = self.gathered.wants_spans(a.latency_ns());
        let spans =
            if wanted { self.spans(a, processors, wake.map_or(a.cpu, |w| w.cpu)) } else { Vec::new() };
        SplitActivation { activation: *a, fragments, path, interruptions, spans }
    }

    /// Returns the occupants of a processor around an activation.
    fn spans(
        &self,
        a: &Activation,
        processors: &BTreeMap<u16, Processor>,
        cpu: u16,
    ) -> Vec<(ExecutionSpan, NameId)> {
        let Some(processor) = processors.get(&cpu) else { return Vec::new() };
        let around_ns = a.latency_ns().clamp(AROUND_NS.0, AROUND_NS.1);
        let (from, to) = (a.due_ns - around_ns, a.start_ns + around_ns);
        let spans = processor.ran.over(from, to).filter_map(|(from, to, occupant)| {
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
        if spans.len() > SPANS {
            spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.ns));
            spans.truncate(SPANS);
            spans.sort_by_key(|(span, _)| span.at_ns);
        }
        spans
    }
}
