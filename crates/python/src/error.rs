//! Errors as one class of exceptions with the sentences of the program.

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

/// Conversion of an error into a Python exception.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: std::fmt::Display> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| PyErr::new::<Error, _>(error.to_string()))
    }
}
