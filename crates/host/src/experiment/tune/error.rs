//! Errors of trying knobs. The message says what to do.

use jitterlab_model::units::Exact;
use jitterlab_model::{Error, Knob};

/// Why an experiment over knobs came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// Any other failure.
    #[error(transparent)]
    Failed(#[from] Error),
    /// There is not one periodic thread of a name.
    #[error(
        "{found} periodic threads are named {name:?}: one can be tuned at a time, so give it a name of its own"
    )]
    Threads {
        name: String,
        /// Number of such threads.
        found: usize,
    },
    /// A knob that was set before is refused.
    #[error("{knob} could be set before, and now it cannot ({error}): leave it out with --only")]
    Refused {
        knob: Knob,
        /// The system's words.
        error: std::io::Error,
    },
    /// Not even one knob can be tried in the time.
    #[error("--budget {} is too short to try one setting and prove it: give {} or more", Exact(*budget_ns), Exact(*least_ns))]
    Budget {
        /// Budget that was given.
        budget_ns: i64,
        /// Budget that is needed.
        least_ns: i64,
    },
    /// The time is too short to judge one start.
    #[error("--budget {} is too short to tell what a start of the machine is like: give {} or more", Exact(*budget_ns), Exact(*least_ns))]
    StartBudget {
        /// Budget that was given.
        budget_ns: i64,
        /// Budget that is needed.
        least_ns: i64,
    },
    /// Starts cannot be distinguished.
    #[error("this system does not tell {what}, without which its starts cannot be told apart")]
    UnknownStart {
        /// Fact that the system does not report.
        what: &'static str,
    },
    /// The same start under another name.
    #[error("this start of the machine was measured before as {}: restart it first", name.as_deref().unwrap_or("one without a name"))]
    SameStart { name: Option<String> },
    /// More than two ways.
    #[error(
        "two other ways to start this machine are being compared here: start it as one of them, or begin anew in another directory"
    )]
    ThirdWay,
}

impl From<TuneError> for Error {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Failed(error) => error,
            TuneError::Refused { .. } | TuneError::UnknownStart { .. } => Error::refused(error.to_string()),
            other => Error::bad_use(other.to_string()),
        }
    }
}
