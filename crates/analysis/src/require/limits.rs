//! Confidence limits of the share of breaches, which may come in bursts.
//!
//! Breaches in bursts are counted in parts of the run of many lengths: if the counts scatter more than
//! independent ones would, the evidence is weaker by as much. The limit is that of a sum of independent
//! bursts of any size (Fay & Feuer, Statistics in Medicine 1997), the widest over all lengths
//! (`docs/evidence/calibration.md`).

use std::ops::Range;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Breaches;
use crate::correlation::autocorrelation;
use crate::exact_binomial::{
    binomial_lower, binomial_upper, chi_squared_quantile, poisson_lower, poisson_upper,
};
use crate::predict::CONFIDENCE;

/// Fewest parts that the parts of a run are joined to.
const FEWEST_PARTS: usize = 8;
/// Fewest independent bursts that determine their size.
const FEWEST_BURSTS: f64 = 5.0;
/// Numbers of parts that are long: if such parts depend on each other (first autocorrelation, 95 and 99 %),
/// the run saw little more than one event.
const LONG_PARTS: [(Range<usize>, f64); 2] =
    [(2 * FEWEST_PARTS..4 * FEWEST_PARTS, UPPER), (4 * FEWEST_PARTS..8 * FEWEST_PARTS, 2.326)];
/// The 95 % quantile of a normal law.
const UPPER: f64 = 1.645;
/// Share of the scatter whose parts are examined separately, and the number of parts from which this is done.
const CARRIES: f64 = 0.9;
const MANY_PARTS: f64 = 64.0;
/// Weight of bursts of exponential sizes: they count as about half as many equal ones, those that carry the
/// scatter as less.
const OF_UNEQUAL: f64 = 0.75;

/// Basis of the limits of a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum LimitBasis {
    /// The distribution of the breaches over the run.
    Bursts {
        /// Number of independent breaches with the same evidence.
        effective: f64,
    },
    /// The number of breaches alone: the limits hold if breaches are independent. The run has too few of them
    /// to estimate their bursts, or no order.
    Singly,
    /// The number of breaches alone, since the values have long memory or heavy-tailed regimes: the
    /// distribution of breaches in one run does not determine that in others.
    LongMemory,
    /// Knowledge of the user: the largest number of breaches that come together.
    AtMost {
        /// The number.
        together: u64,
    },
}

/// Limits of a share, each with 95 % confidence, and their basis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    pub share: [f64; 2],
    pub basis: LimitBasis,
}

impl Limits {
    /// Computes the limits of the share of breaches in a run; `burst_at_most` come together, if that is known.
    pub fn new(breaches: &Breaches, burst_at_most: Option<u64>) -> Self {
        let observed = breaches.evidence;
        let n = (observed.values as f64).max(1.0);
        let [may, certain] = [observed.may_have_broken as f64, observed.broke as f64];
        if let Some([of_may, of_certain]) = breaches.counts_by_part().filter(|_| !breaches.has_long_memory) {
            let (high, effective) = upper_mean_limit(&of_may);
            let (low, of_low) = lower_mean_limit(&of_certain);
            if effective >= FEWEST_BURSTS {
                let low = if of_low >= FEWEST_BURSTS { low / n } else { 0.0 };
                return Limits { share: [low, (high / n).min(1.0)], basis: LimitBasis::Bursts { effective } };
            }
        }
        match burst_at_most {
            Some(together) => {
                let size = together.max(1) as f64;
                let high = size * poisson_upper(may / size, CONFIDENCE) / n;
                let low = size * poisson_lower(certain / size, CONFIDENCE) / n;
                Limits { share: [low, high.min(1.0)], basis: LimitBasis::AtMost { together } }
            }
            None => {
                let share = [binomial_lower(certain, n, CONFIDENCE), binomial_upper(may, n, CONFIDENCE)];
                let basis =
                    if breaches.has_long_memory { LimitBasis::LongMemory } else { LimitBasis::Singly };
                Limits { share, basis }
            }
        }
    }
}

/// Returns the 95 % upper limit of the share of breaches, and true if there are enough bursts for it. `counts` are
/// those in equal parts of a run of `n` values.
pub(crate) fn upper_share_limit(counts: &[u64], n: u64) -> (f64, bool) {
    let (high, effective) = upper_mean_limit(counts);
    (high / (n as f64).max(1.0), effective >= FEWEST_BURSTS)
}

/// Returns the upper limit of the mean number of breaches, and how many independent ones are as much evidence.
fn upper_mean_limit(counts: &[u64]) -> (f64, f64) {
    let observed: f64 = counts.iter().map(|c| *c as f64).sum();
    let (mut high, mut effective) = (poisson_upper(observed, CONFIDENCE), observed);
    for_each_part_length(counts, |joined, variance| {
        let (parts, largest) = (joined.len() as f64, joined.iter().copied().fold(0.0, f64::max));
        effective = effective.min(effective_breaches(joined, variance, observed));
        // The size of a burst that may just not have occurred.
        let mut size = largest.min((variance / observed).max(1.0));
        let widened = widened_variance(variance, observed, parts);
        size = size.max(largest.min(widened / observed));
        let (mean, variance) = (observed + size, widened + size * size);
        high = high
            .max(variance / (2.0 * mean) * chi_squared_quantile(2.0 * mean * mean / variance, CONFIDENCE));
    });
    (high, effective)
}

/// Returns the lower limit of the mean number of breaches, and how many independent ones are as much evidence.
fn lower_mean_limit(counts: &[u64]) -> (f64, f64) {
    let observed: f64 = counts.iter().map(|c| *c as f64).sum();
    let (mut low, mut effective) = (poisson_lower(observed, CONFIDENCE), observed);
    for_each_part_length(counts, |joined, variance| {
        effective = effective.min(effective_breaches(joined, variance, observed));
        let variance = widened_variance(variance, observed, joined.len() as f64);
        low = low.min(
            variance / (2.0 * observed)
                * chi_squared_quantile(2.0 * observed * observed / variance, 1.0 - CONFIDENCE),
        );
    });
    (low, effective)
}

/// Calls `at` for parts of doubling length, with their counts and the variance of the sum by their scatter. That is
/// never less than the variance of independent breaches.
fn for_each_part_length(counts: &[u64], mut at: impl FnMut(&[f64], f64)) {
    let sum: f64 = counts.iter().map(|c| *c as f64).sum();
    let mut length = 1;
    while counts.len() / length >= FEWEST_PARTS && sum > 0.0 {
        // The remainder at the end is shorter: it contributes to the sum only.
        let joined: Vec<f64> =
            counts.chunks_exact(length).map(|part| part.iter().sum::<u64>() as f64).collect();
        let parts = joined.len() as f64;
        let mean = joined.iter().sum::<f64>() / parts;
        let squares: f64 = joined.iter().map(|c| (c - mean) * (c - mean)).sum();
        let of_sum = counts.len() as f64 / length as f64 * squares / (parts - 1.0);
        at(&joined, sum.max(of_sum));
        length *= 2;
    }
}

/// True if counts scatter by no more than chance.
fn is_chance_scatter(variance: f64, observed: f64, parts: f64) -> bool {
    variance <= observed * (1.0 + 2.0 * (2.0 / parts).sqrt())
}

/// Returns how many independent breaches are as much evidence as those observed; 0 if long parts depend on the previous
/// one: parts longer than the run allows would then scatter more.
fn effective_breaches(joined: &[f64], variance: f64, observed: f64) -> f64 {
    let depends = |(parts, beyond): &(Range<usize>, f64)| {
        let first = || autocorrelation(joined, 1).get(1).copied().unwrap_or(0.0);
        parts.contains(&joined.len()) && first() * (joined.len() as f64).sqrt() > *beyond
    };
    if LONG_PARTS.iter().any(depends) {
        return 0.0;
    }
    (observed * observed / variance).min(equal_bursts(joined, variance, observed))
}

/// Returns how many equal bursts are as much evidence as the parts that carry the scatter; infinite by chance. Many
/// single breaches next to two bursts show nothing about bursts.
fn equal_bursts(joined: &[f64], variance: f64, observed: f64) -> f64 {
    let parts = joined.len() as f64;
    if parts < MANY_PARTS || is_chance_scatter(variance, observed, parts) {
        return f64::INFINITY;
    }
    let mean = joined.iter().sum::<f64>() / parts;
    let mut above: Vec<f64> = joined.iter().map(|c| c - mean).filter(|d| *d > 0.0).collect();
    above.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = above.iter().map(|d| d * d).sum();
    let (mut sum, mut squares) = (0.0, 0.0);
    for d in above {
        (sum, squares) = (sum + d, squares + d * d);
        if squares >= CARRIES * all {
            break;
        }
    }
    sum * sum / squares / OF_UNEQUAL
}

/// Returns the variance as it is, or widened by its own uncertainty if it exceeds chance.
fn widened_variance(variance: f64, observed: f64, parts: f64) -> f64 {
    if is_chance_scatter(variance, observed, parts) {
        return variance;
    }
    let student = StudentsT::new(0.0, 1.0, parts - 1.0).map_or(UPPER, |t| t.inverse_cdf(CONFIDENCE));
    variance * (student / UPPER).powi(2)
}
