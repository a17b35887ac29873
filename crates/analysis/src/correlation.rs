//! Autocorrelation of a series, and its test.

use rustfft::num_complex::Complex;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::fourier::Fourier;

/// Returns the autocorrelation at lags 0 to `max_lag`; empty for a series without variation. `NaN` is a missing value,
/// such as a missed due time.
///
/// r_j = sum (x_i - m)(x_{i+j} - m) / sum (x_i - m)^2 over the available pairs (Box & Jenkins 2.1.12); with
/// gaps scaled by the share of available pairs (Parzen 1963), so that gaps do not pull it towards 0.
pub fn autocorrelation(x: &[f64], max_lag: usize) -> Vec<f64> {
    let present = x.iter().filter(|v| !v.is_nan());
    let count = present.clone().count();
    if count == 0 {
        return Vec::new();
    }
    let mean = present.sum::<f64>() / count as f64;
    let lags = max_lag.min(x.len() - 1) + 1;
    // Both series in one transform: the values' correlation is real, the presences' is counted alike.
    let values = x.iter().map(|v| if v.is_nan() { 0.0 } else { v - mean });
    let products = autocovariance(values, x.len(), lags);
    let spread = products[0];
    if spread <= 0.0 {
        return Vec::new();
    }
    let pairs = if count == x.len() {
        (0..lags).map(|lag| (x.len() - lag) as f64).collect()
    } else {
        autocovariance(x.iter().map(|v| f64::from(!v.is_nan())), x.len(), lags)
    };
    let whole = x.len() as f64;
    let share = count as f64 / whole;
    products
        .iter()
        .zip(&pairs)
        .enumerate()
        .map(|(lag, (product, pairs))| {
            let expected = share * (whole - lag as f64);
            if *pairs < 0.5 { 0.0 } else { product / spread * expected / pairs }
        })
        .collect()
}

/// Returns the sums of products of a series with itself at each lag below `lags`, by two Fourier transforms.
fn autocovariance(values: impl Iterator<Item = f64>, len: usize, lags: usize) -> Vec<f64> {
    let size = (len + lags).next_power_of_two();
    let mut buffer: Vec<Complex<f64>> = values.map(|v| Complex::new(v, 0.0)).collect();
    buffer.resize(size, Complex::default());
    Fourier::new(size, false).process(&mut buffer);
    buffer.iter_mut().for_each(|c| *c = Complex::new(c.norm_sqr(), 0.0));
    Fourier::new(size, true).process(&mut buffer);
    buffer.iter().take(lags).map(|c| c.re / size as f64).collect()
}

/// Test of whether the first autocorrelations together are those of independent values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LjungBox {
    /// Number of lags in it.
    pub lags: usize,
    /// Q = n (n + 2) sum r_j^2 / (n - j).
    pub q: f64,
    /// Probability of this or a larger Q from independent values (chi-squared with `lags` degrees).
    pub p: f64,
}

/// Tests the first `lags` autocorrelations for independence (Ljung & Box, Biometrika 1978). `None` for a series without
/// variation or shorter than twice the lags.
pub fn ljung_box(x: &[f64], lags: usize) -> Option<LjungBox> {
    let n = x.iter().filter(|v| !v.is_nan()).count() as f64;
    let r = autocorrelation(x, lags);
    if r.len() <= lags || lags == 0 || n < 2.0 * lags as f64 {
        return None;
    }
    let sum: f64 = (1..=lags).map(|j| r[j] * r[j] / (n - j as f64)).sum();
    let q = n * (n + 2.0) * sum;
    let p = ChiSquared::new(lags as f64).ok()?.sf(q);
    Some(LjungBox { lags, q, p })
}

/// Returns the probability of as large autocorrelations in an uncorrelated series whose spread may change. Alternating
/// times of large and small values make all of them larger (Lobato, Nankervis & Savin, Int. Econ. Rev. 2001). `None`
/// for a lag without variation.
pub fn robust_correlation_test(x: &[f64], lags: usize) -> Option<f64> {
    let present: Vec<f64> = x.iter().copied().filter(|v| !v.is_nan()).collect();
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let of_lag = |lag: usize| {
        let products = x.iter().zip(x.get(lag..)?).map(|(a, b)| (a - mean) * (b - mean));
        let (sum, squares) =
            products.filter(|p| !p.is_nan()).fold((0.0, 0.0), |(sum, squares), p| (sum + p, squares + p * p));
        (squares > 0.0).then(|| sum * sum / squares)
    };
    let q: Option<f64> = (1..=lags).map(of_lag).sum();
    Some(ChiSquared::new(lags as f64).ok()?.sf(q?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{agrees, dependent, independent};

    #[test]
    fn the_reference_series_have_the_computed_autocorrelations() {
        let trend = independent().into_iter().enumerate().map(|(k, x)| x + 0.002 * k as f64).collect();
        for (x, r1, q) in [
            (independent(), -0.03742607, 15.306794),
            (dependent(), 0.48833733, 343.740333),
            (trend, 0.24406293, 674.191740),
        ] {
            agrees(autocorrelation(&x, 10)[1], r1, 8);
            agrees(ljung_box(&x, 10).unwrap().q, q, 6);
        }
        agrees(ljung_box(&independent(), 10).unwrap().p, 0.121271, 6);
    }

    #[test]
    fn gaps_do_not_pull_it_towards_zero() {
        let whole = dependent();
        let mut holed = whole.clone();
        holed.iter_mut().skip(3).step_by(7).for_each(|v| *v = f64::NAN);
        let (a, b) = (autocorrelation(&whole, 1)[1], autocorrelation(&holed, 1)[1]);
        assert!((a - b).abs() < 0.05, "{a} {b}");
    }

    #[test]
    fn periods_of_independent_starts_have_a_correlation_of_minus_one_half() {
        let starts = independent();
        let periods: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        assert!((autocorrelation(&periods, 1)[1] + 0.5).abs() < 0.04);
    }

    #[test]
    fn restless_times_are_no_correlation() {
        let mut random = crate::random::Random::new(4);
        let mut false_ones = [0, 0];
        for _ in 0..40 {
            let (mut variance, mut last) = (1.0f64, 0.0f64);
            let restless: Vec<f64> = (0..4_000)
                .map(|_| {
                    variance = 0.02 + 0.2 * last * last + 0.79 * variance;
                    last = variance.sqrt() * random.normal();
                    last
                })
                .collect();
            false_ones[0] += usize::from(ljung_box(&restless, 20).unwrap().p < 1e-3);
            false_ones[1] += usize::from(robust_correlation_test(&restless, 20).unwrap() < 1e-3);
        }
        assert!(false_ones[0] > 4 && false_ones[1] <= 1, "{false_ones:?}");
        assert!(robust_correlation_test(&dependent(), 10).unwrap() < 1e-6);
        assert!(robust_correlation_test(&independent(), 10).unwrap() > 0.01);
    }

    #[test]
    fn without_variation_there_is_none() {
        assert!(autocorrelation(&[2.0; 50], 5).is_empty() && autocorrelation(&[], 5).is_empty());
        assert!(autocorrelation(&[f64::NAN; 5], 2).is_empty());
        assert_eq!(ljung_box(&[1.0, 2.0, 3.0], 2), None);
    }
}
