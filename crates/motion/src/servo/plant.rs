//! The continuous-time system under control, with its disturbances and what counts as bad.

use nalgebra::DMatrix;
use serde::Deserialize;

use super::design::{Design, DesignSheet};
use super::realisation::{parse_complex, polynomial, transfer_function};
use crate::catalog::{self, Device};
use crate::error::MotionError;

/// x' = A x + B u + w, y = C x, with the cost rate y'Qy + u'Ru and measurements y + e.
#[derive(Debug, Clone, PartialEq)]
pub struct Plant {
    /// What it is called.
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// States x states.
    pub a: DMatrix<f64>,
    /// States x inputs.
    pub b: DMatrix<f64>,
    /// Outputs x states.
    pub c: DMatrix<f64>,
    /// Intensity of the process noise w, states x states.
    pub process_noise: DMatrix<f64>,
    /// Variance of the measurement noise e, outputs x outputs.
    pub measurement_noise: DMatrix<f64>,
    /// Q: outputs x outputs.
    pub output_weight: DMatrix<f64>,
    /// R: inputs x inputs.
    pub input_weight: DMatrix<f64>,
    /// Names of the outputs, such as the joints.
    pub outputs: Vec<String>,
    /// The controller its file asks for.
    pub design: Design,
}

/// A number for all channels or one for each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
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
            PerChannel::Each(values) => Err(MotionError::Impossible(format!(
                "{name}: {what} has {} values for {n} channels: give one for all or one for each",
                values.len()
            ))),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    name: String,
    #[serde(default)]
    source: String,
    transfer_function: Option<TransferFunction>,
    zpk: Option<Zpk>,
    state_space: Option<StateSpace>,
    outputs: Option<Vec<String>>,
    #[serde(default)]
    noise: Noise,
    #[serde(default)]
    cost: Cost,
    controller: DesignSheet,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferFunction {
    numerator: Vec<f64>,
    denominator: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Zpk {
    #[serde(default)]
    zeros: Vec<Root>,
    poles: Vec<Root>,
    gain: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Root {
    Real(f64),
    Complex(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateSpace {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
    c: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Noise {
    input: PerChannel<f64>,
    measurement: PerChannel<f64>,
}

impl Default for Noise {
    fn default() -> Self {
        Noise { input: PerChannel::One(1.0), measurement: PerChannel::One(0.0) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Cost {
    output: PerChannel<f64>,
    input: PerChannel<f64>,
}

impl Default for Cost {
    fn default() -> Self {
        Cost { output: PerChannel::One(1.0), input: PerChannel::One(0.0) }
    }
}

impl Device for Plant {
    const KIND: &'static str = "plant";
    const FOLDER: &'static str = "plants";
    const SHIPPED: &'static [(&'static str, &'static str)] = &[
        ("dc-servo", include_str!("../../data/plants/dc-servo.toml")),
        ("ball-screw", include_str!("../../data/plants/ball-screw.toml")),
        ("jiwy", include_str!("../../data/plants/jiwy.toml")),
        ("integrator", include_str!("../../data/plants/integrator.toml")),
    ];

    fn from_toml(name: &str, text: &str) -> Result<Self, MotionError> {
        let sheet: Sheet = catalog::layout(Self::KIND, name, text)?;
        let (a, b, c) = match (sheet.transfer_function, sheet.zpk, sheet.state_space) {
            (Some(tf), None, None) => transfer_function(name, &tf.numerator, &tf.denominator)?,
            (None, Some(zpk), None) => {
                let zeros = polynomial(name, &roots(name, &zpk.zeros)?)?;
                let poles = polynomial(name, &roots(name, &zpk.poles)?)?;
                let numerator: Vec<f64> = zeros.iter().map(|c| c * zpk.gain).collect();
                transfer_function(name, &numerator, &poles)?
            }
            (None, None, Some(ss)) => {
                (matrix(name, "a", &ss.a)?, matrix(name, "b", &ss.b)?, matrix(name, "c", &ss.c)?)
            }
            _ => {
                return Err(MotionError::Impossible(format!(
                    "{name}: a plant is described once: by a table [transfer_function], [zpk] or [state_space]"
                )));
            }
        };
        let (m, p) = (b.ncols(), c.nrows());
        let diagonal = |values: Vec<f64>| DMatrix::from_diagonal(&values.into());
        let input_noise = diagonal(sheet.noise.input.spread(name, "noise.input", m)?);
        let outputs = sheet.outputs.unwrap_or_else(|| match p {
            1 => vec!["output".into()],
            p => (1..=p).map(|n| format!("output {n}")).collect(),
        });
        Plant {
            process_noise: &b * input_noise * b.transpose(),
            measurement_noise: diagonal(sheet.noise.measurement.spread(name, "noise.measurement", p)?),
            output_weight: diagonal(sheet.cost.output.spread(name, "cost.output", p)?),
            input_weight: diagonal(sheet.cost.input.spread(name, "cost.input", m)?),
            design: Design::read(name, sheet.controller, p)?,
            name: sheet.name,
            source: sheet.source,
            outputs,
            a,
            b,
            c,
        }
        .checked()
    }
}

fn roots(name: &str, roots: &[Root]) -> Result<Vec<nalgebra::Complex<f64>>, MotionError> {
    let read = |root: &Root| match root {
        Root::Real(value) => parse_complex(&value.to_string()),
        Root::Complex(text) => parse_complex(text),
    };
    roots.iter().map(read).collect::<Option<_>>().ok_or_else(|| {
        MotionError::Impossible(format!(
            "{name}: zeros and poles are numbers such as -1 or texts such as \"-1+2i\""
        ))
    })
}

fn matrix(name: &str, what: &str, rows: &[Vec<f64>]) -> Result<DMatrix<f64>, MotionError> {
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 || rows.iter().any(|r| r.len() != columns) {
        return Err(MotionError::Impossible(format!(
            "{name}: state_space.{what} has to be a list of rows of the same length, such as [[0, 1], [0, -1]]"
        )));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), columns, rows.iter().flatten().copied()))
}

/// Most states of plant and controller together; the stationary cost solves a system of the square of it.
const MOST_STATES: usize = 12;

impl Plant {
    /// The same plant if its matrices fit together and its weights and noises can be.
    ///
    /// # Errors
    /// The first thing that cannot be.
    pub fn checked(self) -> Result<Self, MotionError> {
        let (n, m, p) = (self.a.nrows(), self.b.ncols(), self.c.nrows());
        let fail = |what: String| Err(MotionError::Impossible(format!("{}: {what}", self.name)));
        let finite = |m: &DMatrix<f64>| m.iter().all(|v| v.is_finite());
        if !(finite(&self.a) && finite(&self.b) && finite(&self.c)) {
            return fail("a coefficient is not a number".into());
        }
        if self.a.ncols() != n || self.b.nrows() != n || self.c.ncols() != n || n == 0 || m == 0 || p == 0 {
            return fail(format!(
                "the matrices do not fit: A is {}x{}, B {}x{}, C {}x{}; A has to be square, with as many rows as B \
                 and as many columns as C",
                n,
                self.a.ncols(),
                self.b.nrows(),
                m,
                p,
                self.c.ncols()
            ));
        }
        if n > MOST_STATES {
            return fail(format!("{n} states are too many: at most {MOST_STATES} can be handled"));
        }
        if self.outputs.len() != p {
            return fail(format!("{} names are given for {p} outputs", self.outputs.len()));
        }
        for (what, matrix) in [
            ("noise.input", &self.process_noise),
            ("noise.measurement", &self.measurement_noise),
            ("cost.output", &self.output_weight),
            ("cost.input", &self.input_weight),
        ] {
            if matrix.diagonal().iter().any(|v| !(*v >= 0.0 && v.is_finite())) {
                return fail(format!(
                    "{what} has a negative value: intensities and weights are at least zero"
                ));
            }
        }
        if self.output_weight.amax() == 0.0 && self.input_weight.amax() == 0.0 {
            return fail("the cost weighs nothing: give cost.output or cost.input a value above zero".into());
        }
        Ok(self)
    }

    /// Number of states, inputs and outputs.
    pub fn sizes(&self) -> (usize, usize, usize) {
        (self.a.nrows(), self.b.ncols(), self.c.nrows())
    }

    /// The cost rate's matrix on [x; u].
    pub fn cost(&self) -> DMatrix<f64> {
        let (n, m, _) = self.sizes();
        let mut q = DMatrix::zeros(n + m, n + m);
        q.view_mut((0, 0), (n, n)).copy_from(&(self.c.transpose() * &self.output_weight * &self.c));
        q.view_mut((n, n), (m, m)).copy_from(&self.input_weight);
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLLER: &str = "[controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '10ms'\n";

    #[test]
    fn every_shipped_plant_is_whole() {
        for entry in catalog::list::<Plant>(None) {
            assert!(!entry.device.unwrap().source.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn the_three_descriptions_of_one_plant_agree() {
        let read = |table: &str| Plant::from_toml("x", &format!("name = 'x'\n{CONTROLLER}{table}")).unwrap();
        let tf = read("[transfer_function]\nnumerator = [1000]\ndenominator = [1, 1, 0]");
        let zpk = read("[zpk]\npoles = [0, '-1']\ngain = 1000");
        let ss = read("[state_space]\na = [[-1, 0], [1, 0]]\nb = [[1], [0]]\nc = [[0, 1000]]");
        assert_eq!((&tf.a, &tf.b, &tf.c), (&zpk.a, &zpk.b, &zpk.c));
        // Balancing may scale states, so compare what does not depend on them: C B and C A B.
        let markov = |p: &Plant| [(&p.c * &p.b)[(0, 0)], (&p.c * &p.a * &p.b)[(0, 0)]];
        assert_eq!(markov(&tf), markov(&ss));
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| {
            Plant::from_toml("my.toml", &format!("name = 'x'\n{CONTROLLER}{text}")).unwrap_err().to_string()
        };
        assert!(message("").contains("[zpk]"));
        assert!(message("[state_space]\na = [[1, 2]]\nb = [[1]]\nc = [[1, 0]]").contains("square"));
        assert!(message("[zpk]\npoles = ['-1+1i']\ngain = 1").contains("conjugate"));
        let tf = "[transfer_function]\nnumerator = [1]\ndenominator = [1, 1]\n";
        assert!(message(&format!("{tf}[noise]\ninput = -1.0")).contains("negative"));
        assert!(message(&format!("{tf}[cost]\noutput = [1.0, 2.0]")).contains("2 values for 1"));
        assert!(
            message("[transfer_function]\nnumerator = [1, 0]\ndenominator = [1, 1]").contains("improper")
        );
        let no_unit = "name = 'x'\n[controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '10'\n";
        let error = Plant::from_toml("my.toml", &format!("{no_unit}{tf}")).unwrap_err();
        assert!(error.to_string().contains("without a unit"), "{error}");
    }
}
