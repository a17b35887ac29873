//! What controller a user asks for, in a plant's file or in one word.

use serde::Deserialize;

use super::plant::PerChannel;
use crate::error::MotionError;
use crate::quantity::{Dimension, parse};

/// What controller to use. Gains of PD and PID apply to the error reference - output, one for each output.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// u = K (e + Td (e - e_prev)/h): the derivative by backward difference, as the Jitterbug manual's example.
    Pd {
        /// K of each loop.
        gain: Vec<f64>,
        /// Td of each loop in s.
        derivative_s: Vec<f64>,
    },
    /// The same with an integral K/Ti sum h e.
    Pid {
        /// K of each loop.
        gain: Vec<f64>,
        /// Ti of each loop in s.
        integral_s: Vec<f64>,
        /// Td of each loop in s.
        derivative_s: Vec<f64>,
    },
    /// Linear-quadratic feedback of all states, optimal for the plant's cost (Astrom and Wittenmark,
    /// Computer-Controlled Systems, chapter 11, with the delay as in 3.2).
    StateFeedback,
    /// The same from a Kalman filter's estimate (current form).
    Lqg,
}

/// A design as a plant's file writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DesignSheet {
    kind: Kind,
    gain: Option<PerChannel<f64>>,
    integral_time: Option<PerChannel<String>>,
    derivative_time: Option<PerChannel<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Pd,
    Pid,
    StateFeedback,
    Lqg,
}

impl Design {
    /// `pd`, `pid`, `state-feedback` or `lqg`, as files and options write it.
    pub fn name(&self) -> &'static str {
        match self {
            Design::Pd { .. } => "pd",
            Design::Pid { .. } => "pid",
            Design::StateFeedback => "state-feedback",
            Design::Lqg => "lqg",
        }
    }

    pub(super) fn read(name: &str, sheet: DesignSheet, outputs: usize) -> Result<Design, MotionError> {
        let absent = |key: &str| {
            MotionError::Impossible(format!(
                "{name}: controller.{key} is missing: a controller of this kind needs it"
            ))
        };
        let times = |key: &'static str, value: Option<PerChannel<String>>| {
            let texts = value.ok_or_else(|| absent(key))?.spread(name, key, outputs)?;
            let read = |text: &String| match parse(Dimension::Time, key, text) {
                Ok(time) if time > 0.0 || key == "derivative_time" && time == 0.0 => Ok(time),
                Ok(_) => Err(MotionError::range(key, text, "it has to be a time above zero")),
                Err(error) => Err(MotionError::Quantity { name: name.into(), error }),
            };
            texts.iter().map(read).collect::<Result<Vec<_>, _>>()
        };
        let gains = |value: Option<PerChannel<f64>>| {
            value.ok_or_else(|| absent("gain"))?.spread(name, "controller.gain", outputs)
        };
        match sheet.kind {
            Kind::Pd => Ok(Design::Pd {
                gain: gains(sheet.gain)?,
                derivative_s: times("derivative_time", sheet.derivative_time)?,
            }),
            Kind::Pid => Ok(Design::Pid {
                gain: gains(sheet.gain)?,
                integral_s: times("integral_time", sheet.integral_time)?,
                derivative_s: times("derivative_time", sheet.derivative_time)?,
            }),
            Kind::StateFeedback => Ok(Design::StateFeedback),
            Kind::Lqg => Ok(Design::Lqg),
        }
    }

    /// Reads `state-feedback`, `lqg`, `pd:GAIN:TD` or `pid:GAIN:TI:TD`, such as `pd:1.5:35ms`, for a plant with this
    /// many outputs. A value may be a list with commas, one for each output.
    ///
    /// # Errors
    /// A kind there is not, values that are missing or too many, and as for a plant's file.
    pub fn parse(text: &str, outputs: usize) -> Result<Design, MotionError> {
        let mut parts = text.split(':');
        let kind = match parts.next().unwrap_or_default() {
            "pd" => Kind::Pd,
            "pid" => Kind::Pid,
            "state-feedback" => Kind::StateFeedback,
            "lqg" => Kind::Lqg,
            other => {
                return Err(MotionError::Impossible(format!(
                    "{other:?} is not a controller: write pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg"
                )));
            }
        };
        let values: Vec<&str> = parts.collect();
        let (wanted, example) = match kind {
            Kind::Pd => (2, "pd:1.5:35ms"),
            Kind::Pid => (3, "pid:1.5:80ms:35ms"),
            Kind::StateFeedback => (0, "state-feedback"),
            Kind::Lqg => (0, "lqg"),
        };
        if values.len() != wanted {
            return Err(MotionError::Impossible(format!(
                "{text:?} has {} values after the kind and this controller takes {wanted}: write it like {example}",
                values.len()
            )));
        }
        let list = |place: usize| {
            let each: Vec<String> = values.get(place)?.split(',').map(|v| v.trim().to_owned()).collect();
            Some(if each.len() == 1 { PerChannel::One(each[0].clone()) } else { PerChannel::Each(each) })
        };
        let gain = list(0).map(|texts| texts.spread("--controller", "gain", outputs)).transpose()?;
        let gain = gain.map(|texts| texts.iter().map(|t| t.parse::<f64>()).collect::<Result<Vec<_>, _>>());
        let gain = gain.transpose().map_err(|_| {
            MotionError::Impossible(format!(
                "{text:?} has a gain that is not a number: write it like {example}"
            ))
        })?;
        let sheet = DesignSheet {
            kind,
            gain: gain.map(PerChannel::Each),
            integral_time: if wanted == 3 { list(1) } else { None },
            derivative_time: if wanted == 3 { list(2) } else { list(1) },
        };
        Design::read("--controller", sheet, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controllers_are_read_from_one_word() {
        let pd = Design::Pd { gain: vec![60.0, 45.0], derivative_s: vec![0.06, 0.06] };
        assert_eq!(Design::parse("pd:60,45:60ms", 2), Ok(pd));
        let pid = Design::Pid { gain: vec![2.0], integral_s: vec![0.08], derivative_s: vec![0.0] };
        assert_eq!(Design::parse("pid:2:80ms:0ms", 1), Ok(pid));
        assert_eq!(Design::parse("lqg", 2), Ok(Design::Lqg));
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
