//! Linear equations of maps, and their largest eigenvalues: of those too large for a matrix by the subspace of their powers.

use nalgebra::{DMatrix, DVector};

/// An orthonormal basis of span {v, A v, A^2 v, ...} and A on it (Arnoldi 1951, each vector orthogonalised again where little of it is left). It can
/// be made larger.
struct KrylovBasis {
    vectors: Vec<DVector<f64>>,
    /// Column k: A v_k in the vectors.
    columns: Vec<Vec<f64>>,
    exhausted: bool,
}

impl KrylovBasis {
    fn new(begin: &DVector<f64>) -> KrylovBasis {
        KrylovBasis { vectors: vec![begin.normalize()], columns: Vec::new(), exhausted: false }
    }

    /// Extends the orthonormal basis to `to` applications of the map (Arnoldi).
    fn extend(&mut self, map: &impl Fn(&DVector<f64>) -> DVector<f64>, to: usize) {
        while !self.exhausted && self.columns.len() < to {
            let mut next = map(&self.vectors[self.columns.len()]);
            let size = next.norm();
            let mut column = vec![0.0; self.vectors.len() + 1];
            let mut rest = size;
            loop {
                for (vector, part) in self.vectors.iter().zip(&mut column) {
                    let more = vector.dot(&next);
                    *part += more;
                    next.axpy(-more, vector, 1.0);
                }
                let before = std::mem::replace(&mut rest, next.norm());
                // If little is left, rounding of the removed part dominates it: once more.
                if rest.is_nan() || rest > 0.1 * before || rest <= size * 1e-15 {
                    break;
                }
            }
            // NaN ends it as well.
            self.exhausted = rest.is_nan() || rest <= size * 1e-15 || self.vectors.len() == next.len();
            if !self.exhausted {
                column[self.vectors.len()] = rest;
                self.vectors.push(next / rest);
            }
            self.columns.push(column);
        }
    }

    /// Hessenberg matrix H of the basis, (k + 1) x k: A V_k = V_(k+1) H.
    fn hessenberg(&self) -> DMatrix<f64> {
        let k = self.columns.len();
        DMatrix::from_fn(k + 1, k, |i, j| self.columns[j].get(i).copied().unwrap_or(0.0))
    }

    fn linear_combination(&self, weights: impl IntoIterator<Item = f64>) -> DVector<f64> {
        let mut sum = DVector::zeros(self.vectors[0].len());
        for (vector, weight) in self.vectors.iter().zip(weights) {
            sum.axpy(weight, vector, 1.0);
        }
        sum
    }
}

/// Maps up to this size are written out as a matrix.
const SMALL: usize = 120;

/// The matrix of a small map.
fn as_matrix(map: impl Fn(&DVector<f64>) -> DVector<f64>, size: usize) -> DMatrix<f64> {
    let unit = |i: usize| DVector::from_fn(size, |j, _| f64::from(u8::from(i == j)));
    let columns: Vec<DVector<f64>> = (0..size).map(|i| map(&unit(i))).collect();
    DMatrix::from_columns(&columns)
}

/// Solves x - A x = b to nearly the last digit; `None` where that fails, as for a singular equation.
pub(super) fn solve_fixed_point(
    map: impl Fn(&DVector<f64>) -> DVector<f64>,
    b: &DVector<f64>,
) -> Option<DVector<f64>> {
    let left = |x: &DVector<f64>| x - map(x);
    let triangles = as_matrix(left, b.len()).full_piv_lu();
    let first = triangles.solve(b)?;
    let x = &first + triangles.solve(&(b - left(&first)))?;
    let residual = (b - left(&x)).norm();
    (residual <= 1e-9 * b.norm() + 1e-12 * x.norm()).then_some(x)
}

/// Largest eigenvalue of a map that keeps a cone, as maps of covariances do. It is real, not negative, and as large as
/// the others' sizes (Krein and Rutman 1948). `begin` lies inside the cone. Infinite where the map is not of numbers.
pub(super) fn largest_eigenvalue(map: impl Fn(&DVector<f64>) -> DVector<f64>, begin: &DVector<f64>) -> f64 {
    const RESTARTS: usize = 20;
    const MOST: usize = SMALL;
    const ENOUGH: f64 = 1e-13;
    let size = begin.len();
    if size <= SMALL {
        // A small map is solved as a matrix, in which zeros stay zero.
        return radius_by_squaring(&as_matrix(map, size)).0;
    }
    let mut begin = begin.clone();
    let mut found = f64::NAN;
    for _ in 0..RESTARTS {
        let mut basis = KrylovBasis::new(&begin);
        for size in [20, 60, MOST] {
            basis.extend(&map, size);
            let k = basis.columns.len();
            let square = basis.hessenberg().rows(0, k).into_owned();
            let before = found;
            let (radius, power) = radius_by_squaring(&square);
            found = radius;
            let settled = (found - before).abs() <= ENOUGH * found;
            if basis.exhausted || settled || found == 0.0 || !found.is_finite() {
                return found;
            }
            if size < MOST {
                continue;
            }
            // Restart from the vector that high powers lead to.
            let lead = power.column(
                power
                    .column_iter()
                    .map(|c| c.norm())
                    .enumerate()
                    .fold((0, 0.0), |most, (i, norm)| if norm > most.1 { (i, norm) } else { most })
                    .0,
            );
            begin = basis.linear_combination(lead.iter().copied());
        }
    }
    found
}

pub(super) fn spectral_radius(matrix: &DMatrix<f64>) -> f64 {
    radius_by_squaring(matrix).0
}

/// Spectral radius of a matrix by the growth of its powers, and a high power of it. A QR iteration loses digits, or does not
/// end, where eigenvalues coincide, as those of delays at zero and of integrators at one do.
fn radius_by_squaring(matrix: &DMatrix<f64>) -> (f64, DMatrix<f64>) {
    const SQUARINGS: i32 = 48;
    let mut power = matrix.clone();
    let mut log_radius = 0.0;
    for squaring in 0..SQUARINGS {
        let norm = power.norm();
        if norm == 0.0 {
            return (0.0, power);
        }
        if !norm.is_finite() {
            return (f64::INFINITY, power);
        }
        log_radius += norm.ln() * 0.5f64.powi(squaring);
        power /= norm;
        let next = &power * &power;
        let trace = power.trace();
        if (&next - &power * trace).amax() < 1e-14 * trace {
            // One eigenvector is left.
            return (((matrix * &power).trace() / trace).abs(), power);
        }
        power = next;
    }
    (log_radius.exp(), power)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map with a slow pair of complex companions of nearly the size of the largest eigenvalue.
    fn map(size: usize) -> DMatrix<f64> {
        let mut m = DMatrix::from_fn(size, size, |i, j| 0.3 / (1.0 + (i as f64 - j as f64).abs()).powi(2));
        let scale = largest_eigenvalue(|x| &m * x, &DVector::from_element(size, 1.0));
        m /= scale / 0.99;
        m
    }

    #[test]
    fn equations_are_solved_and_eigenvalues_found() {
        for size in [1, 5, 200] {
            let m = map(size);
            let b = DVector::from_fn(size, |i, _| (i as f64).sin() + 1.0);
            let x = solve_fixed_point(|x| &m * x, &b).unwrap();
            assert!((&x - &m * &x - &b).norm() < 1e-12 * b.norm() * 100.0);
            let direct = (DMatrix::identity(size, size) - &m).lu().solve(&b).unwrap();
            assert!((x - &direct).norm() < 1e-9 * direct.norm());
            assert!((largest_eigenvalue(|x| &m * x, &b) - 0.99).abs() < 1e-11);
        }
    }

    #[test]
    fn the_shares_of_a_walk_are_found() {
        let size = 41;
        let step = |pi: &DVector<f64>| {
            let mut next = DVector::from_element(size, -pi.sum() / size as f64);
            for i in 0..size {
                next[i.saturating_sub(1)] += 0.9 * pi[i];
                next[(i + 1).min(size - 1)] += 0.1 * pi[i];
            }
            next
        };
        let pi = solve_fixed_point(step, &DVector::from_element(size, 1.0 / size as f64)).unwrap();
        assert!((pi[1] / pi[0] - 1.0 / 9.0).abs() < 1e-12 && (pi.sum() - 1.0).abs() < 1e-12, "{pi}");
    }

    #[test]
    fn a_rotation_s_companions_do_not_disturb() {
        let (s, c) = 0.01f64.sin_cos();
        let f = DMatrix::from_row_slice(2, 2, &[c, -s, s, c]) * 0.9;
        let k = f.kronecker(&f);
        let unit = DVector::from_vec(vec![1.0, 0.0, 0.0, 1.0]);
        assert!((largest_eigenvalue(|x| &k * x, &unit) - 0.81).abs() < 1e-12);
        let begin = DVector::from_vec(vec![2.0, 0.3, 0.3, 1.0]);
        assert!((largest_eigenvalue(|x| &k * x, &begin) - 0.81).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_solution_gives_none() {
        let one = DMatrix::identity(3, 3);
        assert_eq!(solve_fixed_point(|x| &one * x, &DVector::from_vec(vec![1.0, 2.0, 3.0])), None);
        let nan = DMatrix::from_element(3, 3, f64::NAN);
        assert_eq!(solve_fixed_point(|x| &nan * x, &DVector::from_vec(vec![1.0, 2.0, 3.0])), None);
    }
}
