//! Text that C hands over.
#![expect(unsafe_code, reason = "C's strings are pointers")]

use std::ffi::{CStr, c_char};

use jitterlab_recording::Error;

use crate::error::null_error;

/// Returns the text at this address; `what` is its name in the error.
///
/// # Safety
/// NULL, or the address of a string with a zero at its end that stays as it is while the answer is used.
pub(crate) unsafe fn read_text<'a>(at: *const c_char, what: &'static str) -> Result<&'a str, Error> {
    if at.is_null() {
        return Err(null_error(what));
    }
    // SAFETY: not NULL, and as the caller promises.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| Error::bad_use(format!("{what} is no UTF-8 text")))
}
