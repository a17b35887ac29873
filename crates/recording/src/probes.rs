//! Probes around loops that exist already.

use std::sync::Arc;

use jitterlab_model::{Error, Gap, TaskResult, TaskRun, Warning};
use jitterlab_rt::Probe;
use jitterlab_rt::probe::current_scheduling;

use crate::shared::{Shared, TakenTask};

/// A probe around a loop that exists already. Dropping it ends it.
#[derive(Debug)]
pub struct TaskProbe {
    probe: Probe,
    shared: Arc<Shared>,
    number: usize,
    run: TaskRun,
    fitted: bool,
    /// Activations that the caller knows to be missing.
    missing: u64,
}

impl TaskProbe {
    pub(crate) fn new(shared: &Arc<Shared>, name: &str) -> Result<Self, Error> {
        let TakenTask { number, spec, recorder, fitted } = shared.take_task(name)?;
        let probe = match recorder {
            Some(recorder) if fitted => Probe::without_due_times(&spec, recorder),
            recorder => Probe::new(&spec, recorder),
        };
        // The loop alone decides its way of waiting and its work.
        let run = TaskRun {
            granted: current_scheduling().ok(),
            unknown: vec![Gap::Settings],
            ..TaskRun::new(spec)
        };
        // The loop may state its due times later: in a run that is killed before, they are unknown.
        let until_then = TaskRun { unknown: vec![Gap::Settings, Gap::Phase], ..run.clone() };
        shared.note_task_began(number, &until_then, probe.counters().clone(), &[]);
        Ok(TaskProbe { probe, shared: shared.clone(), number, run, fitted, missing: 0 })
    }

    /// Begins an activation, due a period after the one before it.
    #[inline]
    pub fn begin(&mut self) {
        self.probe.begin();
    }

    /// Begins an activation that was due at this time of CLOCK_MONOTONIC, in nanoseconds.
    #[inline]
    pub fn begin_at(&mut self, due_ns: i64) {
        self.probe.begin_at(due_ns);
    }

    /// Counts activations that ran and were not recorded, as those of a second thread: they count as lost.
    pub fn add_lost(&mut self, activations: u64) {
        self.missing = self.missing.saturating_add(activations);
    }

    /// Ends the activation.
    #[inline]
    pub fn end(&mut self) {
        self.probe.end();
    }
}

impl Drop for TaskProbe {
    fn drop(&mut self) {
        if !self.shared.is_original_process() {
            return;
        }
        let mut run = self.run.clone();
        let mut warning = None;
        if !self.fitted && !self.probe.has_stated_due_times() {
            run.unknown.push(Gap::Phase);
            warning =
                Some(Warning::DueFromFirst { task: run.spec.name.clone(), early: self.probe.early_starts() });
        }
        let result = self.probe.finish();
        let (executed, dropped) = (result.executed + self.missing, result.dropped + self.missing);
        run.result = Some(TaskResult { executed, dropped, ..result });
        self.shared.note_task_result(self.number, run, None, warning);
    }
}
