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
}

/// Notes why a call of this thread failed.
pub(crate) fn note(error: &CapiError) {
    let text = error.to_string().replace('\0', " ");
    LAST.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
}

/// The last that was noted, at an address that stays until the next.
pub(crate) fn last() -> *const std::ffi::c_char {
    LAST.with_borrow(|last| CStr::as_ptr(last))
}

/// The value, or the note why there is none.
pub(crate) fn noted<T>(outcome: Result<T, impl Into<CapiError>>) -> Option<T> {
    outcome.map_err(Into::into).inspect_err(note).ok()
}
