//! Takes events and activations as they come, and explains each activation once all events of its time are known.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jitterlab_model::causes::{CauseClass, Lane, Ran, RunCauses, Tracer};
use jitterlab_model::{Activation, Flags};

use super::event::{Event, HandlerKind, Name, Names, What, same_clock};
use super::gather::{Draft, Gathered, Judged};
use super::machine::Machine;
use super::processor::{Occupant, Processor, Seen};
use super::split::split;
use super::thread::{Functions, Thread};
use super::verdict::{Around, Named};

/// Processor time is counted at least so often, so what was taken away is known so much later.
const SETTLE_NS: i64 = 20_000_000;
/// What is shown around a late activation: as much as its latency, but no less and no more than these.
const AROUND_NS: (i64, i64) = (100_000, 2_000_000);
/// Spans around one activation, the longest.
const SPANS: usize = 400;
/// What is known of a processor reaches back this many changes at most: some seconds.
const CHANGES: usize = 4 << 20;

/// Explains the activations of some threads.
#[derive(Debug)]
pub struct Explainer {
    names: Names,
    machine: Machine,
    functions: Functions,
    processors: BTreeMap<u16, Processor>,
    known: HashMap<i32, Seen>,
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    thread: Thread,
    queue: VecDeque<Activation>,
    /// The activation before the next one.
    previous: Option<Activation>,
    gathered: Gathered,
}

impl Explainer {
    /// For the threads of these numbers, in the order of their tasks; `names` are those that events will use.
    pub fn new(threads: &[i32], mut names: Names, machine: Machine) -> Self {
        let functions = Functions { replenish: names.number("dl_task_timer") };
        let task = |pid: &i32| Task {
            thread: Thread::new(*pid),
            queue: VecDeque::new(),
            previous: None,
            gathered: Gathered::default(),
        };
        Explainer {
            names,
            machine,
            functions,
            processors: BTreeMap::new(),
            known: HashMap::new(),
            tasks: threads.iter().map(task).collect(),
        }
    }

    /// The names that events use.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Takes the next event. Those of all processors together are in order of time.
    pub fn event(&mut self, event: &Event) {
        if event.what == What::CallsLost {
            return;
        }
        if let What::Waking { cpu, .. } = &event.what {
            self.processors.entry(*cpu).or_insert_with(|| Processor::new(self.machine)).woken();
        }
        let processor = self.processors.entry(event.cpu).or_insert_with(|| Processor::new(self.machine));
        if let What::Switch { to, name, priority, .. } = &event.what {
            self.known.insert(*to, Seen { pid: *to, name: Some(*name), priority: Some(*priority) });
        }
        processor.event(event, &self.known);
        for task in &mut self.tasks {
            task.thread.event(event, processor, self.functions);
        }
    }

    /// Takes the next activations of a task, in order.
    pub fn activations(&mut self, task: usize, rows: &[Activation]) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.queue.extend(rows);
        }
    }

    /// Explains what can be: all events before this time have been taken.
    pub fn advance(&mut self, complete_ns: i64) {
        self.explain_until(complete_ns.saturating_sub(SETTLE_NS));
        let needed = self.tasks.iter().filter_map(|task| {
            let next = task.queue.front().map(|a| a.due_ns);
            next.or(task.previous.map(|a| a.end_ns)).map(|ns| ns.saturating_sub(AROUND_NS.1))
        });
        let needed = needed.min().unwrap_or(complete_ns.saturating_sub(SETTLE_NS));
        for processor in self.processors.values_mut() {
            // A task that does not come would keep everything.
            processor.forget_before(needed.max(processor.ran.nth_last(CHANGES)));
        }
        for task in &mut self.tasks {
            task.thread.forget_before(needed);
        }
    }

    /// Explains the rest, and says all. There are no further events.
    pub fn finish(mut self, tracer: Tracer) -> RunCauses {
        self.explain_until(i64::MAX);
        self.causes(tracer)
    }

    /// What is known until now.
    pub fn causes(&mut self, tracer: Tracer) -> RunCauses {
        let Explainer { tasks, names, .. } = self;
        RunCauses { tasks: tasks.iter_mut().map(|task| task.gathered.causes(names)).collect(), tracer }
    }

    fn explain_until(&mut self, end_ns: i64) {
        let Explainer { tasks, processors, names, machine, .. } = self;
        for task in tasks {
            while task.queue.front().is_some_and(|a| a.end_ns <= end_ns) {
                let Some(activation) = task.queue.pop_front() else { break };
                let draft = task.explain(&activation, processors, names, *machine);
                task.gathered.push(draft, names);
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
        names: &Names,
        machine: Machine,
    ) -> Draft {
        let free_ns = self.previous.map_or(i64::MIN, |p| p.end_ns);
        let wake = self.thread.last_wake(free_ns, a.start_ns);
        let armed = self
            .thread
            .armed_before(wake.map_or(a.start_ns, |wake| wake.t_ns))
            .filter(|armed| same_clock(armed.soft_ns, a.due_ns));
        let around = Around {
            thread: &self.thread,
            processor: processors.get(&wake.map_or(a.cpu, |wake| wake.cpu)),
            names,
            wake,
            armed,
            polled: a.flags.contains(Flags::POLLED),
            below: machine.below,
            before: self.previous.map(|p| p.cpu),
            worked_until_ns: self.previous.map(|p| p.end_ns),
        };
        let mut cuts: Vec<i64> =
            armed.into_iter().flat_map(|armed| [armed.t_ns, armed.soft_ns, armed.hard_ns]).collect();
        cuts.extend(self.previous.map(|p| p.end_ns));
        cuts.extend(wake.map(|wake| wake.t_ns));
        cuts.extend(self.thread.faults.iter().copied().filter(|t| *t > a.due_ns && *t < a.start_ns));
        let late = split(&self.thread, processors, (a.due_ns, a.start_ns), a.cpu, &cuts);
        let judged = late.iter().map(|fragment| Judged {
            at_ns: fragment.from_ns - a.due_ns,
            ns: fragment.to_ns - fragment.from_ns,
            verdict: around.judge(fragment),
        });
        let fragments = judged.collect();
        let mut interruptions: Vec<(Named, i64)> = Vec::new();
        for fragment in split(&self.thread, processors, (a.start_ns, a.end_ns), a.cpu, &[]) {
            let Some(cause) = around.interruption(&fragment) else { continue };
            let ns = fragment.to_ns - fragment.from_ns;
            match interruptions.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += ns,
                None => interruptions.push((cause, ns)),
            }
        }
        // How long they took is in no event.
        if self.thread.faults.iter().any(|t| (a.start_ns..a.end_ns).contains(t)) {
            interruptions.push((CauseClass::PageFault.into(), 0));
        }
        let wanted = self.gathered.wants_spans(a.latency_ns());
        let spans =
            if wanted { self.spans(a, processors, wake.map_or(a.cpu, |w| w.cpu)) } else { Vec::new() };
        Draft { activation: *a, fragments, interruptions, spans }
    }

    /// What ran on a processor around an activation.
    fn spans(&self, a: &Activation, processors: &BTreeMap<u16, Processor>, cpu: u16) -> Vec<(Ran, Name)> {
        let Some(processor) = processors.get(&cpu) else { return Vec::new() };
        let around_ns = a.latency_ns().clamp(AROUND_NS.0, AROUND_NS.1);
        let (from, to) = (a.due_ns - around_ns, a.start_ns + around_ns);
        let spans = processor.ran.over(from, to).filter_map(|(from, to, occupant)| {
            let (lane, name) = match occupant {
                Occupant::Thread(seen) if seen.pid == self.thread.pid => (Lane::Task, seen.name?),
                Occupant::Thread(Seen { pid: 0, .. }) | Occupant::Unknown => return None,
                Occupant::Thread(seen) => (Lane::Thread, seen.name?),
                Occupant::Handler(handler) if handler.kind == HandlerKind::Softirq => {
                    (Lane::Softirq, handler.name)
                }
                Occupant::Handler(handler) => (Lane::Interrupt, handler.name),
                Occupant::Callback(function) => (Lane::Interrupt, function),
                Occupant::Tracer => return None,
            };
            Some((Ran { lane, name: 0, at_ns: from - a.due_ns, ns: to - from }, name))
        });
        let mut spans: Vec<(Ran, Name)> = spans.collect();
        if spans.len() > SPANS {
            spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.ns));
            spans.truncate(SPANS);
            spans.sort_by_key(|(span, _)| span.at_ns);
        }
        spans
    }
}
