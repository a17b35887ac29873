//! From a sampled description to the continuous plant behind it.

use nalgebra::DMatrix;

use super::numeric::{exponential, is_finite};

const MOST_ROOTS: u32 = 60;
/// Most steps of one square root; it converges quadratically.
const MOST_STEPS: usize = 60;
/// Distance from one at which the series of the logarithm needs few terms.
const NEAR: f64 = 0.1;
/// Largest difference of a logarithm's exponential from the matrix; beyond it there is no logarithm.
const AGREES: f64 = 1e-8;

/// A and B of the continuous plant that is `phi` and `gamma` when sampled each `period_s`; `None` if none is. The
/// logarithm of [[phi, gamma], [0, 1]] (Franklin, Powell and Workman, *Digital Control of Dynamic Systems*, 4.3,
/// backwards). With a pole at zero or on the negative real axis there is no such plant of this order.
pub(super) fn continuous_from_sampled(
    phi: &DMatrix<f64>,
    gamma: &DMatrix<f64>,
    period_s: f64,
) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
    let (n, m) = gamma.shape();
    let mut whole = DMatrix::identity(n + m, n + m);
    whole.view_mut((0, 0), (n, n)).copy_from(phi);
    whole.view_mut((0, n), (n, m)).copy_from(gamma);
    let log = logarithm(&whole)?;
    let apart = (exponential(&log) - &whole).amax();
    // The lower rows are zero but for rounding.
    let is_one = is_finite(&log) && apart <= AGREES * whole.amax();
    is_one.then(|| {
        let scaled = log / period_s;
        (scaled.view((0, 0), (n, n)).into_owned(), scaled.view((0, n), (n, m)).into_owned())
    })
}

/// The principal logarithm, by square roots and the series of the inverse hyperbolic tangent (Higham, *Functions of Matrices*,
/// 2008, chapter 11).
fn logarithm(matrix: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let one = DMatrix::identity(matrix.nrows(), matrix.nrows());
    let (mut root, mut roots) = (matrix.clone(), 0);
    while (&root - &one).norm() > NEAR {
        root = square_root(&root)?;
        roots += 1;
        if roots > MOST_ROOTS {
            return None;
        }
    }
    // log X = 2 artanh((X - 1)(X + 1)^-1)
    let ratio = (&root + &one).try_inverse()? * (&root - &one);
    let square = &ratio * &ratio;
    let (mut power, mut sum) = (ratio.clone(), ratio);
    for odd in (3..40).step_by(2) {
        power = &power * &square;
        sum += &power / f64::from(odd);
    }
    Some(sum * 2f64.powi(roots as i32 + 1))
}

/// The principal square root (Denman and Beavers 1976, with Cheng, Higham, Kenney and Laub's product form of 2001).
fn square_root(matrix: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let one = DMatrix::identity(matrix.nrows(), matrix.nrows());
    let (mut product, mut root) = (matrix.clone(), matrix.clone());
    for _ in 0..MOST_STEPS {
        let inverse = product.clone().try_inverse()?;
        root = &root * (&one + &inverse) * 0.5;
        product = (&one + (&product + inverse) * 0.5) * 0.5;
        if !is_finite(&root) {
            return None;
        }
        if (&product - &one).norm() < 1e-15 * matrix.nrows() as f64 {
            return Some(root);
        }
    }
    // Rounding prevents convergence: the exponential shows how good the root is.
    Some(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampled_from_continuous(
        a: &DMatrix<f64>,
        b: &DMatrix<f64>,
        period_s: f64,
    ) -> (DMatrix<f64>, DMatrix<f64>) {
        let (n, m) = b.shape();
        let mut whole = DMatrix::zeros(n + m, n + m);
        whole.view_mut((0, 0), (n, n)).copy_from(a);
        whole.view_mut((0, n), (n, m)).copy_from(b);
        let all = exponential(&(whole * period_s));
        (all.view((0, 0), (n, n)).into_owned(), all.view((0, n), (n, m)).into_owned())
    }

    #[test]
    fn double_integrators_and_fast_poles_come_back() {
        let a = DMatrix::from_row_slice(3, 3, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -2_000.0]);
        let b = DMatrix::from_row_slice(3, 1, &[0.0, 0.0, 1.0]);
        let (phi, gamma) = sampled_from_continuous(&a, &b, 1e-3);
        let (back_a, back_b) = continuous_from_sampled(&phi, &gamma, 1e-3).unwrap();
        assert!((back_a - &a).amax() < 1e-6 * a.amax() && (back_b - b).amax() < 1e-6);
    }

    #[test]
    fn what_no_continuous_plant_does_is_refused() {
        let one = DMatrix::from_element(1, 1, 1.0);
        for pole in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(continuous_from_sampled(&(&one * pole), &one, 1e-3), None, "{pole}");
        }
    }

    proptest! {
        #[test]
        fn sampling_is_undone(
            a in prop::collection::vec(-30.0f64..30.0, 9), b in prop::collection::vec(-5.0f64..5.0, 6), period_s in 1e-3f64..2e-2
        ) {
            let (a, b) = (DMatrix::from_row_slice(3, 3, &a), DMatrix::from_row_slice(3, 2, &b));
            let (phi, gamma) = sampled_from_continuous(&a, &b, period_s);
            let (back_a, back_b) = continuous_from_sampled(&phi, &gamma, period_s).unwrap();
            prop_assert!((back_a - &a).amax() < 1e-7 * a.amax().max(1.0));
            prop_assert!((back_b - &b).amax() < 1e-7 * b.amax().max(1.0));
        }
    }
}
