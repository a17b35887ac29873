//! Isolation without a restart: everything movable is moved off the measured CPUs while they are measured, and
//! back afterwards, after a crash as well.

use jitterlab_model::warning::Isolated;
use jitterlab_model::{CpuSet, Error};

use super::facts::Root;
use journal::Journal;
use other_instances::ChangeLock;

mod cpuset;
mod journal;
mod kernel;
mod other_instances;
mod single_change;
mod thread;
mod threads;

pub(super) use journal::chosen;
pub use journal::{Restored, left_behind, restore};
pub(super) use single_change::Alteration;
pub(super) use thread::may_wait;

/// CPUs that are kept free as long as this lives.
#[derive(Debug)]
pub struct Isolation {
    journal: Journal,
    report: Isolated,
}

impl Isolation {
    /// Moves threads, interrupts, unbound kernel work, foreign timers and watchdogs off these CPUs, to the
    /// others that are `usable`. The isolation of a crashed run is undone first.
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
        let taken = journal.others().iter().fold(CpuSet::new(), |all, other| all.or(&other.cpus));
        let owners: Vec<u32> = journal.others().iter().map(|other| other.process.id).collect();
        let others = usable.without(cpus).without(&taken);
        let wanted = &|pid: u32| wanted(pid) && !other_instances::descends_from(pid, &owners);
        if others.is_empty() {
            drop(lock);
            return nothing_left();
        }
        let mut report = Isolated { cpus: cpus.clone(), ..Isolated::default() };
        kernel::move_interrupts(&mut journal, &others, &mut report);
        kernel::move_chores(&mut journal, &others, &mut report);
        let grouped = cpuset::confine(&mut journal, &others, wanted, &mut report);
        threads::move_away(&mut journal, &others, wanted, grouped, &mut report);
        drop(lock);
        Ok(Isolation { journal, report })
    }

    /// Report of successful and failed changes.
    pub fn report(&self) -> &Isolated {
        &self.report
    }

    /// Undoes everything, and returns the failures.
    pub fn end(mut self) -> Vec<String> {
        self.journal.undo()
    }
}

/// Takes the lock to change something for these CPUs, and a journal for it, after the changes of a crashed
/// run were undone. Refuses if a `wanted` process is another jitterlab that measures there.
fn open_journal(
    root: &Root,
    cpus: &CpuSet,
    wanted: &dyn Fn(u32) -> bool,
) -> Result<(ChangeLock, Journal), Error> {
    let no_journal = |path: String, error: std::io::Error| {
        Error::refused(format!("isolation needs root, and a place to note what it changes ({path})"))
            .because(error)
            .remedy("run with sudo")
    };
    let lock =
        ChangeLock::take(root).map_err(|error| no_journal(root.path("run").display().to_string(), error))?;
    journal::restore_in(&lock, root);
    if let Some(other) =
        journal::other_active_journals(root).into_iter().find(|other| other.cpus.overlaps(cpus))
    {
        return Err(Error::refused(format!(
            "another jitterlab (process {}) keeps CPU {} free right now, and would move \
             this one",
            other.process.id, other.cpus
        ))
        .remedy("wait for its end, or isolate other CPUs"));
    }
    if let Some((process, cpus)) = other_instances::other_measurement_on(cpus, wanted) {
        return Err(Error::refused(format!(
            "another jitterlab (process {process}) measures on CPU {cpus} right now, and \
             would be moved"
        ))
        .remedy("wait for its end, or isolate other CPUs"));
    }
    let journal = Journal::create(&lock, root, cpus)
        .map_err(|(path, error)| no_journal(path.display().to_string(), error))?;
    Ok((lock, journal))
}

/// CPUs that other jitterlabs keep free right now, with their processes. It needs only permission to read.
pub(super) fn cpus_of_others(root: &Root) -> Vec<(u32, CpuSet)> {
    journal::other_active_journals(root).into_iter().map(|other| (other.process.id, other.cpus)).collect()
}

#[cfg(test)]
mod tests;
