//! Why a run could not be written out.

use std::io;
use std::path::PathBuf;

use jitterlab_trace::TraceError;

use crate::RunsError;

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
