//! Values as a plant's file writes them: one for all channels or one for each, matrices by rows.

use nalgebra::DMatrix;
use serde::Deserialize;

use jitterlab_model::Error;

use super::numeric::smallest_eigenvalue;

/// A number for all channels or one for each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "wrong type of value")]
pub(super) enum PerChannel<T> {
    One(T),
    Each(Vec<T>),
}

impl<T: Clone> PerChannel<T> {
    pub fn per_channel(&self, name: &str, what: &str, n: usize) -> Result<Vec<T>, Error> {
        match self {
            PerChannel::One(value) => Ok(vec![value.clone(); n]),
            PerChannel::Each(values) if values.len() == n => Ok(values.clone()),
            PerChannel::Each(values) => {
                let given = values.len();
                Err(Error::bad_use(format!(
                    "{what} has {given} values for {n} channels: give one for all or one for each"
                ))
                .within(name))
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
    pub fn to_matrix(
        given: Option<&Self>,
        name: &str,
        what: &'static str,
        n: usize,
    ) -> Result<DMatrix<f64>, Error> {
        let matrix = match given {
            None => return Ok(DMatrix::zeros(n, n)),
            Some(StateMatrix::Diagonal(values)) => DMatrix::from_diagonal(&values.clone().into()),
            Some(StateMatrix::Full(rows)) => parse_matrix(name, what, rows)?,
        };
        if matrix.shape() != (n, n) {
            let given = matrix.nrows();
            return Err(
                Error::bad_use(format!("{what} is for {given} states and the plant has {n}")).within(name)
            );
        }
        if matrix != matrix.transpose()
            || smallest_eigenvalue(matrix.clone()).is_none_or(|least| least < -1e-9 * matrix.amax())
        {
            return Err(Error::bad_use(format!(
                "{what} has to be symmetric, of numbers, without a negative direction (positive semidefinite)"
            ))
            .within(name));
        }
        Ok(matrix)
    }
}

pub(super) fn parse_matrix(name: &str, what: &str, rows: &[Vec<f64>]) -> Result<DMatrix<f64>, Error> {
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 || rows.iter().any(|r| r.len() != columns) {
        return Err(Error::bad_use(format!(
            "{what} has to be a list of rows of the same length, such as [[0, 1], [0, -1]]"
        ))
        .within(name));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), columns, rows.iter().flatten().copied()))
}
