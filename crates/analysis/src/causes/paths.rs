//! Paths from the due time to the first instruction, and the clusters of the latency that they make.

use std::collections::BTreeMap;

use jitterlab_model::Distribution;
use jitterlab_model::causes::{PathStep, SparseHistogram, TaskCauses, WakePath};
use jitterlab_model::distribution::Moments;
use serde::{Deserialize, Serialize};

use super::event::{HandlerKind, NameId, NameTable};
use super::fragments::Fragment;
use super::processor::{Occupant, Processor};
use super::thread::State;
use crate::clusters::latency_clusters;

/// Paths kept apart; further ones are counted together.
const PATHS: usize = 64;
/// Share of the activations below which a path is rare: rare paths each for itself would explain clusters by chance.
const RARE_SHARE: f64 = 0.01;

/// Step of a path, with names as ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStepId {
    Idle(Option<u32>),
    Thread(NameId),
    Task,
    Interrupt(NameId),
    Timer(NameId),
    Softirq(NameId),
    Due,
}

/// Returns the path of a wake-up: the occupants in the fragments of its latency, each where it first appears. The
/// timers and softirqs of the same processor since `free_ns`, when the activation before was over, come first. The
/// thread's own way to its first instruction and the tracer are left out.
pub fn wake_path(
    late: &[Fragment],
    processors: &BTreeMap<u16, Processor>,
    free_ns: Option<i64>,
) -> Vec<PathStepId> {
    let Some(first) = late.first() else { return Vec::new() };
    let on = processors.get(&first.cpu);
    let mut path: Vec<PathStepId> = Vec::new();
    let before =
        on.zip(free_ns).into_iter().flat_map(|(on, free_ns)| on.occupants.segments(free_ns, first.from_ns));
    for (.., occupant) in before {
        let passed = step_of_occupant(occupant)
            .filter(|of| matches!(of, PathStepId::Timer(_) | PathStepId::Softirq(_)));
        path.extend(passed.filter(|passed| !path.contains(passed)));
    }
    if !path.is_empty() {
        path.push(PathStepId::Due);
    }
    let due = path.len();
    for (number, fragment) in late.iter().enumerate() {
        let passed = match fragment.occupant {
            _ if matches!(fragment.state, State::Running(_)) => (number == 0).then_some(PathStepId::Task),
            Occupant::Thread(thread) if thread.pid == 0 => {
                let on = processors.get(&fragment.cpu);
                let went_into = on.and_then(|on| on.idle.segments(fragment.from_ns, fragment.to_ns).next());
                Some(PathStepId::Idle(went_into.and_then(|(_, _, state)| state)))
            }
            occupant => step_of_occupant(occupant),
        };
        path.extend(passed.filter(|passed| !path[due..].contains(passed)));
    }
    path
}

/// Returns the path step of a thread, handler or timer's function; `None` if unknown or the tracer.
fn step_of_occupant(occupant: Occupant) -> Option<PathStepId> {
    match occupant {
        Occupant::Thread(thread) => thread.name.map(PathStepId::Thread),
        Occupant::Handler(handler) if handler.kind == HandlerKind::Softirq => {
            Some(PathStepId::Softirq(handler.name))
        }
        Occupant::Handler(handler) => Some(PathStepId::Interrupt(handler.name)),
        Occupant::Callback(function) => Some(PathStepId::Timer(function)),
        Occupant::Unknown | Occupant::Unrecorded | Occupant::Tracer => None,
    }
}

/// Histograms of latencies by path.
#[derive(Debug, Default)]
pub struct Paths(BTreeMap<Vec<PathStepId>, SparseHistogram>);

impl Paths {
    /// Counts a latency under its path; new paths beyond 64 are counted together under an empty one.
    pub fn count(&mut self, path: &[PathStepId], latency_ns: i64) {
        let has_room = self.0.len() < PATHS || self.0.contains_key(path);
        let path = if has_room { path } else { &[] };
        self.0.entry(path.to_vec()).or_default().record(latency_ns);
    }

    /// Returns the paths with their names, the most frequent first.
    pub fn wake_paths(&self, names: &NameTable) -> Vec<WakePath> {
        let name = |name: NameId| names.name(name).to_owned();
        let step = |passed: &PathStepId| match *passed {
            PathStepId::Idle(state) => PathStep::Idle(state),
            PathStepId::Thread(thread) => PathStep::Thread(name(thread)),
            PathStepId::Task => PathStep::Task,
            PathStepId::Interrupt(handler) => PathStep::Interrupt(name(handler)),
            PathStepId::Timer(function) => PathStep::Timer(name(function)),
            PathStepId::Softirq(handler) => PathStep::Softirq(name(handler)),
            PathStepId::Due => PathStep::Due,
        };
        let mut paths: Vec<WakePath> = self
            .0
            .iter()
            .map(|(path, latencies)| WakePath {
                steps: path.iter().map(step).collect(),
                latencies: latencies.clone(),
            })
            .collect();
        sort_by_frequency(&mut paths);
        paths
    }
}

fn sort_by_frequency(paths: &mut [WakePath]) {
    paths.sort_by_key(|path| std::cmp::Reverse(path.latencies.count()));
}

/// Adds the paths of a run's next piece, and sorts all, the most frequent first.
pub fn merge(all: &mut Vec<WakePath>, piece: &[WakePath]) {
    for path in piece {
        let has_room = all.len() < PATHS || all.iter().any(|known| known.steps == path.steps);
        let steps: &[PathStep] = if has_room { &path.steps } else { &[] };
        match all.iter_mut().find(|known| known.steps == steps) {
            Some(known) => known.latencies.merge(&path.latencies),
            None => all.push(WakePath { steps: steps.to_vec(), latencies: path.latencies.clone() }),
        }
    }
    sort_by_frequency(all);
}

/// Cluster of a task's latency, with the path that most of its activations took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterWithPath {
    /// Smallest latency, in ns.
    pub low_ns: i64,
    /// Largest latency, in ns.
    pub high_ns: i64,
    /// Median latency, in ns.
    pub centre_ns: f64,
    /// Activations in it.
    pub count: u64,
    /// Share of the task's activations, 0 to 1.
    pub share: f64,
    /// Path that most of its activations took.
    pub path: Vec<PathStep>,
    /// Share of the cluster's activations that took the path, 0 to 1.
    pub path_share: f64,
    /// Share of the activations with the path that are in this cluster, 0 to 1.
    pub share_of_path: f64,
}

/// Clusters of a task's latency with the paths that make them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClustersWithPaths {
    /// Each cluster, from the smallest latency to the largest.
    pub clusters: Vec<ClusterWithPath>,
    /// Share of the errors in guessing an activation's cluster that knowing its path avoids (lambda of Goodman and Kruskal 1954),
    /// 0 to 1; `None` with fewer than two clusters.
    pub lambda: Option<f64>,
}

impl ClustersWithPaths {
    /// Finds the clusters of a task's latency, and names each by its path.
    #[must_use]
    pub fn new(causes: &TaskCauses) -> Self {
        let all: u64 = causes.paths.iter().map(|path| path.latencies.count()).sum();
        let least = RARE_SHARE * all as f64;
        let mut paths: Vec<WakePath> = Vec::new();
        let mut rare = WakePath::default();
        for path in &causes.paths {
            match path.latencies.count() as f64 >= least && !path.steps.is_empty() {
                true => paths.push(path.clone()),
                false => rare.latencies.merge(&path.latencies),
            }
        }
        paths.extend((rare.latencies.count() > 0).then_some(rare));
        let found = latency_clusters(&distribution(&paths));
        // Activations of each path in each cluster.
        let table: Vec<Vec<u64>> = paths
            .iter()
            .map(|path| {
                let mut counts = vec![0; found.len()];
                for (ns, count) in path.latencies.iter() {
                    let place = found.iter().position(|cluster| ns <= cluster.high_ns);
                    if let Some(counted) = place.and_then(|place| counts.get_mut(place)) {
                        *counted += count;
                    }
                }
                counts
            })
            .collect();
        let share = |part: u64, of: u64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
        let clusters: Vec<ClusterWithPath> = found
            .iter()
            .enumerate()
            .filter_map(|(place, cluster)| {
                let column = || paths.iter().zip(&table).map(move |(path, row)| (path, row, row[place]));
                let (path, row, here) = column().max_by_key(|(_, _, count)| *count)?;
                let count: u64 = column().map(|(_, _, count)| count).sum();
                Some(ClusterWithPath {
                    low_ns: cluster.low_ns,
                    high_ns: cluster.high_ns,
                    centre_ns: cluster.centre_ns,
                    count,
                    share: share(count, all),
                    path: path.steps.clone(),
                    path_share: share(here, count),
                    share_of_path: share(here, row.iter().sum()),
                })
            })
            .collect();
        let by_path: u64 = table.iter().filter_map(|row| row.iter().max()).sum();
        let blindly = clusters.iter().map(|cluster| cluster.count).max().unwrap_or(0);
        let lambda = (clusters.len() > 1 && all > blindly)
            .then(|| by_path.saturating_sub(blindly) as f64 / (all - blindly) as f64);
        ClustersWithPaths { clusters, lambda }
    }
}

/// Returns the latencies of all paths together.
fn distribution(paths: &[WakePath]) -> Distribution {
    let mut all = SparseHistogram::default();
    paths.iter().for_each(|path| all.merge(&path.latencies));
    let wide = |ns: i64, count: u64| i128::from(ns) * i128::from(count);
    let moments = Moments {
        count: all.count(),
        min_ns: all.iter().next().map_or(0, |(ns, _)| ns),
        max_ns: all.iter().next_back().map_or(0, |(ns, _)| ns),
        sum: all.iter().map(|(ns, count)| wide(ns, count)).sum(),
        sum_of_squares: all.iter().map(|(ns, count)| (wide(ns, count) * i128::from(ns)).unsigned_abs()).sum(),
    };
    Distribution::from_parts(moments, all.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[PathStep], latencies: impl IntoIterator<Item = i64>) -> WakePath {
        let mut of = WakePath { steps: steps.to_vec(), latencies: SparseHistogram::default() };
        latencies.into_iter().for_each(|ns| of.latencies.record(ns));
        of
    }

    fn around(ns: i64) -> impl Iterator<Item = i64> {
        (0..500).map(move |k| ns + k * 37 % 100)
    }

    #[test]
    fn clusters_are_named_by_the_path_that_leads_there() {
        let idle = [PathStep::Idle(None), PathStep::Interrupt("local_timer".into())];
        let tick = [PathStep::Idle(None), PathStep::Timer("tick_nohz_handler".into())];
        let paths = vec![path(&idle, around(3_000)), path(&tick, around(5_000).take(250))];
        let found = ClustersWithPaths::new(&TaskCauses { paths: paths.clone(), ..TaskCauses::default() });
        let named: Vec<(&[PathStep], u64)> =
            found.clusters.iter().map(|cluster| (&cluster.path[..], cluster.count)).collect();
        assert_eq!(named, [(&idle[..], 500), (&tick[..], 250)]);
        assert_eq!(found.lambda, Some(1.0));
        assert!(found.clusters.iter().all(|of| of.path_share == 1.0 && of.share_of_path == 1.0));
        // One path that leads to both clusters explains neither.
        let both = vec![path(&idle, around(3_000).chain(around(5_000).take(250)))];
        let found = ClustersWithPaths::new(&TaskCauses { paths: both, ..TaskCauses::default() });
        assert_eq!((found.clusters.len(), found.lambda), (2, Some(0.0)));
        let one = ClustersWithPaths::new(&TaskCauses { paths: paths[..1].to_vec(), ..TaskCauses::default() });
        assert_eq!((one.clusters.len(), one.lambda), (1, None));
        assert_eq!(ClustersWithPaths::new(&TaskCauses::default()), ClustersWithPaths::default());
    }

    #[test]
    fn paths_beyond_the_limit_are_counted_together() {
        let mut all = Vec::new();
        for k in 0..1_000 {
            merge(&mut all, &[path(&[PathStep::Thread(format!("kworker/{k}"))], [k])]);
        }
        assert!(all.len() <= PATHS + 1);
        assert_eq!(all.iter().map(|path| path.latencies.count()).sum::<u64>(), 1_000);
        assert_eq!(all[0].steps, []);
    }
}
