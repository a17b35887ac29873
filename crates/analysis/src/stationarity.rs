//! Tests for stationarity: a small p means that the series changes.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::least_squares::median;

/// Result of the test of Kwiatkowski, Phillips, Schmidt & Shin (J. Econometrics 1992) for a constant level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Kpss {
    /// Lags in the variance's Bartlett window.
    pub lags: usize,
    /// eta = sum S_t^2 / (n^2 s^2(lags)), large if the level wanders.
    pub eta: f64,
    /// Probability of such an eta or a larger one at a constant level.
    pub p: f64,
}

/// Tests for a constant level against a wandering one (KPSS), allowing for `lags` lags of correlation. `None` for a
/// series without variation or not longer than the lags.
pub fn kpss(x: &[f64], lags: usize) -> Option<Kpss> {
    let n = x.len() as f64;
    if x.len() <= lags + 1 {
        return None;
    }
    let mean = x.iter().sum::<f64>() / n;
    let covariance =
        |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n;
    let bartlett: f64 =
        (1..=lags).map(|lag| (1.0 - lag as f64 / (lags as f64 + 1.0)) * covariance(lag)).sum();
    let variance = covariance(0) + 2.0 * bartlett;
    let (mut sum, mut squares) = (0.0, 0.0);
    for value in x {
        sum += value - mean;
        squares += sum * sum;
    }
    let eta = squares / (n * n * variance);
    (variance > 0.0 && eta.is_finite()).then(|| Kpss { lags, eta, p: kpss_p(eta) })
}

/// Returns P(integral of a squared Brownian bridge > eta), the limit law of KPSS and of Cramer-von Mises. It is the
/// series of Anderson & Darling (Ann. Math. Stat. 1952) eq. 4.35 with K_{1/4} as an integral.
fn kpss_p(eta: f64) -> f64 {
    if eta < 0.02 {
        return 1.0;
    }
    let mut cdf = 0.0;
    let mut binomial = 1.0; // (-1)^j binomial(-1/2, j)
    for j in 0..12 {
        let a = f64::from(4 * j + 1);
        let z = a * a / (16.0 * eta);
        cdf += binomial * a.sqrt() * (-z).exp() * bessel_k_quarter(z);
        binomial *= (f64::from(j) + 0.5) / (f64::from(j) + 1.0);
    }
    (1.0 - cdf / (std::f64::consts::PI * eta.sqrt())).clamp(0.0, 1.0)
}

/// Returns the modified Bessel function K_{1/4}(z): the integral over t >= 0 of e^{-z cosh t} cosh(t/4). The
/// trapezoidal rule converges geometrically for such integrands.
fn bessel_k_quarter(z: f64) -> f64 {
    let step = 0.05;
    let terms = (0..400).map(|i| {
        let t = f64::from(i) * step;
        let weight = if i == 0 { 0.5 } else { 1.0 };
        weight * (-z * t.cosh()).exp() * (t / 4.0).cosh()
    });
    terms.sum::<f64>() * step
}

/// Returns the ranks of values from 0; equal ones share the mean of their ranks, as they have no order.
#[must_use]
pub fn mid_ranks(x: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = x.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; x.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = below as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|(_, at)| ranks[*at] = rank);
        below += equal.len();
    }
    ranks
}

/// Result of the runs test of Wald & Wolfowitz about the median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Runs {
    /// Runs of values on the same side of the median.
    pub runs: usize,
    /// Standardised number of runs: below 0 if neighbours are alike, above if they alternate.
    pub z: f64,
    /// Two-sided probability of such a z from independent values.
    pub p: f64,
}

/// Tests whether values above and below the median have a random order. `None` if all are on one side.
pub fn runs(x: &[f64]) -> Option<Runs> {
    let middle = median(&mut x.to_vec())?;
    let sides: Vec<bool> = x.iter().map(|v| *v >= middle).collect();
    let above = sides.iter().filter(|s| **s).count() as f64;
    let n = sides.len() as f64;
    let below = n - above;
    let runs = 1 + sides.windows(2).filter(|w| w[0] != w[1]).count();
    let product = 2.0 * above * below;
    let variance = product * (product - n) / (n * n * (n - 1.0));
    if variance <= 0.0 {
        return None;
    }
    let z = (runs as f64 - product / n - 1.0) / variance.sqrt();
    let p = 2.0 * Normal::standard().sf(z.abs());
    Some(Runs { runs, z, p })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{agrees, dependent, independent};

    #[test]
    fn the_reference_series_have_the_computed_statistics() {
        let trend: Vec<f64> =
            independent().into_iter().enumerate().map(|(k, x)| x + 0.002 * k as f64).collect();
        for (x, eta, z) in [
            (independent(), 0.04881133, 0.0),
            (dependent(), 0.07320127, -13.098387),
            (trend, 9.65807883, -9.301753),
        ] {
            agrees(kpss(&x, 7).unwrap().eta, eta, 8);
            agrees(runs(&x).unwrap().z, z, 6);
        }
    }

    #[test]
    fn kpss_has_its_published_critical_values() {
        // Kwiatkowski et al. simulated theirs: they agree to a digit or two.
        for (eta, p) in [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)] {
            assert!((kpss_p(eta) - p).abs() < 0.001, "{eta}: {}", kpss_p(eta));
        }
    }

    #[test]
    fn cramer_von_mises_limit_is_met_in_the_body_too() {
        // Anderson & Darling 1952, table 1.
        for (eta, cdf) in [(0.02480, 0.01), (0.11888, 0.50), (0.34730, 0.90), (1.16786, 0.999)] {
            assert!((1.0 - kpss_p(eta) - cdf).abs() < 2e-5, "{eta}: {}", kpss_p(eta));
        }
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(mid_ranks(&[5.0, 1.0, 5.0, 9.0, 5.0]), [2.0, 0.0, 2.0, 4.0, 2.0]);
    }

    #[test]
    fn without_variation_there_is_no_test() {
        assert_eq!((kpss(&[1.0; 9], 2), runs(&[1.0; 9]), kpss(&[1.0], 3)), (None, None, None));
    }
}
