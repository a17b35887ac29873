//! Transitions between latency clusters: whether a slow activation makes the next one slow.

use jitterlab_model::{Activation, Flags};
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::clusters::LatencyCluster;

/// Counts transitions from cluster to cluster, activation by activation. Can be merged with the next part of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionCounter {
    /// The largest latency of each cluster but the last, in ns.
    edges_ns: Vec<i64>,
    counts: Vec<u64>,
    first: Option<usize>,
    last: Option<usize>,
}

impl TransitionCounter {
    /// Creates an empty counter for these clusters in ascending order.
    pub fn new(clusters: &[LatencyCluster]) -> Self {
        let kinds = clusters.len();
        let edges_ns = clusters.iter().take(kinds.saturating_sub(1)).map(|c| c.high_ns).collect();
        TransitionCounter { edges_ns, counts: vec![0; kinds * kinds], first: None, last: None }
    }

    fn cluster_count(&self) -> usize {
        self.edges_ns.len() + 1
    }

    /// Counts the next activation. One after lost records or missed due times has no predecessor.
    #[inline]
    pub fn push(&mut self, a: &Activation) {
        let kind = self.edges_ns.partition_point(|edge| *edge < a.latency_ns());
        if a.flags.contains(Flags::AFTER_GAP) {
            self.last = None;
        }
        self.count(kind);
        self.last = (a.missed == 0).then_some(kind);
        self.first = self.first.or(Some(kind));
    }

    fn count(&mut self, to: usize) {
        if let Some(from) = self.last {
            let kinds = self.cluster_count();
            self.counts[from * kinds + to] += 1;
        }
    }

    /// Adds the next part of the trace.
    pub fn merge(&mut self, next: &TransitionCounter) {
        let Some(first) = next.first else { return };
        self.count(first);
        self.counts.iter_mut().zip(&next.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.last = next.last;
        self.first = self.first.or(Some(first));
    }

    /// Returns the figures so far. `None` for fewer than two clusters.
    pub fn figures(&self) -> Option<Transitions> {
        let kinds = self.cluster_count();
        let rows: Vec<Vec<u64>> = self.counts.chunks(kinds).map(<[u64]>::to_vec).collect();
        (kinds >= 2).then(|| Transitions::from_counts(rows))
    }
}

/// Transitions between clusters, and tests for more than chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transitions {
    /// Number of transitions from the row's cluster to the column's.
    pub counts: Vec<Vec<u64>>,
    /// Counts as shares of each row: the transition matrix of a Markov chain, for a jump-linear analysis of a loop.
    pub probabilities: Vec<Vec<f64>>,
    /// Pearson's chi-squared against independence, over the cells with an expected count of at least 5.
    pub chi_squared: Option<f64>,
    /// Degrees of freedom.
    pub degrees: u64,
    /// Probability of this or a larger chi-squared if each activation's cluster were independent of the previous one.
    pub p: Option<f64>,
    /// Strength of the dependence, 0 to 1 (Cramer's V).
    pub strength: Option<f64>,
}

impl Transitions {
    fn from_counts(counts: Vec<Vec<u64>>) -> Self {
        let kinds = counts.len();
        let row: Vec<u64> = counts.iter().map(|r| r.iter().sum()).collect();
        let column: Vec<u64> = (0..kinds).map(|c| counts.iter().map(|r| r[c]).sum()).collect();
        let all: u64 = row.iter().sum();
        let probabilities = counts
            .iter()
            .zip(&row)
            .map(|(counts, sum)| counts.iter().map(|c| *c as f64 / (*sum).max(1) as f64).collect())
            .collect();
        let expected = |r: usize, c: usize| row[r] as f64 * column[c] as f64 / all as f64;
        // The chi-squared law does not hold for small expected counts: each cluster is then tested against all others.
        let mut statistic = 0.0;
        let mut cells = 0u64;
        for (r, counts) in counts.iter().enumerate() {
            for (c, count) in counts.iter().enumerate() {
                if all > 0 && expected(r, c) >= 5.0 {
                    statistic += (*count as f64 - expected(r, c)).powi(2) / expected(r, c);
                    cells += 1;
                }
            }
        }
        let full = (kinds * kinds) as u64;
        let degrees =
            if cells == full { ((kinds - 1) * (kinds - 1)) as u64 } else { cells.saturating_sub(1).max(1) };
        let tested = (cells > 1).then_some(statistic);
        let rare = self_repetition_probability(&counts, &row, &column, all);
        let p_table = tested.and_then(|x| Some(ChiSquared::new(degrees as f64).ok()?.sf(x)));
        let p = match (p_table, rare) {
            (Some(a), Some(b)) => Some((2.0 * a.min(b)).min(1.0)),
            (a, b) => a.or(b),
        };
        Transitions {
            probabilities,
            chi_squared: tested,
            degrees,
            p,
            strength: tested.map(|x| (x / (all as f64 * (kinds as f64 - 1.0))).sqrt().min(1.0)),
            counts,
        }
    }
}

/// Returns the probability that rare clusters follow themselves this often by chance; `None` if none is rare. These are
/// too rare for chi-squared; the number is nearly Poisson.
fn self_repetition_probability(counts: &[Vec<u64>], row: &[u64], column: &[u64], all: u64) -> Option<f64> {
    let rare = |k: &usize| all > 0 && row[*k] > 0 && (row[*k] as f64 * column[*k] as f64) < 5.0 * all as f64;
    let kinds: Vec<usize> = (0..counts.len()).filter(rare).collect();
    let expected: f64 = kinds.iter().map(|k| row[*k] as f64 * column[*k] as f64 / all as f64).sum();
    let seen: u64 = kinds.iter().map(|k| counts[*k][*k]).sum();
    if kinds.is_empty() {
        return None;
    }
    // P(Poisson(expected) >= seen)
    Some(if seen == 0 {
        1.0
    } else {
        statrs::function::gamma::checked_gamma_lr(seen as f64, expected).ok()?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn two() -> Vec<LatencyCluster> {
        let cluster = |low_ns, high_ns| LatencyCluster {
            weight: 0.5,
            count: 1,
            low_ns,
            high_ns,
            centre_ns: 0.0,
            sd_ns: 0.0,
        };
        vec![cluster(0, 100), cluster(101, 1_000)]
    }

    fn count(kinds: impl IntoIterator<Item = bool>) -> TransitionCounter {
        let mut counter = TransitionCounter::new(&two());
        for slow in kinds {
            counter.push(&Activation { start_ns: if slow { 500 } else { 50 }, ..Activation::default() });
        }
        counter
    }

    #[test]
    fn independent_clusters_are_not_called_dependent() {
        let p = |seed| {
            let mut random = Random::new(seed);
            count((0..5_000).map(|_| random.uniform() < 0.1)).figures().unwrap().p.unwrap()
        };
        let ps: Vec<f64> = (0..200).map(p).collect();
        assert!(ps.iter().all(|p| *p > 1e-5));
        let small = ps.iter().filter(|p| **p < 0.05).count();
        assert!(small < 22, "{small} of 200 below 5 %");
    }

    #[test]
    fn a_slow_one_that_brings_another_is_seen() {
        let found = count((0..3_000).map(|k| k % 10 < 2)).figures().unwrap();
        assert!(found.p.unwrap() < 1e-10 && found.strength.unwrap() > 0.3, "{found:?}");
        assert_eq!(found.probabilities[1], [0.5, 0.5]);
    }

    #[test]
    fn a_rare_cluster_in_pairs_is_seen() {
        let found = count((0..100_000).map(|k| k % 10_000 < 2)).figures().unwrap();
        assert!(found.p.unwrap() < 1e-10, "{found:?}");
    }

    #[test]
    fn a_cut_loses_nothing() {
        let kinds: Vec<bool> = (0..100).map(|k| k % 7 < 3).collect();
        let mut merged = count(kinds[..41].iter().copied());
        merged.merge(&count(kinds[41..].iter().copied()));
        merged.merge(&count([]));
        assert_eq!(merged, count(kinds));
    }

    #[test]
    fn nothing_follows_across_lost_records_or_missed_due_times() {
        let mut counter = count([true]);
        counter.push(&Activation { flags: Flags::AFTER_GAP, missed: 2, ..Activation::default() });
        counter.push(&Activation::default());
        assert_eq!(counter.figures().unwrap().counts, [[0, 0], [0, 0]]);
    }
}
