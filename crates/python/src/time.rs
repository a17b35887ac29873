//! Lengths of time as Python programs give them.

use jitterlab_model::Error;
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use pyo3::{FromPyObject, PyResult, pyfunction};

use crate::error::OrRaise;

/// Seconds, or text with a unit.
#[derive(Debug, FromPyObject)]
pub(crate) enum Time {
    /// As `"250us"`.
    Text(String),
    /// As 0.00025.
    Seconds(f64),
}

impl Time {
    pub(crate) fn ns(&self) -> PyResult<i64> {
        match self {
            Time::Text(text) => parse_duration_ns(text).or_raise(),
            Time::Seconds(seconds) => seconds_to_ns(*seconds),
        }
    }

    /// In nanoseconds, where a rate such as `"4kHz"` is a time too.
    pub(crate) fn period_ns(&self) -> PyResult<i64> {
        match self {
            Time::Text(text) => parse_period_ns(text).or_raise(),
            Time::Seconds(seconds) if *seconds > 0.0 => seconds_to_ns(*seconds),
            Time::Seconds(seconds) => Err(not_a_time_error(*seconds)).or_raise(),
        }
    }
}

/// Time in nanoseconds, if one is given.
pub(crate) fn optional_ns(time: Option<&Time>) -> PyResult<Option<i64>> {
    time.map(Time::ns).transpose()
}

/// A period in nanoseconds, if one is given.
pub(crate) fn optional_period_ns(time: Option<&Time>) -> PyResult<Option<i64>> {
    time.map(Time::period_ns).transpose()
}

#[pyfunction(name = "ns")]
pub(crate) fn duration_to_ns(time: Time) -> PyResult<i64> {
    time.ns()
}

/// A period in nanoseconds.
#[pyfunction(name = "period_ns")]
pub(crate) fn period_to_ns(time: Time) -> PyResult<i64> {
    time.period_ns()
}

fn seconds_to_ns(seconds: f64) -> PyResult<i64> {
    let ns = (seconds * 1e9).round();
    // As long as the clock's own numbers reach.
    let possible = ns.is_finite() && ns.abs() < 9.2e18 && (ns != 0.0 || seconds == 0.0);
    if possible { Ok(ns as i64) } else { Err(not_a_time_error(seconds)).or_raise() }
}

fn not_a_time_error(seconds: f64) -> Error {
    Error::bad_use(format!("{seconds} is no length of time"))
        .remedy("give seconds, or text with a unit such as \"250us\"")
}
