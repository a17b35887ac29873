//! Probes around loops that exist already, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;

use jitterlab_recording::TaskProbe;

use crate::handle::{Handle, catch_panic, make_handle};
use crate::kind::Kind;
use crate::runs::Run;
use crate::text::read_text;

/// Makes a probe for the loop of the first thread that uses it.
///
/// # Safety
/// `run` was made by `jitterlab_run_new`, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_new(run: *const Run, task: *const c_char) -> *mut Handle<TaskProbe> {
    make_handle(Kind::Probe, None, || {
        // SAFETY: as the caller promises.
        let run = unsafe { Run::at(run) }?;
        // SAFETY: as the caller promises.
        let task = unsafe { read_text(task, "task") }?;
        run.with_recording(|recording| recording.probe(task))
    })
}

/// Begins an activation, due a period after the one before it.
///
/// # Safety
/// `on` is NULL, or was made by `jitterlab_probe_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin(on: *mut Handle<TaskProbe>) {
    // SAFETY: as the caller promises.
    catch_panic(|| unsafe { Handle::content(on, Kind::Probe, true) }.map(TaskProbe::begin));
}

/// Begins an activation that was due at this time of CLOCK_MONOTONIC.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin_at(on: *mut Handle<TaskProbe>, due_ns: i64) {
    // SAFETY: as the caller promises.
    catch_panic(|| unsafe { Handle::content(on, Kind::Probe, true) }.map(|on| on.begin_at(due_ns)));
}

/// Ends the activation.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_end(on: *mut Handle<TaskProbe>) {
    // SAFETY: as the caller promises.
    catch_panic(|| unsafe { Handle::content(on, Kind::Probe, false) }.map(TaskProbe::end));
}

/// Ends the probe and hands its result to its run.
///
/// # Safety
/// As for `jitterlab_probe_begin`; its thread does not use it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_free(on: *mut Handle<TaskProbe>) {
    catch_panic(|| {
        // SAFETY: as the caller promises.
        if let Some((mut probe, refused)) = unsafe { Handle::free(on, Kind::Probe) } {
            probe.add_lost(refused);
        }
    });
}
