//! Why a run could not be written out.

use std::io;
use std::path::PathBuf;

use jitterlab_motion::MotionError;
use jitterlab_runs::{RunsError, TraceError};

/// Why a run could not be written out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run cannot be read, or does not hold what the format is of.
    #[error(transparent)]
    Run(#[from] RunsError),
    /// The file cannot be made.
    #[error(transparent)]
    Place(#[from] TraceError),
    /// The output does not take more.
    #[error("cannot write the whole export: {0}")]
    Write(#[from] io::Error),
    /// A format of histograms, and a run of which none is known.
    #[error(
        "{0}: no histogram of latencies is known, only extremes or a part: take the output of a run with a histogram, or measure \
         with `jitterlab run`"
    )]
    NoHistogram(PathBuf),
    /// Verdicts, and nothing that could be decided.
    #[error(
        "{0}: nothing to decide: no task has the period of a usual purpose, or its time is a simulated one; say what is required, \
         as --require \"p99.9 < 80us\""
    )]
    NothingToDecide(PathBuf),
    /// Threads of LinuxCNC, and a run that tells of none.
    #[error("{path}: no period for LinuxCNC's threads follows from it. {}", .why.join(" "))]
    NoThreads {
        /// The run.
        path: PathBuf,
        /// Why, in a sentence for each thread.
        why: Vec<String>,
    },
    /// A drive that cannot be read.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// A library refused what was to be written.
    #[error("{path} cannot be written as {format}: {why}")]
    Refused {
        /// The run.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What the library says.
        why: String,
    },
}

/// There is no such format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{asked:?} is no format that is written: choose one of {known}")]
pub struct NotAFormat {
    pub(super) asked: String,
    pub(super) known: String,
}
