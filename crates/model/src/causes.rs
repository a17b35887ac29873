//! Causes of late activations, as a run file keeps them: their latencies in parts, each with its cause and the evidence
//! for it. Method: `docs/evidence/causes.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::upper_edge;

/// Class of a cause that takes part of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CauseClass {
    /// The usual way of a wake-up, as long as it usually is in this run.
    #[serde(rename = "usual")]
    TypicalWakeUp,
    /// The tracer itself, while it records events.
    Tracer,
    /// The task was not waiting yet: its activation before this one took that long.
    OwnWork,
    /// The task seemed to work, but no event shows it: something outside this kernel may have had the processor.
    WorkOrOutside,
    /// The task asked to be woken later than its due time.
    AskedLate,
    /// Timer slack: the kernel may be late by as much on purpose.
    TimerSlack,
    /// Nothing in this kernel held the processor: its host, its firmware or its hardware did.
    Outside,
    /// The processor was idle: it left a deep idle state, or the delay came from outside this kernel.
    Idle,
    /// The timer interrupt came late for an unknown reason.
    LateInterrupt,
    /// Kernel code ran with interrupts off.
    InterruptsOff,
    /// The handler of a device's interrupt.
    Interrupt,
    /// The handler of an interrupt between processors, or of the processor's own.
    Vector,
    /// Work that interrupts put off (softirq).
    Softirq,
    /// Another timer that expired in the same interrupt.
    OtherTimer,
    /// The timer interrupt itself, before or after the timers in it, and in a virtual machine the setting of the task's timer.
    TimerInterrupt,
    /// A thread of higher priority.
    Preempted,
    /// A thread of the same priority or, among ordinary threads, any other.
    Shared,
    /// A thread of lower priority in kernel code, which cannot be preempted there.
    NotPreemptible,
    /// The kernel held real-time threads off: the limit on real-time computing (`sched_rt_runtime_us`, or of a group).
    Throttled,
    /// The kernel held real-time threads off so that ordinary ones run (fair server, Linux 6.12).
    FairServer,
    /// The task's own SCHED_DEADLINE budget was used up.
    Budget,
    /// The CPU quota of the task's control group was used up.
    Quota,
    /// A signal had stopped the task.
    Stopped,
    /// A debugger or tracer of calls had stopped the task.
    Traced,
    /// The freezer of a control group, or a suspended system, held the task.
    Frozen,
    /// The task went on at another processor.
    Migration,
    /// A page that was not in memory.
    PageFault,
    /// The task waited for another thread: a condition, a message, a lock that looks like one.
    Blocked,
    /// The task waited for a lock without priority inheritance.
    Lock,
    /// The task waited for a lock with priority inheritance.
    LockInheriting,
    /// The task waited for a lock whose holder was ready to run: this thread had the holder's processor.
    Inversion,
    /// The task had the processor and took longer than usual to its first instruction.
    SlowReturn,
    /// Events of this time were lost.
    Lost,
    /// Many short parts that are not kept one by one; each is in the sum of its own cause.
    Mixed,
}

/// Named cause of a part of a latency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Class of the cause.
    pub class: CauseClass,
    /// The thread, interrupt, softirq, or function of a timer; `None` where there is none, or it does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

impl From<CauseClass> for Cause {
    fn from(class: CauseClass) -> Self {
        Cause { class, who: None }
    }
}

/// Evidence for a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Evidence {
    /// The kernel's own events of it, from its begin to its end.
    #[default]
    Events,
    /// Events of it in a virtual machine, where the hypervisor may have taken a part of their time unnoticed.
    EventsOrOutside,
    /// The hypervisor reported to the kernel that it took this time (steal time).
    Stolen,
    /// The timer interrupt came in just where this function enables interrupts again.
    LetIn,
    /// The timer interrupt found a program running, which cannot hold interrupts off.
    UserMode,
    /// The timer interrupt found kernel code, without evidence that it had interrupts disabled.
    Interruptible,
    /// A handler of a timer, of an interrupt between processors, or the tracer ran for longer than any of them takes.
    TooLong,
    /// The timer interrupt found kernel code, and no time was taken outside of the kernel, which would be known.
    KernelMode,
    /// The timer interrupt found kernel code; whether time was taken by a hypervisor or firmware is not known.
    KernelModeOrOutside,
    /// The processor was idle, where the kernel sees nothing.
    WasIdle,
    /// Events show when it began, and an upper limit of how long it took.
    UpTo,
    /// Events show that it was possible, counters that it happened about then.
    Counted,
    /// A timer tick was due meanwhile, and came only afterwards.
    LateTick,
    /// No event came meanwhile, for far longer than the task usually works.
    Silence,
    /// Events show that its priority changed while it had the processor, and was this at the end.
    PriorityAtEnd,
    /// It waits at a futex whose value is that of a lock with waiters. A latch may have it, too.
    LockValue,
    /// No evidence.
    None,
}

/// Certainty of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// No other cause is possible.
    Proven,
    /// All known facts agree with it.
    Likely,
    /// Several causes are possible.
    Undecided,
}

impl Evidence {
    /// Returns the certainty that this evidence gives a cause.
    #[must_use]
    pub const fn certainty(self) -> Certainty {
        match self {
            Evidence::Events | Evidence::Stolen | Evidence::LetIn | Evidence::KernelMode => Certainty::Proven,
            Evidence::EventsOrOutside
            | Evidence::UserMode
            | Evidence::TooLong
            | Evidence::UpTo
            | Evidence::Counted
            | Evidence::PriorityAtEnd
            | Evidence::LockValue
            | Evidence::KernelModeOrOutside => Certainty::Likely,
            Evidence::Interruptible
            | Evidence::WasIdle
            | Evidence::LateTick
            | Evidence::Silence
            | Evidence::None => Certainty::Undecided,
        }
    }
}

/// Step of a wake-up, from the due time to the task's first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// From the due time to the timer interrupt.
    Timer,
    /// From the begin of the timer interrupt to the task's wake-up in it.
    Interrupt,
    /// From the wake-up to the end of the timer interrupt.
    InterruptEnd,
    /// From the end of the timer interrupt until the task has the processor.
    Switch,
    /// From the switch to the task's first instruction.
    Return,
    /// The tracer's record of the code that the timer interrupt interrupted: caused by the measurement itself.
    #[serde(rename = "noting")]
    StackRecording,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 6] =
        [Step::Timer, Step::Interrupt, Step::InterruptEnd, Step::Switch, Step::Return, Step::StackRecording];
}

/// Typical length of one step of a wake-up in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypicalStep {
    /// The step.
    pub step: Step,
    /// Median length, in nanoseconds.
    pub median_ns: i64,
    /// Upper limit of a usual value, in nanoseconds: the upper quartile plus 1.5 times the distance of the quartiles
    /// (Tukey's fence), at most four times the median, at least 1 µs above it.
    pub fence_ns: i64,
}

/// Part of an activation's latency that one cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyPart {
    /// Index of the cause in [`TaskCauses::causes`].
    pub cause: usize,
    /// Beginning, in nanoseconds after the due time.
    pub at_ns: i64,
    /// Length in nanoseconds.
    pub ns: i64,
    /// Evidence for the cause.
    #[serde(default)]
    pub evidence: Evidence,
    /// Index in [`TaskCauses::names`] of the kernel function that the timer interrupt found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<usize>,
}

/// Context in which code ran on a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionContext {
    /// An interrupt's handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// A thread.
    Thread,
    /// The task itself.
    Task,
}

/// Span of execution on a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionSpan {
    /// Context of the execution.
    #[serde(rename = "lane")]
    pub context: ExecutionContext,
    /// Index of the thread's or handler's name in [`TaskCauses::names`].
    pub name: usize,
    /// Beginning, in nanoseconds after the due time.
    pub at_ns: i64,
    /// Length in nanoseconds.
    pub ns: i64,
}

/// One of a task's activations with the largest latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateStart {
    /// Number of its due time on the task's grid.
    pub index: u64,
    /// Due time, in nanoseconds of the run's clock.
    pub due_ns: i64,
    /// Latency of its start, in nanoseconds.
    pub latency_ns: i64,
    /// Number of the processor that it started on.
    pub cpu: u16,
    /// Parts that add up to the latency, in order of time.
    pub parts: Vec<LatencyPart>,
    /// Execution on that processor around it; empty for all but those with the very largest latency.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<ExecutionSpan>,
}

/// Counts of values by the bins of a [`LogHistogram`](crate::LogHistogram), where only occupied bins take memory.
/// JSON: a list of `[largest value of the bin, count]`, lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(i64, u64)>", into = "Vec<(i64, u64)>")]
pub struct SparseHistogram(BTreeMap<i64, u64>);

impl SparseHistogram {
    /// Counts a value.
    pub fn record(&mut self, value_ns: i64) {
        self.record_n(value_ns, 1);
    }

    /// Counts a value `count` times.
    pub fn record_n(&mut self, value_ns: i64, count: u64) {
        *self.0.entry(upper_edge(value_ns)).or_default() += count;
    }

    /// Subtracts the counts of another histogram.
    pub fn subtract(&mut self, other: &SparseHistogram) {
        for (edge, count) in &other.0 {
            if let Some(mine) = self.0.get_mut(edge) {
                *mine = mine.saturating_sub(*count);
            }
        }
        self.0.retain(|_, count| *count > 0);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &SparseHistogram) {
        for (edge, count) in &other.0 {
            *self.0.entry(*edge).or_default() += count;
        }
    }

    /// Occupied bins, lowest first: largest value of the bin, and count.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, u64)> + '_ {
        self.0.iter().map(|(edge, count)| (*edge, *count))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Quantile `p` (0 to 1) of the values, as the largest value of its bin; `None` without values.
    #[must_use]
    pub fn quantile_ns(&self, p: f64) -> Option<i64> {
        let rank = ((p.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.iter().find_map(|(edge, count)| {
            seen += count;
            (seen >= rank).then_some(edge)
        })
    }
}

impl From<Vec<(i64, u64)>> for SparseHistogram {
    fn from(bins: Vec<(i64, u64)>) -> Self {
        SparseHistogram(bins.into_iter().collect())
    }
}

impl From<SparseHistogram> for Vec<(i64, u64)> {
    fn from(bins: SparseHistogram) -> Self {
        bins.0.into_iter().collect()
    }
}

/// Delays of a task's activations by one cause, added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseSum {
    /// The cause.
    pub cause: Cause,
    /// Activations that it delayed.
    pub times: u64,
    /// Sum of the delays, in nanoseconds.
    pub sum_ns: i64,
    /// Largest delay of one activation, in nanoseconds.
    pub max_ns: i64,
    /// Proven part of the sum, in nanoseconds.
    pub proven_ns: i64,
    /// Likely part of the sum, in nanoseconds; the rest is undecided.
    pub likely_ns: i64,
    /// Functions of the kernel where it was found, and the sum of their times in nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, i64>,
    /// The delays, by bins.
    pub delays: SparseHistogram,
    /// Latencies of the activations that it delayed, by bins.
    pub latencies: SparseHistogram,
    /// These latencies less its delay, by bins.
    #[serde(rename = "without")]
    pub latencies_without: SparseHistogram,
    /// The largest latencies where it was the longest part, largest first, each after the number of its due time: 1 200
    /// at most, and none where there were too few to extrapolate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<(u64, i64)>,
}

impl CauseSum {
    /// Creates a sum of no delays.
    #[must_use]
    pub fn new(cause: Cause) -> Self {
        CauseSum {
            cause,
            times: 0,
            sum_ns: 0,
            max_ns: 0,
            proven_ns: 0,
            likely_ns: 0,
            functions: BTreeMap::new(),
            delays: SparseHistogram::default(),
            latencies: SparseHistogram::default(),
            latencies_without: SparseHistogram::default(),
            largest: Vec::new(),
        }
    }

    /// Adds an activation that the cause delayed by `delay_ns`, with its whole latency.
    /// `proven_ns` and `likely_ns` are parts of the delay.
    pub fn add_activation(&mut self, latency_ns: i64, delay_ns: i64, proven_ns: i64, likely_ns: i64) {
        self.times += 1;
        self.sum_ns = self.sum_ns.saturating_add(delay_ns);
        self.max_ns = self.max_ns.max(delay_ns);
        self.proven_ns = self.proven_ns.saturating_add(proven_ns);
        self.likely_ns = self.likely_ns.saturating_add(likely_ns);
        self.delays.record(delay_ns);
        self.latencies.record(latency_ns);
        self.latencies_without.record(latency_ns - delay_ns);
    }
}

/// Interruptions of a task's work by one cause, added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptionSum {
    /// The cause.
    pub cause: Cause,
    /// Activations that it interrupted.
    pub times: u64,
    /// Sum of the interruptions, in nanoseconds.
    pub sum_ns: i64,
    /// Longest interruption in one activation, in nanoseconds.
    pub max_ns: i64,
    /// 99th percentile of the interruption in one activation, in nanoseconds; `None` in files without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<i64>,
}

/// Overruns: activations whose work went on until the next due time had passed and was missed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Misses {
    /// Number of overruns.
    pub activations: u64,
    /// Due times missed.
    pub due_times: u64,
    /// Sum of their latencies above 0, in nanoseconds.
    pub late_ns: i64,
    /// Time of the overrunning work by cause: the task's own, and its interruptions.
    pub work: Vec<InterruptionSum>,
}

impl Misses {
    /// Total time of the overrunning work, in nanoseconds.
    #[must_use]
    pub fn work_ns(&self) -> i64 {
        self.work.iter().map(|sum| sum.sum_ns).sum()
    }

    fn is_empty(&self) -> bool {
        self.activations == 0
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Occupant of the processor between one activation and the next one's first instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathStep {
    /// Idle processor, in the idle state of this number where the kernel names one.
    Idle(Option<u32>),
    /// Another thread.
    Thread(String),
    /// The task itself, which was not waiting yet.
    Task,
    /// An interrupt's handler.
    Interrupt(String),
    /// The function of a timer, in the timer interrupt.
    Timer(String),
    /// A softirq.
    Softirq(String),
    /// Due time: steps before it are of the time since the activation before.
    Due,
}

/// Sequence of occupants before a task's first instruction, and the latencies of the activations that had it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WakePath {
    /// Occupants of the processor, each where it first appears; before the due time timers and softirqs only. Empty for all
    /// rare paths together.
    pub steps: Vec<PathStep>,
    /// Latencies of these activations, by bins.
    pub latencies: SparseHistogram,
}

/// Effects of a CPU quota while a task ran, as the kernel counts them (`cpu.stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuotaCount {
    /// Periods of the quota.
    pub periods: u64,
    /// Periods in which it was used up.
    pub throttled: u64,
    /// Time for which threads of the group were throttled, in total, in nanoseconds.
    pub ns: i64,
}

/// Causes of the late activations of one task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskCauses {
    /// Number of activations whose latency is split into parts; those that were not late at all included.
    pub explained: u64,
    /// Number of activations during which events were lost: their known parts are in the sums.
    pub gaps: u64,
    /// Sum of all latencies above 0, in nanoseconds.
    pub lateness_ns: i64,
    /// Latencies, by bins.
    pub latencies: SparseHistogram,
    /// Largest latency, in nanoseconds.
    pub max_ns: i64,
    /// Typical lengths of the steps of a wake-up.
    #[serde(rename = "usual")]
    pub typical_steps: Vec<TypicalStep>,
    /// Delays by each cause. The last entry may sum up all that are too many to keep apart: its `who` is `others`.
    pub causes: Vec<CauseSum>,
    /// Interruptions of the activations' work.
    pub interruptions: Vec<InterruptionSum>,
    /// Overruns, and their work.
    #[serde(skip_serializing_if = "Misses::is_empty")]
    pub misses: Misses,
    /// Activations with the largest latency, the largest first.
    #[serde(rename = "latest")]
    pub worst_starts: Vec<LateStart>,
    /// Number of further such activations for which the file had no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Effect of the CPU quota of its control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaCount>,
    /// Paths of the activations to their first instruction, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WakePath>,
    /// Names of threads, handlers and functions, which others refer to by index.
    pub names: Vec<String>,
}

/// Cost and losses of recording the kernel's events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tracer {
    /// Number of events that were read.
    pub events: u64,
    /// Number of events that were lost, because the buffer was full.
    pub lost: u64,
    /// Size of each processor's buffer of events, in bytes.
    pub buffer_bytes: u64,
    /// Processor time that reading the events took, in nanoseconds.
    pub cpu_time_ns: i64,
    /// Processor time of an event on the CPU where it happens, in nanoseconds, measured before the run.
    pub event_ns: Option<i64>,
    /// Names of the events that this kernel does not have.
    pub absent: Vec<String>,
}

/// Causes of the late activations of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCauses {
    /// Causes of each task, in the order of the run's description.
    pub tasks: Vec<TaskCauses>,
    /// Cost and losses of the recording.
    pub tracer: Tracer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtracting_leaves_the_other_values() {
        let (mut all, mut some) = (SparseHistogram::default(), SparseHistogram::default());
        (1..=1_000).for_each(|ns| all.record(ns));
        (901..=1_000).for_each(|ns| some.record(ns));
        assert_eq!(all.quantile_ns(1.0), Some(upper_edge(1_000)));
        all.subtract(&some);
        assert_eq!((all.count(), all.quantile_ns(0.5)), (900, Some(upper_edge(450))));
        let json = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<SparseHistogram>(&json).unwrap(), some, "{json}");
    }
}
