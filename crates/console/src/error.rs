//! Mistakes on the command line that every program answers alike.

use std::io;
use std::path::PathBuf;

use crate::RELEASE;

/// Why a command cannot do what was asked, as far as no other room says it. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// Signals cannot be caught.
    #[error("cannot listen for Ctrl-C: {0}")]
    NoSignals(io::Error),
    /// A companion that was called by a program of another release.
    #[error(
        "this companion is of {RELEASE}, but the jitterlab that calls it is {0}: install both of one release"
    )]
    OtherRelease(String),
    /// A length of time without a unit.
    #[error("{0:?} has no unit (ns, us, ms, s, m, h or d): did you mean {0}s?")]
    NoUnit(String),
    /// No length of time.
    #[error(transparent)]
    NoTime(jitterlab_model::Error),
    /// A number where a load is described.
    #[error("{0:?} is no load: did you mean cpu:{0}? (--load help describes them)")]
    LoadWithoutKind(String),
    /// A run file is recovered by its name, which standard output has not.
    #[error("a run file needs a name of its own")]
    RunFileWithoutName,
    /// A figure in a format that is not written.
    #[error("{option} {}: name a file that ends in .svg or .png", path.display())]
    NotAFigure {
        /// Where it was given.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A result over what it is made of.
    #[error("--output {} is one of the files that are read: choose another name", .0.display())]
    OutputIsInput(PathBuf),
    /// No processor.
    #[error("{0:?} is not the number of a processor, such as 1; jitterlab matrix measures all of them")]
    NotAProcessor(String),
    /// A measurement of no length.
    #[error("a {0} of 0 measures nothing: leave --{0} out or raise it")]
    MeasuresNothing(&'static str),
    /// What a stopped measurement would go on with cannot be written.
    #[error("what is measured is not kept for another call, should this one be stopped: {0}")]
    NothingKept(jitterlab_trace::TraceError),
    /// Several tasks for a command that takes one.
    #[error("{0} tasks: this command measures one, name it alone")]
    OneTask(usize),
}

impl ConsoleError {
    /// Whether the arguments are at fault, rather than the machine.
    pub fn is_bad_use(&self) -> bool {
        !matches!(self, ConsoleError::NoSignals(_))
    }
}
