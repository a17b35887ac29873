//! What goes wrong, as one class of exceptions with the sentences of the program.

use jitterlab_analysis::purposes::PURPOSES;
use pyo3::PyErr;
use pyo3::PyResult;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    jitterlab,
    Error,
    PyException,
    "What was asked cannot be done. The message says why, and what to do instead."
);

/// What only this room finds wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PythonError {
    /// A time that is none.
    #[error("{0} is no length of time: give seconds, or text with a unit such as \"250us\"")]
    NotATime(f64),
    /// A unit that is none.
    #[error("{0:?} is no unit of time: choose one of ns, us, ms, s")]
    NotAUnit(String),
    /// A purpose that is none.
    #[error("{0:?} is no purpose: choose one of {list}", list = PURPOSES.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
    NoPurpose(String),
    /// A question that nobody answers.
    #[error("{0:?} is no option of this")]
    NoOption(String),
    /// A share that is none.
    #[error("{0} is not a share: give one above 0, such as 0.1 for 10 %")]
    NotAShare(f64),
    /// A plant of several loops.
    #[error("{0} has several loops: jitterlab servo --plant {0} judges them")]
    SeveralLoops(String),
    /// A recording, loop or probe that is over.
    #[error("it is closed: begin another")]
    Closed,
    /// A thread that ended too early.
    #[error("a thread of jitterlab ended too early; please report this")]
    Broken,
    /// No thread for the work.
    #[error("no thread to compute on: {0}; is a limit on processes in the way (ulimit -u)?")]
    NoThread(std::io::Error),
}

/// Says an error as Python has it.
pub(crate) trait Said<T> {
    /// The value, or the exception.
    fn said(self) -> PyResult<T>;
}

impl<T, E: std::fmt::Display> Said<T> for Result<T, E> {
    fn said(self) -> PyResult<T> {
        self.map_err(|error| PyErr::new::<Error, _>(error.to_string()))
    }
}
