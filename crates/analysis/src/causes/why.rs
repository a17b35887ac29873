//! Causes of late activations: a table by cause, and the worst activations one by one.

use std::collections::BTreeMap;

use jitterlab_model::RunInfo;
use jitterlab_model::causes::{
    Cause, CauseClass, CauseSum, Certainty, Evidence, ExecutionContext, InterruptionSum, LateStart, Misses,
    QuotaCount, RunCauses, TaskCauses, Tracer, TypicalStep,
};
use serde::{Deserialize, Serialize};

use super::paths::ClustersWithPaths;

/// Causes of the late activations of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunWhy {
    /// The file.
    pub file: String,
    /// Each task.
    pub tasks: Vec<TaskWhy>,
    /// The tracer's settings and losses.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub tracer: Tracer,
    /// True if a single activation was asked for.
    pub one_event: bool,
    /// The run's description, with the same tasks.
    pub run: RunInfo,
}

/// Causes of the late activations of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskWhy {
    /// Its name.
    pub task: String,
    /// Number of activations whose latency is split into parts.
    pub explained: u64,
    /// Of these, activations with an unknown part because events were lost.
    pub gaps: u64,
    /// Sum of all latencies above 0, in ns.
    pub lateness_ns: i64,
    /// The latency that 99.9 % of the activations do not exceed.
    pub p99_9_ns: Option<i64>,
    /// The largest latency, in ns.
    pub max_ns: i64,
    /// Number of the latest activations that the file keeps.
    #[serde(rename = "latest")]
    pub worst_count: u64,
    /// Number of further late activations whose parts the file had no room for.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub left_out: u64,
    /// Throttling by the CPU quota of its control group.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub quota: Option<QuotaCount>,
    /// The smallest latency of these, in ns.
    #[serde(rename = "latest_from_ns")]
    pub worst_from_ns: Option<i64>,
    /// The causes, ordered by their share of the latest activations' lateness.
    pub causes: Vec<CauseRow>,
    /// Typical lengths of the steps of a wake-up.
    #[serde(rename = "usual")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub typical_steps: Vec<TypicalStep>,
    /// Clusters of the latency, each with the path that leads there.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub clusters: ClustersWithPaths,
    /// Causes that interrupted the activations' work, the most first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub interruptions: Vec<InterruptionSum>,
    /// Due times missed, and the work for which they were, the most first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses: Misses,
    /// Activations one by one, the latest first.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub events: Vec<LateEvent>,
}

/// Delays of a task by one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// Activations that it delayed.
    pub times: u64,
    /// Sum of its delays, in ns.
    pub sum_ns: i64,
    /// Its share of all lateness, 0 to 1.
    pub share: f64,
    /// Its share of the lateness of the latest activations, excluding the usual way and the tracer.
    #[serde(rename = "latest_share")]
    pub share_of_worst: f64,
    /// Its largest delay of an activation, in ns.
    pub worst_ns: i64,
    /// The share of it that is proven.
    pub proven: f64,
    /// The share of it that is likely.
    pub likely: f64,
    /// Latency in ns that 99.9 % of the activations would not exceed without it.
    pub p99_9_without_ns: Option<i64>,
    /// Largest latency without it, in ns.
    pub max_without_ns: Option<i64>,
    /// Upper bound on the largest latency without it and all causes of its class, in ns.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub max_without_class_ns: Option<i64>,
    /// Kernel functions that it was found in, with the total time in ns, the longest first.
    pub functions: Vec<(String, i64)>,
    /// Name of the check that has more about it.
    pub check: Option<String>,
}

/// Activation with one of the largest latencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateEvent {
    /// Rank by latency, from 1 for the largest.
    pub rank: u64,
    /// Number of its due time on the task's grid.
    pub index: u64,
    /// Due time, in ns.
    pub due_ns: i64,
    /// Latency, in ns.
    pub latency_ns: i64,
    /// The processor it started on.
    pub cpu: u16,
    /// Parts that add up to the latency, in order of time.
    pub parts: Vec<EventPart>,
    /// Occupants of that processor around it; empty if they were not kept.
    pub ran: Vec<OccupantSpan>,
}

/// Part of a latency, with its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPart {
    /// Beginning, in ns from the due time.
    pub at_ns: i64,
    /// Length, in ns.
    pub ns: i64,
    /// Cause of the part.
    pub cause: Cause,
    /// The evidence for it.
    pub evidence: Evidence,
    /// Certainty of the cause.
    pub certainty: Certainty,
    /// Kernel function that the timer interrupt found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// Span of time of one occupant of the processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OccupantSpan {
    /// Kind of the occupant.
    #[serde(rename = "lane")]
    pub context: ExecutionContext,
    /// Its name.
    pub name: String,
    /// Beginning, in ns from the due time.
    pub at_ns: i64,
    /// Length, in ns.
    pub ns: i64,
}

/// Choice of the activations to list one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedEvents {
    /// The ones with the largest latency, at most this many.
    Worst(usize),
    /// The one at this rank by latency, from 1 for the largest.
    Rank(usize),
    /// The one with this number on its task's grid.
    Index(u64),
}

impl RunWhy {
    /// Summarises the causes of a run; `run` has only the tasks with these numbers.
    #[must_use]
    pub fn new(
        file: String,
        causes: &RunCauses,
        run: RunInfo,
        tasks: &[usize],
        listed: ListedEvents,
    ) -> Self {
        let known = tasks.iter().map(|number| causes.tasks.get(*number).cloned().unwrap_or_default());
        let tasks = run.tasks.iter().zip(known);
        let tasks = tasks.map(|(task, causes)| TaskWhy::new(&task.spec.name, &causes, listed)).collect();
        let one_event = !matches!(listed, ListedEvents::Worst(_));
        RunWhy { file, tasks, tracer: causes.tracer.clone(), one_event, run }
    }
}

impl TaskWhy {
    /// Summarises the causes of a task.
    #[must_use]
    pub fn new(task: &str, causes: &TaskCauses, listed: ListedEvents) -> Self {
        // Of each cause in the worst starts: the sum, and the most in one of them.
        let mut of_latest = vec![(0i64, 0i64); causes.causes.len()];
        for late in &causes.worst_starts {
            let mut of_late = vec![0i64; causes.causes.len()];
            for part in &late.parts {
                if let Some(sum) = of_late.get_mut(part.cause) {
                    *sum += part.ns;
                }
            }
            for ((sum, most), ns) in of_latest.iter_mut().zip(of_late) {
                (*sum, *most) = (*sum + ns, (*most).max(ns));
            }
        }
        let unusual =
            |(cause, (ns, _)): (&CauseSum, &(i64, i64))| if is_unusual(cause.cause.class) { *ns } else { 0 };
        let all_latest: i64 = causes.causes.iter().zip(&of_latest).map(unusual).sum();
        let ratio = |part: i64, of: i64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
        let row = |(sum, (latest_ns, most_ns)): (&CauseSum, &(i64, i64))| {
            let mut without = causes.latencies.clone();
            without.subtract(&sum.latencies);
            without.merge(&sum.latencies_without);
            // Lost events delayed nothing: the delay they hide would remain without them.
            let known = sum.cause.class != CauseClass::Lost;
            let without =
                |part| known.then(|| without.quantile_ns(part)).flatten().map(|ns| ns.min(causes.max_ns));
            CauseRow {
                cause: sum.cause.clone(),
                times: sum.times,
                sum_ns: sum.sum_ns,
                share: ratio(sum.sum_ns, causes.lateness_ns),
                share_of_worst: if is_unusual(sum.cause.class) { ratio(*latest_ns, all_latest) } else { 0.0 },
                // Many short parts together are counted in the worst starts alone.
                worst_ns: if sum.cause.class == CauseClass::Mixed { *most_ns } else { sum.max_ns },
                proven: ratio(sum.proven_ns, sum.sum_ns),
                likely: ratio(sum.likely_ns, sum.sum_ns),
                p99_9_without_ns: without(0.999),
                max_without_ns: without(1.0),
                max_without_class_ns: known.then(|| max_latency_without(causes, sum.cause.class)),
                functions: longest_first(&sum.functions),
                check: check_id(sum.cause.class).map(str::to_owned),
            }
        };
        let mut rows: Vec<CauseRow> = causes.causes.iter().zip(&of_latest).map(row).collect();
        rows.sort_by(|a, b| b.share_of_worst.total_cmp(&a.share_of_worst).then(b.sum_ns.cmp(&a.sum_ns)));
        let most_first = |sums: &[InterruptionSum]| {
            let mut sums = sums.to_vec();
            sums.sort_by_key(|sum| std::cmp::Reverse(sum.sum_ns));
            sums
        };
        let ranked = (1..).zip(&causes.worst_starts);
        let events = ranked.filter(|(rank, late)| match listed {
            ListedEvents::Worst(n) => *rank <= n,
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
            worst_count: causes.worst_starts.len() as u64,
            left_out: causes.left_out,
            quota: causes.quota,
            worst_from_ns: causes.worst_starts.last().map(|late| late.latency_ns),
            causes: rows,
            typical_steps: causes.typical_steps.clone(),
            clusters: ClustersWithPaths::new(causes),
            interruptions: most_first(&causes.interruptions),
            misses: Misses { work: most_first(&causes.misses.work), ..causes.misses.clone() },
            events: events.map(|(rank, late)| LateEvent::new(rank as u64, late, causes)).collect(),
        }
    }

    /// Returns the cause of most of the worst activations' lateness, if any of it is unusual.
    #[must_use]
    pub fn main_cause(&self) -> Option<&CauseRow> {
        self.causes.first().filter(|row| row.share_of_worst > 0.0)
    }

    /// Returns the main cause of the work that missed due times, and its share of that work (0 to 1). `None` where none
    /// were missed, most were for late starts, or nothing is known of most of the work.
    #[must_use]
    pub fn cause_of_misses(&self) -> Option<(&InterruptionSum, f64)> {
        let work_ns = self.misses.work_ns();
        let most = self.misses.work.first().filter(|_| work_ns > self.misses.late_ns)?;
        if most.cause.class == CauseClass::Lost {
            return None;
        }
        Some((most, most.sum_ns as f64 / work_ns as f64))
    }

    /// Returns the share (0 to 1) of the worst activations' excess lateness that has a proven or likely cause.
    #[must_use]
    pub fn decided_share(&self) -> f64 {
        self.causes.iter().map(|row| row.share_of_worst * (row.proven + row.likely)).sum()
    }
}

impl LateEvent {
    /// Describes a kept activation by names.
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
            Some(OccupantSpan { context: span.context, name, at_ns: span.at_ns, ns: span.ns })
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

    /// Returns the longest part beyond the typical wake-up.
    #[must_use]
    pub fn main_part(&self) -> Option<&EventPart> {
        self.parts.iter().filter(|part| is_unusual(part.cause.class)).max_by_key(|part| part.ns)
    }
}

/// Returns the largest latency of the worst activations less all parts of this class. Activations not kept
/// whole were no later than the least late of these.
fn max_latency_without(causes: &TaskCauses, class: CauseClass) -> i64 {
    let is_of = |cause: usize| causes.causes.get(cause).is_some_and(|sum| sum.cause.class == class);
    let less = |late: &LateStart| {
        let parts = late.parts.iter().filter(|part| is_of(part.cause));
        late.latency_ns - parts.map(|part| part.ns).sum::<i64>()
    };
    let whole = causes.worst_starts.iter().map(less).max();
    let all_kept = causes.worst_starts.len() as u64 >= causes.explained;
    let others = causes.worst_starts.last().filter(|_| !all_kept).map(|late| late.latency_ns);
    whole.into_iter().chain(others).max().unwrap_or(causes.max_ns)
}

fn longest_first(functions: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut functions: Vec<(String, i64)> = functions.iter().map(|(name, ns)| (name.clone(), *ns)).collect();
    functions.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    functions
}

/// True if a cause is neither the typical wake-up nor the tracer.
#[must_use]
pub const fn is_unusual(class: CauseClass) -> bool {
    !matches!(class, CauseClass::TypicalWakeUp | CauseClass::Tracer)
}

/// Returns the id of the check that has more about a cause; `None` if no check has.
const fn check_id(class: CauseClass) -> Option<&'static str> {
    Some(match class {
        CauseClass::Outside | CauseClass::WorkOrOutside => "steal",
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
