//! Permissions and limits of this process.

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{GroupLimit, Limit, Limits, Process};

use super::{Root, field};
use crate::processes::control_group_of;

pub(super) fn read_process(root: &Root) -> Process {
    let status = root.text("proc/self/status").unwrap_or_default();
    let limits = root.text("proc/self/limits").unwrap_or_default();
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let group_of = |controller: &str| control_group_of(&groups, controller);
    // With version 2 the only group has no controllers in its line.
    let unified = group_of("");
    let cpuset = group_of("cpuset").or(unified);
    Process {
        cpuset_cpus: cpuset.and_then(|path| cpuset_cpus(root, path)),
        allowed_cpus: field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok()),
        cpuset: cpuset.map(str::to_owned),
        capabilities: field(&status, "CapEff").and_then(|bits| u64::from_str_radix(bits, 16).ok()),
        user_id: field(&status, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok()),
        limits: Limits {
            rtprio: limit(&limits, "Max realtime priority"),
            memlock: limit(&limits, "Max locked memory"),
            rttime: limit(&limits, "Max realtime timeout"),
            nice: limit(&limits, "Max nice priority"),
        },
        cgroup_rt_runtime_us: group_of("cpu").and_then(|path| {
            ["cpu", "cpu,cpuacct"].iter().find_map(|mount| {
                root.number(&format!("sys/fs/cgroup/{mount}/{}/cpu.rt_runtime_us", path.trim_matches('/')))
            })
        }),
        group_limits: group_limits(root, "self"),
    }
}

/// CPU time limits of the control groups of a process (its number or `self`), its own group first.
pub(crate) fn group_limits(root: &Root, process: &str) -> Vec<GroupLimit> {
    let groups = root.text(&format!("proc/{process}/cgroup")).unwrap_or_default();
    let mounts = [("cpu", "cpu"), ("cpu", "cpu,cpuacct"), ("", ""), ("", "unified")];
    let mut limits: Vec<GroupLimit> = Vec::new();
    for (controller, mount) in mounts {
        let Some(group) = control_group_of(&groups, controller) else { continue };
        let mut path = group.trim_matches('/');
        while !path.is_empty() {
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            let folder = |path: &str| ["sys/fs/cgroup", mount, path].join("/").replace("//", "/");
            limits.extend(group_limits_in(root, &folder(path), &folder(above)));
            path = above;
        }
    }
    limits
}

fn group_limits_in(root: &Root, folder: &str, above: &str) -> Vec<GroupLimit> {
    let number = |folder: &str, name: &str| root.number::<i64>(&format!("{folder}/{name}"));
    let limit = |name: &str, quota_us: i64, period_us: i64, lifted: String| {
        let limits = quota_us >= 0 && quota_us < period_us;
        limits.then(|| GroupLimit { file: format!("/{folder}/{name}"), quota_us, period_us, lifted })
    };
    let fair = || {
        let (quota, period) = (number(folder, "cpu.cfs_quota_us")?, number(folder, "cpu.cfs_period_us")?);
        limit("cpu.cfs_quota_us", quota, period, "-1".into())
    };
    // The group above divides its own share; 0 refuses real-time policies.
    let real_time = || {
        let name = "cpu.rt_runtime_us";
        let (runtime, most) = (number(folder, name)?, number(above, name)?);
        let period = number(folder, "cpu.rt_period_us")?;
        limit(name, runtime, period, most.to_string()).filter(|_| most > runtime)
    };
    let unified = || {
        let text = root.text(&format!("{folder}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        limit("cpu.max", quota.parse().ok()?, period.parse().ok()?, format!("max {period}"))
    };
    [fair(), real_time(), unified()].into_iter().flatten().collect()
}

/// The soft limit of this name in a table of `/proc/PID/limits`.
fn limit(table: &str, name: &str) -> Option<Limit> {
    match field(table, name)?.split_whitespace().next()? {
        "unlimited" => Some(Limit::Unlimited),
        soft => soft.parse().ok().map(Limit::AtMost),
    }
}

/// The CPUs of a control group, or of the nearest one above it that has a list.
fn cpuset_cpus(root: &Root, group: &str) -> Option<CpuSet> {
    const FILES: &[&str] = &[
        "sys/fs/cgroup/cpuset/{}/cpuset.effective_cpus",
        "sys/fs/cgroup/{}/cpuset.cpus.effective",
        "sys/fs/cgroup/unified/{}/cpuset.cpus.effective",
    ];
    let mut path = group.trim_matches('/');
    loop {
        let list = FILES.iter().find_map(|file| root.cpus(&file.replace("{}", path)));
        match path.rsplit_once('/') {
            _ if list.is_some() || path.is_empty() => return list,
            Some((above, _)) => path = above,
            None => path = "",
        }
    }
}
