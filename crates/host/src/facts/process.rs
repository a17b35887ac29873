//! What this process may do.

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{Limit, Limits, Process};

use super::{Root, field};

pub(super) fn process(root: &Root) -> Process {
    let status = root.text("proc/self/status").unwrap_or_default();
    let limits = root.text("proc/self/limits").unwrap_or_default();
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let group_of = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            controllers.split(',').any(|c| c == controller).then(|| path.to_owned())
        })
    };
    // With version 2 the only group has no controllers in its line.
    let unified = group_of("");
    let cpuset = group_of("cpuset").or(unified);
    Process {
        cpuset_cpus: cpuset.as_deref().and_then(|path| cpuset_cpus(root, path)),
        allowed_cpus: field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok()),
        cpuset,
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
    }
}

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
