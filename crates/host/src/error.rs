//! Why tasks cannot be measured on this machine.

use std::io;
use std::path::PathBuf;

use jitterlab_model::{Compensation, Error, Overload, Refusal};

use super::dma_latency::DmaLatency;

/// Why the cells of a matrix cannot be read or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The index cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// Path of the index.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// The file in the index's place is something else.
    #[error("{} is no index of a matrix ({error}): choose another directory with --output", path.display())]
    NoIndex {
        path: PathBuf,
        /// Error of the JSON parser.
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
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// Another jitterlab measures into it.
    #[error("another jitterlab measures into {} right now: wait for its end, or choose another directory with --output", .0.display())]
    Busy(PathBuf),
    /// The index cannot be written as JSON.
    #[error("the index could not be written as JSON ({0}); please report this")]
    Json(#[from] serde_json::Error),
    /// Any other failure.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<MatrixError> for Error {
    fn from(error: MatrixError) -> Self {
        match error {
            MatrixError::Failed(error) => error,
            other => Error::refused(other.to_string()),
        }
    }
}

/// Error of a session of measurements. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Any other failure.
    #[error(transparent)]
    Failed(#[from] Error),
    /// A way to wait that is not written as one.
    #[error("--way {parts}: {error}")]
    NotAWay {
        /// The text as written.
        parts: String,
        /// The error in it.
        error: Error,
    },
    /// The user stopped it too early.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// A task that has to run was stopped for the machine's safety.
    #[error("with compensate={compensate}: {overload}")]
    Stopped {
        compensate: Compensation,
        /// Overload that stopped it.
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
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Failed(error) => error,
            SessionError::NotAWay { .. } | SessionError::ShorterThanPeriod => {
                Error::bad_use(error.to_string())
            }
            other => Error::not_measured(other.to_string()),
        }
    }
}

/// Refusal to note for a limit that was asked for.
pub(super) fn dma_latency_refused(wanted: DmaLatency, error: &io::Error) -> Refusal {
    Refusal {
        what: format!("cpu_dma_latency {wanted}"),
        why: error.to_string(),
        remedy: "run as root, or let your group write it: chgrp GROUP /dev/cpu_dma_latency; chmod g+w /dev/cpu_dma_latency".into(),
    }
}
