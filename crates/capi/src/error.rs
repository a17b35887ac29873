//! What can go wrong, and what the calling thread was last told of it.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

use jitterlab_recording::Error;

/// The case of NULL in place of a pointer of this name.
#[derive(Debug, PartialEq, Eq)]
struct Null(&'static str);

pub(crate) fn null(name: &'static str) -> Error {
    Error::bad_use(format!("{name} is NULL"))
        .remedy("look at what the call that made it answered")
        .case(Null(name))
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static NO_RUN: RefCell<Option<String>> = RefCell::default();
}

/// Notes why a call of this thread failed. Where it was handed on the NULL of a run that could not be begun, why that was so is
/// said.
pub(crate) fn note(error: &Error) {
    let why = NO_RUN.take();
    let text = match &why {
        Some(why) if error.is(Null("run")) => why.clone(),
        _ => error.to_string(),
    };
    NO_RUN.set(why);
    LAST.with_borrow_mut(|last| *last = CString::new(text.replace('\0', " ")).unwrap_or_default());
}

/// Remembers whether this thread's last run could be begun, and why not.
pub(crate) fn remember<T>(begun: Result<T, Error>) -> Result<T, Error> {
    NO_RUN.set(begun.as_ref().err().map(ToString::to_string));
    begun
}

/// The last that was noted, at an address that stays until the next.
pub(crate) fn last() -> *const std::ffi::c_char {
    LAST.with_borrow(|last| CStr::as_ptr(last))
}

/// The value, or the note why there is none.
pub(crate) fn noted<T>(outcome: Result<T, impl Into<Error>>) -> Option<T> {
    outcome.map_err(Into::into).inspect_err(note).ok()
}
