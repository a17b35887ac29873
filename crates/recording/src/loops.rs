//! Periodic loops.

use std::sync::Arc;

use jitterlab_model::{Error, StopReason, TaskRun};
use jitterlab_rt::{Linux, LoopEnd, OpenActivation, PeriodicLoop};

use crate::shared::{Shared, TakenTask};

/// An activation that runs, as C has it too.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BegunActivation {
    /// The number of its due time on the grid, from 0.
    pub index: u64,
    /// Due time, in nanoseconds of CLOCK_MONOTONIC.
    pub due_ns: i64,
    /// Start, in nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: i64,
}

/// A periodic loop on the thread that made it, with the activation that runs.
pub struct Loop {
    task: PeriodicLoop<Linux>,
    open: Option<OpenActivation>,
    shared: Arc<Shared>,
    number: usize,
    run: TaskRun,
}

impl Loop {
    pub(crate) fn new(shared: &Arc<Shared>, name: &str) -> Result<Self, Error> {
        let TakenTask { number, spec, recorder, fitted } = shared.take_task(name)?;
        if fitted {
            shared.release_task(number);
            return Err(Error::bad_use(format!(
                "task {}: due=fitted is for a probe, a loop has due times of its own",
                spec.name
            ))
            .remedy("leave it out"));
        }
        let mut builder = PeriodicLoop::from_spec(Linux, &spec).stop_flag(shared.stop.clone());
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
        let task = builder.build().inspect_err(|_| shared.release_task(number))?;
        let granted = task.granted().cloned().or_else(|| jitterlab_rt::probe::current_scheduling().ok());
        let run = TaskRun { granted, ..TaskRun::new(spec) };
        shared.note_task_began(number, &run, task.counters().clone(), task.refused());
        Ok(Loop { task, open: None, shared: shared.clone(), number, run })
    }

    /// Ends the activation that runs before the loop waits again; without one, nothing happens.
    #[inline]
    pub fn done(&mut self) {
        if let Some(open) = self.open.take() {
            self.task.close(open);
        }
    }

    /// Ends the activation that runs, if any, and waits for the next; `None` at the loop's end. Also in a
    /// child of the process that made it.
    pub fn wait(&mut self) -> Option<BegunActivation> {
        if !self.shared.is_original_process() {
            return None;
        }
        self.done();
        let Some(running) = self.task.wait() else {
            self.shared.note_task_end(self.number);
            return None;
        };
        let begun = BegunActivation {
            index: running.index(),
            due_ns: running.due_ns(),
            start_ns: running.start_ns(),
        };
        self.open = Some(running.leave_open());
        Some(begun)
    }

    /// Begins the work of the running activation only now; returns the new start in ns, `None` if none runs.
    /// As after a wait for an interpreter's lock: the time until now is part of its latency. Times are of
    /// CLOCK_MONOTONIC.
    pub fn begin_work_now(&mut self) -> Option<i64> {
        self.open.as_mut().map(|open| self.task.begin_work_now(open))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.shared.is_original_process() {
            return;
        }
        self.done();
        let run = TaskRun { result: Some(self.task.result()), ..self.run.clone() };
        let stop = match self.task.end() {
            Some(LoopEnd::Wait(error)) => {
                Some(StopReason::WaitFailed { task: self.number, why: error.to_string() })
            }
            _ => None,
        };
        self.shared.note_task_result(self.number, run, stop, None);
    }
}
