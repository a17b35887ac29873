//! Speeds of an axis in usual notations: `5rev/s`, `300rpm`, `600mm/min`, `8kHz` (pulses), `1000steps/s`.

use jitterlab_model::Error;

use super::axis::Axis;

impl Axis {
    /// Reads a speed into full steps per second.
    pub fn parse_speed(&self, text: &str) -> Result<f64, Error> {
        let text = text.trim();
        let bad = || {
            Error::bad_use(format!(
                "{text:?} is not a speed: write a number above zero with rev/s, rpm, steps/s (full steps), Hz or kHz (step pulses), \
                 mm/s or mm/min, such as 5rev/s"
            ))
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let value = text[..end].parse::<f64>().ok().filter(|v| *v > 0.0 && v.is_finite()).ok_or_else(bad)?;
        let per_revolution = self.motor.steps_per_revolution();
        let no_travel =
            || Error::bad_use(format!("{text:?} needs the travel of a revolution: give --travel 10mm/rev"));
        let travel = || self.lead_mm.ok_or_else(no_travel);
        Ok(match text[end..].trim() {
            "rev/s" | "r/s" => value * per_revolution,
            "rpm" | "rev/min" => value * per_revolution / 60.0,
            "steps/s" => value,
            "Hz" | "pulses/s" => value / f64::from(self.microsteps),
            "kHz" => value * 1e3 / f64::from(self.microsteps),
            "mm/s" => value / travel()? * per_revolution,
            "mm/min" => value / 60.0 / travel()? * per_revolution,
            _ => return Err(bad()),
        })
    }

    /// Reads `2rev/s`, a list `2rev/s,5rev/s`, or a range `1rev/s..10rev/s` (ten even steps).
    pub fn parse_speeds(&self, text: &str) -> Result<Vec<f64>, Error> {
        let Some((from, to)) = text.split_once("..") else {
            return text.split(',').map(|one| self.parse_speed(one)).collect();
        };
        let (from, to) = (self.parse_speed(from)?, self.parse_speed(to)?);
        if from >= to {
            return Err(Error::bad_use(format!(
                "{text:?} does not rise: write the lower speed first, such as 1rev/s..10rev/s"
            )));
        }
        Ok((0..10).map(|k| from + (to - from) * f64::from(k) / 9.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepper::{AxisFacts, Motor};
    use proptest::prelude::*;

    fn axis(lead_mm: Option<f64>) -> Axis {
        let motor = Motor::from_frame(23, 1.9).unwrap();
        Axis::new(motor, None, AxisFacts { microsteps: Some(8), lead_mm, ..AxisFacts::default() }).unwrap()
    }

    #[test]
    fn one_speed_in_every_unit() {
        let axis = axis(Some(10.0));
        for text in ["5rev/s", "300 rpm", "1000steps/s", "8kHz", "8000Hz", "50mm/s", "3000 mm/min"] {
            assert!((axis.parse_speed(text).unwrap() - 1000.0).abs() < 1e-9, "{text}");
        }
        assert_eq!(axis.parse_speeds("1rev/s..10rev/s").unwrap().len(), 10);
        assert_eq!(axis.parse_speeds("1rev/s,2rev/s").unwrap(), [200.0, 400.0]);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| axis(None).parse_speeds(text).unwrap_err().to_string();
        assert!(message("5mm/s").contains("--travel"));
        assert!(message("fast").contains("rev/s"));
        assert!(message("0rpm").contains("above zero"));
        assert!(message("5rev/s..1rev/s").contains("lower speed first"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,20}") {
            let _ = axis(None).parse_speeds(&text);
        }
    }
}
