//! Why a load cannot run, and how one ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use jitterlab_model::{Error, LoadSpec};

/// The most processes one load may ask for.
pub(super) const MOST_WORKERS: u32 = 1_024;

pub(super) fn not_started(load: &LoadSpec, why: &str) -> Error {
    Error::refused(format!("load {load} could not start: {why}"))
}

pub(super) fn not_a_number(text: &str) -> Error {
    Error::bad_use(format!("{text:?} is not a number of processes from 1 to {MOST_WORKERS}"))
}

/// End of a process that should have continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Complete,
    Status(i32),
    Signal(i32),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Complete => f.write_str("ended by itself"),
            Ended::Status(status) => write!(f, "ended by itself with status {status}"),
            Ended::Signal(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (None, Some(signal)) => Ended::Signal(signal),
            (Some(0) | None, _) => Ended::Complete,
            (Some(code), _) => Ended::Status(code),
        }
    }
}
