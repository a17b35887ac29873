//! Fixed points and growth of a linear map, by the subspace of its powers.

use nalgebra::{DMatrix, DVector};

/// An orthonormal basis of the powers of a map applied to a vector, and the map in it.
pub struct Powers {
    basis: Vec<DVector<f64>>,
    map: DMatrix<f64>,
    size: f64,
}

impl Powers {
    pub fn new(map: &impl Fn(&DVector<f64>) -> DVector<f64>, begin: &DVector<f64>, most: usize) -> Powers {
        let size = begin.norm();
        let mut basis = vec![begin / size];
        let most = most.min(begin.len());
        let mut inside = DMatrix::zeros(most + 1, most);
        for k in 0..most {
            let mut next = map(&basis[k]);
            let before = next.norm();
            for _ in 0..2 {
                for (i, vector) in basis.iter().enumerate() {
                    let part = vector.dot(&next);
                    inside[(i, k)] += part;
                    next.axpy(-part, vector, 1.0);
                }
            }
            let rest = next.norm();
            if rest <= 1e-14 * before {
                let inside = inside.view((0, 0), (k + 2, k + 1)).into_owned();
                return Powers { basis, map: inside, size };
            }
            inside[(k + 1, k)] = rest;
            basis.push(next / rest);
        }
        Powers { basis, map: inside, size }
    }

    /// The growth of a very high power.
    pub fn radius(&self) -> f64 {
        let k = self.map.ncols();
        let mut power = self.map.rows(0, k).into_owned();
        let mut log = 0.0;
        for squaring in 0..60 {
            let norm = power.norm();
            if norm == 0.0 {
                return 0.0;
            }
            log += norm.ln() * 0.5f64.powi(squaring);
            power /= norm;
            power = &power * &power;
        }
        log.exp()
    }

    /// Least-squares solution of x = map x + begin.
    fn fixed(&self) -> Option<DVector<f64>> {
        let k = self.map.ncols();
        let triangle = (DMatrix::<f64>::identity(k + 1, k) - &self.map).qr();
        let mut right = DVector::zeros(k + 1);
        right[0] = self.size;
        triangle.q_tr_mul(&mut right);
        let weights = triangle.r().solve_upper_triangular(&right.rows(0, k).into_owned())?;
        let mut x = DVector::zeros(self.basis[0].len());
        weights.iter().zip(&self.basis).for_each(|(weight, vector)| x.axpy(*weight, vector, 1.0));
        Some(x)
    }
}

/// Solves x = map x + b, repeatedly for the remainder.
pub fn fixed_point(map: &impl Fn(&DVector<f64>) -> DVector<f64>, b: &DVector<f64>) -> Option<DVector<f64>> {
    let (mut x, mut left) = (DVector::zeros(b.len()), b.clone());
    for _ in 0..40 {
        x += Powers::new(map, &left, 120).fixed()?;
        left = b - &x + map(&x);
        if left.norm() < 1e-13 * b.norm() {
            return Some(x);
        }
    }
    (left.norm() < 1e-9 * b.norm()).then_some(x)
}
