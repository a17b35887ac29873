//! Bursts of spikes: tests whether the largest latencies are spread as independent ones would be.

use serde::Serialize;

use crate::exact_binomial::binomial_at_least;
use crate::extremes::cluster_index::{Cluster, cluster_gap, decluster, intervals_index};
use crate::scan::Peak;

/// Chance of calling independent spikes bursty.
pub const LEVEL: f64 = 1e-3;
/// Numbers of the largest latencies tried as the spikes; fewer show nothing about bursts.
const SIZES: [usize; 7] = [20, 35, 60, 100, 180, 320, 560];
const MOST: usize = 1_000;
/// Bursts that are listed.
const LISTED: usize = 100;

/// Spikes of a run and their bursts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bursts {
    /// Lowest latency that counts as a spike, in ns.
    pub threshold_ns: i64,
    /// Number of spikes.
    pub spikes: u64,
    /// Extremal index: 1 if spikes are independent, otherwise the inverse of their mean number per burst.
    pub extremal_index: Option<f64>,
    /// Probability that independent spikes have as many short distances.
    pub p: f64,
    /// True if they come in bursts, at [`LEVEL`].
    pub bursty: bool,
    /// Distance in due times up to which spikes are one burst; 0 if they are not bursty.
    pub gap: u64,
    /// Bursts of two and more spikes, the largest first (at most 100).
    pub bursts: Vec<Cluster>,
    /// Mean number of spikes per burst, single spikes included.
    pub mean_size: f64,
}

/// Finds bursts among the `peaks` (largest first) of a run of `length` due times; `None` for fewer than 20 peaks.
///
/// The number of spikes is not known in advance. Several numbers are tried; of those that show bursts, the
/// one with the largest mean burst is taken, so that ordinary latencies do not dilute the bursts.
pub fn bursts(peaks: &[Peak], length: u64) -> Option<Bursts> {
    let most = peaks.len().min(MOST).min(usize::try_from(length).map_or(usize::MAX, |n| n.saturating_sub(1)));
    let mut tried: Vec<usize> = SIZES.into_iter().filter(|n| *n < most).collect();
    tried.extend((most >= SIZES[0]).then_some(most));
    let all = tried.iter().filter_map(|n| bursts_among(&peaks[..*n], length, tried.len()));
    let (bursty, calm): (Vec<Bursts>, Vec<Bursts>) = all.partition(|b| b.bursty);
    bursty.into_iter().max_by(|a, b| a.mean_size.total_cmp(&b.mean_size)).or_else(|| calm.into_iter().last())
}

/// Tests whether these spikes come in bursts, and groups them; the probability is corrected for `looks` tries.
fn bursts_among(spikes: &[Peak], length: u64, looks: usize) -> Option<Bursts> {
    let mut in_time: Vec<(u64, i64)> = spikes.iter().map(|p| (p.index, p.latency_ns)).collect();
    in_time.sort_unstable();
    let positions: Vec<u64> = in_time.iter().map(|p| p.0).collect();
    let extremal_index = intervals_index(&positions);
    let p = (probability_of_closeness(&positions, length) * looks as f64).min(1.0);
    let bursty = p < LEVEL;
    let gap = if bursty { cluster_gap(&positions, extremal_index.unwrap_or(1.0)).max(1) } else { 0 };
    let clusters = decluster(&in_time, gap);
    let mean_size = spikes.len() as f64 / clusters.len() as f64;
    let mut bursts: Vec<Cluster> = clusters.into_iter().filter(|c| c.exceedances > 1).collect();
    bursts.sort_by(|a, b| b.exceedances.cmp(&a.exceedances).then(a.first.cmp(&b.first)));
    bursts.truncate(LISTED);
    Some(Bursts {
        threshold_ns: spikes.last()?.latency_ns,
        spikes: spikes.len() as u64,
        extremal_index,
        p,
        bursty,
        gap,
        bursts,
        mean_size,
    })
}

/// Returns the probability that as many independent spikes lie as close together. Compares counts of distances up to a
/// few lengths with the geometric law by exact binomials, and corrects for the number of lengths.
fn probability_of_closeness(positions: &[u64], length: u64) -> f64 {
    let distances: Vec<u64> = positions.windows(2).map(|w| w[1] - w[0]).collect();
    let n = distances.len() as f64;
    let rate = positions.len() as f64 / length as f64;
    let scales: Vec<u64> = [0.002, 0.02, 0.1, 0.3]
        .iter()
        .map(|share: &f64| ((-share).ln_1p() / (-rate).ln_1p()).ceil().max(1.0) as u64)
        .collect();
    let probability = |longest: u64| {
        let near = distances.iter().filter(|d| **d <= longest).count() as f64;
        let p = -((longest as f64) * (-rate).ln_1p()).exp_m1();
        binomial_at_least(near, n, p)
    };
    let smallest = scales.iter().map(|s| probability(*s)).fold(1.0, f64::min);
    (smallest * scales.len() as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Spikes of any size at these places, the largest first.
    fn peaks(at: impl IntoIterator<Item = u64>) -> Vec<Peak> {
        let size = |index: u64| (crate::scan::position_hash(index) >> 40) as i64;
        let mut all: Vec<Peak> =
            at.into_iter().map(|index| Peak { latency_ns: size(index), index }).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup();
        all
    }

    #[test]
    fn independent_spikes_are_bursty_no_oftener_than_stated() {
        let bursty = (0..500).filter(|seed| {
            let mut random = Random::new(*seed);
            let at: Vec<u64> = (0..200).map(|_| random.below(100_000) as u64).collect();
            bursts(&peaks(at), 100_000).unwrap().bursty
        });
        assert!(bursty.count() <= 4);
    }

    #[test]
    fn a_burst_process_is_seen_with_its_size() {
        let mut random = Random::new(7);
        let at = (0..60).flat_map(|_| {
            let begin = random.below(1_000_000) as u64;
            (0..5).map(move |k| begin + 2 * k)
        });
        let found = bursts(&peaks(at.collect::<Vec<_>>()), 1_000_000).unwrap();
        assert!(found.bursty && found.p < 1e-9, "{found:?}");
        assert!((found.mean_size - 5.0).abs() < 1.0, "{}", found.mean_size);
        assert!(found.extremal_index.unwrap() < 0.4);
        assert!(found.bursts[0].exceedances >= 5);
    }

    #[test]
    fn few_spikes_say_nothing() {
        assert_eq!(bursts(&peaks([1, 2, 3]), 1_000), None);
    }
}
