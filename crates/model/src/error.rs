//! The one error type: kind of failure, event, cause and remedy.

use std::any::Any;
use std::error;
use std::fmt;
use std::io::{self, ErrorKind as Io};
use std::path::PathBuf;

/// The kind of a failure, which decides how a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A mistake of the user, such as the name of a file that does not exist.
    BadUse,
    /// There is nothing to measure, or the measurement does not answer the question.
    NotMeasured,
    /// The system refused an operation or a resource.
    Refused,
    /// A file is damaged, or is not of the kind that is needed.
    Damaged,
}

type Cause = Box<dyn error::Error + Send + Sync>;

/// A failure as every crate reports it. Printed, it is one sentence: event, cause, remedy.
///
/// ```
/// # use jitterlab_model::{Error, error::ErrorKind};
/// let error = Error::bad_use("\"250\" has no unit").remedy("did you mean 250us?");
/// assert_eq!(error.kind(), ErrorKind::BadUse);
/// assert_eq!(error.to_string(), "\"250\" has no unit: did you mean 250us?");
/// ```
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: ErrorKind,
    what: String,
    cause: Option<Cause>,
    remedy: Option<String>,
    case: Option<Box<dyn Any + Send + Sync>>,
}

impl Error {
    /// Creates a failure of this kind; `what` happened.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error(Box::new(Parts { kind, what: what.into(), cause: None, remedy: None, case: None }))
    }

    /// A mistake of the user.
    pub fn bad_use(what: impl Into<String>) -> Self {
        Error::new(ErrorKind::BadUse, what)
    }

    /// Creates a failure where there is nothing to measure, or no answer in the measurement.
    pub fn not_measured(what: impl Into<String>) -> Self {
        Error::new(ErrorKind::NotMeasured, what)
    }

    /// The system refused something.
    pub fn refused(what: impl Into<String>) -> Self {
        Error::new(ErrorKind::Refused, what)
    }

    /// A file is damaged or of another kind.
    pub fn damaged(what: impl Into<String>) -> Self {
        Error::new(ErrorKind::Damaged, what)
    }

    /// A failure that cannot happen unless jitterlab has a defect.
    pub fn defect(what: impl Into<String>) -> Self {
        Error::not_measured(what).remedy("please report this")
    }

    /// For `map_err`: the system refused an operation, such as `open`, on a file. A name that cannot be opened or read is the
    /// user's mistake where nothing is there, and any name where it is a folder's or too long.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        const LONG: usize = 40;
        let path = path.into();
        move |cause| {
            let name = path.display();
            let reads = matches!(action, "open" | "read");
            let kind = match cause.kind() {
                Io::InvalidFilename | Io::IsADirectory => ErrorKind::BadUse,
                Io::NotFound if reads => ErrorKind::BadUse,
                _ => ErrorKind::Refused,
            };
            match cause.kind() {
                Io::NotFound if reads => Error::new(kind, format!("no file {name} here")),
                Io::InvalidFilename => {
                    let beginning: String = name.to_string().chars().take(LONG).collect();
                    Error::new(kind, format!("{beginning}... is too long for the name of a file"))
                }
                refused => {
                    let error = Error::new(kind, format!("cannot {action} {name}")).because(cause);
                    match io_remedy(refused) {
                        "" => error,
                        remedy => error.remedy(remedy),
                    }
                }
            }
        }
    }

    /// Adds the error that caused it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Puts the task, option or file that it is about before the message.
    #[must_use]
    pub fn within(mut self, of: impl fmt::Display) -> Self {
        let what = &self.0.what;
        self.0.what = if what.is_empty() { of.to_string() } else { format!("{of}: {what}") };
        self
    }

    /// Sets the attempted action as the message, if there is no message yet.
    #[must_use]
    pub fn while_at(mut self, what: &str) -> Self {
        if self.0.what.is_empty() {
            self.0.what = what.into();
        }
        self
    }

    /// Adds a value by which callers recognise this failure.
    #[must_use]
    pub fn case(mut self, case: impl Any + Send + Sync) -> Self {
        self.0.case = Some(Box::new(case));
        self
    }

    /// Changes its kind.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns true if the fault is in the user's input.
    pub fn is_bad_use(&self) -> bool {
        self.0.kind == ErrorKind::BadUse
    }

    /// Returns true if it was marked as this [`case`](Self::case).
    pub fn is<T: Any + PartialEq>(&self, case: T) -> bool {
        let case = Some(case);
        self.case_of() == case.as_ref()
    }

    /// Its [`case`](Self::case), if that is of this type.
    pub fn case_of<T: Any>(&self) -> Option<&T> {
        self.0.case.as_ref()?.downcast_ref()
    }

    /// Returns event and cause, without the remedy.
    pub fn why(&self) -> String {
        let Parts { what, cause, .. } = &*self.0;
        let Some(cause) = cause else { return what.clone() };
        let cause = cause.to_string();
        // The system's error number does not help a reader.
        let cause = cause.split(" (os error").next().unwrap_or_default();
        if what.is_empty() { cause.into() } else { format!("{what}: {cause}") }
    }

    /// Returns the remedy, if there is one.
    pub fn advice(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// The system's error behind it, if one is.
    pub fn io(&self) -> Option<&io::Error> {
        self.0.cause.as_deref().and_then(|cause| match cause.downcast_ref::<Error>() {
            Some(error) => error.io(),
            None => cause.downcast_ref(),
        })
    }
}

impl fmt::Display for Error {
    /// Writes event, cause and remedy, each once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.why();
        if let Some(remedy) = self.advice() {
            text += if text.contains(": ") { "; " } else { ": " };
            text += remedy;
        }
        f.write_str(&text)
    }
}

impl error::Error for Error {
    /// Returns the source of the cause; the cause itself is in the sentence already.
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.cause.as_ref().and_then(|cause| cause.source())
    }
}

impl PartialEq for Error {
    /// Compares kind and sentence.
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Self {
        Error::refused("").because(cause)
    }
}

/// Remedy for a file operation that the system refused; empty if none is known.
fn io_remedy(refused: Io) -> &'static str {
    match refused {
        Io::PermissionDenied => "choose a directory you may write to, or change the permissions",
        Io::ReadOnlyFilesystem => "choose a directory on another disk",
        Io::StorageFull | Io::QuotaExceeded => "make room on that disk",
        Io::IsADirectory => "name a file in it",
        _ => "",
    }
}

/// Error for a value that is no `what`; `known` describes the valid ones.
pub(crate) fn invalid_value(what: &str, value: &str, known: &str) -> Error {
    Error::bad_use(format!("{value:?} is not a {what}")).remedy(format!("use {known}"))
}

/// Error for a value that is none of these names.
pub fn not_one_of(what: &str, value: &str, names: &[&str]) -> Error {
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    invalid_value(what, value, &format!("{} or {last}", others.join(", ")))
}

pub(crate) const TIME_UNITS: &str = "ns, us, ms, s, m (minutes), h or d";
pub(crate) const PERIOD_UNITS: &str = "ns, us, ms, s, m, h, d, Hz, kHz or MHz";
pub(crate) const CYCLES: &str = "a time, a rate, or cycles of a clock such as 1023/16MHz";
pub(crate) const FREQUENCY_UNITS: &str = "Hz, kHz or MHz";
pub(crate) const KEEPS: &str = "all, spikes, or spikes:TIME such as spikes:100us";
pub(crate) const PULSES: &str = "a line such as gpiochip0:17, parport0:D0, ttyS0:rts, ttyS0:dtr or file:PATH, with @start, @end or ,step=RATE behind it";
pub(crate) const POLICIES: &str =
    "other, batch, idle, fifo:1..99, rr:1..99 or deadline:RUNTIME such as deadline:200us";
pub(crate) const WORKS: &str = "none, spin:TIME such as spin:50us, or twente:DIVISIONS such as twente:10000";
pub(crate) const COMPENSATIONS: &str = "none, repeat:TIME such as repeat:50us, margin:TIME such as margin:20us, late:P such as late:1e-4, cost:RATIO such as cost:100, or adaptive:P";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_its_cause_once_and_the_remedy_last() {
        let denied = || io::Error::from_raw_os_error(13);
        let error = Error::file("create", "/run.parquet")(denied());
        let said = error.to_string();
        assert_eq!(said.matches("ermission denied").count(), 1, "{said}");
        assert!(
            !said.contains("os error")
                && said.ends_with("; choose a directory you may write to, or change the permissions")
        );
        assert!(error::Error::source(&error).is_none(), "the sentence has it");
        assert_eq!(error.io().map(io::Error::kind), Some(Io::PermissionDenied));
        let outer = Error::refused("no run file").because(error).remedy("name another place with --output");
        assert_eq!(outer.io().map(io::Error::kind), Some(Io::PermissionDenied));
        assert_eq!(Error::from(denied()).to_string(), "Permission denied");
        assert_eq!(Error::from(denied()).within("task base").to_string(), "task base: Permission denied");
    }

    #[test]
    fn a_name_that_the_user_got_wrong_is_bad_use() {
        let kind = |action, kind: Io| Error::file(action, "x")(kind.into()).kind();
        assert_eq!(kind("open", Io::NotFound), ErrorKind::BadUse);
        assert_eq!(kind("read", Io::IsADirectory), ErrorKind::BadUse);
        assert_eq!(kind("open", Io::PermissionDenied), ErrorKind::Refused);
        assert_eq!(kind("create", Io::NotFound), ErrorKind::Refused);
        assert_eq!(Error::file("open", "x")(Io::NotFound.into()).to_string(), "no file x here");
    }

    #[test]
    fn a_failure_is_told_by_its_case() {
        let error = Error::refused("x exists already").case(7).within("run");
        assert!(error.is(7) && !error.is(8) && !error.is("seven"));
        assert_eq!(error.to_string(), "run: x exists already");
    }
}
