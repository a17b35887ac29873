//! Why knobs cannot be tried. The message says what to do.

use jitterlab_model::Knob;
use jitterlab_model::task::TaskError;
use jitterlab_model::units::Exact;
use jitterlab_trace::TraceError;

use crate::host::error::{PrepareError, RecordError};
use crate::host::isolate::IsolateError;
use crate::host::watch::WatchError;

/// Why an experiment over knobs came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The task cannot be measured here.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A block cannot be measured.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The machine cannot be changed.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    /// The thread cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// There is not one periodic thread of a name.
    #[error(
        "{found} periodic threads are named {name:?}: one can be tuned at a time, so give it a name of its own"
    )]
    Threads {
        /// The name.
        name: String,
        /// How many there are.
        found: usize,
    },
    /// A knob contradicts the task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A knob that was set before is refused.
    #[error("{knob} could be set before, and now it cannot ({error}): leave it out with --only")]
    Refused {
        /// Which.
        knob: Knob,
        /// The system's words.
        error: std::io::Error,
    },
    /// Not even one knob can be tried in the time.
    #[error("--budget {} is too short to try one setting and prove it: give {} or more", Exact(*budget_ns), Exact(*least_ns))]
    Budget {
        /// What was given.
        budget_ns: i64,
        /// What it takes.
        least_ns: i64,
    },
    /// What was measured cannot be kept, or not be removed.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl TuneError {
    /// Whether the request itself is at fault, rather than the system.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        match self {
            TuneError::Prepare(error) | TuneError::Record(RecordError::Prepare(error)) => error.is_bad_use(),
            TuneError::Watch(error) => error.is_bad_use(),
            TuneError::Task(_) | TuneError::Budget { .. } | TuneError::Threads { .. } => true,
            _ => false,
        }
    }
}
