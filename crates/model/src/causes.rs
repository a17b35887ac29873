//! Why activations were late: their latencies in parts, each with its cause and the evidence for it, as a run file
//! keeps them. How they are found: `docs/evidence/causes.md`.

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
    Usual,
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
    /// The same events in a virtual machine, where the hypervisor may have taken a part of their time unnoticed.
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

/// A step of the usual way from the due time to the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// From the due time to the timer interrupt.
    Timer,
    /// In the timer interrupt up to the task's wake-up.
    Interrupt,
    /// From the wake-up to the end of the timer interrupt.
    InterruptEnd,
    /// From there until the processor is the task's.
    Switch,
    /// From there to its first instruction.
    Return,
    /// The tracer's record of the code that the timer interrupt interrupted: a part of its own, not of the usual way.
    Noting,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 6] =
        [Step::Timer, Step::Interrupt, Step::InterruptEnd, Step::Switch, Step::Return, Step::Noting];
}

/// Usual length of a step of the usual way in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsualStep {
    /// The step.
    pub step: Step,
    /// Its median.
    pub median_ns: i64,
    /// Upper limit of a usual value, in nanoseconds: the upper quartile plus 1.5 times the distance of the quartiles
    /// (Tukey's fence), at most four times the median, at least 1 µs above it.
    pub fence_ns: i64,
}

/// A part of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its cause, by its number in [`TaskCauses::causes`].
    pub cause: usize,
    /// Beginning, in nanoseconds after the due time.
    pub at_ns: i64,
    /// Length in nanoseconds.
    pub ns: i64,
    /// Evidence for the cause.
    #[serde(default)]
    pub evidence: Evidence,
    /// The kernel's function that the timer interrupt found, by its number in [`TaskCauses::names`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<usize>,
}

/// Context in which something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// An interrupt's handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// A thread.
    Thread,
    /// The task itself.
    Task,
}

/// One stretch of execution on a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Context of the execution.
    pub lane: Lane,
    /// Its name, by its number in [`TaskCauses::names`].
    pub name: usize,
    /// Beginning, in nanoseconds after the due time.
    pub at_ns: i64,
    /// Length in nanoseconds.
    pub ns: i64,
}

/// An activation that was among the latest of its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateStart {
    /// The number of its due time on the task's grid.
    pub index: u64,
    /// Due time, in nanoseconds of the run's clock.
    pub due_ns: i64,
    /// Latency of its start, in nanoseconds.
    pub latency_ns: i64,
    /// The processor it started on.
    pub cpu: u16,
    /// Its latency in parts, in order: they add up to it.
    pub parts: Vec<Part>,
    /// Execution on that processor around it; empty for all but the latest of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Ran>,
}

/// Counts of values by the bins of a [`LogHistogram`](crate::LogHistogram), where only occupied bins take memory.
/// JSON: a list of `[largest value of the bin, count]`, lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(i64, u64)>", into = "Vec<(i64, u64)>")]
pub struct Bins(BTreeMap<i64, u64>);

impl Bins {
    /// Counts a value.
    pub fn record(&mut self, value_ns: i64) {
        self.add(value_ns, 1);
    }

    /// Counts a value `count` times.
    pub fn add(&mut self, value_ns: i64, count: u64) {
        *self.0.entry(upper_edge(value_ns)).or_default() += count;
    }

    /// Subtracts the counts of others.
    pub fn take_away(&mut self, other: &Bins) {
        for (edge, count) in &other.0 {
            if let Some(mine) = self.0.get_mut(edge) {
                *mine = mine.saturating_sub(*count);
            }
        }
        self.0.retain(|_, count| *count > 0);
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Bins) {
        for (edge, count) in &other.0 {
            *self.0.entry(*edge).or_default() += count;
        }
    }

    /// The occupied bins, lowest first: largest value of the bin, and count.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, u64)> + '_ {
        self.0.iter().map(|(edge, count)| (*edge, *count))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The smallest edge that the share `p` (0 to 1) of the values does not exceed; `None` of none.
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

impl From<Vec<(i64, u64)>> for Bins {
    fn from(bins: Vec<(i64, u64)>) -> Self {
        Bins(bins.into_iter().collect())
    }
}

impl From<Bins> for Vec<(i64, u64)> {
    fn from(bins: Bins) -> Self {
        bins.0.into_iter().collect()
    }
}

/// Effects of one cause on a task.
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
    pub delays: Bins,
    /// Latencies of the activations that it delayed, by bins.
    pub latencies: Bins,
    /// These latencies without its delay, by bins.
    pub without: Bins,
    /// The largest latencies where it was the longest part, largest first, each after the number of its due time: 1 200
    /// at most, and none where there were too few to extrapolate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<(u64, i64)>,
}

impl CauseSum {
    /// Creates it without any delay.
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
            delays: Bins::default(),
            latencies: Bins::default(),
            without: Bins::default(),
            largest: Vec::new(),
        }
    }

    /// Counts an activation with this latency that it delayed by `delay_ns`, with the proven and the likely part of the
    /// delay.
    pub fn count(&mut self, latency_ns: i64, delay_ns: i64, proven_ns: i64, likely_ns: i64) {
        self.times += 1;
        self.sum_ns = self.sum_ns.saturating_add(delay_ns);
        self.max_ns = self.max_ns.max(delay_ns);
        self.proven_ns = self.proven_ns.saturating_add(proven_ns);
        self.likely_ns = self.likely_ns.saturating_add(likely_ns);
        self.delays.record(delay_ns);
        self.latencies.record(latency_ns);
        self.without.record(latency_ns - delay_ns);
    }
}

/// Interruption of a task's work by one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
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

/// Activations whose work went on until the next due time had passed and was missed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Misses {
    /// Number of these activations.
    pub activations: u64,
    /// Due times missed.
    pub due_times: u64,
    /// Sum of their latencies above 0, in nanoseconds.
    pub late_ns: i64,
    /// Times of their work, by cause: the task's own, and its interruptions.
    pub work: Vec<Interruption>,
}

impl Misses {
    /// Sum of their work, in nanoseconds.
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

/// Occupant of the processor on the way from one activation to the next one's first instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathStep {
    /// None: it idled, in the idle state of this number where the kernel names one.
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
    /// The due time: steps before it are of the time since the activation before.
    Due,
}

/// Activations that took the same way to their first instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WakePath {
    /// Occupants of the processor, each where it first appears; before the due time timers and softirqs only. None for all rare
    /// paths together.
    pub steps: Vec<PathStep>,
    /// Their latencies, by bins.
    pub latencies: Bins,
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
    /// Activations whose latency is in parts; those that were not late at all included.
    pub explained: u64,
    /// Activations during which events were lost: their known parts are in the sums.
    pub gaps: u64,
    /// Sum of all their latencies above 0.
    pub lateness_ns: i64,
    /// The latencies, by bins.
    pub latencies: Bins,
    /// The largest latency.
    pub max_ns: i64,
    /// The usual way, step by step.
    pub usual: Vec<UsualStep>,
    /// Effects of each cause. The last entry may sum up all that are too many to keep apart: its `who` is `others`.
    pub causes: Vec<CauseSum>,
    /// Interruptions of the activations' work.
    pub interruptions: Vec<Interruption>,
    /// Due times missed, and the work for which they were.
    #[serde(skip_serializing_if = "Misses::is_empty")]
    pub misses: Misses,
    /// The latest activations, the latest first.
    pub latest: Vec<LateStart>,
    /// Number of these for which the file had no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Effect of the CPU quota of its control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaCount>,
    /// Paths of the activations to their first instruction, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WakePath>,
    /// Names of threads, handlers and functions.
    pub names: Vec<String>,
}

/// Properties of the tracing itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tracer {
    /// Events that were read.
    pub events: u64,
    /// Events that were lost, because the buffer was full.
    pub lost: u64,
    /// Room for events of each processor.
    pub buffer_bytes: u64,
    /// Processor time that reading them took.
    pub cpu_time_ns: i64,
    /// Processor time of an event on the CPU where it happens, in nanoseconds, measured before the run.
    pub event_ns: Option<i64>,
    /// Events that this kernel does not have.
    pub absent: Vec<String>,
}

/// Causes of the late activations of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCauses {
    /// Each task, in the order of the run's description.
    pub tasks: Vec<TaskCauses>,
    /// Properties of the tracing.
    pub tracer: Tracer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_away_leaves_the_rest() {
        let (mut all, mut some) = (Bins::default(), Bins::default());
        (1..=1_000).for_each(|ns| all.record(ns));
        (901..=1_000).for_each(|ns| some.record(ns));
        assert_eq!(all.quantile_ns(1.0), Some(upper_edge(1_000)));
        all.take_away(&some);
        assert_eq!((all.count(), all.quantile_ns(0.5)), (900, Some(upper_edge(450))));
        let json = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<Bins>(&json).unwrap(), some, "{json}");
    }
}
