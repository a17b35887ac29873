//! Effect of flows and events on the whole state, one after the other: only the rows that change are touched.

use nalgebra::DMatrix;

use super::flow_map::{CompactFlow, Flow};

/// Effect of an act: rows of the state that become sums of others, plus noise.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowUpdate {
    pub rows: Vec<usize>,
    /// For each of them the columns it is a sum of, with their factors.
    terms: Vec<Vec<(usize, f64)>>,
    /// Covariance that is added among them.
    noise: Vec<f64>,
}

impl RowUpdate {
    /// These rows become `gain` times the state, with noise of this covariance.
    pub fn new(rows: &[usize], gain: &DMatrix<f64>, noise: &DMatrix<f64>) -> RowUpdate {
        let terms = gain
            .row_iter()
            .map(|row| row.iter().copied().enumerate().filter(|(_, factor)| *factor != 0.0).collect());
        let noise = noise.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
        RowUpdate { rows: rows.to_vec(), terms: terms.collect(), noise: noise.collect() }
    }

    /// `fresh` = gain M, for M with `columns` columns.
    fn multiply(&self, m: &[f64], fresh: &mut [f64], columns: usize) {
        for (row, terms) in fresh.chunks_exact_mut(columns).zip(&self.terms) {
            row.fill(0.0);
            for (k, factor) in terms {
                row.iter_mut().zip(&m[k * columns..(k + 1) * columns]).for_each(|(r, v)| *r += factor * v);
            }
        }
    }

    /// New values of the updated rows of a state, without noise.
    pub fn new_values(&self, z: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.rows.len()];
        self.multiply(z, &mut values, 1);
        values
    }

    /// Applies the update to a covariance of order `size`, stored row by row; `fresh` is working memory.
    pub fn apply(&self, p: &mut [f64], fresh: &mut [f64], size: usize) {
        self.multiply(p, fresh, size);
        for (i, at) in self.rows.iter().enumerate() {
            for j in 0..size {
                p[at * size + j] = fresh[i * size + j];
                p[j * size + at] = fresh[i * size + j];
            }
        }
        let count = self.rows.len();
        for (i, at) in self.rows.iter().enumerate() {
            for (j, to) in self.rows.iter().enumerate() {
                let sum: f64 = self.terms[j].iter().map(|(k, factor)| factor * fresh[i * size + k]).sum();
                p[at * size + to] = sum + self.noise[i * count + j];
            }
        }
    }
}

/// Computes the first rows of a matrix with `columns` columns after the flow.
fn propagate_rows(
    m: &[f64],
    fresh: &mut [f64],
    columns: usize,
    states: usize,
    moving: usize,
    flow: &CompactFlow,
) {
    for (i, row) in fresh.chunks_exact_mut(columns).take(states).enumerate() {
        row.fill(0.0);
        let top = &flow.top[i * moving..(i + 1) * moving];
        for (t, from) in top.iter().zip(m.chunks_exact(columns)) {
            if *t != 0.0 {
                row.iter_mut().zip(from).for_each(|(r, v)| *r += t * v);
            }
        }
    }
}

/// Moves a covariance of this order through a stretch; returns the cost of it. Only the plant's rows and columns move.
pub(super) fn propagate_covariance(
    p: &mut [f64],
    fresh: &mut [f64],
    size: usize,
    (states, moving): (usize, usize),
    flow: &CompactFlow,
) -> f64 {
    let mut cost = flow.offset;
    for i in 0..moving {
        let weights = &flow.cost[i * moving..(i + 1) * moving];
        cost += weights.iter().zip(&p[i * size..i * size + moving]).map(|(w, v)| w * v).sum::<f64>();
    }
    propagate_rows(p, fresh, size, states, moving, flow);
    for i in 0..states {
        for j in 0..=i {
            let top = &flow.top[j * moving..(j + 1) * moving];
            let sum: f64 = top.iter().zip(&fresh[i * size..i * size + moving]).map(|(t, v)| t * v).sum();
            let value = sum + flow.noise[i * states + j];
            p[i * size + j] = value;
            p[j * size + i] = value;
        }
        for j in states..size {
            p[i * size + j] = fresh[i * size + j];
            p[j * size + i] = fresh[i * size + j];
        }
    }
    cost
}

/// A passage being put together: the map of the lasting part of the state, the noise so far, and the cost.
pub(super) struct PassageBuilder {
    size: usize,
    /// Columns of the map: parts that are set before they are used need none.
    lasting: usize,
    /// Plant states, and these with the held signals.
    moving: (usize, usize),
    map: Vec<f64>,
    noise: Vec<f64>,
    cost: Vec<f64>,
    offset: f64,
    fresh: Vec<f64>,
}

impl PassageBuilder {
    /// Starts with the identity, for a state of this size with these numbers of lasting and of moving parts.
    pub fn new(size: usize, lasting: usize, moving: (usize, usize)) -> PassageBuilder {
        let mut map = vec![0.0; size * lasting];
        (0..lasting).for_each(|i| map[i * lasting + i] = 1.0);
        PassageBuilder {
            size,
            lasting,
            moving,
            map,
            noise: vec![0.0; size * size],
            cost: vec![0.0; lasting * lasting],
            offset: 0.0,
            fresh: vec![0.0; size * size],
        }
    }

    /// Lets the passage go on by this flow: applies it to the map, the noise and the cost so far.
    pub fn append_flow(&mut self, flow: &CompactFlow) {
        let (states, moving) = self.moving;
        let columns = self.lasting;
        self.offset += propagate_covariance(&mut self.noise, &mut self.fresh, self.size, self.moving, flow);
        // cost += map' Q map, its lower triangle.
        for (i, weights) in flow.cost.chunks_exact(moving).enumerate() {
            let weighed = &mut self.fresh[..columns];
            weighed.fill(0.0);
            for (w, row) in weights.iter().zip(self.map.chunks_exact(columns)) {
                if *w != 0.0 {
                    weighed.iter_mut().zip(row).for_each(|(sum, v)| *sum += w * v);
                }
            }
            for a in 0..columns {
                let factor = self.map[i * columns + a];
                if factor != 0.0 {
                    let to = &mut self.cost[a * columns..a * columns + a + 1];
                    to.iter_mut().zip(&*weighed).for_each(|(sum, v)| *sum += factor * v);
                }
            }
        }
        propagate_rows(&self.map, &mut self.fresh, columns, states, moving, flow);
        self.map[..states * columns].copy_from_slice(&self.fresh[..states * columns]);
    }

    /// Lets the passage end with this update: applies it to the map and to the noise so far.
    pub fn append_update(&mut self, rows: &RowUpdate) {
        let columns = self.lasting;
        rows.multiply(&self.map, &mut self.fresh, columns);
        for (i, at) in rows.rows.iter().enumerate() {
            let row = &self.fresh[i * columns..(i + 1) * columns];
            self.map[at * columns..(at + 1) * columns].copy_from_slice(row);
        }
        rows.apply(&mut self.noise, &mut self.fresh, self.size);
    }

    /// Returns the effect of everything so far on the lasting part of the state.
    pub fn finish(self) -> Flow {
        let (n, size) = (self.lasting, self.size);
        let lower = |i: usize, j: usize| self.cost[i.max(j) * n + i.min(j)];
        Flow {
            phi: DMatrix::from_row_slice(n, n, &self.map[..n * n]),
            noise: DMatrix::from_fn(n, n, |i, j| 0.5 * (self.noise[i * size + j] + self.noise[j * size + i])),
            cost: DMatrix::from_fn(n, n, lower),
            offset: self.offset,
        }
    }
}
