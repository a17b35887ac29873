//! The discrete-time algebraic Riccati equation.

use nalgebra::DMatrix;

use jitterlab_model::Error;

use super::numeric::{complex, eigenvalues};

/// The stabilising solution X of the discrete algebraic Riccati equation, and the gain L. X = A'XA + Q - (A'XB + N)(R +
/// B'XB)^-1 (B'XA + N') and L = (R + B'XB)^-1 (B'XA + N'), by the structure-preserving doubling algorithm (Chu, Fan,
/// Lin and Wang 2004).
///
/// # Errors
/// No stabilising solution: something unstable that the input cannot reach or the cost does not see.
pub(super) fn dare(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    q: &DMatrix<f64>,
    r: &DMatrix<f64>,
    cross: &DMatrix<f64>,
) -> Result<(DMatrix<f64>, DMatrix<f64>), Error> {
    let x = match r.clone().cholesky() {
        Some(r) => solve_by_doubling(a, b, q, &r.inverse(), cross),
        // An input that is used only after the period (a delay of all of it) has no weight within it.
        None => solve_by_iteration(a, b, q, r, cross),
    }
    .ok_or_else(not_stabilised)?;
    let weight = r + b.transpose() * &x * b;
    let gain = weight.lu().solve(&(b.transpose() * &x * a + cross.transpose())).ok_or_else(not_stabilised)?;
    let closed = a - b * &gain;
    let stable = eigenvalues(complex(&closed)).is_some_and(|all| all.iter().all(|z| z.norm() < 1.0 + 1e-9));
    if !stable {
        return Err(not_stabilised());
    }
    Ok((x, gain))
}

fn not_stabilised() -> Error {
    Error::bad_use(
        "no controller of this kind stabilises the plant: some unstable part of it is not reached by the input, not seen by the \
         output, or has no weight in the cost",
    )
}

/// Change at which an iteration has converged, relative to the largest element.
const CONVERGED: f64 = 1e-14;

fn symmetric(m: &DMatrix<f64>) -> DMatrix<f64> {
    (m + m.transpose()) * 0.5
}

/// Solution X of the discrete algebraic Riccati equation by doubling; `None` if it does not converge.
fn solve_by_doubling(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    q: &DMatrix<f64>,
    r_inverse: &DMatrix<f64>,
    cross: &DMatrix<f64>,
) -> Option<DMatrix<f64>> {
    let n = a.nrows();
    // Without the cross term.
    let mut x = q - cross * r_inverse * cross.transpose();
    let mut m = a - b * r_inverse * cross.transpose();
    let mut g = b * r_inverse * b.transpose();
    for _ in 0..60 {
        let inverse = (DMatrix::identity(n, n) + &g * &x).try_inverse()?;
        let next_m = &m * &inverse * &m;
        let next_g = &g + &m * &inverse * &g * m.transpose();
        let next_x = &x + m.transpose() * &x * &inverse * &m;
        let change = (&next_x - &x).amax();
        (m, g, x) = (next_m, symmetric(&next_g), symmetric(&next_x));
        if !x.amax().is_finite() {
            return None;
        }
        if change <= CONVERGED * x.amax() {
            return Some(x);
        }
    }
    None
}

/// Solution X of that equation by the Riccati recursion, without an inverse of R; `None` if it does not converge.
fn solve_by_iteration(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    q: &DMatrix<f64>,
    r: &DMatrix<f64>,
    cross: &DMatrix<f64>,
) -> Option<DMatrix<f64>> {
    let n = a.nrows();
    let mut x = DMatrix::identity(n, n) * q.amax().max(1.0);
    for _ in 0..200_000 {
        let weight = (r + b.transpose() * &x * b).cholesky()?;
        let across = a.transpose() * &x * b + cross;
        let next = symmetric(&(a.transpose() * &x * a + q - &across * weight.solve(&across.transpose())));
        let change = (&next - &x).amax();
        x = next;
        if !x.amax().is_finite() {
            return None;
        }
        if change <= CONVERGED * x.amax() {
            return Some(x);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_equation_has_its_known_root() {
        // x = x + 1 - x^2/(1 + x)  =>  x = (1 + sqrt 5)/2
        let one = DMatrix::from_element(1, 1, 1.0);
        let (x, l) = dare(&one, &one, &one, &one, &(&one * 0.0)).unwrap();
        let golden = 0.5 * (1.0 + 5f64.sqrt());
        assert!((x[(0, 0)] - golden).abs() < 1e-12);
        assert!((l[(0, 0)] - golden / (1.0 + golden)).abs() < 1e-12);
    }

    #[test]
    fn the_equation_holds_with_a_cross_term() {
        let a = DMatrix::from_row_slice(2, 2, &[1.1, 0.2, 0.0, 0.9]);
        let b = DMatrix::from_row_slice(2, 1, &[0.1, 1.0]);
        let q = DMatrix::from_row_slice(2, 2, &[1.0, 0.1, 0.1, 0.5]);
        let r = DMatrix::from_element(1, 1, 0.3);
        let n = DMatrix::from_row_slice(2, 1, &[0.05, 0.02]);
        let (x, l) = dare(&a, &b, &q, &r, &n).unwrap();
        let rest = a.transpose() * &x * &a + &q - (a.transpose() * &x * &b + &n) * l - &x;
        assert!(rest.amax() < 1e-12);
    }

    #[test]
    fn an_unreachable_unstable_part_is_refused() {
        let a = DMatrix::from_row_slice(2, 2, &[1.5, 0.0, 0.0, 0.5]);
        let b = DMatrix::from_row_slice(2, 1, &[0.0, 1.0]);
        let one = DMatrix::identity(2, 2);
        let message = dare(&a, &b, &one, &DMatrix::identity(1, 1), &DMatrix::zeros(2, 1)).unwrap_err();
        assert!(message.to_string().contains("stabilises"));
    }
}
