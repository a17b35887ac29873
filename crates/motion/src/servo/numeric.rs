//! Linear algebra that ends on any numbers: the library's iterations need not when some are not finite.

use nalgebra::{Complex, DMatrix, DVector, Schur, SymmetricEigen, linalg::balancing};

/// Most iterations of an eigenvalue method; matrices of this room need some dozens.
const MOST_ITERATIONS: usize = 10_000;

/// Largest norm of an exponent: beyond it e^A overflows, or its squarings leave no digit.
const LARGEST_EXPONENT: f64 = 1e30;

const LARGEST_BALANCED: f64 = 1e100;

pub(super) fn is_finite(m: &DMatrix<f64>) -> bool {
    m.iter().all(|v| v.is_finite())
}

/// Terms of the series of e^A: for a norm of 1 the next is smaller than the rounding of the sum.
const TERMS: usize = 19;

/// e^A by scaling and squaring of its series (Moler and Van Loan 2003, method 3); not finite where it would overflow.
pub(super) fn exponential(a: &DMatrix<f64>) -> DMatrix<f64> {
    let norm = a.norm();
    if !a.amax().is_finite() || norm >= LARGEST_EXPONENT {
        return DMatrix::from_element(a.nrows(), a.ncols(), f64::NAN);
    }
    // Large costs beside small rates make the norm large, not the powers; more squarings than these need cost digits
    // (Al-Mohy and Higham 2009).
    let fourth = (a * a).pow(2);
    let size = fourth.norm().powf(0.25).max((&fourth * a).norm().powf(0.2)).min(norm);
    let squarings = size.max(1.0).log2().ceil() as i32;
    let scaled = a * 0.5_f64.powi(squarings);
    let one = DMatrix::identity(a.nrows(), a.ncols());
    let series = (1..=TERMS).rev().fold(one.clone(), |sum, term| &one + &scaled * sum / term as f64);
    (0..squarings).fold(series, |root, _| &root * &root)
}

/// Balances a matrix in place and returns the scales of its coordinates (Parlett and Reinsch 1969). A matrix
/// with squares that are not finite is not changed.
pub(super) fn balance(m: &mut DMatrix<f64>) -> DVector<f64> {
    if is_finite(m) && m.amax() < LARGEST_BALANCED {
        balancing::balance_parlett_reinsch(m)
    } else {
        DVector::from_element(m.nrows(), 1.0)
    }
}

/// Eigenvalues; `None` of a matrix that is not finite.
pub(super) fn eigenvalues(m: DMatrix<Complex<f64>>) -> Option<Vec<Complex<f64>>> {
    let finite = m.iter().all(|v| v.re.is_finite() && v.im.is_finite());
    let schur = finite.then(|| Schur::try_new(m, f64::EPSILON, MOST_ITERATIONS))??;
    Some(schur.unpack().1.diagonal().iter().copied().collect())
}

/// Smallest eigenvalue of a symmetric matrix; `None` of one that is not finite.
pub(super) fn smallest_eigenvalue(m: DMatrix<f64>) -> Option<f64> {
    let finite = is_finite(&m);
    finite
        .then(|| SymmetricEigen::try_new(m, f64::EPSILON, MOST_ITERATIONS))?
        .map(|found| found.eigenvalues.min())
}

pub(super) fn complex(m: &DMatrix<f64>) -> DMatrix<Complex<f64>> {
    m.map(|v| Complex::new(v, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_end_in_none() {
        for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            assert_eq!(
                balance(&mut DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1e300, -1e300])).as_slice(),
                [1.0, 1.0]
            );
            let mut m = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, bad, -1.0]);
            assert!(!is_finite(&exponential(&m)));
            assert_eq!(eigenvalues(complex(&m)), None);
            assert_eq!(smallest_eigenvalue(m.clone()), None);
            assert_eq!(balance(&mut m), DVector::from_element(2, 1.0));
        }
        assert!(!is_finite(&exponential(&DMatrix::from_element(1, 1, 1e300))));
    }

    #[test]
    fn exponentials_are_those_known_in_closed_form() {
        let near = |a: &[f64], expected: &[f64]| {
            let (n, scale) = (a.len().isqrt(), expected.iter().fold(0.0_f64, |most, v| most.max(v.abs())));
            let found = exponential(&DMatrix::from_row_slice(n, n, a));
            let off = (found - DMatrix::from_row_slice(n, n, expected)).amax();
            assert!(off < 1e-13 * scale, "{a:?}: {off}");
        };
        near(&[0.0], &[1.0]);
        near(&[-30.0, 0.0, 0.0, 5.0], &[(-30.0_f64).exp(), 0.0, 0.0, 5.0_f64.exp()]);
        let (sine, cosine) = 40.0_f64.sin_cos();
        near(&[0.0, 40.0, -40.0, 0.0], &[cosine, sine, -sine, cosine]);
        near(&[0.0, 7.0, 0.0, 0.0], &[1.0, 7.0, 0.0, 1.0]);
        // Moler and Van Loan's example of catastrophe for the unscaled series: eigenvalues -1 and -17.
        let [slow, fast] = [(-1.0_f64).exp(), (-17.0_f64).exp()];
        let expected = [
            -2.0 * slow + 3.0 * fast,
            1.5 * slow - 1.5 * fast,
            -4.0 * slow + 4.0 * fast,
            3.0 * slow - 2.0 * fast,
        ];
        near(&[-49.0, 24.0, -64.0, 31.0], &expected);
    }

    #[test]
    fn ordinary_matrices_have_their_eigenvalues() {
        let m = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]);
        assert!((smallest_eigenvalue(m.clone()).unwrap() + 1.0).abs() < 1e-12);
        let radius = eigenvalues(complex(&m)).unwrap().iter().map(|z| z.norm()).fold(0.0, f64::max);
        assert!((radius - 1.0).abs() < 1e-12);
    }
}
