//! Variance of a figure of a whole run from equal parts in order of time, which may depend on their neighbours.
//!
//! The variance of a mean of dependent values is that of its slow part. Its cosine series over the run gives
//! a few nearly independent numbers of that variance (Mueller, J. Econometrics 2007; Lazarus, Lewis, Stock &
//! Watson, J. Bus. Econ. Stat. 2018), as many as the dependence allows. With them Student's law holds as for
//! the same number of independent values.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

/// Fewest cosines for an estimate.
const FEWEST: f64 = 4.0;
/// Most cosines: more would not narrow an interval, and include fast variation.
pub const MOST: usize = 32;
/// Cosines for each correlation time in the run.
const DENSITY: f64 = 0.35;
/// Correlation times up to which the correlation is summed (Sokal 1989).
const WINDOW: f64 = 5.0;
/// The 95 % quantile of a normal law.
const UPPER: f64 = 1.645;

/// Number of parts over which a series stays alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrelationTime {
    /// Integrated correlation time, 1 + 2 (r_1 + r_2 + ...): the number of parts that together count as one
    /// independent part, 1 if parts are independent.
    pub parts: f64,
    /// Upper limit, with 95 % confidence.
    pub at_most: f64,
}

impl CorrelationTime {
    /// Estimates the correlation time of a series, in parts; 1 for a constant one.
    #[must_use]
    pub fn from_series(series: &[f64]) -> Self {
        let n = series.len();
        let mean = series.iter().sum::<f64>() / n.max(1) as f64;
        let product = |lag: usize| -> f64 {
            series.iter().zip(&series[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum()
        };
        let variance = if n > 0 { product(0) } else { 0.0 };
        let (mut sum, mut lags) = (1.0f64, 0);
        while variance > 0.0 && (lags as f64) < WINDOW * sum.max(1.0) && lags + 1 < n {
            lags += 1;
            sum += 2.0 * product(lags) / variance;
        }
        let parts = sum.max(1.0);
        let error = (2.0 * (2.0 * lags.max(WINDOW as usize) as f64 + 1.0) / n.max(1) as f64).sqrt();
        CorrelationTime { parts, at_most: parts * (1.0 + UPPER * error) }
    }

    /// Returns the one with the larger upper limit.
    #[must_use]
    pub fn with_larger_limit(self, other: Self) -> Self {
        if other.at_most > self.at_most { other } else { self }
    }

    /// Returns the number of cosines that a series of this many parts allows, before it is limited to 4 to 32.
    #[must_use]
    pub fn cosine_count(&self, parts: usize) -> f64 {
        DENSITY * parts as f64 / self.at_most
    }

    /// Returns the degrees of freedom of a series of `parts` parts; `None` if it is too short for its dependence.
    #[must_use]
    pub fn degrees_of_freedom(&self, parts: usize) -> Option<usize> {
        let room = self.cosine_count(parts);
        (room >= FEWEST).then_some((room as usize).min(MOST))
    }
}

/// Returns the variance of the sum of a centred series, from its first `degrees` cosines. It is at least that of
/// independent values.
#[must_use]
pub fn variance_of_sum(series: &[f64], degrees: usize) -> f64 {
    let n = series.len() as f64;
    let coefficient = |i: usize| {
        // cos(step (j + 1/2)), j = 0, 1, ..., each from the two before.
        let step = std::f64::consts::PI * i as f64 / n;
        let (mut now, mut before) = ((step / 2.0).cos(), (step / 2.0).cos());
        let turn = 2.0 * step.cos();
        let sum = series.iter().fold(0.0, |sum, y| {
            let sum = sum + y * now;
            (now, before) = (turn * now - before, now);
            sum
        });
        2.0 * sum * sum
    };
    let slow = (1..=degrees).map(coefficient).sum::<f64>() / degrees as f64;
    let independent = series.iter().map(|y| y * y).sum::<f64>() * n / (n - 1.0).max(1.0);
    slow.max(independent)
}

/// Ratio to the 90 % quantile above which values are outstanding.
const OUTSTANDING: f64 = 3.0;
/// Share of the sum of squares above which outstanding values decide.
const DECIDES: f64 = 0.5;
/// Share above which they get the weight that they may well have in other such runs.
const MATTERS: f64 = 0.15;
/// Chance that they are more than that.
const MORE: f64 = 0.05;

/// Concentration of the sum of squares of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Participation {
    /// Number of values of equal weight with the same sum of squares; of the outstanding values alone where
    /// these decide. Small if a burst or two decide.
    pub equal: f64,
    /// Possible addition of outstanding values to the variance of the sum, beyond their part of it here: a
    /// few values do not determine the number and size of their kind.
    pub may_add: f64,
}

/// Returns how many values carry the sum of squares of a centred series, and what outstanding ones may add.
#[must_use]
pub fn participation(series: &[f64]) -> Participation {
    let sums = |least: f64| {
        let of = series.iter().filter(|d| d.abs() > least);
        of.fold((0.0, 0.0), |(squares, fourths), d| (squares + d * d, fourths + d.powi(4)))
    };
    let equal =
        |(squares, fourths): (f64, f64)| if fourths > 0.0 { squares * squares / fourths } else { 0.0 };
    let all = sums(0.0);
    let mut sizes: Vec<f64> = series.iter().map(|d| d.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let out = sums(OUTSTANDING * sizes.get(sizes.len() * 9 / 10).copied().unwrap_or(0.0));
    let few = equal(out);
    let least = ChiSquared::new(few).map_or(f64::INFINITY, |law| law.inverse_cdf(MORE));
    let may_add = if out.0 > MATTERS * all.0 { out.0 * (few / least - 1.0).max(0.0) } else { 0.0 };
    let equal = if out.0 > DECIDES * all.0 { equal(all).min(few) } else { equal(all) };
    Participation { equal, may_add }
}

/// Degrees of freedom from which Student's law is normal to three digits.
pub const NORMAL_FROM: usize = 1_000;

/// Returns the half-width, in standard errors, of an interval that is wrong with chance `level` (Student's t).
#[must_use]
pub fn student_quantile(level: f64, degrees: usize) -> f64 {
    let p = 1.0 - level / 2.0;
    if degrees >= NORMAL_FROM {
        return Normal::standard().inverse_cdf(p);
    }
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Returns an AR(1) series with this correlation from one value to the next.
    fn series(seed: u64, correlation: f64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut level = random.normal();
        let noise = (1.0 - correlation * correlation).sqrt();
        (0..count)
            .map(|_| {
                level = correlation * level + noise * random.normal();
                level
            })
            .collect()
    }

    fn centred(mut series: Vec<f64>) -> Vec<f64> {
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        series.iter_mut().for_each(|v| *v -= mean);
        series
    }

    #[test]
    fn the_correlation_time_is_that_of_the_process() {
        // (1 + r) / (1 - r) of an AR(1) process.
        for (correlation, time) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mean = (0..50)
                .map(|seed| CorrelationTime::from_series(&series(seed, correlation, 512)).parts)
                .sum::<f64>()
                / 50.0;
            assert!((mean / time - 1.0).abs() < 0.15, "{correlation}: {mean}");
            let held = (0..50)
                .filter(|s| CorrelationTime::from_series(&series(*s, correlation, 512)).at_most >= time);
            assert!(held.count() >= 40, "{correlation}");
        }
    }

    #[test]
    fn the_variance_of_the_sum_is_that_of_the_process() {
        for correlation in [0.0, 0.5, 0.8f64] {
            let true_variance = 512.0 * (1.0 + correlation) / (1.0 - correlation);
            let found = (0..200).map(|s| variance_of_sum(&centred(series(s, correlation, 512)), 12));
            let mean = found.sum::<f64>() / 200.0;
            assert!((mean / true_variance - 1.0).abs() < 0.2, "{correlation}: {mean} {true_variance}");
        }
    }

    #[test]
    fn a_run_as_short_as_its_dependence_gives_nothing() {
        let slow: Vec<f64> = (0..256).map(|k| (f64::from(k) / 40.0).sin()).collect();
        assert_eq!(CorrelationTime::from_series(&slow).degrees_of_freedom(256), None);
        assert_eq!(CorrelationTime::from_series(&series(1, 0.0, 256)).degrees_of_freedom(256), Some(32));
        assert_eq!(CorrelationTime::from_series(&[]).degrees_of_freedom(0), None);
        assert_eq!(CorrelationTime::from_series(&[5.0; 300]).parts, 1.0);
    }

    #[test]
    fn one_burst_does_not_participate_much() {
        let mut flat = vec![1.0; 100];
        assert!((participation(&flat).equal - 100.0).abs() < 1e-9 && participation(&flat).may_add == 0.0);
        flat[3] = 6.0;
        let two = participation(&flat);
        assert!(two.equal > 10.0 && two.may_add > 100.0 * 36.0, "{two:?}");
        flat[3] = 100.0;
        assert!(participation(&flat).equal < 1.1 && participation(&[0.0; 9]).equal == 0.0);
    }

    #[test]
    fn students_quantiles_are_the_usual_ones() {
        assert!(
            (student_quantile(0.05, 4) - 2.776).abs() < 1e-3
                && (student_quantile(0.05, 32) - 2.037).abs() < 1e-3
        );
        assert!(
            (student_quantile(0.05, 999) - 1.962).abs() < 1e-3
                && (student_quantile(0.05, 100_000_000) - 1.960).abs() < 1e-3
        );
    }
}
