//! Moving the threads of the machine off the isolated CPUs.

use jitterlab_model::CpuSet;
use jitterlab_model::warning::{IsolationReport, LeftBehind, tally};

use crate::changes::{Journal, other_processes, threads_of_process};

/// Moves threads off the CPUs to be isolated. `grouped` is the number of those moved with their control groups.
pub(super) fn move_threads_away(
    journal: &mut Journal,
    others: &CpuSet,
    wanted: &dyn Fn(u32) -> bool,
    grouped: u64,
    report: &mut IsolationReport,
) {
    report.threads_moved += grouped;
    let (mut bound, mut refused) = (Vec::new(), Vec::new());
    for thread in other_processes(wanted).into_iter().flat_map(threads_of_process) {
        let before = journal.original_cpus(&thread).filter(|cpus| cpus.overlaps(&report.cpus));
        let Some(before) = before else { continue };
        let left = match before.and(others) {
            left if left.is_empty() => others.clone(),
            left => left,
        };
        let name = thread.name.clone();
        match journal.bind_thread(&thread, before, &left) {
            Ok(()) => report.threads_moved += 1,
            // The kernel's threads for one CPU each cannot leave it.
            Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => bound.push(name),
            Err(_) if !thread.is_alive() => {}
            Err(error) => refused.push(format!("{name} ({error})")),
        }
    }
    if !bound.is_empty() {
        report.left.push(LeftBehind::BoundThreads { names: tally(&bound) });
    }
    if !refused.is_empty() {
        report.left.push(LeftBehind::Threads { names: tally(&refused) });
    }
}
