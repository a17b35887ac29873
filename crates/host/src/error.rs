//! Why tasks cannot be measured on this machine.

use std::io;
use std::path::PathBuf;

use jitterlab_model::units::{Exact, Human};
use jitterlab_model::{Compensation, CpuSet, Overload, Refusal, Work};
use jitterlab_rt::xenomai::XenomaiError;
use jitterlab_rt::{BuildError, Unreachable};
use jitterlab_trace::TraceError;

use super::dma_latency::DmaLatency;
use super::isolate::IsolateError;
use super::load::LoadError;
use super::pulse::PulseError;
use super::topology::CpuError;

/// Why tasks cannot be measured. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Ended before the first activation.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// There is no thread to take what is measured.
    #[error("cannot start the thread that collects what is measured: {0}; see `ulimit -u`")]
    Collector(io::Error),
    /// Nothing to measure.
    #[error("there is no task to measure: describe one with --task period=1ms")]
    NoTask,
    /// Names must be unique, since figures are told apart by them.
    #[error("two tasks have the name {0:?}: give each its own with name=")]
    SameName(String),
    /// A processor that a task cannot run on.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// CPUs that another jitterlab keeps free for itself.
    #[error(
        "another jitterlab (process {process}) keeps CPU {cpus} free for its own tasks right now: wait for its end, or choose other CPUs"
    )]
    Taken {
        /// The other.
        process: u32,
        /// Its CPUs.
        cpus: CpuSet,
    },
    /// Work that does not fit into its period.
    #[error(
        "task {task}: {work} takes {takes} here, its period is {period}: lengthen the period or shorten the work"
    )]
    WorkExceedsPeriod {
        /// The task.
        task: String,
        /// Its work.
        work: Work,
        /// How long the work was seen to take.
        takes: Human,
        /// Its period.
        period: Exact,
    },
    /// A runtime that does not fit into the period.
    #[error(
        "task {task}: a runtime of {runtime} exceeds the period of {period}: choose policy=deadline:TIME with a TIME below the period"
    )]
    RuntimeExceedsPeriod {
        /// The task.
        task: String,
        /// The wanted runtime.
        runtime: Exact,
        /// Its period.
        period: Exact,
    },
    /// Tasks that would leave the machine no processor.
    #[error(transparent)]
    Polling(#[from] Unreachable),
    /// A Xenomai core that a task asks for.
    #[error(transparent)]
    Core(#[from] XenomaiError),
    /// A task's thread that cannot be made, or that should not have ended.
    #[error("task {task}: {error}")]
    Thread {
        /// The task.
        task: String,
        /// Why not.
        error: BuildError,
    },
    /// A task that could not wait any more.
    #[error("task {task} could not wait any more: {error}")]
    Wait {
        /// The task.
        task: String,
        /// The system's words.
        error: io::Error,
    },
    /// A pin that cannot be moved.
    #[error("task {task}: {error}")]
    Pulse {
        /// The task.
        task: String,
        /// Why not.
        error: PulseError,
    },
    /// A load that cannot run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// CPUs that cannot be isolated.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
}

impl PrepareError {
    /// Whether the request itself is at fault, rather than the system.
    pub fn is_bad_use(&self) -> bool {
        match self {
            PrepareError::Interrupted
            | PrepareError::Taken { .. }
            | PrepareError::Core(_)
            | PrepareError::Thread { .. }
            | PrepareError::Pulse { .. }
            | PrepareError::Wait { .. } => false,
            PrepareError::Isolate(error) => matches!(error, IsolateError::NothingLeft { .. }),
            PrepareError::Load(error) => error.is_bad_use(),
            _ => true,
        }
    }
}

/// Why a measurement has no run file.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be measured.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The run file cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The run file took no more before the end.
    #[error("{} could not be written to its end: {reason}", path.display())]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
}

/// Why the cells of a matrix cannot be read or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The index cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The index.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// The file in the index's place is something else.
    #[error("{} is no index of a matrix ({error}): choose another directory with --output", path.display())]
    NoIndex {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// An index of another version.
    #[error("{} was written by another version of jitterlab: choose another directory with --output", .0.display())]
    Version(PathBuf),
    /// An index without the condition of one of its cells.
    #[error(
        "the index has no setting {0:?}, which one of its cells names: choose another directory with --output"
    )]
    NoSetting(String),
    /// There is no place for the files.
    #[error("cannot make the directory {}: {error}", path.display())]
    Folder {
        /// The directory.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// Somebody measures into it.
    #[error("another jitterlab measures into {} right now: wait for its end, or choose another directory with --output", .0.display())]
    Busy(PathBuf),
    /// The index cannot be written as JSON.
    #[error("the index could not be written as JSON ({0}); please report this")]
    Json(#[from] serde_json::Error),
    /// The index cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A load that cannot be.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A CPU that cannot be.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// A cell cannot be measured.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl MatrixError {
    /// Whether the request itself is at fault, rather than the system.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        match self {
            MatrixError::Load(_) | MatrixError::Cpu(_) => true,
            MatrixError::Record(RecordError::Prepare(error)) => error.is_bad_use(),
            _ => false,
        }
    }
}

/// Why a session of measurements came to nothing. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The task cannot be measured here.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The task contradicts itself.
    #[error(transparent)]
    Task(#[from] jitterlab_model::Error),
    /// A way to wait that is not written as one.
    #[error("--way {parts}: {error}")]
    NotAWay {
        /// What was given.
        parts: String,
        /// What is wrong with it.
        error: jitterlab_model::Error,
    },
    /// Somebody asked for an end too early.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// A task that has to run was stopped for the machine's safety.
    #[error("with compensate={compensate}: {overload}")]
    Stopped {
        /// How it was compensated.
        compensate: Compensation,
        /// What was seen.
        overload: Overload,
    },
    /// Less than one period.
    #[error("--duration is too short for the period and --rounds: raise it")]
    ShorterThanPeriod,
    /// Costs cannot be measured.
    #[error("this system does not count a thread's processor time")]
    NoProcessorTime,
    /// Nothing to recommend from.
    #[error("no latency was measured: raise --duration")]
    NothingMeasured,
    /// A run file cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl SessionError {
    /// Whether the request itself is at fault, rather than the system.
    pub fn is_bad_use(&self) -> bool {
        match self {
            SessionError::Prepare(error) => error.is_bad_use(),
            SessionError::Task(_) | SessionError::NotAWay { .. } | SessionError::ShorterThanPeriod => true,
            _ => false,
        }
    }
}

/// What is noted of a limit that was asked for and refused.
pub(super) fn dma_latency_refused(wanted: DmaLatency, error: &io::Error) -> Refusal {
    Refusal {
        what: format!("cpu_dma_latency {wanted}"),
        why: error.to_string(),
        remedy: "run as root, or let your group write it: chgrp GROUP /dev/cpu_dma_latency; chmod g+w /dev/cpu_dma_latency".into(),
    }
}
