//! Speeds of an axis in usual notations: `5rev/s`, `300rpm`, `600mm/min`, `8kHz` (pulses), `1000steps/s`.

use super::StepperError;
use super::axis::Axis;
use crate::error::MotionError;

impl Axis {
    /// Reads a speed into full steps per second.
    ///
    /// # Errors
    /// No number above zero, an unknown unit, or millimetres on an axis of unknown travel.
    pub fn read_speed(&self, text: &str) -> Result<f64, MotionError> {
        let text = text.trim();
        let bad = || MotionError::from(StepperError::NotASpeed(text.into()));
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let value = text[..end].parse::<f64>().ok().filter(|v| *v > 0.0 && v.is_finite()).ok_or_else(bad)?;
        let per_revolution = self.motor.steps_per_revolution();
        let travel = || self.lead_mm.ok_or_else(|| StepperError::NoTravel(text.into()));
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
    ///
    /// # Errors
    /// As [`Axis::read_speed`], and a range that does not rise.
    pub fn read_speeds(&self, text: &str) -> Result<Vec<f64>, MotionError> {
        let Some((from, to)) = text.split_once("..") else {
            return text.split(',').map(|one| self.read_speed(one)).collect();
        };
        let (from, to) = (self.read_speed(from)?, self.read_speed(to)?);
        if from >= to {
            return Err(StepperError::FallingRange(text.into()).into());
        }
        Ok((0..10).map(|k| from + (to - from) * f64::from(k) / 9.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepper::{AxisOptions, Motor};
    use proptest::prelude::*;

    fn axis(lead_mm: Option<f64>) -> Axis {
        let motor = Motor::of_frame(23, 1.9).unwrap();
        Axis::new(AxisOptions { microsteps: Some(8), lead_mm, ..AxisOptions::new(motor) }).unwrap()
    }

    #[test]
    fn one_speed_in_every_unit() {
        let axis = axis(Some(10.0));
        for text in ["5rev/s", "300 rpm", "1000steps/s", "8kHz", "8000Hz", "50mm/s", "3000 mm/min"] {
            assert!((axis.read_speed(text).unwrap() - 1000.0).abs() < 1e-9, "{text}");
        }
        assert_eq!(axis.read_speeds("1rev/s..10rev/s").unwrap().len(), 10);
        assert_eq!(axis.read_speeds("1rev/s,2rev/s").unwrap(), [200.0, 400.0]);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| axis(None).read_speeds(text).unwrap_err().to_string();
        assert!(message("5mm/s").contains("--travel"));
        assert!(message("fast").contains("rev/s"));
        assert!(message("0rpm").contains("above zero"));
        assert!(message("5rev/s..1rev/s").contains("lower speed first"));
    }

    proptest! {
        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,20}") {
            let _ = axis(None).read_speeds(&text);
        }
    }
}
