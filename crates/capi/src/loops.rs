//! Periodic loops, as C has them.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use jitterlab_model::{StopReason, TaskRun};
use jitterlab_rt::{End, Linux, Open, PeriodicLoop};

use crate::error::{CapiError, noted};
use crate::recording::{Recording, Shared, Taken};
use crate::text::text;

/// An activation that runs.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// The number of its due time on the grid, from 0.
    pub index: u64,
    /// When it was due, in nanoseconds of CLOCK_MONOTONIC.
    pub due_ns: i64,
    /// When it began, in nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: i64,
}

/// A loop with the activation that runs.
pub struct Loop {
    task: PeriodicLoop<Linux>,
    open: Option<Open>,
    shared: Arc<Shared>,
    number: usize,
    run: TaskRun,
}

impl Loop {
    fn new(shared: &Arc<Shared>, name: &str) -> Result<Self, CapiError> {
        let Taken { number, spec, recorder, fitted } = shared.take(name)?;
        if fitted {
            shared.give_back(number);
            return Err(CapiError::FittedLoop(spec.name));
        }
        let mut builder = PeriodicLoop::of_task(Linux, &spec).stop_flag(shared.stop.clone());
        if let Some(cpu) = spec.cpu {
            builder = builder.cpu(cpu);
        }
        if let Some(policy) = spec.policy {
            builder = builder.policy(policy);
            if policy.is_real_time() {
                builder = builder.lock_memory();
            }
        }
        if let Some(recorder) = recorder {
            builder = builder.recorder(recorder);
        }
        let task = builder.build().inspect_err(|_| shared.give_back(number))?;
        shared.began(number, task.counters().clone(), task.refused());
        let granted = task.granted().cloned().or_else(|| jitterlab_rt::probe::found().ok());
        let run = TaskRun { granted, ..TaskRun::new(spec) };
        Ok(Loop { task, open: None, shared: shared.clone(), number, run })
    }

    fn done(&mut self) {
        if let Some(open) = self.open.take() {
            self.task.close(open);
        }
    }

    fn wait(&mut self) -> Option<Begun> {
        self.done();
        let running = self.task.wait()?;
        let begun = Begun { index: running.index(), due_ns: running.due_ns(), start_ns: running.start_ns() };
        self.open = Some(running.leave_open());
        Some(begun)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.done();
        let run = TaskRun { result: Some(self.task.result()), ..self.run.clone() };
        let stop = match self.task.end() {
            Some(End::Wait(error)) => {
                Some(StopReason::WaitFailed { task: self.number, why: error.to_string() })
            }
            _ => None,
        };
        self.shared.ended(self.number, run, stop, None);
    }
}

/// Sets the calling thread up and makes a loop for it.
///
/// # Safety
/// `run` was made by `jitterlab_run_new` and is not closed, or is NULL; `task` is NULL or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jitterlab_loop_new(run: *const Recording, task: *const c_char) -> *mut Loop {
    // SAFETY: as the caller promises.
    let task = unsafe { text(task, "task") };
    // SAFETY: as the caller promises.
    let run = unsafe { run.as_ref() }.ok_or(CapiError::Null("run"));
    let made = run.and_then(|run| Loop::new(&run.shared, task?));
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
