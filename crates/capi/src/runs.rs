//! Runs, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jitterlab_recording::{Error, Figures, Recording, forked_process_error, origin};

use crate::error::{
    freed_error, last_error_text, null_error, ok_or_note, remember_begin_error, wrong_kind_error,
};
use crate::handle::catch_panic;
use crate::kind::Kind;
use crate::text::read_text;

const TOOL: &str = concat!("libjitterlab ", env!("CARGO_PKG_VERSION"));

/// A run that goes on, or was closed: it stays, so that a later use returns an error.
#[repr(C)]
pub struct Run {
    /// Kind of object, at the place where loops and probes have theirs.
    kind: AtomicUsize,
    /// Ends its loops, without a lock: signal handlers may do that.
    stop: Arc<AtomicBool>,
    /// The process that began it: in a child of that, a lock may be held for ever.
    process: u32,
    recording: RwLock<Option<Recording>>,
    /// The refusals, at addresses that stay valid until the run is closed.
    refusals: Mutex<Vec<CString>>,
}

impl Run {
    fn new(recording: Recording) -> Self {
        Run {
            kind: AtomicUsize::new(Kind::Run as usize),
            stop: recording.stop_flag(),
            process: origin::fork_count(),
            recording: RwLock::new(Some(recording)),
            refusals: Mutex::default(),
        }
    }

    /// The run at this address.
    ///
    /// # Safety
    /// The address may be read, or is NULL.
    pub(crate) unsafe fn at<'a>(at: *const Run) -> Result<&'a Run, Error> {
        if at.is_null() {
            return Err(null_error("run"));
        }
        // SAFETY: as the caller promises.
        let is_run = unsafe { Kind::Run.is_at(at) };
        // SAFETY: runs stay for good.
        is_run.then(|| unsafe { &*at }).ok_or_else(|| wrong_kind_error(Kind::Run))
    }

    /// Asks the run's recording; an error if the run is closed, or another process's.
    pub(crate) fn with_recording<T>(
        &self,
        ask: impl FnOnce(&Recording) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_process()?;
        let recording = self.recording.read().unwrap_or_else(PoisonError::into_inner);
        ask(recording.as_ref().ok_or_else(|| freed_error(Kind::Run))?)
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.process == origin::fork_count() { Ok(()) } else { Err(forked_process_error()) }
    }

    /// Text of the refused request of this number, valid until the run is closed; `None` behind the last.
    fn refusal_text(&self, number: usize) -> Result<Option<*const c_char>, Error> {
        let refused = self.with_recording(|recording| Ok(recording.refused()))?;
        let mut known = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        for r in refused.iter().skip(known.len()) {
            known.push(CString::new(format!("{} ({}): {}", r.what, r.why, r.remedy)).unwrap_or_default());
        }
        Ok(known.get(number).map(|text| text.as_ptr()))
    }

    fn close(&self) -> Result<(), Error> {
        self.check_process()?;
        let recording = self.recording.write().unwrap_or_else(PoisonError::into_inner).take();
        recording.ok_or_else(|| freed_error(Kind::Run))?.close()?;
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
}

/// The release of the library.
#[unsafe(no_mangle)]
pub extern "C" fn jitterlab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the error of this thread's last failed call.
#[unsafe(no_mangle)]
pub extern "C" fn jitterlab_error() -> *const c_char {
    last_error_text()
}

/// Begins a run.
///
/// # Safety
/// Both are NULL or strings with a zero at their end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_new(file: *const c_char, tasks: *const c_char) -> *mut Run {
    let begun = catch_panic(|| {
        // SAFETY: as the caller promises.
        let tasks = unsafe { read_text(tasks, "tasks") };
        // SAFETY: as the caller promises.
        let file = (!file.is_null()).then(|| unsafe { read_text(file, "file") }).transpose();
        ok_or_note(remember_begin_error(
            tasks.and_then(|tasks| Recording::begin(TOOL, file?.map(Path::new), tasks)),
        ))
    });
    begun.flatten().map_or(ptr::null_mut(), |run| Box::into_raw(Box::new(Run::new(run))))
}

/// Ends every loop of the run before its next activation.
///
/// # Safety
/// `run` is NULL, or was made by `jitterlab_run_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_stop(run: *const Run) {
    // SAFETY: as the caller promises; nothing is noted, since this may be a signal handler.
    if let Ok(run) = unsafe { Run::at(run) } {
        run.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns the refused request of this number, from 0; NULL behind the last.
///
/// # Safety
/// As for `jitterlab_run_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_refusal(run: *const Run, number: usize) -> *const c_char {
    // SAFETY: as the caller promises.
    let found = catch_panic(|| ok_or_note(unsafe { Run::at(run) }.and_then(|run| run.refusal_text(number))));
    found.flatten().flatten().unwrap_or(ptr::null())
}

/// Writes the figures of a task so far.
///
/// # Safety
/// As for `jitterlab_run_stop`; `task` is a string with a zero at its end, `figures` NULL or an address to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_figures(
    run: *const Run,
    task: *const c_char,
    figures: *mut Figures,
) -> c_int {
    let found = catch_panic(|| {
        // SAFETY: as the caller promises.
        let run = unsafe { Run::at(run) };
        // SAFETY: as the caller promises.
        let task = unsafe { read_text(task, "task") };
        ok_or_note(run.and_then(|run| run.with_recording(|recording| recording.figures(task?))))
    });
    // SAFETY: as the caller promises.
    let (Some(found), Some(figures)) = (found.flatten(), unsafe { figures.as_mut() }) else { return -1 };
    *figures = found;
    0
}

/// Ends the run and makes its file. A run that was never begun fails here, too, so that a program that checks this call
/// alone notices.
///
/// # Safety
/// `run` is NULL, or was made by `jitterlab_run_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_run_close(run: *mut Run) -> c_int {
    // SAFETY: as the caller promises.
    let closed = catch_panic(|| ok_or_note(unsafe { Run::at(run) }.and_then(Run::close)));
    if closed.flatten().is_some() { 0 } else { -1 }
}
