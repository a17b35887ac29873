//! Control groups for CPUs: with them, processes that start later stay off the isolated CPUs too.

use std::io;
use std::path::PathBuf;

use jitterlab_model::warning::{Chore, IsolationReport, LeftBehind};
use jitterlab_model::{CpuSet, Error};

use crate::changes::{
    CPUSETS_V1, CPUSETS_V2, Journal, OWN_GROUP_PREFIX, REST_GROUP_PREFIX, Thread, other_processes,
    threads_of_process,
};
use crate::facts::Root;
use crate::processes::control_group_of;

/// Confines other programs to the other CPUs, with whichever version there is; returns their number.
pub(super) fn confine(
    journal: &mut Journal,
    others: &CpuSet,
    wanted: &dyn Fn(u32) -> bool,
    report: &mut IsolationReport,
) -> u64 {
    let root = journal.root().clone();
    let result = match () {
        () if moves_single_programs(&root) => confine_with_v1(journal, others, wanted),
        () if root.exists(&format!("{CPUSETS_V2}/cgroup.controllers")) => confine_with_v2(journal, others),
        () => return 0,
    };
    match result {
        Ok(moved) => {
            report.changed.push(Chore::NewPrograms);
            moved
        }
        Err(error) => {
            let chore = Chore::NewPrograms;
            report.left.push(LeftBehind::Chore { chore, error: error.to_string() });
            0
        }
    }
}

/// True if programs are moved one by one (version 1); otherwise whole groups are limited.
pub(super) fn moves_single_programs(root: &Root) -> bool {
    root.exists(&format!("{CPUSETS_V1}/cpuset.cpus"))
}

/// Moves `wanted` programs to a group of the other CPUs (version 1); returns the number moved. Also stops
/// load balancing across the isolated CPUs.
fn confine_with_v1(journal: &mut Journal, others: &CpuSet, wanted: &dyn Fn(u32) -> bool) -> io::Result<u64> {
    let root = journal.root().clone();
    let name = format!("{REST_GROUP_PREFIX}{}", std::process::id());
    let group = journal.make_group(CPUSETS_V1, &name)?;
    let memory = root.text(&format!("{CPUSETS_V1}/cpuset.mems")).unwrap_or_else(|| "0".into());
    std::fs::write(group.join("cpuset.mems"), memory)?;
    std::fs::write(group.join("cpuset.cpus"), others.to_string())?;
    let mut moved = 0;
    for pid in other_processes(wanted) {
        // Threads of the kernel are left to `move_threads_away`: groups do not take those that belong to a CPU.
        let Some(process) = Thread::find(pid).filter(|thread| !thread.kernel) else { continue };
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let within = control_group_of(&groups, "cpuset").unwrap_or_default();
        let from = root.path(CPUSETS_V1).join(within.trim_start_matches('/'));
        // The move sets the CPUs of its threads, there and back.
        for thread in threads_of_process(pid) {
            if let Some(cpus) = journal.original_cpus(&thread) {
                journal.note_cpus(thread, cpus)?;
            }
        }
        if journal.move_process(process, &from.join("cgroup.procs"), &group.join("cgroup.procs")).is_ok() {
            moved += 1;
        }
    }
    journal.set_value(&format!("{CPUSETS_V1}/cpuset.sched_load_balance"), "0")?;
    Ok(moved)
}

/// Limits all top groups but an own one to the other CPUs (version 2); returns the number of programs. This
/// process is moved to a group of its own.
fn confine_with_v2(journal: &mut Journal, others: &CpuSet) -> io::Result<u64> {
    let root = journal.root().clone();
    let enabled = root.text(&format!("{CPUSETS_V2}/cgroup.subtree_control")).unwrap_or_default();
    let available = root.text(&format!("{CPUSETS_V2}/cgroup.controllers")).unwrap_or_default();
    let has = |list: &str| list.split_whitespace().any(|c| c == "cpuset");
    if !has(&available) {
        return Err(io::Error::other(Error::refused("version 2 is mounted without its cpuset controller")));
    }
    if !has(&enabled) {
        // Left on afterwards: taking it away again would take the limits of groups made meanwhile.
        std::fs::write(root.path(&format!("{CPUSETS_V2}/cgroup.subtree_control")), "+cpuset")?;
    }
    let of_others: Vec<PathBuf> =
        journal.other_journals().iter().flat_map(|other| other.groups()).map(PathBuf::from).collect();
    let limited = |name: &String| root.exists(&format!("{CPUSETS_V2}/{name}/cpuset.cpus"));
    let siblings: Vec<String> = root
        .names(CPUSETS_V2)
        .into_iter()
        .filter(|name| limited(name) && !of_others.contains(&root.path(CPUSETS_V2).join(name)))
        .collect();
    let own = Thread::own_first_thread();
    let group = journal.make_group(CPUSETS_V2, &format!("{OWN_GROUP_PREFIX}{}", own.id))?;
    let groups = std::fs::read_to_string("/proc/self/cgroup")?;
    let from =
        control_group_of(&groups, "").map(|path| root.path(CPUSETS_V2).join(path.trim_start_matches('/')));
    let from = from.ok_or_else(|| io::Error::other(Error::refused("this process is in no group")))?;
    journal.move_process(own, &from.join("cgroup.procs"), &group.join("cgroup.procs"))?;
    let mut moved = 0;
    for name in siblings {
        let file = format!("{CPUSETS_V2}/{name}/cpuset.cpus");
        let limit = match journal.original_text(&file).and_then(|cpus| cpus.parse::<CpuSet>().ok()) {
            Some(cpus) if !cpus.is_empty() && !cpus.and(others).is_empty() => cpus.and(others),
            _ => others.clone(),
        };
        journal.set_value(&file, &limit.to_string())?;
        moved += root
            .text(&format!("{CPUSETS_V2}/{name}/cgroup.procs"))
            .map_or(0, |list| list.lines().count() as u64);
    }
    Ok(moved)
}
