//! Warnings for a reader of a run's figures, and the CPUs of its tasks, as values. Their words are in the report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::firmware::FirmwareFinding;
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
        /// The loads, as requested.
        loads: Vec<String>,
        /// The measured CPUs.
        cpus: CpuSet,
    },
    /// A load for a disk writes to a file system in memory.
    LoadInMemory {
        /// The load, as requested.
        load: String,
    },
    /// The file carries no checksums, as those of earlier versions and those rewritten by another program: damage that
    /// could be a measurement is not noticed.
    NoChecksums,
    /// A load ended early by itself.
    LoadFailed {
        /// The load, as requested.
        load: String,
        /// Time since the loads began.
        after_ns: i64,
        /// The reason that it, or the system, gave.
        reason: String,
    },
    /// CPUs were kept free of everything that can be moved.
    Isolated(IsolationReport),
    /// Something that isolation changed could not be put back.
    NotRestored {
        /// The change, and the system's words.
        what: String,
    },
    /// The kernel's events were recorded during the run, which takes time from the tasks themselves.
    EventsRecorded {
        /// Processor time of an event in nanoseconds, if it was measured.
        event_ns: Option<i64>,
        /// Median time in nanoseconds to record the code that a timer interrupt interrupted; part of the latency where
        /// the processor was not idle.
        noting_ns: Option<i64>,
    },
    /// Events of the kernel were lost, since they came faster than they could be read.
    EventsLost {
        /// Number of lost events.
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
        /// The least time of an edge, in nanoseconds: from the call of the system to its return.
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
        /// Number of times the thread was moved to Linux's side.
        mode_switches: u64,
        /// Cause of the last move, if the core reported it.
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
        /// Cause of the thread's move.
        cause: Mover,
    },
    /// The run was measured in parts with pauses between them.
    Parts {
        /// Number of parts.
        parts: u64,
    },
    /// The run was measured in a guest of an emulator.
    Emulated {
        /// Virtual time of an instruction in nanoseconds; `None` where the guest's time passed as the host's.
        ns_per_instruction: Option<u32>,
    },
    /// The processors of the emulated machine took turns while its time went on for all of them.
    Turns {
        /// Number of processors.
        cpus: u16,
        /// The longest turn in nanoseconds of the guest's time.
        turn_ns: i64,
    },
    /// Devices of the emulated machine, each with interrupts of its own.
    Devices {
        /// Model of the disk, if there is one.
        disk: Option<String>,
        /// Model of the network cards, if there are any.
        network: Option<String>,
    },
    /// The kernel that an emulator ran.
    Kernel {
        /// The user's name for it.
        name: String,
        /// As `uname -r`.
        release: String,
        /// As `uname -v`.
        version: String,
    },
    /// Cost that a simulated processor was charged for entering interrupts: of run files of earlier versions.
    InterruptEntries(InterruptEntries),
    /// Something about a firmware on its simulated chip.
    Firmware(FirmwareFinding),
    /// No period was given, so the mean distance of the edges counts as the period: latencies show no drift.
    MeanPeriod {
        /// The mean distance.
        period_ns: i64,
    },
    /// Time from the request for the first of a program's events to that event. Due times count from the first event.
    FirstEvent {
        /// Time from the request to the event, in nanoseconds.
        after_ns: i64,
        /// The period in nanoseconds: the requested time of the event.
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
        /// Number of missing records.
        records: u64,
    },
    /// A part of the run's journal could not be read and is missing in its file.
    JournalDamaged {
        /// Beginning of the part in the journal, in bytes.
        at: u64,
        /// Its length.
        bytes: u64,
        /// Activations in it; `None` where that is unknown.
        rows: Option<u64>,
    },
    /// The run was not closed: its data come from its journal.
    NotClosed,
    /// The run still goes on: its data are those recorded until now.
    StillRecording,
    /// Another tool's output does not state its unit: this one is assumed.
    UnitAssumed {
        /// The unit.
        unit_ns: i64,
    },
    /// A capture of a voltage does not state its threshold: it was found from the smallest and the largest voltage.
    ThresholdFound {
        /// The channel.
        channel: String,
        /// Below it is low, in mV.
        low_mv: i64,
        /// Above it is high, in mV.
        high_mv: i64,
    },
    /// Another tool's output does not state the period: the tool's usual one is assumed.
    PeriodAssumed {
        /// The period.
        period_ns: i64,
    },
    /// Latencies of a task lie above the last bin of its histogram: only their number and bounds are known.
    AboveHistogram {
        /// The task.
        task: String,
        /// Number of such latencies.
        count: u64,
    },
    /// Values of a task are counted in totals and listed in no row of its histogram: only their bounds are known.
    NotInRows {
        /// The task.
        task: String,
        /// Number of such values.
        count: u64,
    },
    /// Two statements of an output about a task cannot both be true.
    Contradiction {
        /// The task.
        task: String,
        /// Subject of the statements.
        figure: StatedQuantity,
        /// The two values: numbers of values, or times in nanoseconds.
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
        /// The latency, if the output states it.
        latency_ns: Option<i64>,
    },
    /// Values are the largest of blocks of activations: the others are only known to be no larger.
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
        /// Number of such interrupts.
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
        /// Time from one place to the next in nanoseconds, if known.
        each_ns: Option<i64>,
    },
    /// Latencies above the histogram came in the same cycles of several tasks, as when the whole machine stops.
    SharedStalls {
        /// Number of such cycles.
        cycles: u64,
        /// Cycles that are listed, of the task that lists the most.
        of: u64,
        /// Least number of tasks.
        tasks: u64,
    },
    /// Due times of a task are of another clock than its starts: they count from the earliest activation.
    ClocksApart {
        /// The task.
        task: String,
        /// Difference of the two clocks in nanoseconds.
        apart_ns: i64,
    },
    /// The last figures of a task are missing in a display that was refreshed: those before may have been better.
    EndMissing {
        /// The task.
        task: String,
    },
    /// Threads that the output names, in its command or elsewhere, without figures of theirs.
    NotListed {
        /// Number of threads without figures.
        threads: u64,
        /// Number of threads that it names.
        of: u64,
    },
    /// Channels of a capture that show too few activations to be tasks.
    SilentChannels {
        /// Their names.
        channels: Vec<String>,
    },
    /// Nothing of a task was seen before the recording ended. The recording does not show whether its activity had
    /// ended or due activations were missed.
    SilentToEnd {
        /// The task.
        task: String,
        /// Last of it in nanoseconds, since the first.
        since_ns: i64,
        /// Time in nanoseconds from there to the end of the recording.
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
    /// Only extremes are known, in some outputs also mean and deviation.
    OnlyExtremes,
    /// Only percentiles are known: values between two of them count as the upper one.
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
    /// The tool measures something that is not periodic: nothing is due at a time.
    NoPeriod {
        /// The tool.
        tool: String,
        /// The measured quantity.
        measures: Aperiodic,
    },
    /// Tasks are stages of the same activations, each from the due time on.
    Stages,
    /// The tool sleeps a relative delay: latencies leave out the time of its own loop.
    RelativeSleep {
        /// The tool.
        tool: String,
    },
    /// Only the time between two starts is known: due times, and so latencies, are unknown.
    OnlyPeriodErrors {
        /// The tool.
        tool: String,
    },
    /// The number of activations is unknown.
    #[serde(alias = "count-assumed")]
    CountUnknown,
    /// The figure is the largest of every test that was ever made on the machine, of whatever thread.
    LargestOfAllTests,
    /// Only the largest latency is known, at which the tool stopped.
    OnlyLargest,
    /// Parts of a latency, as another tool traced them.
    Traced(TracedLatency),
    /// The file has no due times: they lie on a grid of even distance that begins with the earliest activation, so every
    /// latency may be larger by the same amount.
    PhaseUnknown,
    /// A program that recorded itself did not state its due times: they count from the first activation.
    DueFromFirst {
        /// The task's name.
        task: String,
        /// Activations that began more than half a period before the due time they were taken to serve.
        early: u64,
    },
    /// A program that recorded itself did not state its due times: they lie on a grid fitted to its starts, where the
    /// earliest start of the first seconds counts as in time.
    DueFitted {
        /// The task's name.
        task: String,
        /// Length of those first seconds, in nanoseconds.
        within_ns: i64,
        /// True if the period was found with the grid, rather than stated.
        with_period: bool,
    },
    /// A program that recorded itself stated neither its due times nor its period, and its starts are not periodic.
    NoGridFound {
        /// The task's name.
        task: String,
    },
    /// A remark of the tool itself.
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
    /// Returns true if it gives a reason for late activations, without naming the activations.
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

/// Subject of statements in another tool's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StatedQuantity {
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

/// Quantities other than periodic tasks that other tools measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Aperiodic {
    /// Time that a busy loop was interrupted.
    Gaps,
    /// Time of a signal from thread to thread.
    Signals,
    /// Time a thread takes to wake up when another wakes it.
    Wakers,
    /// Time that runnable threads waited for a processor.
    RunQueue,
    /// Duration of anything else.
    Durations,
}

/// A latency whose parts another tool traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedLatency {
    /// The processor, if known.
    pub cpu: Option<u16>,
    /// Latency of the thread.
    pub latency_ns: i64,
    /// Latency of the interrupt before it.
    pub irq_latency_ns: Option<i64>,
    /// Its parts, in the order of time.
    pub parts: Vec<TracedPart>,
}

/// A part of a traced latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedPart {
    /// In the tool's words, such as `IRQ handler delay`.
    pub name: String,
    /// Length in nanoseconds.
    pub ns: i64,
    /// The threads and interrupts that it was, with their numbers, where they are named.
    pub by: Vec<String>,
    /// The functions that were on its stack, the innermost first, where they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// Cause of a thread's move off the CPU that it was bound to.
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

/// Cost that a simulator was charged for entering interrupts: at least the datasheets' values, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptEntries {
    /// True if the cycles below were charged; simavr alone charges nothing.
    pub charged: bool,
    /// Interrupts that were entered.
    pub entries: u64,
    /// Entries that woke the processor.
    pub from_sleep: u64,
    /// Cycles that each entry takes.
    pub cycles: u64,
    /// Cycles that it takes more from sleep.
    pub cycles_from_sleep: u64,
}

/// Effects and failures of isolating CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IsolationReport {
    /// The CPUs that were isolated.
    pub cpus: CpuSet,
    /// Number of threads that were moved away.
    pub threads_moved: u64,
    /// Number of interrupts that were moved away.
    pub interrupts_moved: u64,
    /// Other changes.
    pub changed: Vec<Chore>,
    /// Work that stayed, and the reason.
    pub left: Vec<LeftBehind>,
}

/// Work that the kernel does on any CPU by default, apart from single threads and interrupts.
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

/// Work that isolation could not move.
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
        /// The chore.
        chore: Chore,
        /// The system's words.
        error: String,
    },
}

/// Counts each name; the most frequent first.
pub fn tally(names: &[String]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut listed: Vec<(String, u64)> = counts.into_iter().map(|(name, n)| (name.into(), n)).collect();
    listed.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    listed
}

/// CPUs of a run's tasks, and the reasons for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CpuPlacement {
    /// As chosen.
    Chosen {
        /// The CPUs of the tasks.
        cpus: CpuSet,
        /// The CPUs of every thread of jitterlab that is not measured.
        rest: CpuSet,
        /// Reasons for these; empty if the only reason is that they may be used.
        because: Vec<PlacementReason>,
    },
    /// As a sentence: from run files of earlier versions.
    Sentence(String),
}

/// Reason for a choice of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
#[non_exhaustive]
pub enum PlacementReason {
    /// The machine does not list its CPUs.
    NoneListed,
    /// They were requested.
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
        /// True if these are isolated as well.
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
            Warning::Isolated(IsolationReport {
                left: vec![LeftBehind::Chore { chore: Chore::NewPrograms, error: "refused".into() }],
                ..IsolationReport::default()
            }),
            Warning::Other("the disk was slow".into()),
        ];
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Warning>>(&json).unwrap(), all, "{json}");
        assert!(json.ends_with(r#","the disk was slow"]"#), "{json}");
        let placed: CpuPlacement = serde_json::from_str(r#""CPU 1 as asked for""#).unwrap();
        assert_eq!(placed, CpuPlacement::Sentence("CPU 1 as asked for".into()));
    }
}
