//! Periodic loops, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;
use std::ptr;

use jitterlab_recording::{Begun, Loop};

use crate::error::{noted, null};
use crate::runs::Run;
use crate::text::text;

/// Sets the calling thread up and makes a loop for it.
///
/// # Safety
/// `run` was made by `jitterlab_run_new` and is not closed, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_new(run: *const Run, task: *const c_char) -> *mut Loop {
    // SAFETY: as the caller promises.
    let task = unsafe { text(task, "task") };
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() }.ok_or(null("run"));
    let made = run.and_then(|run| run.recording.task_loop(task?));
    noted(made).map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// Ends the activation that runs, if one does, and waits for the next.
///
/// # Safety
/// `on` is NULL, or was made by `jitterlab_loop_new` on this thread and is not freed; `begun` is NULL or an address to write
/// to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_wait(on: *mut Loop, begun: *mut Begun) -> bool {
    // SAFETY: as the caller promises.
    let Some(next) = (unsafe { on.as_mut() }).and_then(Loop::wait) else { return false };
    // SAFETY: as the caller promises.
    if let Some(begun) = unsafe { begun.as_mut() } {
        *begun = next;
    }
    true
}

/// Ends the activation that runs before its loop waits again.
///
/// # Safety
/// As for `jitterlab_loop_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_done(on: *mut Loop) {
    // SAFETY: as the caller promises.
    if let Some(on) = unsafe { on.as_mut() } {
        on.done();
    }
}

/// Ends the loop and says its run what came of it.
///
/// # Safety
/// As for `jitterlab_loop_wait`; it is gone after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_free(on: *mut Loop) {
    if !on.is_null() {
        // SAFETY: made from a box, and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(on) });
    }
}
