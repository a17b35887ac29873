//! What can go wrong.

use std::io;

use jitterlab_rt::BuildError;
use jitterlab_trace::TraceError;

/// Why a program's loop or probe is not recorded. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A run of nothing.
    #[error("a run needs a task, such as \"name=servo,period=1ms\"; several are separated by semicolons")]
    NoTasks,
    /// A task that cannot be understood.
    #[error(transparent)]
    Task(#[from] jitterlab_model::Error),
    /// Two tasks of one name.
    #[error("two tasks have the name {0}: give each one of its own by name=")]
    SameName(String),
    /// What only jitterlab's own tasks do.
    #[error("task {0}: work= and read= are of tasks that jitterlab runs itself, leave them out")]
    NotHere(String),
    /// No task of this name.
    #[error("the run has no task {wanted:?}: it has {}", .names.join(", "))]
    NoSuchTask {
        /// The name that was asked for.
        wanted: String,
        /// Those there are.
        names: Vec<String>,
    },
    /// Due times to be found for a loop that makes its own.
    #[error("task {0}: due=fitted is for a probe, a loop has due times of its own: leave it out")]
    FittedLoop(String),
    /// Due times to be found in what nobody records.
    #[error("task {0}: due=fitted needs a run file, since due times are found when activations are recorded")]
    FittedNowhere(String),
    /// A task that another loop or probe is.
    #[error("task {0} has had its loop or probe already: name another one")]
    Taken(String),
    /// A loop that cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A run file that cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No thread to write the file.
    #[error("no thread to write the run file: {0}; is a limit on processes in the way (ulimit -u)?")]
    Thread(io::Error),
    /// The writing thread ended too early.
    #[error("the thread that writes the run file broke down; jitterlab recover FILE saves what it wrote")]
    Broken,
}
