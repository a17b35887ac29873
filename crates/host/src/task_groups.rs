//! Control groups of tasks: their paths, and the effect of their CPU quotas.

use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_analysis::causes::Explainer;
use jitterlab_model::causes::QuotaCount;
use jitterlab_rt::{Linux, System};

use super::processes::{control_group_of, threads_of};

/// Shortest interval between two readings of the kernel's quota counters, in ns.
const REPORT_EVERY_NS: i64 = 100_000_000;
/// Shortest interval between two searches for quotas that were set, threads that were made, and groups that threads were
/// moved to, in ns.
const SEARCH_EVERY_NS: i64 = 1_000_000_000;

/// The control groups of tasks, with their CPU quotas.
#[derive(Debug)]
pub(super) struct TaskGroups {
    tasks: Vec<LimitedTask>,
    reported_ns: i64,
    searched_ns: i64,
}

/// A task with the quotas of its control group and of all groups above it.
#[derive(Debug)]
struct LimitedTask {
    process: i32,
    thread: i32,
    quotas: Vec<Quota>,
}

#[derive(Debug)]
struct Quota {
    counters: PathBuf,
    before: QuotaCount,
}

impl TaskGroups {
    /// Finds the groups of the threads of one process, which are the tasks in order.
    pub(super) fn new(process: i32, threads: &[i32], explainer: &mut Explainer) -> Self {
        let of = threads.iter().map(|thread| (process, *thread));
        Self::from_threads(of, explainer)
    }

    /// Finds the groups of threads, each with its process, which are the tasks in order.
    pub(super) fn from_threads(threads: impl Iterator<Item = (i32, i32)>, explainer: &mut Explainer) -> Self {
        let new = |(process, thread)| LimitedTask { process, thread, quotas: Vec::new() };
        let now_ns = Linux.now_ns();
        let mut groups =
            TaskGroups { tasks: threads.map(new).collect(), reported_ns: now_ns, searched_ns: now_ns };
        groups.refresh_quotas(explainer);
        groups.report_throttling(explainer, (now_ns, now_ns));
        groups
    }

    /// Reports throttling to the explainer and searches for new quotas, each if it is due.
    pub(super) fn update(&mut self, explainer: &mut Explainer) {
        let now_ns = Linux.now_ns();
        if now_ns - self.searched_ns >= SEARCH_EVERY_NS {
            self.refresh_quotas(explainer);
            self.searched_ns = now_ns;
        }
        if now_ns - self.reported_ns >= REPORT_EVERY_NS {
            self.report_throttling(explainer, (self.reported_ns, now_ns));
            self.reported_ns = now_ns;
        }
    }

    /// Reads the present groups and quotas of the tasks' threads.
    fn refresh_quotas(&mut self, explainer: &mut Explainer) {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        for (task, LimitedTask { process, thread, quotas }) in self.tasks.iter_mut().enumerate() {
            // A thread that has ended keeps what was known.
            let Ok(groups) = fs::read_to_string(format!("/proc/{process}/task/{thread}/cgroup")) else {
                continue;
            };
            let siblings = threads_of(process.unsigned_abs()).into_iter().map(u32::cast_signed).collect();
            explainer.set_process(task, siblings, control_group_of(&groups, "").map(str::to_owned));
            let counters: Vec<PathBuf> =
                quota_folders(&mounts, &groups).iter().map(|folder| folder.join("cpu.stat")).collect();
            quotas.retain(|quota| counters.contains(&quota.counters));
            for counters in counters {
                if !quotas.iter().any(|quota| quota.counters == counters) {
                    quotas.push(Quota { before: read_quota_count(&counters), counters });
                }
            }
        }
    }

    /// Tells the explainer the throttling of each task since the last call, which lies `between` two times.
    fn report_throttling(&mut self, explainer: &mut Explainer, between: (i64, i64)) {
        for (task, LimitedTask { quotas, .. }) in self.tasks.iter_mut().enumerate() {
            let since = quotas.iter_mut().map(|Quota { counters, before }| {
                let now = read_quota_count(counters);
                let since = QuotaCount {
                    periods: now.periods.saturating_sub(before.periods),
                    throttled: now.throttled.saturating_sub(before.throttled),
                    ns: now.ns.saturating_sub(before.ns),
                };
                *before = now;
                since
            });
            if let Some(since) = most_throttled(since) {
                explainer.add_quota(task, between, since);
            }
        }
    }
}

/// The counts of the quota that throttled most; `None` without quotas. Periods of several quotas do not add
/// up.
fn most_throttled(counts: impl Iterator<Item = QuotaCount>) -> Option<QuotaCount> {
    counts.max_by_key(|count| (count.throttled, count.ns, count.periods))
}

/// Folders of the control group and of those above it that have a CPU quota, the group's own first.
fn quota_folders(mounts: &str, groups: &str) -> Vec<PathBuf> {
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
    let of = |(kind, controller): (&str, &str)| -> Vec<PathBuf> {
        let found = place(kind, controller).zip(control_group_of(groups, controller));
        let folders = found.iter().flat_map(|(place, path)| {
            let own = place.join(path.trim_start_matches('/'));
            let folders: Vec<PathBuf> = own.ancestors().map(Path::to_owned).collect();
            folders.into_iter().take_while(move |folder| folder.starts_with(place))
        });
        folders.filter(|folder| has_quota(folder)).collect()
    };
    [("cgroup2", ""), ("cgroup", "cpu")].into_iter().flat_map(of).collect()
}

/// Reads the throttling counters of a `cpu.stat`, version 1 or 2; missing ones are 0.
fn read_quota_count(counters: &Path) -> QuotaCount {
    parse_throttling(&fs::read_to_string(counters).unwrap_or_default())
}

fn parse_throttling(text: &str) -> QuotaCount {
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
        assert_eq!([new, old].map(parse_throttling), [counted; 2]);
        assert_eq!(parse_throttling(""), QuotaCount::default());
    }

    #[test]
    fn quotas_of_all_groups_above_count() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("robot/loop/inner");
        fs::create_dir_all(&folder).unwrap();
        let set = |path: &str, name: &str, quota: &str| {
            fs::write(root.path().join(path).join(name), quota).unwrap();
        };
        let mounts = |kind: &str| format!("none {} {kind} rw,cpu 0 0\n", root.path().display());
        let found = |mounts: &str, groups: &str| -> Vec<PathBuf> {
            let folders = quota_folders(mounts, groups).into_iter();
            folders.map(|folder| folder.strip_prefix(root.path()).unwrap().to_owned()).collect()
        };
        set("robot", "cpu.cfs_quota_us", "20000\n");
        set("robot/loop", "cpu.cfs_quota_us", "-1\n");
        set("robot/loop/inner", "cpu.cfs_quota_us", "15000\n");
        let both = ["robot/loop/inner", "robot"].map(PathBuf::from);
        assert_eq!(found(&mounts("cgroup"), "5:cpu:/robot/loop/inner\n"), both);
        assert_eq!(found(&mounts("cgroup"), "5:cpu:/robot/loop\n"), both[1..]);
        set("robot/loop", "cpu.max", "max 100000\n");
        set("robot", "cpu.max", "20000 100000\n");
        fs::remove_file(root.path().join("robot/loop/inner/cpu.cfs_quota_us")).unwrap();
        assert_eq!(found(&mounts("cgroup2"), "0::/robot/loop/inner\n"), both[1..]);
    }

    #[test]
    fn the_quota_that_throttles_is_the_one_that_counts() {
        let count = |periods, throttled, ns| QuotaCount { periods, throttled, ns };
        let counts = [count(51, 0, 0), count(51, 47, 2_100_000_000)];
        assert_eq!(most_throttled(counts.into_iter()), Some(counts[1]));
        assert_eq!(most_throttled(std::iter::empty()), None);
    }

    #[test]
    fn a_group_is_found_in_its_hierarchy() {
        let groups = "12:cpu,cpuacct:/robot\n1:name=systemd:/init\n0::/robot/loop\n";
        assert_eq!(
            (control_group_of(groups, "cpu"), control_group_of(groups, "")),
            (Some("/robot"), Some("/robot/loop"))
        );
        assert_eq!(control_group_of(groups, "freezer"), None);
    }
}
