//! Control groups of tasks: their paths, and the effect of their CPU quotas.

use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_analysis::causes::Explainer;
use jitterlab_model::causes::QuotaCount;
use jitterlab_rt::{Linux, System};

/// Shortest interval between two readings of the kernel's quota counters, in ns.
const LOOK_EVERY_NS: i64 = 100_000_000;

/// The CPU quotas of tasks.
#[derive(Debug)]
pub(super) struct Groups {
    quotas: Vec<Quota>,
    looked_ns: i64,
}

/// A control group with a quota, which holds this task.
#[derive(Debug)]
struct Quota {
    task: usize,
    counters: PathBuf,
    before: QuotaCount,
}

impl Groups {
    /// Finds them for the threads of one process, which are the tasks in order.
    pub(super) fn new(process: i32, threads: &[i32], explainer: &mut Explainer) -> Self {
        let of = threads.iter().map(|thread| (process, *thread));
        Self::of_threads(of, explainer)
    }

    /// Finds them for threads, each with its process, which are the tasks in order.
    pub(super) fn of_threads(threads: impl Iterator<Item = (i32, i32)>, explainer: &mut Explainer) -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mut quotas = Vec::new();
        for (task, (process, thread)) in threads.enumerate() {
            let siblings = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            let siblings = siblings.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
            let groups =
                fs::read_to_string(format!("/proc/{process}/task/{thread}/cgroup")).unwrap_or_default();
            explainer.process(task, siblings, path_in(&groups, "").map(str::to_owned));
            quotas.extend(limited(&mounts, &groups).map(|folder| {
                let counters = folder.join("cpu.stat");
                Quota { task, before: counted(&counters), counters }
            }));
        }
        let mut groups = Groups { quotas, looked_ns: Linux.now_ns() };
        groups.tell(explainer, (groups.looked_ns, groups.looked_ns));
        groups
    }

    /// Reads the effect of the quotas since the last time, if that is some time ago.
    pub(super) fn look(&mut self, explainer: &mut Explainer) {
        let now_ns = Linux.now_ns();
        if now_ns - self.looked_ns >= LOOK_EVERY_NS {
            self.tell(explainer, (self.looked_ns, now_ns));
            self.looked_ns = now_ns;
        }
    }

    fn tell(&mut self, explainer: &mut Explainer, between: (i64, i64)) {
        for Quota { task, counters, before } in &mut self.quotas {
            let now = counted(counters);
            let since = QuotaCount {
                periods: now.periods.saturating_sub(before.periods),
                throttled: now.throttled.saturating_sub(before.throttled),
                ns: now.ns.saturating_sub(before.ns),
            };
            *before = now;
            explainer.quota(*task, between, since);
        }
    }
}

/// The path of the group in the hierarchy with this controller, in the text of `/proc/PID/cgroup`; without a name in the one of
/// version 2.
fn path_in<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// The folder of the group, or of the next above it, that has a quota.
fn limited(mounts: &str, groups: &str) -> Option<PathBuf> {
    let place = |kind: &str, controller: &str| {
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, place, of, options, ..] = words[..] else { return None };
            let has = controller.is_empty() || options.split(',').any(|option| option == controller);
            (of == kind && has).then(|| PathBuf::from(place))
        })
    };
    let has_quota = |folder: &Path| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (new, old) = (text("cpu.max"), text("cpu.cfs_quota_us"));
        (!new.is_empty() && !new.starts_with("max")) || old.trim().parse::<i64>().is_ok_and(|us| us > 0)
    };
    let of = |kind: &str, controller: &str| {
        let (place, path) = place(kind, controller).zip(path_in(groups, controller))?;
        let own = place.join(path.trim_start_matches('/'));
        own.ancestors()
            .take_while(|folder| folder.starts_with(&place))
            .find(|folder| has_quota(folder))
            .map(Path::to_owned)
    };
    of("cgroup2", "").or_else(|| of("cgroup", "cpu"))
}

/// Counters of `cpu.stat`, version 1 or 2.
fn counted(counters: &Path) -> QuotaCount {
    read(&fs::read_to_string(counters).unwrap_or_default())
}

fn read(text: &str) -> QuotaCount {
    let number = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    let us = number("throttled_usec ").map(|us| us.saturating_mul(1_000));
    QuotaCount {
        periods: number("nr_periods ").unwrap_or(0),
        throttled: number("nr_throttled ").unwrap_or(0),
        ns: us.or_else(|| number("throttled_time ")).unwrap_or(0).cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_either_version_are_read() {
        let new = "usage_usec 5\nnr_periods 336\nnr_throttled 330\nthrottled_usec 26000\nnr_bursts 0\n";
        let old = "nr_periods 336\nnr_throttled 330\nthrottled_time 26000000\n";
        let counted = QuotaCount { periods: 336, throttled: 330, ns: 26_000_000 };
        assert_eq!([new, old].map(read), [counted; 2]);
        assert_eq!(read(""), QuotaCount::default());
    }

    #[test]
    fn a_group_is_found_in_its_hierarchy() {
        let groups = "12:cpu,cpuacct:/robot\n1:name=systemd:/init\n0::/robot/loop\n";
        assert_eq!((path_in(groups, "cpu"), path_in(groups, "")), (Some("/robot"), Some("/robot/loop")));
        assert_eq!(path_in(groups, "freezer"), None);
    }
}
