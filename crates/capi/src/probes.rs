//! Probes around loops that exist already, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;
use std::ptr;

use jitterlab_recording::Probed;

use crate::error::{noted, null};
use crate::runs::Run;
use crate::text::text;

/// Makes a probe for a loop of the calling thread.
///
/// # Safety
/// `run` was made by `jitterlab_run_new` and is not closed, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_new(run: *const Run, task: *const c_char) -> *mut Probed {
    // SAFETY: as the caller promises.
    let task = unsafe { text(task, "task") };
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() }.ok_or(null("run"));
    let made = run.and_then(|run| run.recording.probe(task?));
    noted(made).map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// An activation begins, due a period after the one before it.
///
/// # Safety
/// `on` is NULL, or was made by `jitterlab_probe_new` and is not freed; no other thread uses it at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin(on: *mut Probed) {
    // SAFETY: as the caller promises.
    if let Some(on) = unsafe { on.as_mut() } {
        on.begin();
    }
}

/// An activation begins that was due at this time of CLOCK_MONOTONIC.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin_at(on: *mut Probed, due_ns: i64) {
    // SAFETY: as the caller promises.
    if let Some(on) = unsafe { on.as_mut() } {
        on.begin_at(due_ns);
    }
}

/// The activation ends.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_end(on: *mut Probed) {
    // SAFETY: as the caller promises.
    if let Some(on) = unsafe { on.as_mut() } {
        on.end();
    }
}

/// Ends the probe and says its run what came of it.
///
/// # Safety
/// As for `jitterlab_probe_begin`; it is gone after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_free(on: *mut Probed) {
    if !on.is_null() {
        // SAFETY: made from a box, and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(on) });
    }
}
