//! Isolation without a restart: everything movable is moved off the measured CPUs while they are measured, and
//! back afterwards, after a crash as well.

use jitterlab_model::warning::IsolationReport;
use jitterlab_model::{CpuSet, Error};

use super::changes::{Journal, descends_from, open_journal};
use super::facts::Root;

mod alteration;
mod cpuset;
mod kernel_work;
mod threads;

pub(super) use alteration::Alteration;

/// CPUs that are kept free as long as this lives.
#[derive(Debug)]
pub struct Isolation {
    journal: Journal,
    report: IsolationReport,
}

impl Isolation {
    /// Moves threads, interrupts, unbound work, timers and watchdogs off these CPUs, to other `usable` ones.
    /// The isolation of a crashed run is undone first.
    ///
    /// # Errors
    /// No CPU left for the rest, no permission to note the changes, or another jitterlab in the way. A thread
    /// or interrupt that cannot be moved is no error but listed in the [report](Self::report).
    pub fn begin(root: &Root, cpus: &CpuSet, usable: &CpuSet) -> Result<Self, Error> {
        Self::begin_for(root, cpus, usable, &|_| true)
    }

    /// Isolates as [`begin`](Self::begin) does, but moves only the processes that are `wanted`.
    fn begin_for(
        root: &Root,
        cpus: &CpuSet,
        usable: &CpuSet,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Result<Self, Error> {
        let nothing_left = || {
            Err(Error::bad_use(format!("cannot isolate {cpus} of the CPUs {usable}"))
                .remedy("leave at least one for everything else"))
        };
        if cpus.is_empty() || usable.without(cpus).is_empty() {
            return nothing_left();
        }
        let (lock, mut journal) = open_journal(root, cpus, wanted)?;
        // CPUs that others keep free are not available, and their threads stay where they are.
        let taken = journal.other_journals().iter().fold(CpuSet::new(), |all, other| all.or(&other.cpus));
        let owners: Vec<u32> = journal.other_journals().iter().map(|other| other.process.id).collect();
        let others = usable.without(cpus).without(&taken);
        let wanted = &|pid: u32| wanted(pid) && !descends_from(pid, &owners);
        if others.is_empty() {
            drop(lock);
            return nothing_left();
        }
        let mut report = IsolationReport { cpus: cpus.clone(), ..IsolationReport::default() };
        kernel_work::move_interrupts(&mut journal, &others, &mut report);
        kernel_work::move_kernel_work(&mut journal, &others, &mut report);
        let grouped = cpuset::confine(&mut journal, &others, wanted, &mut report);
        threads::move_threads_away(&mut journal, &others, wanted, grouped, &mut report);
        drop(lock);
        Ok(Isolation { journal, report })
    }

    /// Report of successful and failed changes.
    pub fn report(&self) -> &IsolationReport {
        &self.report
    }

    /// Undoes everything, and returns the failures.
    pub fn end(mut self) -> Vec<String> {
        self.journal.undo()
    }
}

#[cfg(test)]
mod tests;
