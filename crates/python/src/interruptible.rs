//! Long work next to Python: other threads of the program go on, and Ctrl-C ends the wait.
use std::fmt::Display;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use jitterlab_model::Error;
use pyo3::{PyResult, Python};

use crate::error::OrRaise;

/// Longest time that Ctrl-C waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does the work on a thread of its own without Python's lock, unless Python raises, as at Ctrl-C. Then the
/// work is left alone, and ends by itself: it only reads.
pub(crate) fn run_interruptibly<T: Send + 'static, E: Display + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (done, mut answers) = channel();
    let at_work = thread::Builder::new().name("jitterlab".into()).spawn(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = done.send(work());
    });
    at_work
        .map_err(|cause| {
            Error::refused("no thread to compute on")
                .because(cause)
                .remedy("is a limit on processes in the way (ulimit -u)?")
        })
        .or_raise()?;
    loop {
        let waited = py.detach(move || {
            let waited = answers.recv_timeout(PATIENCE);
            (answers, waited)
        });
        answers = waited.0;
        match waited.1 {
            Ok(answer) => return answer.or_raise(),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::defect("a thread of jitterlab ended too early")).or_raise();
            }
        }
    }
}
