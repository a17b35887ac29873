//! Errors of loads that cannot run, and ends of their processes in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use jitterlab_model::{Error, LoadSpec};

/// The most processes one load may ask for.
pub(super) const MOST_WORKERS: u32 = 1_024;

pub(super) fn not_started_error(load: &LoadSpec, why: &str) -> Error {
    Error::refused(format!("load {load} could not start: {why}"))
}

pub(super) fn worker_count_error(text: &str) -> Error {
    Error::bad_use(format!("{text:?} is not a number of processes from 1 to {MOST_WORKERS}"))
}

/// End of a process that should have continued, as a clause.
pub(super) fn end_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(0) | None, _) => "ended by itself".into(),
        (Some(code), _) => format!("ended by itself with status {code}"),
    }
}
