//! Between what a share lies of which a run showed so many, where they come together.
//!
//! What comes in bursts is counted in parts of the run of many lengths: if their counts scatter more than independent ones
//! would, there is that much less to learn. The limit is that of a sum of independent bursts of any size (Fay & Feuer, Statistics
//! in Medicine 1997), the widest over all lengths (`docs/evidence/calibration.md`).

use std::ops::Range;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Breaches;
use crate::correlation::autocorrelation;
use crate::exact::{binomial_lower, binomial_upper, chi_squared, poisson_lower, poisson_upper};
use crate::predict::CONFIDENCE;

/// Parts of a run are joined to no fewer than this.
const FEWEST_PARTS: usize = 8;
/// Fewer independent bursts say nothing of their size.
const FEWEST_BURSTS: f64 = 5.0;
/// Parts of these numbers are long: if they depend on each other (first autocorrelation, 95 and 99 %), the run saw little more
/// than one event.
const LONG_PARTS: [(Range<usize>, f64); 2] =
    [(2 * FEWEST_PARTS..4 * FEWEST_PARTS, UPPER), (4 * FEWEST_PARTS..8 * FEWEST_PARTS, 2.326)];
/// 95 % of a normal law lie below.
const UPPER: f64 = 1.645;
/// Parts that hold what carries this share of the scatter are looked at by themselves, where there are so many parts.
const CARRIES: f64 = 0.9;
const MANY_PARTS: f64 = 64.0;
/// Bursts of exponential sizes say about as much as half as many equal ones; those that carry the scatter, less than that.
const OF_UNEQUAL: f64 = 0.75;

/// What limits of a share rest on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum LimitBasis {
    /// On how the breaches come in the run.
    Bursts {
        /// As many independent ones say as much.
        effective: f64,
    },
    /// On nothing but their number: the limits hold if they come singly. The run has none or too few of them to say how many
    /// come together, or does not tell their order.
    Singly,
    /// On their number alone, since the values have long memory or heavy-tailed regimes: how breaches come in the run says too
    /// little of how they come in others.
    LongMemory,
    /// On what the user knows: no more than so many come together.
    AtMost {
        /// How many.
        together: u64,
    },
}

/// Limits of a share, each with 95 % confidence, and what they rest on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    pub share: [f64; 2],
    pub footing: LimitBasis,
}

impl Limits {
    /// Of what a run showed, where no more than `burst_at_most` come together if that is known.
    pub fn new(breaches: &Breaches, burst_at_most: Option<u64>) -> Self {
        let seen = breaches.evidence;
        let n = (seen.values as f64).max(1.0);
        let [may, certain] = [seen.may_have_broken as f64, seen.broke as f64];
        if let Some([of_may, of_certain]) = breaches.counts().filter(|_| !breaches.has_long_memory) {
            let (high, effective) = upper(&of_may);
            let (low, of_low) = lower(&of_certain);
            if effective >= FEWEST_BURSTS {
                let low = if of_low >= FEWEST_BURSTS { low / n } else { 0.0 };
                return Limits {
                    share: [low, (high / n).min(1.0)],
                    footing: LimitBasis::Bursts { effective },
                };
            }
        }
        match burst_at_most {
            Some(together) => {
                let size = together.max(1) as f64;
                let high = size * poisson_upper(may / size, CONFIDENCE) / n;
                let low = size * poisson_lower(certain / size, CONFIDENCE) / n;
                Limits { share: [low, high.min(1.0)], footing: LimitBasis::AtMost { together } }
            }
            None => {
                let share = [binomial_lower(certain, n, CONFIDENCE), binomial_upper(may, n, CONFIDENCE)];
                let footing =
                    if breaches.has_long_memory { LimitBasis::LongMemory } else { LimitBasis::Singly };
                Limits { share, footing }
            }
        }
    }
}

/// The upper limit, with 95 % confidence, of a share of `n` values, from how many broke it in equal parts of the run; and whether
/// they are enough bursts to say so.
pub(crate) fn share_at_most(counts: &[u64], n: u64) -> (f64, bool) {
    let (high, effective) = upper(counts);
    (high / (n as f64).max(1.0), effective >= FEWEST_BURSTS)
}

/// The upper limit of the mean number of breaches, and how many independent ones say as much as those seen.
fn upper(counts: &[u64]) -> (f64, f64) {
    let seen: f64 = counts.iter().map(|c| *c as f64).sum();
    let (mut high, mut effective) = (poisson_upper(seen, CONFIDENCE), seen);
    each_length(counts, |joined, variance| {
        let (parts, largest) = (joined.len() as f64, joined.iter().copied().fold(0.0, f64::max));
        effective = effective.min(effective_of(joined, variance, seen));
        // The size of the burst that may just not have come.
        let mut size = largest.min((variance / seen).max(1.0));
        let widened = widened(variance, seen, parts);
        size = size.max(largest.min(widened / seen));
        let (mean, variance) = (seen + size, widened + size * size);
        high = high.max(variance / (2.0 * mean) * chi_squared(2.0 * mean * mean / variance, CONFIDENCE));
    });
    (high, effective)
}

/// The lower limit of the mean number of breaches, and how many independent ones say as much as those seen.
fn lower(counts: &[u64]) -> (f64, f64) {
    let seen: f64 = counts.iter().map(|c| *c as f64).sum();
    let (mut low, mut effective) = (poisson_lower(seen, CONFIDENCE), seen);
    each_length(counts, |joined, variance| {
        effective = effective.min(effective_of(joined, variance, seen));
        let variance = widened(variance, seen, joined.len() as f64);
        low = low.min(variance / (2.0 * seen) * chi_squared(2.0 * seen * seen / variance, 1.0 - CONFIDENCE));
    });
    (low, effective)
}

/// Goes through the lengths of parts, from that of the counts on, each twice the one before: the counts, and the variance of
/// their sum by their scatter (never less than if breaches came singly).
fn each_length(counts: &[u64], mut at: impl FnMut(&[f64], f64)) {
    let sum: f64 = counts.iter().map(|c| *c as f64).sum();
    let mut length = 1;
    while counts.len() / length >= FEWEST_PARTS && sum > 0.0 {
        // The rest at the end is shorter: it has a part in the sum only.
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

/// Whether counts scatter by no more than chance.
fn is_even(variance: f64, seen: f64, parts: f64) -> bool {
    variance <= seen * (1.0 + 2.0 * (2.0 / parts).sqrt())
}

/// As how many independent breaches those say that were seen in parts of one length: as none, where long parts still depend on the
/// one before, since then longer ones than the run has would scatter more.
fn effective_of(joined: &[f64], variance: f64, seen: f64) -> f64 {
    let depends = |(parts, beyond): &(Range<usize>, f64)| {
        let first = || autocorrelation(joined, 1).get(1).copied().unwrap_or(0.0);
        parts.contains(&joined.len()) && first() * (joined.len() as f64).sqrt() > *beyond
    };
    if LONG_PARTS.iter().any(depends) {
        return 0.0;
    }
    (seen * seen / variance).min(carrying(joined, variance, seen))
}

/// As how many equal bursts those say that carry the scatter: many single breaches beside two bursts say nothing of bursts.
fn carrying(joined: &[f64], variance: f64, seen: f64) -> f64 {
    let parts = joined.len() as f64;
    if parts < MANY_PARTS || is_even(variance, seen, parts) {
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

/// A variance that is more than chance, with what is not known of it itself.
fn widened(variance: f64, seen: f64, parts: f64) -> f64 {
    if is_even(variance, seen, parts) {
        return variance;
    }
    let student = StudentsT::new(0.0, 1.0, parts - 1.0).map_or(UPPER, |t| t.inverse_cdf(CONFIDENCE));
    variance * (student / UPPER).powi(2)
}
