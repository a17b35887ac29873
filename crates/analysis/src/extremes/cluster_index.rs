//! The extremal index theta: 1 / theta is the mean number of exceedances of a high threshold per cluster.
//!
//! Independent latencies have theta = 1. If one cause delays several activations, exceedances come in
//! clusters, and only theta times their number counts independent events.

use serde::Serialize;

/// Returns the extremal index by intervals of exceedances (Ferro & Segers 2003); `None` for fewer than three. It needs
/// no choice of a cluster's length. `positions` are due times (or any even steps), in ascending order.
pub fn intervals_index(positions: &[u64]) -> Option<f64> {
    let intervals = || positions.windows(2).map(|w| (w[1] - w[0]) as f64);
    let count = positions.len().checked_sub(1).filter(|n| *n >= 2)? as f64;
    let longest = intervals().fold(0.0, f64::max);
    let (first, second): (f64, f64) = if longest <= 2.0 {
        (intervals().sum(), intervals().map(|t| t * t).sum())
    } else {
        (intervals().map(|t| t - 1.0).sum(), intervals().map(|t| (t - 1.0) * (t - 2.0)).sum())
    };
    (second > 0.0).then(|| (2.0 * first * first / (count * second)).min(1.0))
}

/// A cluster of exceedances, taken as the effect of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Position of its first exceedance.
    pub first: u64,
    /// Position of its last exceedance.
    pub last: u64,
    /// Exceedances in it.
    pub exceedances: u64,
    /// Largest value, in ns.
    pub max_ns: i64,
}

/// Groups exceedances `(position, value)` into clusters: those up to `gap` steps apart belong together. They are in
/// ascending order of position (runs declustering; Coles 2001 section 5.3.2).
pub fn decluster(exceedances: &[(u64, i64)], gap: u64) -> Vec<Cluster> {
    exceedances
        .chunk_by(|a, b| b.0 - a.0 <= gap)
        .map(|group| Cluster {
            first: group[0].0,
            last: group[group.len() - 1].0,
            exceedances: group.len() as u64,
            max_ns: group.iter().map(|e| e.1).max().unwrap_or(i64::MIN),
        })
        .collect()
}

/// Returns the gap for [`decluster`] at a given theta: the largest interval within a cluster. The theta n largest
/// intervals are those between clusters (Ferro & Segers 2003 section 4).
pub fn cluster_gap(positions: &[u64], theta: f64) -> u64 {
    let mut intervals: Vec<u64> = positions.windows(2).map(|w| w[1] - w[0]).collect();
    intervals.sort_unstable_by(|a, b| b.cmp(a));
    let between = (theta * intervals.len() as f64).floor() as usize;
    match intervals.get(between) {
        Some(longest_within) => *longest_within,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{agrees, lcg};

    /// Returns X_i = max(a X_{i-1}, (1 - a) Z_i) with unit Frechet Z: its extremal index is 1 - a.
    fn armax(a: f64) -> Vec<f64> {
        let z: Vec<f64> = lcg(20_000).into_iter().map(|u| -1.0 / u.ln()).collect();
        let mut x = vec![z[0]];
        for z in &z[1..] {
            x.push((a * x[x.len() - 1]).max((1.0 - a) * z));
        }
        x
    }

    fn above_the_95_percent_quantile(x: &[f64]) -> Vec<u64> {
        let mut sorted = x.to_vec();
        sorted.sort_by(f64::total_cmp);
        let place = 0.95 * (x.len() - 1) as f64;
        let (below, share) = (place.floor() as usize, place.fract());
        let threshold = sorted[below] + share * (sorted[below + 1] - sorted[below]);
        (0..x.len() as u64).filter(|i| x[*i as usize] > threshold).collect()
    }

    #[test]
    fn armax_processes_have_the_computed_indices() {
        for (a, intervals) in [(0.0, 0.99691472), (0.3, 0.70840485), (0.5, 0.51640831), (0.8, 0.19752936)] {
            let positions = above_the_95_percent_quantile(&armax(a));
            agrees(intervals_index(&positions).unwrap(), intervals, 8);
        }
    }

    #[test]
    fn neighbours_are_one_cluster() {
        let clusters = decluster(&[(3, 50), (4, 90), (6, 40), (20, 60)], 2);
        assert_eq!(clusters.len(), 2);
        assert_eq!(clusters[0], Cluster { first: 3, last: 6, exceedances: 3, max_ns: 90 });
    }

    #[test]
    fn the_gap_separates_what_theta_says() {
        // Two clusters of three: theta 1/3 of five intervals is one interval between.
        let positions = [1, 2, 4, 100, 101, 103];
        assert_eq!(cluster_gap(&positions, 1.0 / 3.0), 2);
        assert_eq!(cluster_gap(&[1, 9, 20], 1.0), 0);
    }

    #[test]
    fn few_exceedances_have_no_index() {
        assert_eq!((intervals_index(&[1, 2]), intervals_index(&[])), (None, None));
    }
}
