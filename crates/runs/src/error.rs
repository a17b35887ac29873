//! What can go wrong with runs, as sentences with the remedy.

use std::path::PathBuf;

use jitterlab_analysis::require::Requirement;
use jitterlab_model::Gap;
use jitterlab_trace::TraceError;

/// Why a run could not be read, or does not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// The file cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// There is no task of this name.
    #[error("{path} has no task {wanted:?}: it has {}", .names.join(", "))]
    NoSuchTask {
        /// The run.
        path: PathBuf,
        /// The name that was asked for.
        wanted: String,
        /// The names there are.
        names: Vec<String>,
    },
    /// It has no task at all.
    #[error("{0} has no tasks")]
    NoTasks(PathBuf),
    /// Gaps of a busy loop and the like, where a periodic task is needed.
    #[error(
        "{0}: what was measured is no periodic task, so nothing follows for a motor or a loop: take the output of a tool \
         that wakes periodically, or measure with `jitterlab run`"
    )]
    NotPeriodic(PathBuf),
    /// The source leaves every figure of the task open.
    #[error("{}: {}", .path.display(), untold(*.gap))]
    Untold {
        /// The run.
        path: PathBuf,
        /// What is not known.
        gap: Gap,
    },
    /// The task never ran.
    #[error("{0}: its task ran not once, so there is nothing to judge")]
    NeverRan(PathBuf),
    /// Only distributions are known, and the question is about single activations.
    #[error(
        "{path} keeps only {kept}, and this needs every activation: measure with `jitterlab run --keep all`"
    )]
    NeedsActivations {
        /// The run.
        path: PathBuf,
        /// What it keeps: `spikes` or `a histogram`.
        kept: &'static str,
    },
    /// Code paths of a run whose time was not counted in instructions.
    #[error("{} was not measured in virtual time: give a run file of `jitterlab kernel run`, or a kernel", .0.display())]
    NotVirtual(PathBuf),
    /// Nobody looked for causes.
    #[error(
        "{} does not say why activations were late: measure with `jitterlab run --why`, as root", .0.display()
    )]
    NoCauses(PathBuf),
    /// A prediction of the past.
    #[error("--horizon is a time ahead: give one above 0, such as 24h")]
    HorizonNotAhead,
    /// A claim that allows no breach at all.
    #[error(
        "no run, however long, supports {:?}, which allows no breach at all: claim a small share, such as \"p(latency > 100us) < 1e-6\"", .0.text
    )]
    Unsupportable(Requirement),
    /// A part of the run could not be read because its thread ended too early.
    #[error("{0} was not read whole: a reading thread ended too early; please report this")]
    NotReadWhole(PathBuf),
}

impl RunsError {
    /// Whether the arguments are at fault, and not the run.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        match self {
            RunsError::Trace(error) => error.is_bad_use(),
            RunsError::NoSuchTask { .. } | RunsError::NotVirtual(_) | RunsError::HorizonNotAhead => true,
            _ => false,
        }
    }
}

fn untold(gap: Gap) -> &'static str {
    match gap {
        Gap::Unit => "the unit of its values is not known: say it with --unit",
        _ => {
            "its figures contradict each other, so nothing is judged by them: `jitterlab analyze` says which"
        }
    }
}
