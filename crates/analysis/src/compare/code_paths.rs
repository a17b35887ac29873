//! Code paths of a kernel in virtual time, and how they differ between two runs.
//!
//! In virtual time a latency is a number of instructions, so activations that took the same way through the
//! kernel lie close together: they are the [clusters](crate::clusters) of the latency. This module adds the
//! position of each cluster to the nanosecond, which needs the activations themselves, and matches the
//! clusters of two runs.

use jitterlab_model::Distribution;
use jitterlab_model::causes::{Step, TaskCauses};
use serde::Serialize;

use crate::clusters::latency_clusters;

/// Default of the tolerance for a path's move, in ns.
pub const USUAL_MOVE_NS: i64 = 100;

/// A path taken by less than this share of the activations is rare: its appearance depends on chance, that is
/// on the timing of interrupts.
pub const RARE_SHARE: f64 = 0.01;
/// Longest move in ns for which a path is matched; beyond it, one path vanished and another appeared.
const REACH_NS: i64 = 1_000;

/// A cluster of latencies, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CodePath {
    /// Activations that took it.
    pub count: u64,
    /// Their share of all, 0 to 1.
    pub share: f64,
    /// Shortest latency, in ns.
    pub min_ns: i64,
    /// Median latency, the lower of two, in ns.
    pub median_ns: i64,
    /// Longest latency, in ns.
    pub max_ns: i64,
}

/// Sorts latencies and returns the code paths that their clusters show, in order of latency.
fn code_paths(latencies_ns: &mut [i64]) -> Vec<CodePath> {
    latencies_ns.sort_unstable();
    let mut distribution = Distribution::new();
    latencies_ns.iter().for_each(|latency| distribution.record(*latency));
    let all = latencies_ns.len() as f64;
    let mut rest: &[i64] = latencies_ns;
    let mut paths = Vec::new();
    for cluster in latency_clusters(&distribution) {
        let (group, after) = rest.split_at(rest.partition_point(|latency| *latency <= cluster.high_ns));
        rest = after;
        if let (Some(min), Some(median), Some(max)) =
            (group.first(), group.get(group.len().saturating_sub(1) / 2), group.last())
        {
            let (count, share) = (group.len() as u64, group.len() as f64 / all);
            paths.push(CodePath { count, share, min_ns: *min, median_ns: *median, max_ns: *max });
        }
    }
    paths
}

/// Change of one code path between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum PathChange {
    /// Both runs have it; its move is the difference of the medians.
    Kept {
        /// In the first run.
        old: CodePath,
        /// In the other.
        new: CodePath,
        /// Median there less that in the first, in ns.
        moved_ns: i64,
    },
    /// Only the other run has it.
    Appeared {
        /// In the other.
        new: CodePath,
    },
    /// Only the first run has it.
    Vanished {
        /// In the first run.
        old: CodePath,
    },
}

impl PathChange {
    /// Returns the larger of its shares in both runs.
    pub fn share(&self) -> f64 {
        match self {
            PathChange::Kept { old, new, .. } => old.share.max(new.share),
            PathChange::Appeared { new } => new.share,
            PathChange::Vanished { old } => old.share,
        }
    }

    /// True if the path is not rare, and appeared, vanished, or moved by more than `tolerance_ns`.
    pub fn matters(&self, tolerance_ns: i64) -> bool {
        let changed = match self {
            PathChange::Kept { moved_ns, .. } => moved_ns.abs() > tolerance_ns,
            PathChange::Appeared { .. } | PathChange::Vanished { .. } => true,
        };
        changed && self.share() >= RARE_SHARE
    }
}

/// Differences of a task's code paths between two runs in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathsCompared {
    /// Change of each path, in order of latency.
    pub changes: Vec<PathChange>,
    /// Usual length of each step of a wake-up in both runs, if both were measured with their causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMove>,
}

/// A step of the usual way of a wake-up in two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepMove {
    /// The step.
    pub step: Step,
    /// Median in the first run, in ns.
    pub old_ns: i64,
    /// Median in the other, in ns.
    pub new_ns: i64,
}

impl StepMove {
    /// Returns by how much the step is longer in the other run, in ns.
    pub fn shift_ns(&self) -> i64 {
        self.new_ns - self.old_ns
    }
}

impl PathsCompared {
    /// Compares the latencies of a task in two runs, and its causes if both runs have them.
    #[must_use]
    pub fn new([mut old_ns, mut new_ns]: [Vec<i64>; 2], causes: Option<[&TaskCauses; 2]>) -> Self {
        let median = |of: &TaskCauses, step: Step| {
            of.typical_steps.iter().find(|usual| usual.step == step).map_or(0, |usual| usual.median_ns)
        };
        let moved = |[old, new]: [&TaskCauses; 2]| {
            let of = |step| StepMove { step, old_ns: median(old, step), new_ns: median(new, step) };
            let known = |moved: &StepMove| moved.old_ns.max(moved.new_ns) > 0;
            Step::ALL.into_iter().map(of).filter(known).collect()
        };
        PathsCompared {
            changes: match_paths(&code_paths(&mut old_ns), &code_paths(&mut new_ns)),
            steps: causes.map(moved).unwrap_or_default(),
        }
    }

    /// Returns the number of paths that differ by more than chance and the tolerance.
    pub fn count_different(&self, tolerance_ns: i64) -> usize {
        self.changes.iter().filter(|change| change.matters(tolerance_ns)).count()
    }
}

/// Matches the paths of two runs in order, so that the sum of moves is least. A path without a partner counts as half
/// of a move of 1 µs (a sequence alignment, by dynamic programming).
fn match_paths(old: &[CodePath], new: &[CodePath]) -> Vec<PathChange> {
    let alone = REACH_NS / 2;
    let width = new.len() + 1;
    // cost[i * width + j]: the least cost of the first i old and the first j new paths.
    let mut cost = vec![0i64; (old.len() + 1) * width];
    for i in 0..=old.len() {
        for j in 0..=new.len() {
            cost[i * width + j] = match (i, j) {
                (0, _) => alone * j as i64,
                (_, 0) => alone * i as i64,
                _ => {
                    let moved = new[j - 1].median_ns.abs_diff(old[i - 1].median_ns);
                    let moved = i64::try_from(moved).unwrap_or(i64::MAX);
                    let kept = cost[(i - 1) * width + j - 1].saturating_add(moved);
                    let alone = cost[(i - 1) * width + j].min(cost[i * width + j - 1]) + alone;
                    kept.min(alone)
                }
            };
        }
    }
    let (mut i, mut j) = (old.len(), new.len());
    let mut changes = Vec::new();
    while i > 0 || j > 0 {
        let here = cost[i * width + j];
        if i > 0 && here == cost[(i - 1) * width + j] + alone {
            i -= 1;
            changes.push(PathChange::Vanished { old: old[i] });
        } else if j > 0 && here == cost[i * width + j - 1] + alone {
            j -= 1;
            changes.push(PathChange::Appeared { new: new[j] });
        } else {
            (i, j) = (i - 1, j - 1);
            let moved_ns = new[j].median_ns - old[i].median_ns;
            changes.push(PathChange::Kept { old: old[i], new: new[j], moved_ns });
        }
    }
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(median_ns: i64, count: u64) -> CodePath {
        CodePath {
            count,
            share: count as f64 / 100.0,
            min_ns: median_ns - 5,
            median_ns,
            max_ns: median_ns + 5,
        }
    }

    #[test]
    fn paths_are_the_clusters_to_the_nanosecond() {
        let one = |k: i64| if k % 3 == 0 { 4_603 + k * 7 % 96 } else { 3_901 + k * 37 % 160 };
        let paths = code_paths(&mut (0..600).map(one).collect::<Vec<_>>());
        let seen: Vec<_> = paths.iter().map(|p| (p.count, p.min_ns, p.median_ns, p.max_ns)).collect();
        assert_eq!(seen, [(400, 3_901, 3_980, 4_060), (200, 4_603, 4_648, 4_696)]);
        assert!(code_paths(&mut []).is_empty());
    }

    #[test]
    fn paths_move_appear_and_vanish() {
        let old = [path(3_900, 60), path(4_600, 30), path(9_000, 10)];
        let new = [path(3_980, 70), path(6_000, 25), path(9_020, 5)];
        let changes = match_paths(&old, &new);
        assert_eq!(
            changes,
            [
                PathChange::Kept { old: old[0], new: new[0], moved_ns: 80 },
                PathChange::Appeared { new: new[1] },
                PathChange::Vanished { old: old[1] },
                PathChange::Kept { old: old[2], new: new[2], moved_ns: 20 },
            ]
        );
        let matters: Vec<bool> = changes.iter().map(|c| c.matters(50)).collect();
        assert_eq!(matters, [true, true, true, false]);
    }

    #[test]
    fn rare_paths_do_not_decide() {
        let rare = CodePath { share: 0.001, ..path(7_000, 1) };
        assert!(!match_paths(&[], &[rare])[0].matters(0));
        assert!(match_paths(&[], &[path(7_000, 1)])[0].matters(0));
    }

    proptest! {
        #[test]
        fn every_path_is_accounted_for_once_and_none_differs_from_itself(
            old in prop::collection::btree_set(-10_000i64..100_000, 0..40),
            new in prop::collection::btree_set(-10_000i64..100_000, 0..40),
        ) {
            let paths = |medians: std::collections::BTreeSet<i64>| -> Vec<CodePath> {
                medians.into_iter().map(|median| path(median, 10)).collect()
            };
            let (old, new) = (paths(old), paths(new));
            let (mut seen_old, mut seen_new) = (Vec::new(), Vec::new());
            for change in match_paths(&old, &new) {
                match change {
                    PathChange::Kept { old, new, moved_ns } => {
                        prop_assert_eq!(moved_ns, new.median_ns - old.median_ns);
                        prop_assert!(moved_ns.abs() <= REACH_NS);
                        seen_old.push(old);
                        seen_new.push(new);
                    }
                    PathChange::Appeared { new } => seen_new.push(new),
                    PathChange::Vanished { old } => seen_old.push(old),
                }
            }
            prop_assert_eq!(&seen_old, &old);
            prop_assert_eq!(&seen_new, &new);
            let unmoved = |c: &PathChange| matches!(c, PathChange::Kept { moved_ns: 0, .. });
            prop_assert_eq!(match_paths(&old, &old).iter().filter(|c| unmoved(c)).count(), old.len());
        }
    }
}
