//! How a command ends: the exit status scripts rely on, and the sentence people read.

use std::io;
use std::process::ExitCode;

use jitterlab_model::error::ErrorKind;
use jitterlab_model::{Error, Fitness};

use crate::{interrupt, output};

/// The exit statuses of a command that was not ended by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// What was asked was done.
    Fine = 0,
    /// It was done, and a requirement or check failed.
    RequirementFailed = 1,
    /// The arguments make no sense.
    BadUse = 2,
    /// The machine, a file or a permission prevented it.
    CouldNotMeasure = 3,
}

impl Status {
    /// What several say together: what failed weighs more than what could not be told.
    pub fn worst(each: impl IntoIterator<Item = Status>) -> Self {
        each.into_iter()
            .reduce(|a, b| if a == Status::Fine || b == Status::RequirementFailed { b } else { a })
            .unwrap_or(Status::Fine)
    }

    /// What a verdict says for the purpose that was asked for, if one was.
    pub fn from_fitness(asked: Option<Fitness>) -> Self {
        match asked {
            None | Some(Fitness::Good | Fitness::Limited) => Status::Fine,
            Some(Fitness::Unfit) => Status::RequirementFailed,
            Some(Fitness::CannotTell) => Status::CouldNotMeasure,
        }
    }
}

/// What a command's `execute` returns.
pub type Ending = Result<Status, Error>;

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::BadUse => Status::BadUse,
            ErrorKind::NotMeasured | ErrorKind::Refused | ErrorKind::Damaged => Status::CouldNotMeasure,
        }
    }
}

/// Prints the failure, if any, on standard error and gives the exit status. A measurement that a signal ended before its time
/// says so by 128 and the signal's number, as shells do, unless it says more by 1 or 2.
pub fn report(ending: Ending) -> ExitCode {
    const EIO: i32 = 5;
    let signal = interrupt::signal();
    let status = match ending {
        Ok(status) => status,
        // The reader of our output went away (`jitterlab analyze ... | head`): that is not a failure.
        Err(error) if error.io().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => Status::Fine,
        // A closed terminal takes no result; what was measured is in the run file.
        Err(error) if signal.is_some() && error.io().and_then(io::Error::raw_os_error) == Some(EIO) => {
            Status::Fine
        }
        Err(error) => {
            output::note(&format!("error: {error}"));
            error.kind().into()
        }
    };
    match (status, signal) {
        (Status::Fine | Status::CouldNotMeasure, Some(signal)) => ExitCode::from(128 + signal),
        (status, _) => ExitCode::from(status as u8),
    }
}
