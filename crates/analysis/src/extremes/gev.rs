//! The generalised extreme value distribution of block maxima, the other view of the same tail: if excesses are
//! generalised Pareto, maxima of blocks have this distribution with the same shape (Coles 2001 chapter 3).

use serde::{Deserialize, Serialize};
use statrs::function::gamma::gamma;

use crate::extremes::likelihood::{golden_maximum, standard_errors};

/// A generalised extreme value distribution: F(x) = exp(-(1 + xi (x - mu) / sigma)^(-1/xi)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gev {
    /// mu.
    pub location: f64,
    /// sigma, above 0.
    pub scale: f64,
    /// xi, with the sign of [`Gpd::shape`](super::Gpd).
    pub shape: f64,
}

const GUMBEL: f64 = 1e-8;

impl Gev {
    /// Fits by L-moments with Hosking's approximation for the shape (Hosking, Wallis & Wood, Technometrics 1985).
    /// `maxima` in ascending order. `None` for fewer than 3, or without variation.
    pub fn by_l_moments(maxima: &[f64]) -> Option<Gev> {
        let n = maxima.len() as f64;
        if maxima.len() < 3 {
            return None;
        }
        let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
        for (i, x) in maxima.iter().enumerate() {
            let i = i as f64;
            b0 += x / n;
            b1 += i / (n - 1.0) * x / n;
            b2 += i * (i - 1.0) / ((n - 1.0) * (n - 2.0)) * x / n;
        }
        let l2 = 2.0 * b1 - b0;
        if l2 <= 0.0 {
            return None;
        }
        let skewness = (6.0 * b2 - 6.0 * b1 + b0) / l2;
        let c = 2.0 / (3.0 + skewness) - 2f64.ln() / 3f64.ln();
        let k = 7.859 * c + 2.955_4 * c * c; // -xi, to 9e-4
        let (scale, shift) = if k.abs() < 1e-6 {
            let scale = l2 / 2f64.ln();
            (scale, -0.577_215_664_901_532_9 * scale)
        } else {
            let scale = l2 * k / ((1.0 - 2f64.powf(-k)) * gamma(1.0 + k));
            (scale, scale * (gamma(1.0 + k) - 1.0) / k)
        };
        let gev = Gev { location: b0 + shift, scale, shape: -k };
        (gev.scale > 0.0 && gev.shape.is_finite() && gev.location.is_finite()).then_some(gev)
    }

    /// Fits by maximum likelihood: nested one-dimensional searches from the fit by L-moments. `maxima` in ascending
    /// order.
    pub fn by_maximum_likelihood(maxima: &[f64]) -> Option<Gev> {
        let mut best = Gev::by_l_moments(maxima)?;
        let spread = best.scale;
        for width in [0.5, 0.1, 0.02, 0.004, 1e-3, 1e-4] {
            for _ in 0..60 {
                let before = best;
                let refine = |set: &dyn Fn(f64) -> Gev, centre: f64, half: f64| {
                    set(golden_maximum(centre - half, centre + half, |v| set(v).log_likelihood(maxima)))
                };
                best = refine(&|shape| Gev { shape, ..best }, best.shape, width);
                best = refine(&|ln| Gev { scale: ln.exp(), ..best }, best.scale.ln(), width);
                best = refine(&|location| Gev { location, ..best }, best.location, width * spread);
                let gain = best.log_likelihood(maxima) - before.log_likelihood(maxima);
                if gain.is_nan() || gain <= 1e-12 {
                    break;
                }
            }
        }
        best.log_likelihood(maxima).is_finite().then_some(best)
    }

    /// Standard errors of location, scale and shape at a maximum-likelihood fit, from the observed information.
    pub fn standard_errors(&self, maxima: &[f64]) -> Option<[f64; 3]> {
        let at = |p: [f64; 3]| Gev { location: p[0], scale: p[1], shape: p[2] }.log_likelihood(maxima);
        standard_errors([self.location, self.scale, self.shape], [self.scale, self.scale, 1.0], at)
    }

    /// Natural logarithm of the likelihood; minus infinity if a value is impossible.
    pub fn log_likelihood(&self, maxima: &[f64]) -> f64 {
        let mut sum = -(maxima.len() as f64) * self.scale.ln();
        for x in maxima {
            let z = (x - self.location) / self.scale;
            let reduced = if self.shape.abs() < GUMBEL {
                z
            } else {
                let base = self.shape * z;
                if base <= -1.0 {
                    return f64::NEG_INFINITY;
                }
                base.ln_1p() / self.shape
            };
            sum -= (1.0 + self.shape) * reduced + (-reduced).exp();
        }
        sum
    }

    /// The level that one block in `blocks` exceeds (Coles 2001 eq. 3.4).
    pub fn return_level(&self, blocks: f64) -> f64 {
        let y = -(-1.0 / blocks).ln_1p();
        if self.shape.abs() < GUMBEL {
            return self.location - self.scale * y.ln();
        }
        self.location + self.scale / self.shape * (-self.shape * y.ln()).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::reference::PORT_PIRIE_M;
    use crate::reference::agrees;

    fn sorted() -> Vec<f64> {
        let mut levels = PORT_PIRIE_M.to_vec();
        levels.sort_by(f64::total_cmp);
        levels
    }

    /// Coles 2001 section 3.4.1.
    #[test]
    fn port_pirie_is_fitted_as_published() {
        let best = Gev::by_maximum_likelihood(&sorted()).unwrap();
        agrees(best.location, 3.8747, 4);
        agrees(best.scale, 0.19804, 5);
        agrees(best.shape, -0.0501, 4);
        agrees(best.log_likelihood(&sorted()), 4.339058, 6);
        for (found, published) in
            best.standard_errors(&sorted()).unwrap().into_iter().zip([0.0279, 0.0202, 0.0983])
        {
            agrees(found, published, 4);
        }
        agrees(best.return_level(10.0), 4.2962, 4);
        agrees(best.return_level(100.0), 4.6884, 4);
    }

    #[test]
    fn port_pirie_by_l_moments_is_as_computed() {
        let fit = Gev::by_l_moments(&sorted()).unwrap();
        agrees(fit.location, 3.8731724, 7);
        agrees(fit.scale, 0.2032676, 7);
        agrees(fit.shape, -0.0514771, 7);
    }

    #[test]
    fn what_cannot_be_fitted_is_not() {
        assert_eq!((Gev::by_l_moments(&[1.0, 2.0]), Gev::by_l_moments(&[1.0; 9])), (None, None));
    }
}
