//! What the causes of late activations say: a table by cause, and the latest activations one by one.

use std::collections::BTreeMap;

use jitterlab_model::RunInfo;
use jitterlab_model::causes::{
    Cause, CauseClass, CauseSum, Certainty, Evidence, Interruption, Lane, LateStart, QuotaCount, RunCauses,
    TaskCauses, Tracer, UsualStep,
};
use serde::{Deserialize, Serialize};

/// Why the activations of a run were late.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunWhy {
    /// The file.
    pub file: String,
    /// Each task.
    pub tasks: Vec<TaskWhy>,
    /// What tracing was like.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub tracer: Tracer,
    /// Whether one activation was asked for.
    pub one_event: bool,
    /// The run's description, with the same tasks.
    pub run: RunInfo,
}

/// Why the activations of one task were late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskWhy {
    /// Its name.
    pub task: String,
    /// Activations whose latency is in parts.
    pub explained: u64,
    /// Of these, activations of which a part is not known since events were lost.
    pub gaps: u64,
    /// Latencies above 0 altogether.
    pub lateness_ns: i64,
    /// The latency that 99.9 % of the activations do not exceed.
    pub p99_9_ns: Option<i64>,
    /// The largest latency.
    pub max_ns: i64,
    /// How many of the latest activations the file keeps.
    pub latest: u64,
    /// Of how many more there was no room for their parts.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub left_out: u64,
    /// What the CPU quota of its control group did.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub quota: Option<QuotaCount>,
    /// The smallest latency of these.
    pub latest_from_ns: Option<i64>,
    /// The causes, those that made the latest activations late first.
    pub causes: Vec<CauseRow>,
    /// The usual way, step by step.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub usual: Vec<UsualStep>,
    /// What interrupted the activations' work, the most first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub interruptions: Vec<Interruption>,
    /// Activations one by one, the latest first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub events: Vec<LateEvent>,
}

/// What one cause did to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// Activations that it delayed.
    pub times: u64,
    /// By how much, altogether.
    pub sum_ns: i64,
    /// Its share of all lateness, 0 to 1.
    pub share: f64,
    /// Its share of what made the latest activations late, the usual way and the tracer not counted.
    pub latest_share: f64,
    /// By how much it delayed an activation at worst.
    pub worst_ns: i64,
    /// The share of it that is proven.
    pub proven: f64,
    /// The share of it that is likely.
    pub likely: f64,
    /// What the latency of 99.9 % would be without it.
    pub p99_9_without_ns: Option<i64>,
    /// What the largest latency would be without it.
    pub max_without_ns: Option<i64>,
    /// What the largest latency would be at most without it and all causes of its class.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub max_without_class_ns: Option<i64>,
    /// Functions of the kernel that it was found in, those in which it took longest first, and for how long altogether.
    pub functions: Vec<(String, i64)>,
    /// The check that knows more of it, by its name.
    pub check: Option<String>,
}

/// A late activation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateEvent {
    /// Its place among the latest, from 1.
    pub rank: u64,
    /// The number of its due time on the task's grid.
    pub index: u64,
    /// When it should have started.
    pub due_ns: i64,
    /// How late it started.
    pub latency_ns: i64,
    /// The processor it started on.
    pub cpu: u16,
    /// Its latency in parts, in order: they add up to it.
    pub parts: Vec<EventPart>,
    /// What ran on that processor around it; empty where that was not kept.
    pub ran: Vec<RanBeside>,
}

/// A part of a latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPart {
    /// When it began, from the due time on.
    pub at_ns: i64,
    /// How long it is.
    pub ns: i64,
    /// Its cause.
    pub cause: Cause,
    /// What shows it.
    pub evidence: Evidence,
    /// How sure it is.
    pub certainty: Certainty,
    /// The function of the kernel that the timer interrupt found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// Something that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanBeside {
    /// As what.
    pub lane: Lane,
    /// Its name.
    pub name: String,
    /// When it began, from the due time on.
    pub at_ns: i64,
    /// How long it ran.
    pub ns: i64,
}

/// Which activations are told one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedEvents {
    /// So many of the latest.
    Latest(usize),
    /// The one of this place among the latest, from 1.
    Rank(usize),
    /// The one of this number on its task's grid.
    Index(u64),
}

impl RunWhy {
    /// What the causes of a run say; `run` has the tasks that are told, of these numbers.
    #[must_use]
    pub fn new(file: String, causes: &RunCauses, run: RunInfo, tasks: &[usize], told: ListedEvents) -> Self {
        let known = tasks.iter().map(|number| causes.tasks.get(*number).cloned().unwrap_or_default());
        let tasks = run.tasks.iter().zip(known);
        let tasks = tasks.map(|(task, causes)| TaskWhy::new(&task.spec.name, &causes, told)).collect();
        let one_event = !matches!(told, ListedEvents::Latest(_));
        RunWhy { file, tasks, tracer: causes.tracer.clone(), one_event, run }
    }
}

impl TaskWhy {
    /// What the causes of a task say.
    #[must_use]
    pub fn new(task: &str, causes: &TaskCauses, told: ListedEvents) -> Self {
        let mut of_latest = vec![0i64; causes.causes.len()];
        for part in causes.latest.iter().flat_map(|late| &late.parts) {
            if let Some(sum) = of_latest.get_mut(part.cause) {
                *sum += part.ns;
            }
        }
        let unusual = |(cause, ns): (&CauseSum, &i64)| if is_unusual(cause.cause.class) { *ns } else { 0 };
        let all_latest: i64 = causes.causes.iter().zip(&of_latest).map(unusual).sum();
        let ratio = |part: i64, of: i64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
        let row = |(sum, latest_ns): (&CauseSum, &i64)| {
            let mut without = causes.latencies.clone();
            without.take_away(&sum.latencies);
            without.merge(&sum.without);
            // Lost events held up nobody: what did is still there without them.
            let known = sum.cause.class != CauseClass::Lost;
            let without =
                |part| known.then(|| without.quantile_ns(part)).flatten().map(|ns| ns.min(causes.max_ns));
            CauseRow {
                cause: sum.cause.clone(),
                times: sum.times,
                sum_ns: sum.sum_ns,
                share: ratio(sum.sum_ns, causes.lateness_ns),
                latest_share: if is_unusual(sum.cause.class) { ratio(*latest_ns, all_latest) } else { 0.0 },
                worst_ns: sum.max_ns,
                proven: ratio(sum.proven_ns, sum.sum_ns),
                likely: ratio(sum.likely_ns, sum.sum_ns),
                p99_9_without_ns: without(0.999),
                max_without_ns: without(1.0),
                max_without_class_ns: known.then(|| without_class(causes, sum.cause.class)),
                functions: longest_first(&sum.functions),
                check: check(sum.cause.class).map(str::to_owned),
            }
        };
        let mut rows: Vec<CauseRow> = causes.causes.iter().zip(&of_latest).map(row).collect();
        rows.sort_by(|a, b| b.latest_share.total_cmp(&a.latest_share).then(b.sum_ns.cmp(&a.sum_ns)));
        let mut interruptions = causes.interruptions.clone();
        interruptions.sort_by_key(|sum| std::cmp::Reverse(sum.sum_ns));
        let ranked = (1..).zip(&causes.latest);
        let events = ranked.filter(|(rank, late)| match told {
            ListedEvents::Latest(n) => *rank <= n,
            ListedEvents::Rank(wanted) => *rank == wanted,
            ListedEvents::Index(index) => late.index == index,
        });
        TaskWhy {
            task: task.into(),
            explained: causes.explained,
            gaps: causes.gaps,
            lateness_ns: causes.lateness_ns,
            p99_9_ns: causes.latencies.quantile_ns(0.999).map(|ns| ns.min(causes.max_ns)),
            max_ns: causes.max_ns,
            latest: causes.latest.len() as u64,
            left_out: causes.left_out,
            quota: causes.quota,
            latest_from_ns: causes.latest.last().map(|late| late.latency_ns),
            causes: rows,
            usual: causes.usual.clone(),
            interruptions,
            events: events.map(|(rank, late)| LateEvent::new(rank as u64, late, causes)).collect(),
        }
    }

    /// The cause that made the latest activations late more than any other, if anything unusual did.
    #[must_use]
    pub fn main_cause(&self) -> Option<&CauseRow> {
        self.causes.first().filter(|row| row.latest_share > 0.0)
    }

    /// How much of the lateness of the latest activations beyond the usual has a cause that is proven or likely, 0 to 1.
    #[must_use]
    pub fn decided(&self) -> f64 {
        self.causes.iter().map(|row| row.latest_share * (row.proven + row.likely)).sum()
    }
}

impl LateEvent {
    /// A kept activation with its names.
    #[must_use]
    pub fn new(rank: u64, late: &LateStart, causes: &TaskCauses) -> Self {
        let cause = |number: usize| {
            causes.causes.get(number).map_or(Cause::from(CauseClass::Lost), |sum| sum.cause.clone())
        };
        let parts = late.parts.iter().map(|part| EventPart {
            at_ns: part.at_ns,
            ns: part.ns,
            cause: cause(part.cause),
            evidence: part.evidence,
            certainty: part.evidence.certainty(),
            function: part.function.and_then(|function| causes.names.get(function).cloned()),
        });
        let ran = late.spans.iter().filter_map(|span| {
            let name = causes.names.get(span.name)?.clone();
            Some(RanBeside { lane: span.lane, name, at_ns: span.at_ns, ns: span.ns })
        });
        LateEvent {
            rank,
            index: late.index,
            due_ns: late.due_ns,
            latency_ns: late.latency_ns,
            cpu: late.cpu,
            parts: parts.collect(),
            ran: ran.collect(),
        }
    }

    /// The part that took longest beyond the usual.
    #[must_use]
    pub fn main_part(&self) -> Option<&EventPart> {
        self.parts.iter().filter(|part| is_unusual(part.cause.class)).max_by_key(|part| part.ns)
    }
}

/// The largest latency of the latest activations less all parts of this class; those that are not kept whole were not later
/// than the least late of these.
fn without_class(causes: &TaskCauses, class: CauseClass) -> i64 {
    let is_of = |cause: usize| causes.causes.get(cause).is_some_and(|sum| sum.cause.class == class);
    let less = |late: &LateStart| {
        let parts = late.parts.iter().filter(|part| is_of(part.cause));
        late.latency_ns - parts.map(|part| part.ns).sum::<i64>()
    };
    let whole = causes.latest.iter().map(less).max();
    let all_kept = causes.latest.len() as u64 >= causes.explained;
    let others = causes.latest.last().filter(|_| !all_kept).map(|late| late.latency_ns);
    whole.into_iter().chain(others).max().unwrap_or(causes.max_ns)
}

fn longest_first(functions: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut functions: Vec<(String, i64)> = functions.iter().map(|(name, ns)| (name.clone(), *ns)).collect();
    functions.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    functions
}

/// Whether something is neither the usual way nor the tracer.
#[must_use]
pub const fn is_unusual(class: CauseClass) -> bool {
    !matches!(class, CauseClass::Usual | CauseClass::Tracer)
}

/// The check that knows more of a cause.
const fn check(class: CauseClass) -> Option<&'static str> {
    Some(match class {
        CauseClass::Outside => "steal",
        CauseClass::Idle => "idle-states",
        CauseClass::InterruptsOff | CauseClass::NotPreemptible => "preemption",
        CauseClass::Interrupt => "irq-affinity",
        CauseClass::Softirq => "isolated-cpus",
        CauseClass::OtherTimer => "nohz-full",
        CauseClass::Preempted => "real-time-programs",
        CauseClass::Shared | CauseClass::Migration => "isolated-cpus",
        CauseClass::Throttled => "rt-throttling",
        CauseClass::PageFault => "memlock",
        _ => return None,
    })
}
