//! Exact inference from counts of events and tries, without any assumption about the shape of a distribution:
//! tries only have to be independent and equal.

use std::f64::consts::PI;

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use statrs::function::beta::checked_beta_reg;
use statrs::function::gamma::checked_gamma_ur;

/// Tries above which the incomplete beta function, and events above which the incomplete gamma function,
/// loses digits and does not converge in time; asymptotic laws replace them.
const MANY: f64 = 1e8;
/// Variance of a binomial above which a normal law with its skewness is exact to one part in a million.
const WIDE: f64 = 1e6;

/// Returns P(X <= k) of a binomial X of `n` tries with probability `p` each; `n` and `k` need not be whole.
pub fn binomial_at_most(k: f64, n: f64, p: f64) -> f64 {
    if k < 0.0 {
        return 0.0;
    }
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if n < MANY {
        return checked_beta_reg(n - k, k + 1.0, 1.0 - p).unwrap_or(f64::NAN);
    }
    let variance = n * p * (1.0 - p);
    if variance > WIDE {
        // Normal, with the skewness (Edgeworth's first term).
        let z = (k + 0.5 - n * p) / variance.sqrt();
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let skewness = (1.0 - 2.0 * p) / variance.sqrt();
        return (Normal::standard().cdf(z) - skewness / 6.0 * (z * z - 1.0) * density).clamp(0.0, 1.0);
    }
    // Rare, or rarely absent: a Poisson law whose mean allows for the number of tries (Bolshev 1961), with an
    // error of at most p^2.
    let rare = |k: f64, p: f64| poisson_at_most(k, (2.0 * n - k) * p / (2.0 - p));
    if p < 0.5 { rare(k, p) } else { 1.0 - rare(n - k - 1.0, 1.0 - p) }
}

/// Returns P(X >= k) of a binomial X of `n` tries with probability `p` each, to all digits where it is small.
pub fn binomial_at_least(k: f64, n: f64, p: f64) -> f64 {
    if k <= 0.0 || p >= 1.0 {
        return 1.0;
    }
    checked_beta_reg(k, n - k + 1.0, p).unwrap_or(1.0)
}

/// Returns P(X <= k) of a Poisson X with this mean.
fn poisson_at_most(k: f64, mean: f64) -> f64 {
    let shape = k + 1.0;
    if shape < MANY && mean < MANY {
        return checked_gamma_ur(shape, mean).unwrap_or(f64::NAN);
    }
    // Wilson & Hilferty (1931): the cube root of a gamma variable is nearly normal.
    let z = 3.0 * shape.sqrt() * ((mean / shape).cbrt() - 1.0 + 1.0 / (9.0 * shape));
    Normal::standard().sf(z)
}

/// Returns the quantile of a chi-squared distribution: the value that it does not exceed with probability `p`.
pub fn chi_squared_quantile(degrees: f64, p: f64) -> f64 {
    if degrees < MANY {
        return ChiSquared::new(degrees).map_or(f64::NAN, |law| law.inverse_cdf(p));
    }
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + Normal::standard().inverse_cdf(p) * spread.sqrt()).powi(3)
}

/// Returns the upper limit, with `confidence`, on the mean number of events when `k` were counted. It is the mean for
/// which `k` or fewer occur with probability 1 - confidence (Garwood, Biometrika 1936): 2.995732 for none, with 95 %.
pub fn poisson_upper(k: f64, confidence: f64) -> f64 {
    let at_most_k = |mean: f64| poisson_at_most(k, mean);
    let mut high = k + 10.0;
    while at_most_k(high) > 1.0 - confidence {
        high *= 2.0;
    }
    root(0.0, high, |mean| at_most_k(mean) - (1.0 - confidence))
}

/// Returns the lower limit that corresponds to [`poisson_upper`].
pub fn poisson_lower(k: f64, confidence: f64) -> f64 {
    // P(k or more) falls to 1 - confidence with the mean.
    let below_k = |mean: f64| poisson_at_most(k - 1.0, mean);
    if k <= 0.0 { 0.0 } else { root(0.0, k, |mean| below_k(mean) - confidence) }
}

/// Returns the upper limit, with `confidence`, on a probability when `k` of `n` tries succeeded (Clopper & Pearson).
pub fn binomial_upper(k: f64, n: f64, confidence: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    root(0.0, 1.0, |p| binomial_at_most(k, n, p) - (1.0 - confidence))
}

/// Returns the lower limit that corresponds to [`binomial_upper`].
pub fn binomial_lower(k: f64, n: f64, confidence: f64) -> f64 {
    if k <= 0.0 {
        return 0.0;
    }
    root(0.0, 1.0, |p| binomial_at_most(k - 1.0, n, p) - confidence).min(k / n)
}

/// Returns how many of the largest of `n` values may be cut off so that the next is a limit of a quantile. It is then
/// an upper limit of the quantile `1 - above`, with `confidence`, by order statistics. `None` if not even the maximum
/// is one.
pub fn values_above_quantile_limit(n: u64, above: f64, confidence: f64) -> Option<u64> {
    // The value with j larger ones is a limit if at least j + 1 values exceed the quantile with that confidence.
    let holds = |j: u64| 1.0 - binomial_at_most(j as f64, n as f64, above) >= confidence;
    if !holds(0) {
        return None;
    }
    let (mut low, mut high) = (0, n);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// Returns the number of tries without any event needed to show, with `confidence`, that its probability is below `p`.
pub fn tries_without_event(p: f64, confidence: f64) -> u64 {
    // A small amount is subtracted: 0.05^(1/n) of an exact n must not need n + 1.
    ((1.0 - confidence).ln() / (-p).ln_1p() - 1e-9).ceil().max(1.0) as u64
}

/// Returns the zero of a falling `f` between `low` and `high`.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::agrees;
    use proptest::prelude::*;

    #[test]
    fn garwood_limits_are_the_published_ones() {
        for (k, limit) in
            [(0, 2.995732), (1, 4.743865), (2, 6.295794), (3, 7.753657), (5, 10.513035), (10, 16.962219)]
        {
            agrees(poisson_upper(f64::from(k), 0.95), limit, 6);
        }
        agrees(poisson_lower(10.0, 0.95), 5.425406, 6);
        assert_eq!(poisson_lower(0.0, 0.95), 0.0);
        // 120 s without an event: upper limits per second and per day.
        agrees(poisson_upper(0.0, 0.95) / 120.0, 0.0249644, 7);
        agrees(poisson_upper(0.0, 0.95) / 120.0 * 86_400.0, 2157.0, 0);
        agrees(poisson_upper(0.0, 0.95) * 24.0, 71.9, 1);
        agrees(poisson_upper(0.0, 0.95), 3.0, 1);
    }

    #[test]
    fn order_statistics_bound_the_quantiles_of_a_two_minute_run() {
        let n = 120_000;
        assert_eq!(values_above_quantile_limit(n, 1e-3, 0.95), Some(101)); // X_(119899), the 102nd largest
        assert_eq!(values_above_quantile_limit(n, 1e-4, 0.95), Some(6)); // the 7th largest
        assert_eq!(values_above_quantile_limit(n, 1e-5, 0.95), None);
        agrees(1.0 - binomial_at_most(0.0, n as f64, 1e-5), 0.69881, 5);
    }

    #[test]
    fn the_maximum_bounds_a_quantile_from_so_many_values_on() {
        for (above, needed) in [(1e-3, 2_995), (1e-4, 29_956), (1e-5, 299_572), (1e-6, 2_995_731)] {
            let holds = |n| values_above_quantile_limit(n, above, 0.95).is_some();
            assert!(holds(needed + 1) && !holds(needed - 1), "{above}");
            assert!(
                tries_without_event(above, 0.95).abs_diff(needed) <= 1,
                "{}",
                tries_without_event(above, 0.95)
            );
        }
    }

    #[test]
    fn clopper_and_pearson_limits_are_the_usual_ones() {
        // 95 % two-sided for 2 of 20 (0.975 each): 0.0123 to 0.3170.
        agrees(binomial_lower(2.0, 20.0, 0.975), 0.0123, 4);
        agrees(binomial_upper(2.0, 20.0, 0.975), 0.3170, 4);
        assert_eq!((binomial_lower(0.0, 9.0, 0.95), binomial_upper(9.0, 9.0, 0.95)), (0.0, 1.0));
    }

    #[test]
    fn many_tries_and_many_events_keep_their_digits() {
        // Normal with continuity correction and skewness, by hand: mean 500001000, standard deviation 15811.4.
        agrees(binomial_at_most(5e8, 1e9, 0.500_001), 0.474_80, 5);
        agrees(binomial_at_most(1e7, 1e9, 0.010_000_5), 0.436_92, 4);
        // Rare events: the Poisson law itself, and its complement.
        agrees(binomial_at_most(3.0, 1e12, 1e-12), 0.981_012, 6);
        let n = 2f64.powi(40);
        agrees(binomial_at_most(n - 1.0, n, 1.0 - 1.0 / n), 1.0 - 0.367_879, 6);
        agrees(poisson_upper(1e18, 0.95) / 1e9 - 1e9, 1.644_85, 4);
        agrees(binomial_upper(0.0, 4e18, 0.95) * 4e18, 2.995_732, 4);
        // Either side of the change, the limits are the same.
        for k in [0.0, 3.0, 1e3, 1e5, 3e7] {
            let (below, above) = (binomial_upper(k, MANY - 1.0, 0.95), binomial_upper(k, MANY, 0.95));
            assert!((above / below - 1.0).abs() < 1e-6, "{k}: {below} {above}");
            let (below, above) = (binomial_lower(k, MANY - 1.0, 0.95), binomial_lower(k, MANY, 0.95));
            assert!((above - below).abs() <= 1e-6 * below, "{k}: {below} {above}");
        }
        let at = |f: fn(f64, f64) -> f64, n: f64| f(n, 0.95);
        for f in [poisson_upper, poisson_lower, chi_squared_quantile] {
            assert!((at(f, MANY - 2.0) / at(f, MANY) - 1.0).abs() < 1e-7);
        }
    }

    proptest! {
        #[test]
        fn the_binomial_is_the_sum_of_its_terms(n in 1u32..60, k in 0u32..60, p in 0.01f64..0.99) {
            let mut term = (1.0 - p).powi(n as i32);
            let mut sum = 0.0;
            for i in 0..=k.min(n) {
                sum += term;
                term *= f64::from(n - i.min(n)) / f64::from(i + 1) * p / (1.0 - p);
            }
            prop_assert!((binomial_at_most(k.into(), n.into(), p) - sum).abs() < 1e-9);
        }

        #[test]
        fn limits_enclose_what_was_seen(k in 0u64..500, more in 1u64..100_000) {
            let (k, n) = (k as f64, (k + more) as f64);
            let (low, high) = (binomial_lower(k, n, 0.95), binomial_upper(k, n, 0.95));
            prop_assert!(low <= k / n && k / n <= high && high <= poisson_upper(k, 0.95) / n * (1.0 + 1e-9) + 1e-15);
        }
    }
}
