//! An experiment in progress: its parts in order, each taken from an earlier call or measured now and kept.

use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_model::{Activation, Error};
use jitterlab_trace::FinishedParts;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Progress of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The step that is measured.
    pub step: TrialStep,
    /// True if it begins now.
    pub begins: bool,
    /// Approximate time for the rest of the experiment, in ns, if it was planned.
    pub remaining_ns: Option<i64>,
}

/// An experiment on this machine. Its parts come in the same order in every call, so that one that was killed
/// continues after the last part that it had kept.
pub struct Experiment<'a> {
    kept: KeptParts,
    progress: Progress,
    report: &'a mut dyn FnMut(&Progress),
    interrupted: &'a AtomicBool,
}

impl<'a> Experiment<'a> {
    /// Continues after the parts that are kept. `report` receives the progress; setting `interrupted` ends it
    /// early.
    pub fn new(
        parts: FinishedParts,
        report: &'a mut dyn FnMut(&Progress),
        interrupted: &'a AtomicBool,
    ) -> Self {
        let progress = Progress { step: TrialStep::Measuring, begins: false, remaining_ns: None };
        Experiment { kept: KeptParts { parts, ..KeptParts::default() }, progress, report, interrupted }
    }

    /// Sets the time of the whole experiment, in ns.
    pub fn set_total_time(&mut self, total_ns: i64) {
        self.progress.remaining_ns = Some(total_ns);
    }

    /// Reports that a step begins.
    pub fn begin_step(&mut self, step: TrialStep) {
        self.progress = Progress { step, begins: true, remaining_ns: self.progress.remaining_ns };
        (self.report)(&self.progress);
    }

    /// Reports that a part of the step is done, which took this long, in ns.
    pub fn add_elapsed(&mut self, ns: i64) {
        self.progress.begins = false;
        self.progress.remaining_ns =
            self.progress.remaining_ns.map(|remaining_ns| (remaining_ns - ns).max(0));
        (self.report)(&self.progress);
    }

    /// Flag that ends the experiment early when it is set.
    pub fn interrupted(&self) -> &'a AtomicBool {
        self.interrupted
    }

    /// True if parts can be kept.
    pub fn keeps_parts(&self) -> bool {
        self.kept.parts.path().is_some()
    }

    /// True if the user asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Returns the next part, kept by an earlier call or measured now and kept; `None` if it was interrupted.
    /// The result of an interrupted part, an error included, is dropped.
    pub fn next_part<T: Serialize + DeserializeOwned, E>(
        &mut self,
        measure: impl FnOnce() -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let part = self.next_part_with_rows(|| Ok((measure()?, Vec::new())))?;
        Ok(part.map(|(part, _)| part))
    }

    /// Returns the next part with its activations, as [`next_part`](Self::next_part) does.
    pub fn next_part_with_rows<T: Serialize + DeserializeOwned, E>(
        &mut self,
        measure: impl FnOnce() -> Result<(T, Vec<Activation>), E>,
    ) -> Result<Option<(T, Vec<Activation>)>, E> {
        if let Some(kept) = self.kept.parts.next_kept() {
            return Ok(Some(kept));
        }
        let measured = measure();
        if self.is_interrupted() {
            return Ok(None);
        }
        let (part, rows) = measured?;
        if let Err(error) = self.kept.parts.keep(&part, &rows) {
            self.kept.failure = Some(error);
        }
        Ok(Some((part, rows)))
    }

    /// Keeps the parts from here on in another file, whose name depends on results so far.
    pub fn continue_in(&mut self, parts: FinishedParts) {
        self.kept.done.push(std::mem::replace(&mut self.kept.parts, parts));
    }

    /// Ends the experiment; the kept parts stay until they are closed.
    #[must_use]
    pub fn end(self) -> KeptParts {
        self.kept
    }
}

#[derive(Default)]
pub struct KeptParts {
    parts: FinishedParts,
    /// The parts in earlier files.
    done: Vec<FinishedParts>,
    /// Error after which no more parts are kept.
    failure: Option<Error>,
}

impl KeptParts {
    /// Removes the kept parts if everything was measured and shown (`complete`); else returns their number.
    ///
    /// # Errors
    /// The kept parts cannot be removed, or not all could be kept.
    pub fn close(self, complete: bool) -> Result<usize, Error> {
        let mut stay = 0;
        for parts in self.done.into_iter().chain([self.parts]) {
            stay += parts.close(complete)?;
        }
        self.failure.map_or(Ok(stay), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_measured_once_and_an_interrupted_one_again() {
        let folder = tempfile::tempdir().unwrap();
        let interrupted = AtomicBool::new(false);
        let measured = |ask: &[(u8, bool)]| -> Vec<Option<u8>> {
            interrupted.store(false, Ordering::Relaxed);
            let mut report = |_: &Progress| ();
            let parts = FinishedParts::new(folder.path(), "try", &()).unwrap();
            let mut experiment = Experiment::new(parts, &mut report, &interrupted);
            let mut part = |(value, interrupt): &(u8, bool)| {
                let measure = || {
                    interrupted.store(*interrupt, Ordering::Relaxed);
                    if *interrupt { Err("broken off") } else { Ok(*value) }
                };
                experiment.next_part(measure).unwrap()
            };
            ask.iter().map(&mut part).collect()
        };
        assert_eq!(measured(&[(1, false), (2, false), (3, true)]), [Some(1), Some(2), None]);
        assert_eq!(measured(&[(7, false), (8, false), (9, false)]), [Some(1), Some(2), Some(9)]);
        let mut report = |_: &Progress| ();
        let parts = FinishedParts::new(folder.path(), "try", &()).unwrap();
        assert_eq!(Experiment::new(parts, &mut report, &interrupted).end().close(true).unwrap(), 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
