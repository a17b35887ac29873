//! Changes to the machine, each in a journal before it is made, so that they are undone after a crash as well.

use jitterlab_model::{CpuSet, Error};

use super::facts::Root;

mod journal;
mod other_instances;
mod thread;

pub(super) use journal::{Journal, bracketed_choice};
pub use journal::{RestoredProcess, restore, unrestored_processes};
use other_instances::ChangeLock;
pub(super) use other_instances::{
    CPUSETS_V1, CPUSETS_V2, OWN_GROUP_PREFIX, REST_GROUP_PREFIX, descends_from, other_measurement_on,
};
pub(super) use thread::{Thread, may_be_delayed, other_processes, threads_of_process};

/// Takes the lock for changes on these CPUs, undoes those of crashed runs, and begins a journal. Refuses if a
/// `wanted` process is another jitterlab that measures there.
pub(super) fn open_journal(
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
    if let Some((process, cpus)) = other_measurement_on(cpus, wanted) {
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
pub(super) fn cpus_isolated_by_others(root: &Root) -> Vec<(u32, CpuSet)> {
    journal::other_active_journals(root).into_iter().map(|other| (other.process.id, other.cpus)).collect()
}

#[cfg(test)]
pub(super) mod tests;
