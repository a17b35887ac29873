//! Why a document could not be repeated.

use std::io;
use std::path::PathBuf;

use jitterlab_host::load::LoadError;
use jitterlab_host::{MatrixError, PrepareError, RecordError, SessionError};
use jitterlab_kernel::session::KernelError;
use jitterlab_mcu::McuError;
use jitterlab_report::figure::FigureError;
use jitterlab_report::page::PageError;
use jitterlab_runs::RunsError;
use jitterlab_trace::TraceError;

/// Why a document could not be repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PapersError {
    /// There is no place for the files.
    #[error("cannot make the directory {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A run file would be replaced.
    #[error("{} is in the way: remove it, or choose another directory with --output", .0.display())]
    InTheWay(PathBuf),
    /// This machine cannot measure it.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// This machine cannot measure it into a run file.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its cells cannot be measured.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A load of a plan is not known.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A measurement did not come to its end; nothing of it is kept.
    #[error("{name} could not be measured: {why}")]
    NotMeasured {
        /// The measurement.
        name: String,
        /// What ended it.
        why: String,
    },
    /// Somebody asked for an end; what was measured before is kept.
    #[error("interrupted in {0}: what was measured before is kept, and the same command goes on from there")]
    Interrupted(String),
    /// A run file cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A run file cannot be read.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The result cannot be written as JSON.
    #[error("the result could not be written as JSON ({0}); please report this")]
    Json(#[from] serde_json::Error),
    /// A kernel could not be measured.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A system of the documents could not be measured.
    #[error("{system}: {error}")]
    System {
        /// What it is called here.
        system: &'static str,
        /// What went wrong.
        error: Box<PapersError>,
    },
    /// The simulated microcontroller could not be measured.
    #[error(transparent)]
    Mcu(#[from] McuError),
    /// A session of measurements came to nothing.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No line goes through so few points, and nothing can be recommended from them.
    #[error("too few activations were measured: raise --duration")]
    TooFew,
    /// A run file could not be written where it was to go.
    #[error("cannot write {}: {error}; choose another directory with --output", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: TraceError,
    },
    /// The guest's answer is no matrix.
    #[error("the guest did not send the cells it measured but {0:?}; please report this")]
    NoCells(String),
    /// EPOS runs on a simulated microcontroller only.
    #[error("epos is simulated in any case: leave --virtual out")]
    EposVirtual,
    /// EPOS ends by itself.
    #[error("epos is simulated until its events have come: leave --duration out")]
    EposDuration,
    /// Pairs of CPUs need two.
    #[error("this machine has one CPU: there are no pairs to compare. `jitterlab run` measures it")]
    OneCpu,
}

impl PapersError {
    /// Whether the arguments are to blame, not the machine.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        match self {
            PapersError::Prepare(error) | PapersError::Record(RecordError::Prepare(error)) => {
                error.is_bad_use()
            }
            PapersError::Matrix(error) => error.is_bad_use(),
            PapersError::Session(error) => error.is_bad_use(),
            PapersError::Mcu(error) => error.is_bad_use(),
            PapersError::Load(_)
            | PapersError::OneCpu
            | PapersError::EposVirtual
            | PapersError::EposDuration => true,
            _ => false,
        }
    }
}
