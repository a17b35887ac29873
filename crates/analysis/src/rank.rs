//! Exact rank tests for few values, each with its estimate of the shift and the interval of that.
//!
//! Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3rd edition 2014: chapter 4 (rank sum, the
//! estimate and the interval of Hodges and Lehmann, 4.2 and 4.3) and chapter 3 (signed rank, 3.1 to 3.3).

use std::cmp::Ordering;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::least_squares::median;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Number of values above which the normal approximation is as good as the exact distribution.
const EXACT: usize = 60;

/// Shift between two sets of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// The estimate: values of the first set are larger by this.
    pub estimate: f64,
    /// Lower end of its 95 % interval; minus infinity (null in JSON) if the values are too few for one.
    pub low: f64,
    /// Upper end of its 95 % interval; infinity (null in JSON) if the values are too few for one.
    pub high: f64,
    /// Two-sided probability of at least this difference if there were none.
    pub p: f64,
}

/// Compares two independent sets of values (Wilcoxon's rank sum, Mann and Whitney's U). `None` if one is empty.
pub fn rank_sum(a: &[f64], b: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
    differences.sort_by(f64::total_cmp);
    let cumulative = if a.len() + b.len() <= EXACT {
        cumulative_probabilities(&rank_sum_counts(a.len(), b.len()))
    } else {
        let (m, n) = (a.len() as f64, b.len() as f64);
        normal_cumulative(differences.len(), m * n / 2.0, (m * n * (m + n + 1.0) / 12.0).sqrt())
    };
    shift_between(&differences, &cumulative)
}

/// Compares pairs by their differences (Wilcoxon's signed rank). Pairs without a difference count half each way.
/// `None` without pairs.
pub fn signed_rank(differences: &[f64]) -> Option<Shift> {
    let n = differences.len();
    let mut walsh: Vec<f64> =
        (0..n).flat_map(|i| (i..n).map(move |j| (differences[i] + differences[j]) / 2.0)).collect();
    walsh.sort_by(f64::total_cmp);
    let cumulative = if n <= EXACT {
        cumulative_probabilities(&signed_rank_counts(n))
    } else {
        let n = n as f64;
        normal_cumulative(walsh.len(), n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
    };
    shift_between(&walsh, &cumulative)
}

/// Returns the shift, its interval and p from sorted differences, for both tests; `None` without any. `cumulative[k]`
/// is the probability that at most k are positive, where differences of 0 count half.
fn shift_between(differences: &[f64], cumulative: &[f64]) -> Option<Shift> {
    let most = differences.len();
    let of = |sign| differences.iter().filter(|d| d.partial_cmp(&&0.0) == Some(sign)).count() as f64;
    let statistic = of(Ordering::Greater) + of(Ordering::Equal) / 2.0;
    let estimate = median(&mut differences.to_vec())?;
    let at_most = |k: f64| {
        if k < 0.0 { 0.0 } else { cumulative.get(k as usize).copied().unwrap_or(1.0) }
    };
    // The distribution is symmetric; half a difference counts in the conservative direction.
    let smaller = statistic.min(most as f64 - statistic);
    let p = (2.0 * at_most(smaller.ceil())).min(1.0);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let outside = cumulative.iter().take_while(|probability| **probability <= tail).count();
    let (low, high) = match outside {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        k => (differences[k - 1], differences[most - k]),
    };
    Some(Shift { estimate, low, high, p })
}

fn cumulative_probabilities(counts: &[f64]) -> Vec<f64> {
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    counts
        .iter()
        .map(|count| {
            sum += count;
            sum / all
        })
        .collect()
}

/// Returns how many orders of m and n values have the statistic U = 0, 1, 2, ... (Mann & Whitney 1947).
fn rank_sum_counts(m: usize, n: usize) -> Vec<f64> {
    // counts[j] for j values of the second set, with i of the first: the largest value is from either.
    let mut counts: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=n {
            let mut row = vec![0.0; i * j + 1];
            for (u, ways) in counts[j].iter().enumerate() {
                row[u + j] += ways;
            }
            for (u, ways) in next[j - 1].iter().enumerate() {
                row[u] += ways;
            }
            next.push(row);
        }
        counts = next;
    }
    counts.pop().unwrap_or_default()
}

/// Returns how many choices of signs of n ranks have the statistic 0, 1, 2, ...
fn signed_rank_counts(n: usize) -> Vec<f64> {
    let mut counts = vec![1.0];
    for rank in 1..=n {
        let mut next = vec![0.0; counts.len() + rank];
        for (t, ways) in counts.iter().enumerate() {
            next[t] += ways;
            next[t + rank] += ways;
        }
        counts = next;
    }
    counts
}

fn normal_cumulative(most: usize, mean: f64, sd: f64) -> Vec<f64> {
    match Normal::new(mean, sd) {
        Ok(normal) => (0..=most).map(|k| normal.cdf(k as f64 + 0.5)).collect(),
        Err(_) => vec![1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn the_book_is_reproduced() {
        // Hollander & Wolfe, table 4.1 (permeability of membranes): R's wilcox.test gives W = 35, one-sided p 0.1272.
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let s = rank_sum(&at_term, &earlier).unwrap();
        assert!((s.p - 2.0 * 0.127_206).abs() < 1e-5, "{s:?}");
        assert!(close(s.estimate, 0.305) && close(s.low, -0.15) && close(s.high, 0.76), "{s:?}");
        // Table 3.1 (depression scores, y - x): V = 5 of 45, two-sided p = 0.0390625.
        let differences = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
        let s = signed_rank(&differences).unwrap();
        assert!(close(s.p, 0.039_062_5), "{s:?}");
        assert!(close(s.estimate, -0.46) && close(s.low, -0.786) && close(s.high, -0.010), "{s:?}");
    }

    #[test]
    fn few_values_claim_nothing() {
        let s = rank_sum(&[1.0], &[2.0]).unwrap();
        assert!(s.p == 1.0 && s.low.is_infinite() && s.high.is_infinite(), "{s:?}");
        assert!(signed_rank(&[]).is_none() && rank_sum(&[], &[1.0]).is_none());
        let all_equal = signed_rank(&[0.0; 10]).unwrap();
        assert!(all_equal.p == 1.0 && all_equal.estimate == 0.0, "{all_equal:?}");
    }

    #[test]
    fn complete_separation_is_as_rare_as_counting_says() {
        let s = rank_sum(&[1.0, 2.0, 3.0, 4.0], &[11.0, 12.0, 13.0, 14.0, 15.0, 16.0]).unwrap();
        assert!(close(s.p, 2.0 / 210.0), "{s:?}");
    }

    #[test]
    fn the_approximation_meets_the_exact_distribution() {
        let exact = cumulative_probabilities(&signed_rank_counts(50));
        let sd = (50.0f64 * 51.0 * 101.0 / 24.0).sqrt();
        let normal = normal_cumulative(1275, 637.5, sd);
        assert!(exact.iter().zip(&normal).all(|(a, b)| (a - b).abs() < 2e-3));
    }

    proptest! {
        #[test]
        fn the_estimate_lies_in_its_interval(
            a in prop::collection::vec(-1e3f64..1e3, 1..12), b in prop::collection::vec(-1e3f64..1e3, 1..12)
        ) {
            for s in [rank_sum(&a, &b).unwrap(), signed_rank(&a).unwrap()] {
                prop_assert!(s.low <= s.estimate && s.estimate <= s.high, "{:?}", s);
                prop_assert!((0.0..=1.0).contains(&s.p));
            }
            let (one, other) = (rank_sum(&a, &b).unwrap(), rank_sum(&b, &a).unwrap());
            prop_assert!(close(one.p, other.p) && close(one.estimate, -other.estimate));
        }
    }
}
