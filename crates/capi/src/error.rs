//! What can go wrong, and what the calling thread was last told of it.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

use jitterlab_recording::RecordingError;

/// Why a call did not do what was asked. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CapiError {
    /// NULL in place of something.
    #[error("{0} is NULL: look at what the call that made it answered")]
    Null(&'static str),
    /// Bytes that are no text.
    #[error("{0} is no UTF-8 text")]
    NotText(&'static str),
    /// What a run, a loop or a probe answers.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static NO_RUN: RefCell<Option<String>> = RefCell::default();
}

/// Notes why a call of this thread failed. Where it was handed on the NULL of a run that could not be begun, why that was so is
/// said.
pub(crate) fn note(error: &CapiError) {
    let why = NO_RUN.take();
    let text = match (error, &why) {
        (CapiError::Null("run"), Some(why)) => why.clone(),
        _ => error.to_string(),
    };
    NO_RUN.set(why);
    LAST.with_borrow_mut(|last| *last = CString::new(text.replace('\0', " ")).unwrap_or_default());
}

/// Remembers whether this thread's last run could be begun, and why not.
pub(crate) fn remember<T>(begun: Result<T, CapiError>) -> Result<T, CapiError> {
    NO_RUN.set(begun.as_ref().err().map(CapiError::to_string));
    begun
}

/// The last that was noted, at an address that stays until the next.
pub(crate) fn last() -> *const std::ffi::c_char {
    LAST.with_borrow(|last| CStr::as_ptr(last))
}

/// The value, or the note why there is none.
pub(crate) fn noted<T>(outcome: Result<T, impl Into<CapiError>>) -> Option<T> {
    outcome.map_err(Into::into).inspect_err(note).ok()
}
