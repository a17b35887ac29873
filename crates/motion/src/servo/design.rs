//! Controller that a user asks for, in a plant's file or in one word.

use nalgebra::DMatrix;
use serde::Deserialize;

use jitterlab_model::Error;

use super::plant_values::{PerChannel, parse_matrix};
use super::realisation::{controllable_form, without_leading_zeros};
use crate::error;
use crate::quantity::{Dimension, parse};

/// Design of a controller. All but state feedback act on the error reference - output.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    Unnamed,
    /// u = K (e + Td (e - e_prev)/h): the derivative by backward difference, as the Jitterbug manual's example; with Ti and
    /// an integral K/Ti sum h e.
    Pid {
        /// K of each loop.
        gain: Vec<f64>,
        /// Ti of each loop in s; `None` for a PD.
        integral_s: Option<Vec<f64>>,
        /// Td of each loop in s.
        derivative_s: Vec<f64>,
    },
    /// Linear-quadratic feedback of all states, optimal for the plant's cost (Astrom and Wittenmark,
    /// Computer-Controlled Systems, chapter 11, with the delay as in 3.2).
    StateFeedback,
    /// u = -L x with a given L: inputs x states, or also of the inputs held before.
    GivenFeedback(DMatrix<f64>),
    /// The optimal feedback from a Kalman filter's estimate (current form).
    Lqg,
    /// xc+ = A xc + B e, u = C xc + D e: any linear controller, of one or several loops.
    Discrete {
        /// Controller states x controller states.
        a: DMatrix<f64>,
        /// Controller states x outputs.
        b: DMatrix<f64>,
        /// Inputs x controller states.
        c: DMatrix<f64>,
        /// Inputs x outputs.
        d: DMatrix<f64>,
    },
}

/// A design as a plant's file writes it.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum DesignSheet {
    Pd { gain: PerChannel<f64>, derivative_time: PerChannel<String> },
    Pid { gain: PerChannel<f64>, integral_time: PerChannel<String>, derivative_time: PerChannel<String> },
    StateFeedback { gain: Option<Vec<Vec<f64>>> },
    Lqg {},
    TransferFunction { numerator: Vec<f64>, denominator: Vec<f64> },
    StateSpace { a: Vec<Vec<f64>>, b: Vec<Vec<f64>>, c: Vec<Vec<f64>>, d: Vec<Vec<f64>> },
}

impl Design {
    /// `pd`, `pid`, `state-feedback`, `lqg`, `discrete` or `none`, for titles and programs.
    pub fn name(&self) -> &'static str {
        match self {
            Design::Unnamed => "none",
            Design::Pid { integral_s: None, .. } => "pd",
            Design::Pid { .. } => "pid",
            Design::StateFeedback | Design::GivenFeedback(_) => "state-feedback",
            Design::Lqg => "lqg",
            Design::Discrete { .. } => "discrete",
        }
    }

    /// True if it uses all states of a plant and so cannot close one loop of several.
    pub(super) fn needs_all_states(&self) -> bool {
        matches!(self, Design::StateFeedback | Design::GivenFeedback(_) | Design::Lqg)
    }

    /// True if it can be designed for a constant delay; given numbers are used as they are.
    pub fn can_design_for_delay(&self) -> bool {
        !matches!(self, Design::Unnamed | Design::GivenFeedback(_) | Design::Discrete { .. })
    }

    /// Design with `lead_s` more derivative time, if it has one.
    pub(super) fn with_added_lead(&self, lead_s: f64) -> Design {
        let mut led = self.clone();
        if let Design::Pid { derivative_s, .. } = &mut led {
            derivative_s.iter_mut().for_each(|td| *td += lead_s);
        }
        led
    }

    /// Logarithms of the magnitudes of a PD's or PID's nonzero parameters; `None` for other designs.
    pub(super) fn logarithms(&self) -> Option<Vec<f64>> {
        let signed = self.pid_numbers()?.into_iter().filter(|v| *v != 0.0);
        Some(signed.map(|v| v.abs().ln()).collect())
    }

    /// PD or PID with parameters of these logarithms, each with its sign kept; `None` for other designs.
    pub(super) fn with_logarithms(&self, logs: &[f64]) -> Option<Design> {
        let mut logs = logs.iter();
        let mut anew = |v: &mut f64| {
            if let Some(log) = (*v != 0.0).then(|| logs.next()).flatten() {
                *v = log.exp().copysign(*v);
            }
        };
        let mut design = self.clone();
        if let Design::Pid { gain, integral_s, derivative_s } = &mut design {
            let integral = integral_s.iter_mut().flatten();
            gain.iter_mut().chain(integral).chain(derivative_s).for_each(&mut anew);
        }
        design.pid_numbers().filter(|all| all.iter().all(|v| v.is_finite())).map(|_| design)
    }

    /// K/Ti of each loop of a PID; nothing of others.
    pub(super) fn integral_gains(&self) -> Vec<f64> {
        self.pid_parameters()
            .into_iter()
            .flatten()
            .filter_map(|(gain, integral_s, _)| Some(gain / integral_s?))
            .collect()
    }

    /// K, Ti and Td of each loop of a PD or PID; Ti is `None` for a PD.
    pub(super) fn pid_parameters(&self) -> Option<Vec<(f64, Option<f64>, f64)>> {
        let Design::Pid { gain, integral_s, derivative_s } = self else { return None };
        let integral = (0..gain.len()).map(|i| integral_s.as_ref().and_then(|all| all.get(i).copied()));
        Some(gain.iter().zip(integral).zip(derivative_s).map(|((k, ti), td)| (*k, ti, *td)).collect())
    }

    fn pid_numbers(&self) -> Option<Vec<f64>> {
        let Design::Pid { gain, integral_s, derivative_s } = self else { return None };
        Some([&gain[..], integral_s.as_deref().unwrap_or_default(), derivative_s].concat())
    }

    /// Reads a file's design for a plant with these numbers of states, inputs and outputs.
    pub(super) fn from_sheet(
        name: &str,
        sheet: DesignSheet,
        (n, m, p): (usize, usize, usize),
    ) -> Result<Design, Error> {
        let gains =
            |values: PerChannel<f64>| check_finite(name, values.per_channel(name, "controller.gain", p)?);
        let times = |key: &'static str, values: PerChannel<String>| parse_times(name, key, &values, p);
        match sheet {
            DesignSheet::Pd { gain, derivative_time } => Ok(Design::Pid {
                gain: gains(gain)?,
                integral_s: None,
                derivative_s: times("derivative_time", derivative_time)?,
            }),
            DesignSheet::Pid { gain, integral_time, derivative_time } => Ok(Design::Pid {
                gain: gains(gain)?,
                integral_s: Some(times("integral_time", integral_time)?),
                derivative_s: times("derivative_time", derivative_time)?,
            }),
            DesignSheet::StateFeedback { gain: None } => Ok(Design::StateFeedback),
            DesignSheet::StateFeedback { gain: Some(rows) } => {
                let gain = parse_finite_matrix(name, "controller.gain", &rows)?;
                if gain.nrows() == m && (gain.ncols() == n || gain.ncols() == n + m) {
                    return Ok(Design::GivenFeedback(gain));
                }
                let (rows, columns) = gain.shape();
                Err(Error::bad_use(format!(
                    "controller.gain is {rows}x{columns}: for this plant it has a row for each of its inputs ({m}) and a column for \
                     each of its states ({n}), or also for the inputs held before ({})",
                    n + m
                ))
                .within(name))
            }
            DesignSheet::Lqg {} => Ok(Design::Lqg),
            DesignSheet::TransferFunction { numerator, denominator } => {
                if (m, p) != (1, 1) {
                    return Err(Error::bad_use(
                        "a controller given as a transfer function is for one input and one output: write one for more by kind = \
                         \"state-space\" with a, b, c and d",
                    )
                    .within(name));
                }
                discrete_from_transfer_function(name, &numerator, &denominator)
            }
            DesignSheet::StateSpace { a, b, c, d } => {
                let read = |key: &str, rows: &[Vec<f64>]| {
                    parse_finite_matrix(name, &format!("controller.{key}"), rows)
                };
                let (a, b, c, d) = (read("a", &a)?, read("b", &b)?, read("c", &c)?, read("d", &d)?);
                let k = a.nrows();
                if a.ncols() == k && b.shape() == (k, p) && c.shape() == (m, k) && d.shape() == (m, p) {
                    return Ok(Design::Discrete { a, b, c, d });
                }
                Err(Error::bad_use(format!(
                    "the controller's matrices do not fit: with {k} states a has to be {k}x{k}, b {k}x{p}, c {m}x{k} and d {m}x{p}"
                ))
                .within(name))
            }
        }
    }

    /// Reads `state-feedback`, `lqg`, `pd:GAIN:TD` or `pid:GAIN:TI:TD`, such as `pd:1.5:35ms`. A value may be a list
    /// with commas, one for each of the plant's outputs.
    pub fn parse(text: &str, outputs: usize) -> Result<Design, Error> {
        const NAME: &str = "--controller";
        let (kind, values) =
            text.split_once(':').map_or((text, Vec::new()), |(k, v)| (k, v.split(':').collect()));
        let example = match kind {
            "pd" => "pd:1.5:35ms",
            "pid" => "pid:1.5:80ms:35ms",
            "state-feedback" => "state-feedback",
            "lqg" => "lqg",
            other => return Err(error::not_a_controller(other)),
        };
        let each = |text: &str| PerChannel::Each(text.split(',').map(|v| v.trim().to_owned()).collect());
        let list = |text: &str| match each(text) {
            PerChannel::Each(values) if values.len() == 1 => PerChannel::One(values[0].clone()),
            values => values,
        };
        let gains = |text: &str| {
            let texts = list(text).per_channel(NAME, "gain", outputs)?;
            let read = texts.iter().map(|t| t.parse().ok()).collect::<Option<Vec<f64>>>();
            let not_a_gain = || {
                Error::bad_use(format!(
                    "{text:?} is a gain that is not a number: write the controller like {example}"
                ))
            };
            check_finite(NAME, read.ok_or_else(not_a_gain)?)
        };
        let times = |key, text: &str| parse_times(NAME, key, &list(text), outputs);
        match (kind, &values[..]) {
            ("pd", [gain, derivative]) => Ok(Design::Pid {
                gain: gains(gain)?,
                integral_s: None,
                derivative_s: times("derivative_time", derivative)?,
            }),
            ("pid", [gain, integral, derivative]) => Ok(Design::Pid {
                gain: gains(gain)?,
                integral_s: Some(times("integral_time", integral)?),
                derivative_s: times("derivative_time", derivative)?,
            }),
            ("state-feedback", []) => Ok(Design::StateFeedback),
            ("lqg", []) => Ok(Design::Lqg),
            _ => Err(Error::bad_use(format!(
                "{text:?} has {} values after the kind and this controller takes {}: write it like {example}",
                values.len(),
                example.matches(':').count()
            ))),
        }
    }
}

/// Times of each output in seconds: above zero, or from zero for the derivative's.
fn parse_times(
    name: &str,
    key: &'static str,
    values: &PerChannel<String>,
    outputs: usize,
) -> Result<Vec<f64>, Error> {
    let read = |text: &String| match parse(Dimension::Time, key, text) {
        Ok(time) if time > 0.0 || key == "derivative_time" && time == 0.0 => Ok(time),
        Ok(_) => Err(error::out_of_range(key, text, error::POSITIVE_TIME)),
        Err(error) => Err(error.within(name)),
    };
    values.per_channel(name, key, outputs)?.iter().map(read).collect()
}

fn check_finite(name: &str, values: Vec<f64>) -> Result<Vec<f64>, Error> {
    if values.iter().all(|v| v.is_finite()) {
        return Ok(values);
    }
    Err(Error::bad_use("a gain is not a finite number: write one such as 1.5").within(name))
}

fn parse_finite_matrix(name: &str, what: &str, rows: &[Vec<f64>]) -> Result<DMatrix<f64>, Error> {
    check_finite(name, rows.concat())?;
    parse_matrix(name, what, rows)
}

/// num/den in descending powers of z as a controller in controllable form; a direct term is allowed.
fn discrete_from_transfer_function(name: &str, num: &[f64], den: &[f64]) -> Result<Design, Error> {
    check_finite(name, [num, den].concat())?;
    let (num, den) = (without_leading_zeros(num), without_leading_zeros(den));
    if num.is_empty() || den.is_empty() || num.len() > den.len() {
        return Err(Error::bad_use(
            "the controller's transfer function cannot be computed in time: in powers of z, the numerator must not be zero nor of \
             higher degree than the denominator, such as numerator = [10, -9], denominator = [1, 0] for (10 z - 9)/z",
        )
        .within(name));
    }
    let (a, b, c, direct) = controllable_form(&num, &den);
    Ok(Design::Discrete { a, b, c, d: DMatrix::from_element(1, 1, direct) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controllers_are_read_from_one_word() {
        let pd = Design::Pid { gain: vec![60.0, 45.0], integral_s: None, derivative_s: vec![0.06, 0.06] };
        assert_eq!(Design::parse("pd:60,45:60ms", 2).unwrap(), pd);
        let pid = Design::Pid { gain: vec![2.0], integral_s: Some(vec![0.08]), derivative_s: vec![0.0] };
        assert_eq!(Design::parse("pid:2:80ms:0ms", 1).unwrap(), pid);
        assert_eq!(Design::parse("lqg", 2).unwrap(), Design::Lqg);
    }

    #[test]
    fn mistakes_are_named_with_a_remedy() {
        let message = |text: &str| Design::parse(text, 2).unwrap_err().to_string();
        assert!(message("fuzzy").contains("pid:GAIN:TI:TD"));
        assert!(message("pd:1.5").contains("pd:1.5:35ms"));
        assert!(message("pd:1,2,3:5ms").contains("3 values for 2"));
        assert!(message("pd:1.5:35").contains("without a unit"));
        assert!(message("pid:1.5:0ms:5ms").contains("above zero"));
        assert!(message("pd:much:5ms").contains("not a number"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,30}") {
            let _ = Design::parse(&text, 2);
        }
    }
}
