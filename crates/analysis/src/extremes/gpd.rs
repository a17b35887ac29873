//! The generalised Pareto distribution of excesses over a high threshold: F(y) = 1 - (1 + xi y / sigma)^(-1/xi)
//! (Pickands, Ann. Stat. 1975; Coles 2001 chapter 4).

use serde::Serialize;

/// Shapes this close to 0 are exponential: the general formulas lose their digits there.
const EXPONENTIAL: f64 = 1e-8;

/// A generalised Pareto distribution. `shape` (xi) < 0 has an end at sigma / -xi, 0 is exponential, > 0 has a heavy tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gpd {
    /// sigma, in the unit of the excesses, above 0.
    pub scale: f64,
    /// xi.
    pub shape: f64,
}

impl Gpd {
    /// Fits by L-moments (Hosking & Wallis 1987); `None` for fewer than 2 excesses, or without variation. xi = 2 -
    /// l1/l2, sigma = l1 (l1/l2 - 1); `excesses` are in ascending order and not below 0.
    ///
    /// A fit that ends below the largest observed excess is repaired: its shape is raised until the end is
    /// there, at the same mean.
    pub fn fit_l_moments(excesses: &[f64]) -> Option<Gpd> {
        let (l1, l2) = l_moments(excesses)?;
        let ratio = l1 / l2;
        Gpd { scale: l1 * (ratio - 1.0), shape: 2.0 - ratio }
            .if_valid()?
            .extended_to(*excesses.last()?, l1)
            .if_valid()
    }

    /// Returns the probability of an excess up to `y`.
    pub fn cdf(&self, y: f64) -> f64 {
        1.0 - self.survival(y)
    }

    /// Returns the probability of an excess above `y`.
    pub fn survival(&self, y: f64) -> f64 {
        if y <= 0.0 {
            return 1.0;
        }
        if self.shape.abs() < EXPONENTIAL {
            return (-y / self.scale).exp();
        }
        let base = 1.0 + self.shape * y / self.scale;
        if base <= 0.0 { 0.0 } else { base.powf(-1.0 / self.shape) }
    }

    /// Returns the excess that is exceeded with probability `q` (0 < q <= 1).
    pub fn excess_exceeded_with(&self, q: f64) -> f64 {
        if self.shape.abs() < EXPONENTIAL {
            return -self.scale * q.ln();
        }
        self.scale / self.shape * (-self.shape * q.ln()).exp_m1()
    }

    /// Returns the largest possible excess, if there is one.
    pub fn largest_excess(&self) -> Option<f64> {
        (self.shape < -EXPONENTIAL).then(|| -self.scale / self.shape)
    }

    /// Returns the excess that, with probability `confidence`, none of `horizon` further values exceeds. The share
    /// `rate` of all values exceeds the threshold: (sigma/xi)((rate/p)^xi - 1) with p = 1 - confidence^(1/horizon)
    /// (Coles 2001 eq. 4.12).
    pub fn level_of_maximum(&self, rate: f64, horizon: f64, confidence: f64) -> f64 {
        let p = -(confidence.ln() / horizon).exp_m1();
        if p >= rate { 0.0 } else { self.excess_exceeded_with(p / rate) }
    }

    /// Returns Anderson and Darling's statistic of ascending excesses against this distribution. The tail has the same
    /// weight as the body. Probabilities within 1e-12 of 0 or 1 count as that far from them.
    pub fn anderson_darling(&self, excesses: &[f64]) -> f64 {
        let n = excesses.len();
        let sum: f64 = (0..n)
            .map(|i| {
                let (low, high) = (self.cdf(excesses[i]), self.survival(excesses[n - 1 - i]));
                (2 * i + 1) as f64 * (low.max(1e-12).ln() + high.max(1e-12).ln())
            })
            .sum();
        -(n as f64) - sum / n as f64
    }

    /// Returns it as it is, or one of the same mean that ends at `largest`, if it ends below.
    fn extended_to(self, largest: f64, mean: f64) -> Gpd {
        match self.largest_excess() {
            Some(end) if end < largest && largest > mean => {
                // end = sigma / -xi and mean = sigma / (1 - xi)
                let shape = -mean / (largest - mean);
                Gpd { scale: mean * (1.0 - shape), shape }
            }
            _ => self,
        }
    }

    fn if_valid(self) -> Option<Gpd> {
        (self.scale > 0.0 && self.scale.is_finite() && self.shape.is_finite()).then_some(self)
    }
}

/// Returns the first two L-moments l1, l2 of values in ascending order; `None` for fewer than 2, or if l2 is 0.
/// Unbiased: l1 = b0, l2 = 2 b1 - b0 (Hosking, JRSS B 1990).
pub fn l_moments(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len() as f64;
    if sorted.len() < 2 {
        return None;
    }
    let (mut b0, mut b1) = (0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        b0 += x / n;
        b1 += i as f64 / (n - 1.0) * x / n;
    }
    let l2 = 2.0 * b1 - b0;
    (b0 > 0.0 && l2 > 1e-9 * b0).then_some((b0, l2))
}

/// Returns standard deviation over mean (divisor n - 1); `None` for fewer than 2 values. 1 for an exponential tail,
/// below for a bounded one, above for a heavy one.
pub fn coefficient_of_variation(excesses: &[f64]) -> Option<f64> {
    let n = excesses.len() as f64;
    let mean = excesses.iter().sum::<f64>() / n;
    let variance = excesses.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (excesses.len() > 1 && mean > 0.0).then(|| variance.sqrt() / mean)
}

#[cfg(test)]
mod tests;
