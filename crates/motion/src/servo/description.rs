//! Descriptions of a linear system in a file, continuous, or sampled with the input held.

use nalgebra::{Complex, DMatrix};
use serde::Deserialize;

use jitterlab_model::Error;

use super::continuous_from_sampled::continuous_from_sampled;
use super::numeric::is_finite;
use super::plant_values::parse_matrix;
use super::realisation::{Realisation, parse_complex, polynomial_from_roots, realise_transfer_function};
use crate::error;
use crate::quantity::{Dimension, parse};

/// The tables of a file that describe its system; exactly one of them is there.
#[derive(Default)]
pub(super) struct Description {
    pub transfer_function: Option<TransferFunction>,
    pub zpk: Option<Zpk>,
    pub state_space: Option<StateSpace>,
}

/// Coefficients in descending powers of s, or with a period of z.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferFunction {
    pub numerator: Vec<f64>,
    pub denominator: Vec<f64>,
    pub period: Option<Period>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Zpk {
    #[serde(default)]
    pub zeros: Vec<Root>,
    pub poles: Vec<Root>,
    pub gain: f64,
    pub period: Option<Period>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Root {
    Real(f64),
    Complex(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateSpace {
    pub a: Vec<Vec<f64>>,
    pub b: Vec<Vec<f64>>,
    pub c: Vec<Vec<f64>>,
    pub d: Option<Vec<Vec<f64>>>,
    pub period: Option<Period>,
}

/// The period of a sampled description: a time with its unit, or seconds where another program wrote them.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum Period {
    Text(String),
    Seconds(f64),
}

impl Period {
    fn seconds(&self, name: &str) -> Result<f64, Error> {
        let seconds = match self {
            Period::Seconds(seconds) => *seconds,
            Period::Text(text) => {
                parse(Dimension::Time, "period", text).map_err(|error| error.within(name))?
            }
        };
        let is_time = seconds > 0.0 && seconds.is_finite();
        is_time
            .then_some(seconds)
            .ok_or_else(|| error::out_of_range("period", format!("{seconds} s"), error::POSITIVE_TIME))
    }
}

impl Description {
    pub fn is_empty(&self) -> bool {
        self.transfer_function.is_none() && self.zpk.is_none() && self.state_space.is_none()
    }

    /// True if the states are the file's own, not those of a realisation.
    pub fn has_named_states(&self) -> bool {
        self.state_space.is_some()
    }

    /// A, B and C of the continuous system.
    pub fn realise(&self, name: &str) -> Result<Realisation, Error> {
        let (found, period) = match (&self.transfer_function, &self.zpk, &self.state_space) {
            (Some(tf), None, None) => {
                (realise_transfer_function(name, &tf.numerator, &tf.denominator)?, &tf.period)
            }
            (None, Some(zpk), None) => {
                let zeros = polynomial_from_roots(name, &parse_roots(name, &zpk.zeros)?)?;
                let poles = polynomial_from_roots(name, &parse_roots(name, &zpk.poles)?)?;
                let numerator: Vec<f64> = zeros.iter().map(|c| c * zpk.gain).collect();
                (realise_transfer_function(name, &numerator, &poles)?, &zpk.period)
            }
            (None, None, Some(ss)) => {
                let (a, b) = (parse_matrix(name, "a", &ss.a)?, parse_matrix(name, "b", &ss.b)?);
                let c = parse_matrix(name, "c", &ss.c)?;
                if let Some(d) = &ss.d {
                    check_no_feedthrough(name, &parse_matrix(name, "d", d)?, (c.nrows(), b.ncols()))?;
                }
                ((a, b, c), &ss.period)
            }
            _ => return Err(error::several_descriptions(name)),
        };
        let (a, b, c) = found;
        check_dimensions(name, &a, &b, &c)?;
        let Some(period) = period else { return Ok((a, b, c)) };
        let period_s = period.seconds(name)?;
        let (a, b) = continuous_from_sampled(&a, &b, period_s).ok_or_else(|| {
            Error::bad_use(
                "no continuous plant of this order, with its input held, has these samples: it has a pole at zero or on the \
                 negative real axis of z, such as a delay of whole periods; give the plant without the delay, or in continuous time",
            )
            .within(name)
        })?;
        Ok((a, b, c))
    }
}

fn parse_roots(name: &str, roots: &[Root]) -> Result<Vec<Complex<f64>>, Error> {
    let read = |root: &Root| match root {
        Root::Real(value) => parse_complex(&value.to_string()),
        Root::Complex(text) => parse_complex(text),
    };
    roots.iter().map(read).collect::<Option<_>>().ok_or_else(|| error::invalid_roots(name))
}

/// Error if D is not zero: a plant's output does not follow its input at once.
fn check_no_feedthrough(name: &str, d: &DMatrix<f64>, shape: (usize, usize)) -> Result<(), Error> {
    if d.shape() != shape {
        let ((rows, columns), (outputs, inputs)) = (d.shape(), shape);
        return Err(Error::bad_use(format!(
            "D is {rows}x{columns}: it has a row for each output and a column for each input, {outputs}x{inputs}, all zero; it can \
             be left out"
        ))
        .within(name));
    }
    if d.iter().all(|v| *v == 0.0) {
        return Ok(());
    }
    Err(Error::bad_use(
        "D is not zero: an output that follows its input at once cannot be sampled and written in turn; leave that part to the \
         controller, or add the fast pole the real machine has",
    )
    .within(name))
}

/// Error if A, B and C do not fit together, or are not finite.
fn check_dimensions(name: &str, a: &DMatrix<f64>, b: &DMatrix<f64>, c: &DMatrix<f64>) -> Result<(), Error> {
    if ![a, b, c].into_iter().all(is_finite) {
        return Err(error::not_a_number(name));
    }
    let n = a.nrows();
    if (a.ncols(), b.nrows(), c.ncols()) != (n, n, n) {
        let size = |m: &DMatrix<f64>| format!("{}x{}", m.nrows(), m.ncols());
        return Err(Error::bad_use(format!(
            "the matrices do not fit: A is {}, B {}, C {}; A has to be square, with as many rows as B and as many columns as C",
            size(a),
            size(b),
            size(c)
        ))
        .within(name));
    }
    Ok(())
}
