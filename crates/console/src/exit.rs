//! End of a command: the exit status that scripts rely on, and the sentence for people.

use std::io;
use std::process::ExitCode;

use jitterlab_model::error::ErrorKind;
use jitterlab_model::{Error, Fitness};

use crate::{interrupt, output};

/// The exit statuses of a command that was not ended by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The request was fulfilled.
    Fine = 0,
    /// The request was fulfilled, and a requirement or check failed.
    RequirementFailed = 1,
    /// The arguments make no sense.
    BadUse = 2,
    /// The machine, a file or a permission prevented it.
    CouldNotMeasure = 3,
}

impl Status {
    /// Returns the worst of these, a failure before an undecided verdict; `Fine` if there are none.
    pub fn worst(each: impl IntoIterator<Item = Status>) -> Self {
        each.into_iter()
            .reduce(|a, b| if a == Status::Fine || b == Status::RequirementFailed { b } else { a })
            .unwrap_or(Status::Fine)
    }

    /// Returns the status for the verdict on the requested purpose; `Fine` if none was requested.
    pub fn from_fitness(asked: Option<Fitness>) -> Self {
        match asked {
            None | Some(Fitness::Good | Fitness::Limited) => Status::Fine,
            Some(Fitness::Unfit) => Status::RequirementFailed,
            Some(Fitness::CannotTell) => Status::CouldNotMeasure,
        }
    }
}

/// Result of a command's `execute`.
pub type CommandResult = Result<Status, Error>;

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::BadUse => Status::BadUse,
            ErrorKind::NotMeasured | ErrorKind::Refused | ErrorKind::Damaged => Status::CouldNotMeasure,
        }
    }
}

/// Prints the failure, if any, on standard error and returns the exit status. After a signal that ended a measurement
/// this is 128 plus the signal's number, as shells have it, unless the own status is 1 or 2.
pub fn print_failure(ending: CommandResult) -> ExitCode {
    const EIO: i32 = 5;
    let signal = interrupt::received_signal();
    let status = match ending {
        Ok(status) => status,
        // The reader of our output went away (`jitterlab analyze ... | head`): that is not a failure.
        Err(error) if error.io().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => Status::Fine,
        // A closed terminal takes no result; the measurement is in the run file.
        Err(error) if signal.is_some() && error.io().and_then(io::Error::raw_os_error) == Some(EIO) => {
            Status::Fine
        }
        Err(error) => {
            output::print_note(&format!("error: {error}"));
            error.kind().into()
        }
    };
    match (status, signal) {
        (Status::Fine | Status::CouldNotMeasure, Some(signal)) => ExitCode::from(128 + signal),
        (status, _) => ExitCode::from(status as u8),
    }
}
