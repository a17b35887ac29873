//! Why a load cannot run, and how one ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use jitterlab_model::CpuSet;

use crate::topology::CpuError;

/// The most processes one load may ask for.
pub(super) const MOST_WORKERS: u32 = 1_024;

/// Why a load cannot run. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A kind that does not exist.
    #[error("{kind:?} is not a load; there are {known} (--load help describes them)")]
    UnknownKind {
        /// What was written.
        kind: String,
        /// The kinds and presets there are.
        known: String,
    },
    /// Arguments its kind does not take.
    #[error("load {spec}: {problem}; write {usage}")]
    BadArguments {
        /// What was written.
        spec: String,
        /// What is wrong with it.
        problem: ArgumentError,
        /// How it is written.
        usage: &'static str,
    },
    /// A description that cannot be read.
    #[error(transparent)]
    Spec(#[from] jitterlab_model::Error),
    /// A CPU it cannot run on.
    #[error("load {spec}: {error}")]
    Cpu {
        /// The load.
        spec: String,
        /// What is wrong with the CPU.
        error: CpuError,
    },
    /// Every CPU is measured.
    #[error(
        "load {spec}: no CPU is left beside the measured {measured}; write {spec}@{measured} to let it run there all the same"
    )]
    NoCpuLeft {
        /// The load.
        spec: String,
        /// The CPUs that are measured.
        measured: CpuSet,
    },
    /// A start in the middle of a run without an end.
    #[error("load {0} starts at a share of the run's length: give the run a --duration")]
    NeedsDuration(String),
    /// A worker that did not come up.
    #[error("load {spec} could not start: {reason}")]
    NotStarted {
        /// The load.
        spec: String,
        /// The reason in its own words, or the system's.
        reason: String,
    },
}

impl LoadError {
    /// Whether the request itself is at fault, rather than the system.
    pub fn is_bad_use(&self) -> bool {
        !matches!(self, LoadError::NotStarted { .. })
    }
}

/// What is wrong with the arguments of a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// No number of processes.
    #[error("{0:?} is not a number of processes from 1 to {MOST_WORKERS}")]
    NotANumber(String),
    /// No size.
    #[error("{0:?} is not a size such as 256M or 1G")]
    NotASize(String),
    /// No folder.
    #[error("{0:?} is not a folder")]
    NotAFolder(String),
    /// More memory than there is.
    #[error("{workers} x {mib} MiB is more memory than there is")]
    TooMuchMemory {
        /// Processes.
        workers: u32,
        /// What each takes.
        mib: u64,
    },
    /// Nothing where something is needed.
    #[error("it needs {0}")]
    Missing(&'static str),
    /// An option of stress(1) that has no load here.
    #[error("{0:?} is not one of its options here")]
    NotAnOption(String),
    /// An option of stress(1) without its number.
    #[error("{0} needs a number")]
    NoNumber(String),
    /// Options that ask for nothing.
    #[error("nothing is asked for")]
    Nothing,
}

/// How a process ended that was to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Ended {
    #[error("ended by itself")]
    Complete,
    #[error("ended by itself with status {0}")]
    Status(i32),
    #[error("was killed by signal {0}")]
    Signal(i32),
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (None, Some(signal)) => Ended::Signal(signal),
            (Some(0) | None, _) => Ended::Complete,
            (Some(code), _) => Ended::Status(code),
        }
    }
}
