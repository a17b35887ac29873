//! Runs, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use jitterlab_recording::Recording;

use crate::error::{last, note, noted, null, remember};
use crate::text::text;

const TOOL: &str = concat!("libjitterlab ", env!("CARGO_PKG_VERSION"));

/// A run that goes on.
pub struct Run {
    pub(crate) recording: Recording,
    /// What was refused, at addresses that stay as long as the run does.
    refusals: Mutex<Vec<CString>>,
}

impl Run {
    fn refusal(&self, number: usize) -> Option<*const c_char> {
        let mut known = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        for r in self.recording.refused().iter().skip(known.len()) {
            known.push(CString::new(format!("{} ({}): {}", r.what, r.why, r.remedy)).unwrap_or_default());
        }
        known.get(number).map(|text| text.as_ptr())
    }
}

/// What a task did so far.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Activations that ran.
    pub executed: u64,
    /// Activations that ran and are not in the file.
    pub lost: u64,
    /// Whether what follows is known: from the first activation on, or from when a grid is fitted to the starts.
    pub has_timing: bool,
    /// Due times that were never served.
    pub missed: u64,
    /// The smallest latency, in nanoseconds.
    pub min_latency_ns: i64,
    /// The largest latency, in nanoseconds.
    pub max_latency_ns: i64,
}

/// The release of the library.
#[unsafe(no_mangle)]
pub extern "C" fn jitterlab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Why the last call of this thread that failed did.
#[unsafe(no_mangle)]
pub extern "C" fn jitterlab_error() -> *const c_char {
    last()
}

/// Begins a run.
///
/// # Safety
/// Both are NULL or strings with a zero at their end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_new(file: *const c_char, tasks: *const c_char) -> *mut Run {
    // SAFETY: as the caller promises.
    let tasks = unsafe { text(tasks, "tasks") };
    // SAFETY: as the caller promises.
    let file = (!file.is_null()).then(|| unsafe { text(file, "file") }).transpose();
    let begun = tasks.and_then(|tasks| Recording::begin(TOOL, file?.map(Path::new), tasks));
    let run = noted(remember(begun)).map(|recording| Run { recording, refusals: Mutex::default() });
    run.map_or(ptr::null_mut(), |run| Box::into_raw(Box::new(run)))
}

/// Ends every loop of the run before its next activation.
///
/// # Safety
/// `run` is NULL, or was made by `jitterlab_run_new` and is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_stop(run: *const Run) {
    // SAFETY: as the caller promises; only what is shared is touched.
    if let Some(run) = unsafe { run.as_ref() } {
        run.recording.stop();
    }
}

/// What was asked for and refused, by number from 0; NULL behind the last.
///
/// # Safety
/// As for `jitterlab_run_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_refusal(run: *const Run, number: usize) -> *const c_char {
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() };
    run.and_then(|run| run.refusal(number)).unwrap_or(ptr::null())
}

/// What a task did so far.
///
/// # Safety
/// As for `jitterlab_run_stop`; `task` is a string with a zero at its end, `figures` NULL or an address to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_figures(
    run: *const Run,
    task: *const c_char,
    figures: *mut Figures,
) -> c_int {
    // SAFETY: as the caller promises.
    let task = unsafe { text(task, "task") };
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() }.ok_or(null("run"));
    let found = run.and_then(|run| run.recording.figures(task?));
    // SAFETY: as the caller promises.
    let (Some(s), Some(figures)) = (noted(found), unsafe { figures.as_mut() }) else { return -1 };
    *figures =
        Figures { executed: s.executed, lost: s.lost, has_timing: s.timing.is_some(), ..Figures::default() };
    if let Some(timing) = s.timing {
        figures.missed = timing.missed;
        figures.min_latency_ns = timing.min_latency_ns;
        figures.max_latency_ns = timing.max_latency_ns;
    }
    0
}

/// Ends the run and makes its file. A run that was never begun fails here, too, so that who looks at this call alone is told.
///
/// # Safety
/// `run` is NULL, or was made by `jitterlab_run_new` and is not closed; it is gone after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_close(run: *mut Run) -> c_int {
    if run.is_null() {
        note(&null("run"));
        return -1;
    }
    // SAFETY: made from a box, and not closed, as the caller promises.
    let run = unsafe { Box::from_raw(run) };
    if noted(run.recording.close()).is_some() { 0 } else { -1 }
}
