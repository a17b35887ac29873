//! What a reader of a run's figures has to know, and where its tasks ran: as values. Their words are in the report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::firmware::Finding;
use crate::pulse::Pulse;

/// Something a reader of a run's figures has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "about")]
#[non_exhaustive]
pub enum Warning {
    /// The measured tasks, the recorder and the rest of the system share these CPUs.
    SharedCpu {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Loads run on a measured CPU, because there is no other.
    LoadOnMeasuredCpu {
        /// The loads, as they were asked for.
        loads: Vec<String>,
        /// The measured CPUs.
        cpus: CpuSet,
    },
    /// The file carries no checksums, as those of before, and those that another program wrote again: damage that could be a
    /// measurement is not noticed.
    NoChecksums,
    /// A load ended although nobody asked it to.
    LoadFailed {
        /// The load, as it was asked for.
        load: String,
        /// Time since the loads began.
        after_ns: i64,
        /// What it, or the system, gave as the reason.
        reason: String,
    },
    /// CPUs were kept free of everything that can be moved.
    Isolated(Isolated),
    /// Something that isolation changed could not be put back.
    NotRestored {
        /// What, and the system's words.
        what: String,
    },
    /// The kernel's events were recorded meanwhile, which takes time from the tasks themselves.
    EventsRecorded {
        /// What an event takes, where it was measured.
        event_ns: Option<i64>,
        /// What noting takes what a timer interrupt has interrupted, in the middle; in the latency where the processor was
        /// not idle.
        noting_ns: Option<i64>,
    },
    /// Events of the kernel were lost, since they came faster than they could be read.
    EventsLost {
        /// How many.
        events: u64,
    },
    /// Each activation of a task moved a pin, which took time.
    Pulsed {
        /// The task.
        task: String,
        /// The pin, and where it was moved.
        pulse: Pulse,
        /// Edges that were made.
        edges: u64,
        /// Edges that the device refused.
        refused: u64,
        /// The least time of an edge: from just before the system was asked until it was back.
        least_ns: i64,
        /// The mean.
        mean_ns: i64,
        /// The longest.
        longest_ns: i64,
    },
    /// Due times of threads that were watched passed without a wait: whether the program left them out or made up for them
    /// without waiting is in no event.
    NoWaitSeen {
        /// The tasks.
        tasks: Vec<String>,
    },
    /// Activations of a task on a Xenomai core ran on Linux's side.
    OutsideCore {
        /// The task.
        task: String,
        /// The core, `cobalt` or `evl`.
        core: String,
        /// Activations that began outside real-time mode.
        activations: u64,
        /// How often the thread was moved to Linux's side.
        mode_switches: u64,
        /// What moved it there last, where the core said so.
        last_cause: Option<String>,
    },
    /// Activations of a task that is bound to one CPU ran on others.
    LeftCpu {
        /// The task.
        task: String,
        /// Its CPU.
        cpu: u16,
        /// Activations that ran on others.
        activations: u64,
        /// What moved its thread.
        cause: Mover,
    },
    /// The run was measured in parts with pauses between them.
    Parts {
        /// How many.
        parts: u64,
    },
    /// The run was measured in a guest of an emulator.
    Emulated {
        /// Virtual time of an instruction in nanoseconds; `None` where the guest's time passed as the host's.
        ns_per_instruction: Option<u32>,
    },
    /// The processors of the emulated machine took turns while its time went on for all of them.
    Turns {
        /// How many.
        cpus: u16,
        /// The longest turn in nanoseconds of the guest's time.
        turn_ns: i64,
    },
    /// The kernel that an emulator ran.
    Kernel {
        /// How the user named it.
        name: String,
        /// As `uname -r`.
        release: String,
        /// As `uname -v`.
        version: String,
    },
    /// What a simulated processor was charged for entering interrupts: of run files of earlier versions.
    InterruptEntries(InterruptEntries),
    /// Something about a firmware on its simulated chip.
    Firmware(Finding),
    /// No period was given, so the mean distance of the edges counts as the period: latencies show no drift.
    MeanPeriod {
        /// The mean distance.
        period_ns: i64,
    },
    /// How long the first of a program's events took from when it was asked for. Due times count from the first event.
    FirstEvent {
        /// From the request to the event.
        after_ns: i64,
        /// The period, after which it was asked for.
        period_ns: i64,
    },
    /// The run file holds only a part of the run; the figures shown while measuring hold all of it.
    RecordingEnded {
        /// The system's words.
        reason: String,
    },
    /// Records of a task are missing in the run file, because the disk was too slow.
    RecordsLost {
        /// The task.
        task: String,
        /// How many.
        records: u64,
    },
    /// A part of the run's journal could not be read and is missing in its file.
    JournalDamaged {
        /// Where the part begins in the journal, in bytes.
        at: u64,
        /// Its length.
        bytes: u64,
        /// Activations in it; `None` where that is unknown.
        rows: Option<u64>,
    },
    /// The run was not closed: what was read is what its journal holds.
    NotClosed,
    /// The run still goes on: what was read is what it has recorded until now.
    StillRecording,
    /// Another tool's output does not say its unit: this one is assumed.
    UnitAssumed {
        /// The unit.
        unit_ns: i64,
    },
    /// A capture of a voltage does not say what is high: it was found from the smallest and the largest.
    ThresholdFound {
        /// The channel.
        channel: String,
        /// Below it is low, in mV.
        low_mv: i64,
        /// Above it is high, in mV.
        high_mv: i64,
    },
    /// Another tool's output does not say the period: the tool's usual one is assumed.
    PeriodAssumed {
        /// The period.
        period_ns: i64,
    },
    /// Latencies of a task lie above the last bin of its histogram: only their number and bounds are known.
    AboveHistogram {
        /// The task.
        task: String,
        /// How many.
        count: u64,
    },
    /// Values of a task are counted in totals and listed in no row of its histogram: of those only the bounds are known.
    NotInRows {
        /// The task.
        task: String,
        /// How many.
        count: u64,
    },
    /// Two statements of an output about a task cannot both be true.
    Contradiction {
        /// The task.
        task: String,
        /// What they are about.
        figure: Stated,
        /// What they say: a number of values, or times in nanoseconds.
        values: [i64; 2],
    },
    /// The assumed unit of another tool's values cannot be theirs: the smallest latency would be longer than the period.
    UnitImpossible {
        /// The task.
        task: String,
    },
    /// A tool stopped at a latency above the limit that it was given.
    Stopped {
        /// The task.
        task: String,
        /// The latency, where the output tells it.
        latency_ns: Option<i64>,
    },
    /// Values are the largest of blocks of activations: of the others only is known that they are no larger.
    LargestOfBlocks {
        /// The task.
        task: String,
        /// Activations in a block.
        activations: u64,
    },
    /// System management interrupts, in which the firmware stopped a processor.
    ManagementInterrupts {
        /// The processor or task that saw them.
        of: String,
        /// How many.
        count: u64,
    },
    /// Longest times are in cycles of the processor or in nanoseconds, and taken as nanoseconds.
    CyclesAsNanoseconds,
    /// The period is the roundest that the output's duration and count leave.
    PeriodByDuration {
        /// The period.
        period_ns: i64,
    },
    /// The activations of latencies that an output lists one by one, as far as it does.
    ListedLate {
        /// The task.
        task: String,
        /// Their places in ascending order: cycles of the task, or times.
        at: Vec<u64>,
        /// How long it is from one place to the next, where that is known.
        each_ns: Option<i64>,
    },
    /// Latencies above the histogram came in the same cycles of several tasks, as when the whole machine stands still.
    SharedStalls {
        /// How many cycles.
        cycles: u64,
        /// Cycles that are listed, of the task that lists the most.
        of: u64,
        /// In how many tasks at least.
        tasks: u64,
    },
    /// Due times of a task are of another clock than its starts: they count from the earliest activation.
    ClocksApart {
        /// The task.
        task: String,
        /// How far the two clocks are apart.
        apart_ns: i64,
    },
    /// The last figures of a task are missing in a display that was refreshed: those before may have been better.
    EndMissing {
        /// The task.
        task: String,
    },
    /// Threads that the output names, in its command or elsewhere, without figures of theirs.
    NotListed {
        /// How many.
        threads: u64,
        /// How many it names.
        of: u64,
    },
    /// Channels of a capture that show too few activations to be tasks.
    SilentChannels {
        /// Their names.
        channels: Vec<String>,
    },
    /// A channel of a capture shows nothing for more than two periods before the capture ends: whether what it shows had ended, or
    /// missed what was due, the capture does not tell.
    SilentToEnd {
        /// The task.
        task: String,
        /// When it last began, since it first did.
        since_ns: i64,
        /// How long after that the capture ends.
        silent_ns: i64,
    },
    /// Only values of this length and longer were recorded.
    OnlyAbove {
        /// The length.
        above_ns: i64,
    },
    /// Due times are those at which the kernel's timer interrupt ran: how late that was is in no latency.
    DueAtInterrupt,
    /// The printed distribution ends below the maximum, and how many values it leaves out is not known.
    EndsBelowMaximum,
    /// Only extremes, and perhaps mean and deviation, are known.
    OnlyExtremes,
    /// Only percentiles are known: what lies between two of them counts as the upper one.
    OnlyPercentiles,
    /// The tool prints no due times and skips missed ones without counting them: each follows the last is assumed.
    DueTimesAssumed {
        /// The tool.
        tool: String,
    },
    /// The tool skips missed activations and does not count them.
    MissedNotCounted {
        /// The tool.
        tool: String,
    },
    /// The tool runs missed activations late, back to back.
    CatchesUp {
        /// The tool.
        tool: String,
    },
    /// Values are cut to whole units, so due times are up to one late.
    Cut {
        /// The unit.
        unit_ns: i64,
    },
    /// What the tool measures is not periodic: nothing is due at a time.
    NoPeriod {
        /// The tool.
        tool: String,
        /// What it measures.
        measures: Aperiodic,
    },
    /// Tasks are stages of the same activations, each from the due time on.
    Stages,
    /// The tool sleeps a relative delay: latencies leave out what its loop itself takes.
    RelativeSleep {
        /// The tool.
        tool: String,
    },
    /// Only what lies between two starts is known: when activations were due, and so their latencies, are not.
    OnlyPeriodErrors {
        /// The tool.
        tool: String,
    },
    /// How many activations ran is not known.
    #[serde(alias = "count-assumed")]
    CountUnknown,
    /// The figure is the largest of every test that was ever made on the machine, of whatever thread.
    LargestOfAllTests,
    /// Only the largest latency is known, at which the tool stopped.
    OnlyLargest,
    /// What was in the way of a latency, as another tool traced it.
    Traced(Traced),
    /// The file has no due times: they lie on a grid of even distance that begins with the earliest activation, so every
    /// latency may be larger by the same amount.
    PhaseUnknown,
    /// A program that recorded itself did not say when its activations were due: they count from the first one.
    DueFromFirst {
        /// The task's name.
        task: String,
        /// Activations that began more than half a period before the due time they were taken to serve.
        early: u64,
    },
    /// A program that recorded itself did not say when its activations were due: due times lie on a grid fitted to its starts,
    /// of which the earliest of the first seconds counts as in time.
    DueFitted {
        /// The task's name.
        task: String,
        /// How long those first seconds are.
        within_ns: i64,
        /// Whether the period was found with the grid, rather than said.
        with_period: bool,
    },
    /// A program that recorded itself said neither its due times nor its period, and nothing of it is periodic.
    NoGridFound {
        /// The task's name.
        task: String,
    },
    /// What the tool itself says.
    Said {
        /// The tool.
        tool: String,
        /// Its words.
        text: String,
    },
    /// Anything else, as a sentence: from other tools, and from run files of earlier versions.
    #[serde(untagged)]
    Other(String),
}

impl Warning {
    /// Whether it tells something of why activations were late, though not of which.
    #[must_use]
    pub fn is_clue(&self) -> bool {
        matches!(
            self,
            Warning::SharedStalls { .. } | Warning::ManagementInterrupts { .. } | Warning::ListedLate { .. }
        )
    }
}

impl From<String> for Warning {
    fn from(text: String) -> Self {
        Warning::Other(text)
    }
}

impl From<&str> for Warning {
    fn from(text: &str) -> Self {
        Warning::Other(text.into())
    }
}

/// What statements of another tool's output are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stated {
    /// The number of values.
    Count,
    /// The smallest value.
    Smallest,
    /// The mean.
    Mean,
    /// The largest value.
    Largest,
    /// The period.
    Period,
}

/// What other tools measure beside periodic tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Aperiodic {
    /// How long a busy loop stood still.
    Gaps,
    /// How long a signal takes from thread to thread.
    Signals,
    /// How long a thread takes to wake up when another wakes it.
    Wakers,
    /// How long threads that could run waited for a processor.
    RunQueue,
    /// How long something took, whatever it is.
    Durations,
}

/// A latency of which a tool traced what was in its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The processor, where that is told.
    pub cpu: Option<u16>,
    /// Latency of the thread.
    pub latency_ns: i64,
    /// Latency of the interrupt before it.
    pub irq_latency_ns: Option<i64>,
    /// What it consists of, in the order of time.
    pub parts: Vec<TracedPart>,
}

/// A part of a traced latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedPart {
    /// In the tool's words, such as `IRQ handler delay`.
    pub name: String,
    /// How long.
    pub ns: i64,
    /// The threads and interrupts that it was, with their numbers, where they are named.
    pub by: Vec<String>,
    /// The functions that were on its stack, the innermost first, where they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// What moved a thread off the CPU that it was bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Mover {
    /// Another jitterlab, which isolates that CPU for itself.
    Isolation {
        /// Its process.
        process: u32,
    },
    /// The kernel: that CPU is offline, or the process may not use it any more.
    CpuGone,
    /// Another program; or the kernel, which gave the CPU back before the end.
    Program,
}

/// What a simulator was charged for entering interrupts: at least what the datasheets say, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptEntries {
    /// Whether the cycles below were charged; simavr alone charges nothing.
    pub charged: bool,
    /// Interrupts that were entered.
    pub entries: u64,
    /// Those of them that woke the processor.
    pub from_sleep: u64,
    /// Cycles that each entry takes.
    pub cycles: u64,
    /// Cycles that it takes more from sleep.
    pub cycles_from_sleep: u64,
}

/// What isolating CPUs did, and what it could not do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Isolated {
    /// The CPUs that were isolated.
    pub cpus: CpuSet,
    /// How many threads were moved away.
    pub threads_moved: u64,
    /// How many interrupts were moved away.
    pub interrupts_moved: u64,
    /// What was changed besides.
    pub changed: Vec<Chore>,
    /// What stayed, and why.
    pub left: Vec<LeftBehind>,
}

/// What the kernel does anywhere unless told otherwise, apart from single threads and interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chore {
    /// Interrupts of devices that appear later.
    NewInterrupts,
    /// Work that drivers and file systems put off, not bound to a CPU.
    UnboundWork,
    /// Writing files back to the disk.
    WriteBack,
    /// The detectors of locked-up CPUs.
    Watchdogs,
    /// Timers of other CPUs.
    OtherTimers,
    /// Programs started later, by a control group.
    NewPrograms,
}

/// What isolation could not move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
#[non_exhaustive]
pub enum LeftBehind {
    /// Kernel threads that belong to the isolated CPUs.
    BoundThreads {
        /// Their names, each once, with how many there are.
        names: Vec<(String, u64)>,
    },
    /// Threads that the system refused to move.
    Threads {
        /// Name and the system's words, each once, with how many there are.
        names: Vec<(String, u64)>,
    },
    /// Interrupts that the system refused to move.
    Interrupts {
        /// Number, device and the system's words, each once, with how many there are.
        names: Vec<(String, u64)>,
    },
    /// A chore that the system refused to move.
    Chore {
        /// Which.
        chore: Chore,
        /// The system's words.
        error: String,
    },
}

/// Names, each once, with how often it came: the most frequent first.
pub fn tally(names: &[String]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut listed: Vec<(String, u64)> = counts.into_iter().map(|(name, n)| (name.into(), n)).collect();
    listed.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    listed
}

/// Where the tasks of a run are, and why there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Placed {
    /// As chosen.
    Chosen {
        /// The CPUs of the tasks.
        cpus: CpuSet,
        /// The CPUs of every thread of jitterlab that is not measured.
        rest: CpuSet,
        /// Why these; empty where nothing speaks for them but that they may be used.
        because: Vec<Because>,
    },
    /// As a sentence: from run files of earlier versions.
    Sentence(String),
}

/// What speaks for a choice of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
#[non_exhaustive]
pub enum Because {
    /// The machine does not say which CPUs it has.
    NoneListed,
    /// They were asked for.
    AskedFor,
    /// It is the only one that this process may use.
    OnlyOne,
    /// They are isolated from other tasks.
    Isolated,
    /// They have no tick while one task runs.
    NoTick,
    /// They are away from CPU 0.
    AwayFromZero,
    /// The other threads of their cores are free of jitterlab's own threads.
    FreeSiblings {
        /// These threads.
        cpus: CpuSet,
        /// Whether these are isolated as well.
        isolated: bool,
    },
    /// They share a cache.
    SharedCache {
        /// Its level.
        level: u8,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_read_as_it_was_written_and_a_sentence_of_an_earlier_version_stays_one() {
        let all = vec![
            Warning::SharedCpu { cpus: "0".parse().unwrap() },
            Warning::Isolated(Isolated {
                left: vec![LeftBehind::Chore { chore: Chore::NewPrograms, error: "refused".into() }],
                ..Isolated::default()
            }),
            Warning::Other("the disk was slow".into()),
        ];
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Warning>>(&json).unwrap(), all, "{json}");
        assert!(json.ends_with(r#","the disk was slow"]"#), "{json}");
        let placed: Placed = serde_json::from_str(r#""CPU 1 as asked for""#).unwrap();
        assert_eq!(placed, Placed::Sentence("CPU 1 as asked for".into()));
    }
}
