//! The description of one run: requests, grants and results. Stored as JSON in the run file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, KEEPS, invalid_value};
use crate::facts::SystemFacts;
use crate::firmware::FirmwareReport;
use crate::known::{Gap, Known};
use crate::load::{Load, LoadRun};
use crate::task::{Overrun, Policy, TaskSpec};
use crate::units::{Exact, Human, parse_duration_ns};
use crate::warning::{CpuPlacement, Warning};
use crate::watched::Watched;
use crate::words;

/// Version of the description's layout; readers refuse a higher one.
///
/// Version 1: `load`, warnings and placement are sentences. Version 2: they are values, and a task lists the properties
/// that its source leaves unknown.
pub const FORMAT_VERSION: u32 = 2;

words! {
    /// Source of the activations.
    #[derive(Default)]
    #[non_exhaustive]
    Bench:
    /// A machine that ran the tasks itself.
    #[default]
    Host = "host",
    /// A kernel image in an emulator's virtual time.
    Kernel = "kernel",
    /// A microcontroller.
    Mcu = "mcu",
    /// Another tool, whose output was read.
    Import = "import",
}

/// Records of the activations that the run file keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "mode")]
pub enum Keep {
    /// Every activation.
    #[default]
    All,
    /// Per-second histograms, and every activation with a latency of `above_ns` or more with its neighbours.
    Spikes {
        /// The threshold.
        above_ns: i64,
    },
}

impl Keep {
    /// The threshold of spikes where none is named.
    pub const ABOVE_NS: i64 = 100_000;
}

impl FromStr for Keep {
    type Err = Error;

    /// Reads `all`, `spikes` or `spikes:TIME`.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            None if text == "all" => Ok(Keep::All),
            None if text == "spikes" => Ok(Keep::Spikes { above_ns: Keep::ABOVE_NS }),
            Some(("spikes", time)) => parse_duration_ns(time)
                .map(|above_ns| Keep::Spikes { above_ns })
                .map_err(|error| error.within("spikes")),
            _ => Err(invalid_value("choice to keep", text, KEEPS)),
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::All => f.write_str("all"),
            Keep::Spikes { above_ns } => write!(f, "spikes:{}", Exact(*above_ns)),
        }
    }
}

/// Overload: a real-time task that leaves no time on its processor to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Overload {
    /// It used its processor almost without a break.
    NeverWaits {
        /// Processor time it used.
        used_ns: i64,
        /// Length of the window in nanoseconds.
        of_ns: i64,
    },
    /// One activation takes as long as its period or longer.
    WorkExceedsPeriod {
        /// Mean processor time of an activation.
        work_ns: i64,
        /// T.
        period_ns: i64,
    },
    /// It hit the kernel's limit on real-time computing without a wait (RLIMIT_RTTIME).
    HeldCpu,
}

impl From<Overload> for Error {
    fn from(overload: Overload) -> Self {
        match overload {
            Overload::NeverWaits { used_ns, of_ns } => Error::not_measured(format!(
                "it used {} of {} of its processor and left nothing to the rest of the machine",
                Human(used_ns as f64),
                Human(of_ns as f64)
            ))
            .remedy("lengthen its period, shorten its work or poll less"),
            Overload::WorkExceedsPeriod { work_ns, period_ns } => Error::not_measured(format!(
                "its work takes {} of processor time, which does not fit into its period of {}",
                Human(work_ns as f64),
                Human(period_ns as f64)
            ))
            .remedy("lengthen the period or shorten the work"),
            Overload::HeldCpu => Error::not_measured(
                "it computed under a real-time policy without once waiting until the kernel's limit for that \
                 (RLIMIT_RTTIME) was reached, and was made an ordinary thread",
            )
            .remedy("shorten its work"),
        }
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from(*self).fmt(f)
    }
}

/// Reason for the end of the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
#[non_exhaustive]
pub enum StopReason {
    /// The requested duration was over.
    Duration,
    /// Every task had the requested number of activations.
    Count,
    /// A latency above the limit.
    Above {
        /// Index of the task in [`RunInfo::tasks`].
        task: usize,
        /// The activation's index on its grid.
        index: u64,
        /// Its latency.
        latency_ns: i64,
    },
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// A task could not keep up and was stopped for the machine's safety.
    Overloaded {
        /// Index of the task in [`RunInfo::tasks`].
        task: usize,
        /// Form of the overload.
        overload: Overload,
    },
    /// A task could not wait any more.
    WaitFailed {
        /// Index of the task in [`RunInfo::tasks`].
        task: usize,
        /// The system's error message.
        why: String,
    },
    /// The program that ran the tasks and recorded itself closed the run.
    Closed,
    /// The measuring process ended without closing the file; it was recovered later.
    Crashed,
}

/// Request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The request, such as `policy fifo:90 for task servo`.
    pub what: String,
    /// Reason for the refusal, in the system's words.
    pub why: String,
    /// The remedy, in one line.
    pub remedy: String,
}

impl Refusal {
    /// Creates the note of a failure after which the measurement goes on without the request.
    pub fn from_error(what: impl Into<String>, error: &Error) -> Self {
        Refusal { what: what.into(), why: error.why(), remedy: error.advice().unwrap_or_default().into() }
    }
}

/// Scheduling of a task's thread in force, read back from the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Granted {
    /// The scheduling policy in force.
    pub policy: Policy,
    /// The processors it was allowed on.
    pub cpus: Vec<u16>,
    /// True if the process's memory was locked.
    pub memory_locked: bool,
    /// The thread's timer slack (matters for the policies other, batch and idle).
    pub timer_slack_ns: Option<u64>,
}

/// Counters that the task's thread kept itself: they hold even when records were dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskResult {
    /// Activations that ran.
    pub executed: u64,
    /// Due times that passed unserved, those pending at the stop included.
    pub missed: u64,
    /// Records lost because the ring was full; the extremes below hold them all the same.
    pub dropped: u64,
    /// t_0: the first due time.
    pub first_due_ns: i64,
    /// The end of the last activation (its due time, if it ended before that), in nanoseconds. Invariant:
    /// `executed + missed = floor((last_end_ns - first_due_ns - phase_loss_ns) / T) + 1`.
    pub last_end_ns: i64,
    /// Sum of the shifts of the grid (policy re-phase).
    pub phase_loss_ns: i64,
    /// Smallest latency of all.
    pub min_latency_ns: i64,
    /// Largest latency of all.
    pub max_latency_ns: i64,
    /// Processor time the thread used from its first to its last activation.
    pub cpu_time_ns: Option<i64>,
    /// Minor page faults of the thread while it was measured.
    pub minor_faults: Option<u64>,
    /// Major page faults of the thread while it was measured.
    pub major_faults: Option<u64>,
    /// Context switches because it waited.
    pub voluntary_switches: Option<u64>,
    /// Context switches because something else was preferred.
    pub involuntary_switches: Option<u64>,
    /// Time spent polling the clock for due times (compensation, and the method spin).
    pub polled_ns: i64,
    /// The longest time between two successive readings while polling: a hole that the system or a hypervisor
    /// tore into the task's processor. 0 without polling.
    pub longest_hole_ns: i64,
    /// Activations that began on another processor than the first one did.
    pub elsewhere: u64,
    /// The last of those processors.
    pub other_cpu: Option<u16>,
    /// Margin by which it woke early, if it did on purpose.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub margin: Option<MarginUsed>,
    /// Number of times the clock it slept on was set while it ran.
    pub clock_steps: u64,
    /// Total movement of that clock against CLOCK_MONOTONIC, in nanoseconds.
    pub clock_moved_ns: i64,
    /// Accuracy of the fit of the clock it was read from to CLOCK_MONOTONIC, in nanoseconds; `None` if it is that
    /// clock.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub clock_fit: Option<ClockFit>,
    /// Behaviour on a Xenomai core; `None` on stock Linux.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub core: Option<CoreUse>,
}

/// Behaviour of a task on a Xenomai core.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreUse {
    /// `cobalt` or `evl`.
    pub core: String,
    /// The core's gravity for threads: time by which it lets them wake early.
    pub gravity_ns: i64,
    /// Activations that began outside real-time mode (relaxed, in-band): they measure Linux, not the core.
    pub outside: u64,
    /// Number of times the thread was moved to Linux's side.
    pub mode_switches: u64,
    /// Cause of the last move, if the core reported it.
    pub last_cause: Option<String>,
}

/// Margin by which a compensated task woke early.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MarginUsed {
    /// Latencies of early sleeps that were measured to choose it; 0 if it was given.
    pub samples: u64,
    /// The margin in force at a time of CLOCK_MONOTONIC, in order: one entry for a fixed margin, its course for
    /// an adaptive one.
    pub course: Vec<(i64, i64)>,
}

/// A least-squares fit of another clock against CLOCK_MONOTONIC, from pairs of readings taken through the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockFit {
    /// Pairs of readings.
    pub pairs: u64,
    /// Rate of the clock: its units per second of CLOCK_MONOTONIC, over the whole run.
    pub units_per_s: u64,
    /// Root mean square of the error of stated times at the pairs, before each pair entered the fit.
    pub rms_error_ns: u64,
    /// The largest such error.
    pub max_error_ns: u64,
}

/// One task of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRun {
    /// The task as requested (with the choices jitterlab made filled in).
    pub spec: TaskSpec,
    /// Scheduling in force; `None` if its thread never came up.
    pub granted: Option<Granted>,
    /// Its counters; `None` when the run was not closed properly.
    pub result: Option<TaskResult>,
    /// Properties that its source leaves unknown: `spec` and `result` hold assumptions about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Gap>,
    /// Identity of the thread, if it is one of another program that was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
}

/// Longest pause at the end of a recording that is no silence: periods of the task, ...
const SILENT_PERIODS: i64 = 10;
/// ... one part in so many of the recording, ...
const SILENT_SHARE: i64 = 100;
/// ... and the time that threads and files take to end.
const SILENT_LEAST_NS: i64 = 50_000_000;

impl TaskRun {
    /// Creates a task of which only the request is known.
    pub fn new(spec: TaskSpec) -> Self {
        TaskRun { spec, granted: None, result: None, unknown: Vec::new(), watched: None }
    }

    /// Returns true if its source states this property.
    pub fn knows(&self, gap: Gap) -> bool {
        !self.unknown.contains(&gap)
    }

    /// Sets missed due times to unknown and returns a warning, if nothing ran at the end of the recording. It
    /// went from `began_ns` to `ended_ns`: the task may have ended, or hung. Pauses that ending takes are
    /// ignored.
    pub fn check_final_silence(&mut self, began_ns: i64, ended_ns: i64) -> Option<Warning> {
        let result = self.result.as_ref()?;
        let (first_ns, last_ns) = match result.executed {
            0 => (began_ns, began_ns),
            _ => (result.first_due_ns, result.last_end_ns),
        };
        let silent_ns = ended_ns.saturating_sub(last_ns);
        let pause_ns = (SILENT_PERIODS.saturating_mul(self.spec.period_ns))
            .max(ended_ns.saturating_sub(began_ns) / SILENT_SHARE)
            .max(SILENT_LEAST_NS);
        if silent_ns <= pause_ns {
            return None;
        }
        self.add_gap(Gap::Missed);
        let since_ns = last_ns.saturating_sub(first_ns);
        Some(Warning::SilentToEnd { task: self.spec.name.clone(), since_ns, silent_ns })
    }

    /// Sets a property to unknown.
    pub fn add_gap(&mut self, gap: Gap) {
        if self.knows(gap) {
            self.unknown.push(gap);
        }
    }

    /// Sets the properties to unknown that only records show, if some were lost. For threads without own counters.
    pub fn add_gaps_of_lost_records(&mut self) {
        if self.result.as_ref().is_some_and(|result| result.dropped > 0) {
            [Gap::Missed, Gap::Unseen].into_iter().for_each(|gap| self.add_gap(gap));
        }
    }

    /// Returns true if its due times are its own, not a grid fitted to its starts. Several starts may fall to
    /// one due time of such a grid.
    #[must_use]
    pub fn has_own_due_times(&self) -> bool {
        self.watched.is_none() && self.knows(Gap::Phase)
    }

    /// Returns its overrun policy.
    pub fn overrun(&self) -> Known<Overrun> {
        self.knows(Gap::Overrun).then_some(self.spec.overrun).into()
    }

    /// Sets its overrun policy, as far as it is known.
    pub fn set_overrun(&mut self, seen: Known<Overrun>) {
        self.unknown.retain(|gap| *gap != Gap::Overrun);
        match seen.exactly() {
            Some(overrun) => self.spec.overrun = overrun,
            None => self.unknown.push(Gap::Overrun),
        }
    }

    /// Returns T, as the source or the user states it.
    pub fn period_ns(&self) -> Known<i64> {
        self.is_periodic().then_some(self.spec.period_ns).filter(|_| self.knows(Gap::Period)).into()
    }

    /// Returns true if it has due times at all.
    pub fn is_periodic(&self) -> bool {
        self.knows(Gap::Grid)
    }
}

/// The whole description of one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// Name and version of the program that measured.
    pub tool: String,
    /// The command that made it, word by word.
    pub command: Vec<String>,
    /// Source of the activations.
    pub bench: Bench,
    /// Beginning, UTC, RFC 3339.
    pub started: String,
    /// Name of the machine, where the source tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub host: Option<String>,
    /// Names and values that the user gave the run, such as the line that a machine belongs to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub labels: BTreeMap<String, String>,
    /// Name of the clock all times are of.
    pub clock: String,
    /// Nanoseconds to add to a time of that clock for one of the Unix epoch; `None` if nobody compared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub epoch_offset_ns: Option<i64>,
    /// Wanted length, if one was set.
    pub duration_ns: Option<i64>,
    /// Wanted number of activations of each task, if one was set.
    pub count: Option<u64>,
    /// Limit on the latency, if one was set.
    pub stop_above_ns: Option<i64>,
    /// Records kept.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub keep: Keep,
    /// The load that ran next to the tasks, as requested.
    #[serde(default)]
    pub load: Load,
    /// The same with the work of each load; known when the run has ended.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub loads: Vec<LoadRun>,
    /// CPUs of the tasks and the reasons for the choice; `None` if nobody chose.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub placement: Option<CpuPlacement>,
    /// The tasks, in the order of the `task` column.
    pub tasks: Vec<TaskRun>,
    /// Refused requests.
    pub refused: Vec<Refusal>,
    /// Things a reader of the figures has to know.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub warnings: Vec<Warning>,
    /// Reason for its end; `None` while it runs.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub stop: Option<StopReason>,
    /// Events of a firmware besides its activations, if a firmware ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub firmware: Option<FirmwareReport>,
    /// The machine before the first activation.
    pub facts_before: Option<SystemFacts>,
    /// The machine after the last activation.
    pub facts_after: Option<SystemFacts>,
}

impl RunInfo {
    /// Returns the task of this name.
    pub fn task(&self, name: &str) -> Option<&TaskRun> {
        self.tasks.iter().find(|task| task.spec.name == name)
    }

    /// Returns true if another tool measured it. Its output does not state how its tasks were scheduled,
    /// waited, worked and overran: `tasks` holds defaults for these.
    pub fn is_imported(&self) -> bool {
        self.bench == Bench::Import
    }

    /// Returns true if an emulator counted its time in instructions, so that the same programs give the same run again.
    pub fn is_in_virtual_time(&self) -> bool {
        self.warnings.iter().any(|w| matches!(w, Warning::Emulated { ns_per_instruction: Some(_) }))
    }

    /// Creates a description with only the tasks, their source and their clock; everything else is unknown or empty.
    pub fn new(bench: Bench, clock: &str, tasks: impl IntoIterator<Item = TaskSpec>) -> Self {
        RunInfo {
            format: FORMAT_VERSION,
            bench,
            clock: clock.into(),
            tasks: tasks.into_iter().map(TaskRun::new).collect(),
            ..RunInfo::default()
        }
    }

    /// Time from the earliest first due time to the latest end; `None` if no task with known times ran. Tasks
    /// that never ran, and those with an assumed period or count, have no times.
    pub fn measured_ns(&self) -> Option<i64> {
        let known = |task: &&TaskRun| task.knows(Gap::Period) && task.knows(Gap::Count);
        let results = self.tasks.iter().filter(known).filter_map(|task| task.result.as_ref());
        let results = || results.clone().filter(|result| result.executed > 0);
        let first = results().map(|r| r.first_due_ns).min()?;
        results().map(|r| r.last_end_ns).max().map(|last| last - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_never_ran_does_not_lengthen_a_run() {
        let mut info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default(), TaskSpec::default()]);
        info.tasks[1].result = Some(TaskResult::default());
        assert_eq!(info.measured_ns(), None);
        let ran =
            TaskResult { executed: 3, first_due_ns: 5_000, last_end_ns: 7_100, ..TaskResult::default() };
        info.tasks[0].result = Some(ran);
        assert_eq!(info.measured_ns(), Some(2_100));
    }

    #[test]
    fn silence_before_the_end_leaves_missed_due_times_unknown() {
        let silent = |executed, period_ns, last_end_ns, ended_ns| {
            let spec = TaskSpec { period_ns, ..TaskSpec::default() };
            let result = TaskResult { executed, first_due_ns: 1_000, last_end_ns, ..TaskResult::default() };
            let mut task = TaskRun { result: Some(result), ..TaskRun::new(spec) };
            let warning = task.check_final_silence(0, ended_ns);
            assert_eq!(warning.is_some(), !task.knows(Gap::Missed));
            warning
        };
        let of =
            |since_ns, silent_ns| Some(Warning::SilentToEnd { task: "main".into(), since_ns, silent_ns });
        const MS: i64 = 1_000_000;
        assert_eq!(silent(500, MS, 500 * MS, 60_000 * MS), of(500 * MS - 1_000, 59_500 * MS));
        // As long as a program takes to end, ten periods, a hundredth of the recording.
        assert_eq!(silent(500, MS, 500 * MS, 550 * MS), None);
        assert_eq!(silent(500, 10 * MS, 5_000 * MS, 5_100 * MS), None);
        assert_eq!(silent(9_900, MS, 9_900 * MS, 10_000 * MS), None);
        assert_eq!(silent(9_899, MS, 9_899 * MS, 10_000 * MS), of(9_899 * MS - 1_000, 101 * MS));
        // One that was seen to be periodic, and never came again.
        assert_eq!(silent(0, MS, 0, 5_000 * MS), of(0, 5_000 * MS));
    }
}
