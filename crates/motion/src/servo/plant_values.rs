//! Values as a plant's file writes them: one for all channels or one for each, matrices by rows.

use nalgebra::DMatrix;
use serde::Deserialize;

use super::PlantFault;
use super::numeric::smallest_eigenvalue;
use crate::error::MotionError;

/// A number for all channels or one for each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "wrong type of value")]
pub(super) enum PerChannel<T> {
    One(T),
    Each(Vec<T>),
}

impl<T: Clone> PerChannel<T> {
    /// One value for each of `n` channels.
    pub fn spread(&self, name: &str, what: &str, n: usize) -> Result<Vec<T>, MotionError> {
        match self {
            PerChannel::One(value) => Ok(vec![value.clone(); n]),
            PerChannel::Each(values) if values.len() == n => Ok(values.clone()),
            PerChannel::Each(values) => {
                let fault = PlantFault::Channels { what: what.into(), values: values.len(), channels: n };
                Err(fault.for_plant(name))
            }
        }
    }
}

/// A symmetric matrix on the states, or its diagonal.
#[derive(Deserialize)]
#[serde(untagged, expecting = "wrong type of values")]
pub(super) enum StateMatrix {
    Diagonal(Vec<f64>),
    Full(Vec<Vec<f64>>),
}

impl StateMatrix {
    /// The matrix on `n` states; zero where nothing is given.
    pub fn matrix(
        given: Option<&Self>,
        name: &str,
        what: &'static str,
        n: usize,
    ) -> Result<DMatrix<f64>, MotionError> {
        let matrix = match given {
            None => return Ok(DMatrix::zeros(n, n)),
            Some(StateMatrix::Diagonal(values)) => DMatrix::from_diagonal(&values.clone().into()),
            Some(StateMatrix::Full(rows)) => matrix(name, what, rows)?,
        };
        if matrix.shape() != (n, n) {
            return Err(PlantFault::States { what, given: matrix.nrows(), states: n }.for_plant(name));
        }
        if matrix != matrix.transpose()
            || smallest_eigenvalue(matrix.clone()).is_none_or(|least| least < -1e-9 * matrix.amax())
        {
            return Err(PlantFault::NotSemidefinite(what).for_plant(name));
        }
        Ok(matrix)
    }
}

/// A matrix from its rows.
pub(super) fn matrix(name: &str, what: &str, rows: &[Vec<f64>]) -> Result<DMatrix<f64>, MotionError> {
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 || rows.iter().any(|r| r.len() != columns) {
        return Err(PlantFault::Ragged(what.into()).for_plant(name));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), columns, rows.iter().flatten().copied()))
}
