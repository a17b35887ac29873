//! Isolation without a restart: everything movable is moved off the measured CPUs while they are measured, and
//! back afterwards, after a crash as well.

use std::io;

use jitterlab_model::CpuSet;
use jitterlab_model::warning::Isolated;

use super::facts::Root;
use journal::Journal;

mod cpuset;
mod journal;
mod kernel;
mod thread;
mod threads;

pub use journal::{Restored, restore};

/// Why isolation could not begin. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// All CPUs, or none.
    #[error("cannot isolate {cpus} of the CPUs {usable}: leave at least one for everything else")]
    NothingLeft {
        /// What was to be isolated.
        cpus: CpuSet,
        /// What there is.
        usable: CpuSet,
    },
    /// No place to note what is changed, without which nothing is.
    #[error("isolation needs root, and a place to note what it changes ({path}: {error}): run with sudo")]
    NoJournal {
        /// Where it would be noted.
        path: String,
        /// The system's words.
        error: io::Error,
    },
}

/// CPUs that are kept free as long as this lives.
#[derive(Debug)]
pub struct Isolation {
    journal: Journal,
    report: Isolated,
}

impl Isolation {
    /// Moves threads, interrupts, unbound kernel work, foreign timers and watchdogs off these CPUs, to the
    /// others that are `usable`. What a crashed run left isolated is restored first.
    ///
    /// # Errors
    /// No CPU left for the rest, or no permission to note what is changed. What cannot be moved is no error but
    /// listed in the [report](Self::report).
    pub fn begin(root: &Root, cpus: &CpuSet, usable: &CpuSet) -> Result<Self, IsolateError> {
        Self::begin_for(root, cpus, usable, &|_| true)
    }

    /// As [`begin`](Self::begin), moving only the processes that are `wanted`.
    fn begin_for(
        root: &Root,
        cpus: &CpuSet,
        usable: &CpuSet,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Result<Self, IsolateError> {
        let others = usable.without(cpus);
        if cpus.is_empty() || others.is_empty() {
            return Err(IsolateError::NothingLeft { cpus: cpus.clone(), usable: usable.clone() });
        }
        restore(root);
        let journal = Journal::create(root)
            .map_err(|(path, error)| IsolateError::NoJournal { path: path.display().to_string(), error })?;
        let report = Isolated { cpus: cpus.clone(), ..Isolated::default() };
        let mut isolation = Isolation { journal, report };
        let (journal, report) = (&mut isolation.journal, &mut isolation.report);
        kernel::move_interrupts(journal, &others, report);
        kernel::move_chores(journal, &others, report);
        let grouped = cpuset::confine(journal, &others, wanted, report);
        threads::move_away(journal, &others, wanted, grouped, report);
        Ok(isolation)
    }

    /// What was done and what was not.
    pub fn report(&self) -> &Isolated {
        &self.report
    }

    /// Undoes everything and says what could not be undone.
    pub fn end(mut self) -> Vec<String> {
        self.journal.undo()
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        self.journal.undo();
    }
}

#[cfg(test)]
mod tests;
