//! How a command ends: the exit status scripts rely on, and the sentence people read.

use std::fmt;
use std::io;
use std::process::ExitCode;

use jitterlab_host::{PrepareError, SessionError};
use jitterlab_model::Fitness;
use jitterlab_report::export::ExportError;
use jitterlab_runs::RunsError;
use jitterlab_trace::TraceError;

use crate::error::ConsoleError;
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
    pub fn of(asked: Option<Fitness>) -> Self {
        match asked {
            None | Some(Fitness::Good | Fitness::Limited) => Status::Fine,
            Some(Fitness::Unfit) => Status::RequirementFailed,
            Some(Fitness::CannotTell) => Status::CouldNotMeasure,
        }
    }
}

/// A command that could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    is_bad_use: bool,
    error: anyhow::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sentence(&self.error))
    }
}

/// What a command's `execute` returns.
pub type Ending = Result<Status, Failure>;

impl Failure {
    /// The arguments make no sense; the error says what to write instead.
    pub fn bad_use(error: impl Into<anyhow::Error>) -> Self {
        Failure { is_bad_use: true, error: error.into() }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Failure { is_bad_use: is_bad_use(&error), error }
    }
}

/// Whether the arguments are at fault, as a room says that every program uses.
fn is_bad_use(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(RunsError::is_bad_use)
        || error.downcast_ref().is_some_and(TraceError::is_bad_use)
        || error.downcast_ref().is_some_and(ConsoleError::is_bad_use)
        || error.downcast_ref().is_some_and(PrepareError::is_bad_use)
        || error.downcast_ref().is_some_and(SessionError::is_bad_use)
}

/// Prints the failure, if any, on standard error and gives the exit status; `own` finds the user's mistakes among the errors of
/// a program's own rooms. A measurement that a signal ended before its time says so by 128 and the signal's number, as shells
/// do, unless it says more by 1 or 2.
pub fn report(ending: Ending, own: fn(&anyhow::Error) -> bool) -> ExitCode {
    let signal = interrupt::signal();
    let status = match ending {
        Ok(status) => status,
        Err(Failure { error, .. }) if is_broken_pipe(&error) => Status::Fine,
        // A closed terminal takes no result; what was measured is in the run file.
        Err(Failure { error, .. }) if signal.is_some() && is_closed_terminal(&error) => Status::Fine,
        Err(Failure { is_bad_use, error }) => {
            output::note(&format!("error: {}", sentence(&error)));
            if is_bad_use || own(&error) { Status::BadUse } else { Status::CouldNotMeasure }
        }
    };
    match (status, signal) {
        (Status::Fine | Status::CouldNotMeasure, Some(signal)) => ExitCode::from(128 + signal),
        (status, _) => ExitCode::from(status as u8),
    }
}

/// The error and its causes, each said once: many say their cause themselves, with the remedy behind it.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        text if is_said(cause, &text, &said) => said,
        text if said.is_empty() => text,
        text => format!("{said}: {text}"),
    })
}

/// Whether a sentence says this cause, be it in its own words and without the system's number for it.
fn is_said(cause: &(dyn std::error::Error + 'static), text: &str, said: &str) -> bool {
    use io::ErrorKind::{InvalidFilename, NotFound};
    let kind = cause.downcast_ref().map(io::Error::kind);
    let plain = text.split(" (os error").next().unwrap_or_default();
    let names_it = match kind {
        Some(NotFound) => said.starts_with("no file "),
        kind => kind == Some(InvalidFilename),
    };
    !said.is_empty() && (said.contains(plain) || names_it)
}

/// The reader of our output went away (`jitterlab analyze ... | head`): that is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let exporting = || match error.downcast_ref() {
        Some(ExportError::Write(error)) => Some(error),
        _ => None,
    };
    error
        .downcast_ref::<io::Error>()
        .or_else(exporting)
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

fn is_closed_terminal(error: &anyhow::Error) -> bool {
    const EIO: i32 = 5;
    error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) == Some(EIO)
}
