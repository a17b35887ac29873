//! Probes around loops that exist already, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use jitterlab_model::{Gap, TaskRun, Warning};
use jitterlab_rt::Probe;
use jitterlab_rt::probe::found;

use crate::error::{CapiError, noted};
use crate::recording::{Recording, Shared, Taken};
use crate::text::text;

/// A probe and the run it belongs to.
pub struct Probed {
    probe: Option<Probe>,
    shared: Arc<Shared>,
    number: usize,
    run: TaskRun,
    fitted: bool,
}

impl Probed {
    fn new(shared: &Arc<Shared>, name: &str) -> Result<Self, CapiError> {
        let Taken { number, spec, recorder, fitted } = shared.take(name)?;
        let probe = match recorder {
            Some(recorder) if fitted => Probe::without_due_times(&spec, recorder),
            recorder => Probe::new(&spec, recorder),
        };
        shared.began(number, probe.counters().clone(), &[]);
        // How it waits and what it does is the loop's own affair.
        let run = TaskRun { granted: found().ok(), unknown: vec![Gap::Settings], ..TaskRun::new(spec) };
        Ok(Probed { probe: Some(probe), shared: shared.clone(), number, run, fitted })
    }
}

impl Drop for Probed {
    fn drop(&mut self) {
        let Some(probe) = self.probe.take() else { return };
        let mut run = self.run.clone();
        let mut warning = None;
        if !self.fitted && !probe.is_given_due_times() {
            run.unknown.push(Gap::Phase);
            warning = Some(Warning::DueFromFirst { task: run.spec.name.clone(), early: probe.early() });
        }
        run.result = Some(probe.finish());
        self.shared.ended(self.number, run, None, warning);
    }
}

/// Makes a probe for a loop of the calling thread.
///
/// # Safety
/// `run` was made by `jitterlab_run_new` and is not closed, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_new(run: *const Recording, task: *const c_char) -> *mut Probed {
    // SAFETY: as the caller promises.
    let task = unsafe { text(task, "task") };
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() }.ok_or(CapiError::Null("run"));
    let made = run.and_then(|run| Probed::new(&run.shared, task?));
    noted(made).map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// An activation begins, due a period after the one before it.
///
/// # Safety
/// `on` is NULL, or was made by `jitterlab_probe_new` and is not freed; no other thread uses it at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin(on: *mut Probed) {
    // SAFETY: as the caller promises.
    if let Some(probe) = unsafe { on.as_mut() }.and_then(|on| on.probe.as_mut()) {
        probe.begin();
    }
}

/// An activation begins that was due at this time of CLOCK_MONOTONIC.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_begin_at(on: *mut Probed, due_ns: i64) {
    // SAFETY: as the caller promises.
    if let Some(probe) = unsafe { on.as_mut() }.and_then(|on| on.probe.as_mut()) {
        probe.begin_at(due_ns);
    }
}

/// The activation ends.
///
/// # Safety
/// As for `jitterlab_probe_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_probe_end(on: *mut Probed) {
    // SAFETY: as the caller promises.
    if let Some(probe) = unsafe { on.as_mut() }.and_then(|on| on.probe.as_mut()) {
        probe.end();
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
