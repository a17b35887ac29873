//! Periodic loops, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;

use jitterlab_recording::{BegunActivation, Loop, origin};

use crate::handle::{Handle, catch_panic, make_handle};
use crate::kind::Kind;
use crate::runs::Run;
use crate::text::read_text;

/// Sets the calling thread up and makes a loop for it.
///
/// # Safety
/// `run` was made by `jitterlab_run_new`, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_new(run: *const Run, task: *const c_char) -> *mut Handle<Loop> {
    make_handle(Kind::Loop, Some(origin::thread_key()), || {
        // SAFETY: as the caller promises.
        let run = unsafe { Run::at(run) }?;
        // SAFETY: as the caller promises.
        let task = unsafe { read_text(task, "task") }?;
        run.with_recording(|recording| recording.task_loop(task))
    })
}

/// Ends the activation that runs, if one does, and waits for the next.
///
/// # Safety
/// `on` is NULL, or was made by `jitterlab_loop_new`; `begun` is NULL or an address to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_wait(on: *mut Handle<Loop>, begun: *mut BegunActivation) -> bool {
    // SAFETY: as the caller promises.
    let next =
        catch_panic(|| unsafe { Handle::content(on, Kind::Loop, false) }.and_then(Loop::wait)).flatten();
    // SAFETY: as the caller promises.
    if let (Some(next), Some(begun)) = (next, unsafe { begun.as_mut() }) {
        *begun = next;
    }
    next.is_some()
}

/// Ends the activation that runs before its loop waits again.
///
/// # Safety
/// As for `jitterlab_loop_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_done(on: *mut Handle<Loop>) {
    // SAFETY: as the caller promises.
    catch_panic(|| unsafe { Handle::content(on, Kind::Loop, false) }.map(Loop::done));
}

/// Ends the loop and hands its result to its run.
///
/// # Safety
/// As for `jitterlab_loop_wait`; its thread does not use it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_free(on: *mut Handle<Loop>) {
    // SAFETY: as the caller promises.
    catch_panic(|| drop(unsafe { Handle::free(on, Kind::Loop) }));
}
