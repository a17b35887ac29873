//! A task that a program runs by itself, which was only watched: who it is, and how it waits.

use serde::{Deserialize, Serialize};

/// How a thread waits for its next activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Waits {
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

/// Where due times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DueTimes {
    /// The timer that the thread itself sets.
    OwnTimer,
    /// A grid fitted to the starts: the earliest start of the first seconds counts as in time.
    FittedGrid,
}

/// How long after its return from the kernel a thread reads a clock if it does nothing before, in nanoseconds: as a thread of
/// jitterlab's own did, half of the times registered for restartable sequences (rseq), which takes the kernel some more.
/// The same clock stamps the kernel's event of the return and is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returns {
    /// So many returns.
    pub times: u32,
    /// A quarter took less.
    pub lower_ns: i64,
    /// Starts count so much after the return of their wait: the mean of the medians of both halves.
    pub taken_ns: i64,
    /// A quarter took longer.
    pub upper_ns: i64,
}

/// How often a thread made a system call in its activations, and how long it was in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// Its number on the machine.
    pub number: i64,
    /// Its name; empty where it is not known.
    #[serde(default)]
    pub name: String,
    /// How often.
    pub times: u64,
    /// Activations with it.
    #[serde(default)]
    pub activations: u64,
    /// What all of it took in one activation: 99 % of those with it took no longer.
    #[serde(default)]
    pub p99_ns: i64,
    /// The longest.
    #[serde(default)]
    pub worst_ns: i64,
}

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
    /// How it waits.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub waits: Waits,
    /// Where its due times come from.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub due: DueTimes,
    /// How long after the return of its wait a start counts; `None` where that was not measured: the return is the start then.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub returns: Option<Returns>,
    /// System calls in its activations, waits and those that ask for the time not among them; the most frequent first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub calls: Vec<CallCount>,
    /// How often it was moved to another processor.
    #[serde(default)]
    pub moves: u64,
}
