//! A task that a program runs by itself, which was only watched: who it is, and how it waits.

use serde::{Deserialize, Serialize};

/// Method by which a thread waits for its next activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WaitKind {
    /// `clock_nanosleep` to an absolute time.
    Nanosleep,
    /// `nanosleep` or `clock_nanosleep` for some time.
    NanosleepRelative,
    /// A timer read as a file, by itself or among others (`epoll`, `poll`, `select`).
    Timerfd,
    /// A timer's signal.
    TimerSignal,
    /// SCHED_DEADLINE's next period.
    Deadline,
    /// A condition or lock (futex), with a time at which the wait ends by itself.
    TimedFutex,
    /// A condition or lock (futex) that another thread gives.
    Futex,
    /// `epoll`, `poll` or `select` with a time at which the wait ends by itself.
    TimedPoll,
    /// Something to read, from another thread or program.
    Read,
    /// A packet of the network.
    Packet,
    /// An interrupt of a device.
    Interrupt,
}

/// Source of due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DueTimeSource {
    /// The timer that the thread itself sets.
    OwnTimer,
    /// A grid fitted to the starts: the earliest start of the first seconds counts as in time.
    FittedGrid,
}

/// Time in nanoseconds from a thread's return from the kernel to its first reading of a clock, if it does nothing
/// before. Measured with a thread of jitterlab's own, half of the times with restartable sequences (rseq) registered,
/// which take the kernel somewhat longer. The same clock stamps the kernel's event of the return and is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnTime {
    /// Number of returns.
    pub times: u32,
    /// A quarter took less.
    pub lower_ns: i64,
    /// Starts count so much after the return of their wait: the mean of the medians of both halves.
    pub taken_ns: i64,
    /// A quarter took longer.
    pub upper_ns: i64,
}

/// Frequency and duration of a system call in a thread's activations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// Its number on the machine.
    pub number: i64,
    /// Its name; empty where it is not known.
    #[serde(default)]
    pub name: String,
    /// Number of calls.
    pub times: u64,
    /// Activations with it.
    #[serde(default)]
    pub activations: u64,
    /// 99th percentile of its total time in one activation with it, in nanoseconds.
    #[serde(default)]
    pub p99_ns: i64,
    /// The longest.
    #[serde(default)]
    pub worst_ns: i64,
}

/// The program that runs LinuxCNC's threads.
pub const LINUXCNC: &str = "rtapi_app";

/// A thread of another program whose activations were watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    /// Its program.
    pub program: String,
    /// The number of its process.
    pub process: i32,
    /// Its own number.
    pub thread: i32,
    /// Method of waiting.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub waits: WaitKind,
    /// Source of its due times.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub due: DueTimeSource,
    /// Time from the return of its wait to its start; `None` if it was not measured: the return is the start then.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub returns: Option<ReturnTime>,
    /// System calls in its activations, waits and those that ask for the time not among them; the most frequent first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub calls: Vec<CallCount>,
    /// Number of times it was moved to another processor.
    #[serde(default)]
    pub moves: u64,
    /// Number of activations that began without a wait, since their due times had passed: it catches up back to back.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub caught_up: u64,
    /// Bytes of its stack below its wait that are in memory, at most [`Watched::STACK`]; `None` if unknown.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub stack_ready: Option<u64>,
}

impl Watched {
    /// Bytes of stack that a loop should have in memory before it begins: what calls of a library need.
    pub const STACK: u64 = 64 << 10;
}
