//! Errors of the C interface, and the last one noted for the calling thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

use jitterlab_recording::Error;

use crate::kind::Kind;

/// The case of NULL in place of a pointer of this name.
#[derive(Debug, PartialEq, Eq)]
struct Null(&'static str);

pub(crate) fn null_error(name: &'static str) -> Error {
    Error::bad_use(format!("{name} is NULL"))
        .remedy("look at what the call that made it answered")
        .case(Null(name))
}

/// Error of a pointer to something else where a run, loop or probe is needed.
pub(crate) fn wrong_kind_error(kind: Kind) -> Error {
    let name = kind.name();
    Error::bad_use(format!("this is no {name}"))
        .remedy(format!("hand over what jitterlab_{name}_new answered"))
}

/// Error of a run that was closed, or a loop or probe that was freed.
pub(crate) fn freed_error(kind: Kind) -> Error {
    let (name, how) = (kind.name(), if kind == Kind::Run { "closed" } else { "freed" });
    Error::bad_use(format!("the {name} was {how} before")).remedy("set the pointer to NULL then")
}

/// Error of a thread that uses a loop or probe of another one.
pub(crate) fn other_thread_error(kind: Kind) -> Error {
    let name = kind.name();
    Error::bad_use(format!("another thread uses this {name}: what this one does with it is not recorded"))
        .remedy(format!("make a {name} of its own on each thread"))
}

/// Error of a panic, which is always a mistake of the library.
pub(crate) fn panic_error() -> Error {
    Error::defect("the call broke down inside the library")
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
    static BEGIN_ERROR: RefCell<Option<String>> = RefCell::default();
}

/// Notes the error of a failed call of this thread. If the call got the NULL of a run that could not be begun, notes
/// the error of that run.
pub(crate) fn note_error(error: &Error) {
    let why = BEGIN_ERROR.try_with(RefCell::take).ok().flatten();
    let text = match &why {
        Some(why) if error.is(Null("run")) => why.clone(),
        _ => error.to_string(),
    };
    let _ = BEGIN_ERROR.try_with(|no_run| no_run.replace(why));
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that ends may have lost its note already.
    let _ = LAST_ERROR.try_with(|last| last.replace(text));
}

/// Remembers the error of this thread's last attempt to begin a run, if it failed.
pub(crate) fn remember_begin_error<T>(begun: Result<T, Error>) -> Result<T, Error> {
    BEGIN_ERROR.set(begun.as_ref().err().map(ToString::to_string));
    begun
}

/// Text of the calling thread's last error, at an address that stays valid until the next.
pub(crate) fn last_error_text() -> *const std::ffi::c_char {
    LAST_ERROR.with_borrow(|last| CStr::as_ptr(last))
}

/// Returns the value, or `None` after an error, which is noted for the calling thread.
pub(crate) fn ok_or_note<T>(outcome: Result<T, impl Into<Error>>) -> Option<T> {
    outcome.map_err(Into::into).inspect_err(note_error).ok()
}
