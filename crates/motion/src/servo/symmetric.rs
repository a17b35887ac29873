//! Symmetric matrices as vectors, and linear maps of them.
//!
//! The vector has the diagonal and, times the root of two, the elements above it. The product of two vectors
//! is then the trace of the product of the matrices, and the adjoint of a map is its transpose. A covariance
//! of n states needs n (n + 1)/2 numbers instead of n^2.

use std::f64::consts::SQRT_2;

use nalgebra::{DMatrix, DVector};

/// Length of the vector of a matrix of this order.
pub(super) fn vector_length(order: usize) -> usize {
    order * (order + 1) / 2
}

/// Rows and columns in the order of the vector.
fn element_indices(order: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..order).flat_map(move |j| (0..=j).map(move |i| (i, j)))
}

/// Factor of an element: 1 on the diagonal, else the square root of 2.
fn element_weight(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { SQRT_2 }
}

/// Diagonal of a symmetric matrix and, times the square root of 2, the elements above it.
pub(super) fn weighted_vector(m: &DMatrix<f64>) -> DVector<f64> {
    let order = m.nrows();
    DVector::from_iterator(
        vector_length(order),
        element_indices(order).map(|(i, j)| element_weight(i, j) * 0.5 * (m[(i, j)] + m[(j, i)])),
    )
}

/// Symmetric matrix of a [`weighted_vector`].
pub(super) fn to_matrix(v: &[f64], order: usize) -> DMatrix<f64> {
    let mut m = DMatrix::zeros(order, order);
    for ((i, j), value) in element_indices(order).zip(v) {
        m[(i, j)] = value / element_weight(i, j);
        m[(j, i)] = m[(i, j)];
    }
    m
}

/// Adds `share` times the map X -> F X F' of vectors to a matrix.
pub(super) fn add_congruence(to: &mut DMatrix<f64>, f: &DMatrix<f64>, share: f64) {
    let order = f.nrows();
    let size = vector_length(order);
    let data = to.as_mut_slice();
    for ((k, l), column) in element_indices(order).zip(data.chunks_exact_mut(size)) {
        let (fk, fl) = (f.column(k), f.column(l));
        let scale = share / element_weight(k, l);
        // A diagonal element enters once, one above the diagonal from both sides.
        let twice = if k == l { 0.5 } else { 1.0 };
        for ((i, j), value) in element_indices(order).zip(column) {
            *value += scale * twice * element_weight(i, j) * (fk[i] * fl[j] + fl[i] * fk[j]);
        }
    }
}

pub(super) fn identity_vector(order: usize) -> DVector<f64> {
    weighted_vector(&DMatrix::identity(order, order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_vectors_are_those_of_matrices() {
        let f = DMatrix::from_row_slice(3, 3, &[1.0, 2.0, -1.0, 0.5, 0.0, 3.0, 0.0, 1.0, -2.0]);
        let x = DMatrix::from_row_slice(3, 3, &[2.0, 0.3, 0.1, 0.3, 1.0, -0.4, 0.1, -0.4, 0.7]);
        let mut map = DMatrix::zeros(6, 6);
        add_congruence(&mut map, &f, 0.5);
        let moved = to_matrix((&map * weighted_vector(&x)).as_slice(), 3);
        assert!((moved - &f * &x * f.transpose() * 0.5).amax() < 1e-14);
        let back = to_matrix((map.transpose() * weighted_vector(&x)).as_slice(), 3);
        assert!((back - f.transpose() * &x * &f * 0.5).amax() < 1e-14);
        assert!(
            (weighted_vector(&x).dot(&weighted_vector(&f)) - 0.5 * (&x * (&f + f.transpose())).trace()).abs()
                < 1e-14
        );
    }
}
