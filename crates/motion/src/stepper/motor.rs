//! A stepper motor as its data sheet describes it.

use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use jitterlab_model::Error;

use super::axis_defaults::{Assumed, AssumedFigure};
use crate::catalog::{self, Device};
use crate::error;
use crate::quantity::{Dimension, parse};

/// A two-phase stepper motor. Figures a data sheet may lack are options; see [`Motor::complete_from_catalog`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Motor {
    /// Maker and type.
    pub name: String,
    pub source: String,
    /// NEMA frame size: 17, 23, 34; 0 when not known.
    pub frame: u32,
    /// Full step in degrees, such as 1.8.
    pub step_angle_deg: f64,
    /// Holding torque h in N m, both phases at the rated current.
    pub holding_torque_nm: f64,
    /// Rated current of each phase, both phases on, in A.
    pub current_a: Option<f64>,
    pub resistance_ohm: Option<f64>,
    pub inductance_h: Option<f64>,
    pub rotor_inertia_kg_m2: Option<f64>,
    /// Amplitude of the detent (cogging) torque in N m.
    pub detent_torque_nm: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MotorFile {
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    frame: u32,
    step_angle: String,
    holding_torque: String,
    current: Option<String>,
    resistance: Option<String>,
    inductance: Option<String>,
    rotor_inertia: Option<String>,
    detent_torque: Option<String>,
}

impl Device for Motor {
    const KIND: &'static str = "motor";
    const FOLDER: &'static str = "motors";
    const SHIPPED: &'static [(&'static str, &'static str)] = catalog::shipped::MOTORS;

    fn from_toml(name: &str, text: &str) -> Result<Self, Error> {
        let sheet: MotorFile = catalog::parse_toml(Self::KIND, name, text)?;
        let read =
            |dimension, field, text: &str| parse(dimension, field, text).map_err(|error| error.within(name));
        let maybe =
            |dimension, field, text: Option<String>| text.map(|t| read(dimension, field, &t)).transpose();
        Motor {
            step_angle_deg: read(Dimension::Angle, "step_angle", &sheet.step_angle)?,
            holding_torque_nm: read(Dimension::Torque, "holding_torque", &sheet.holding_torque)?,
            current_a: maybe(Dimension::Current, "current", sheet.current)?,
            resistance_ohm: maybe(Dimension::Resistance, "resistance", sheet.resistance)?,
            inductance_h: maybe(Dimension::Inductance, "inductance", sheet.inductance)?,
            rotor_inertia_kg_m2: maybe(Dimension::Inertia, "rotor_inertia", sheet.rotor_inertia)?,
            detent_torque_nm: maybe(Dimension::Torque, "detent_torque", sheet.detent_torque)?,
            name: sheet.name,
            source: sheet.source,
            frame: sheet.frame,
        }
        .checked()
    }
}

/// Frames that stepper motors are made in.
const FRAMES: [u32; 10] = [6, 8, 11, 14, 16, 17, 23, 24, 34, 42];

impl Motor {
    /// A motor with only the frame (0 if unknown) and the holding torque known; 1.8 degrees a step.
    pub fn from_frame(frame: u32, holding_torque_nm: f64) -> Result<Self, Error> {
        let size = if frame > 0 { format!("NEMA {frame}, ") } else { String::new() };
        Motor {
            name: format!("{size}{} N m", rounded_to_four_digits(holding_torque_nm)),
            source: "options".into(),
            frame,
            step_angle_deg: 1.8,
            holding_torque_nm,
            current_a: None,
            resistance_ohm: None,
            inductance_h: None,
            rotor_inertia_kg_m2: None,
            detent_torque_nm: None,
        }
        .checked()
    }

    /// The motor itself, if all its figures are possible: positive, and a step angle that gives whole pole pairs.
    pub fn checked(self) -> Result<Self, Error> {
        if self.frame != 0 && !FRAMES.contains(&self.frame) {
            return Err(error::out_of_range("frame", format!("NEMA {}", self.frame), error::FRAME));
        }
        let positive = [
            ("holding torque", Some(self.holding_torque_nm), "N m"),
            ("current", self.current_a, "A"),
            ("resistance", self.resistance_ohm, "ohm"),
            ("inductance", self.inductance_h, "H"),
            ("rotor inertia", self.rotor_inertia_kg_m2, "kg m^2"),
        ];
        for (what, value, unit) in positive {
            if let Some(value) = value.filter(|v| !(*v > 0.0 && v.is_finite())) {
                return Err(error::out_of_range(what, format!("{value} {unit}"), error::POSITIVE));
            }
        }
        if let Some(detent) = self.detent_torque_nm.filter(|t| !(0.0..self.holding_torque_nm).contains(t)) {
            return Err(error::out_of_range("detent torque", format!("{detent} N m"), error::DETENT));
        }
        let pairs = 90.0 / self.step_angle_deg;
        if !(1.0..=1000.0).contains(&pairs) || (pairs - pairs.round()).abs() > 1e-6 * pairs {
            let value = format!("{} deg", self.step_angle_deg);
            return Err(error::out_of_range("step angle", value, error::WHOLE_STEPS));
        }
        Ok(self)
    }

    /// Nr: rotor teeth, the electrical cycles of one revolution; pi/2 divided by the step angle.
    pub fn pole_pairs(&self) -> f64 {
        (90.0 / self.step_angle_deg).round()
    }

    pub fn steps_per_revolution(&self) -> f64 {
        4.0 * self.pole_pairs()
    }

    /// Km in N m/A: holding torque with both phases at the rated current, h / (sqrt(2) I). Data sheets differ on
    /// the convention (one or two phases on, rms or peak); this is the two-phase-on reading.
    pub fn torque_constant(&self) -> Option<f64> {
        self.current_a.map(|i| self.holding_torque_nm / (SQRT_2 * i))
    }

    pub(crate) fn missing_figure(&self, key: &'static str, purpose: &'static str) -> Error {
        let (what, example) = match key {
            "current" => ("rated current", "2.8 A"),
            "resistance" => ("resistance", "1.1 ohm"),
            "inductance" => ("inductance", "3.6 mH"),
            _ => ("rotor inertia", "0.3 kg cm2"),
        };
        Error::bad_use(format!(
            "{} has no {what}, which {purpose} needs: add `{key} = \"{example}\"` to its file or give it as an option",
            self.name
        ))
    }

    /// The motor with every missing figure taken from the shipped motor of the same frame that is closest in
    /// holding torque: the winding (resistance and inductance scaled by the square of the currents' ratio, as for
    /// the same copper with other turns), inertia and detent torque in proportion to the holding torque.
    pub fn complete_from_catalog(&self) -> (Motor, Vec<Assumed>) {
        let mut full = self.clone();
        let mut assumed = Vec::new();
        let mut take = |figure, like: &String| assumed.push(Assumed { figure, like: Some(like.clone()) });
        if full.current_a.is_none() || full.resistance_ohm.is_none() || full.inductance_h.is_none() {
            let like =
                self.closest_shipped(|m| m.resistance_ohm.and(m.inductance_h).and(m.current_a).is_some());
            if let Some((like, (own_current, (r, l)))) = like
                .and_then(|m| Some((m.name.clone(), (m.current_a?, (m.resistance_ohm?, m.inductance_h?)))))
            {
                let current = *full.current_a.get_or_insert_with(|| {
                    take(AssumedFigure::RatedCurrent, &like);
                    own_current
                });
                let turns = (own_current / current).powi(2);
                full.resistance_ohm.get_or_insert_with(|| {
                    take(AssumedFigure::Resistance, &like);
                    r * turns
                });
                full.inductance_h.get_or_insert_with(|| {
                    take(AssumedFigure::Inductance, &like);
                    l * turns
                });
            }
        }
        let mut in_proportion = |value: &mut Option<f64>, figure, of: fn(&Motor) -> Option<f64>| {
            if value.is_none()
                && let Some(like) = self.closest_shipped(|m| of(m).is_some())
            {
                take(figure, &like.name);
                *value = of(&like).map(|v| v / like.holding_torque_nm * self.holding_torque_nm);
            }
        };
        in_proportion(&mut full.rotor_inertia_kg_m2, AssumedFigure::RotorInertia, |m| m.rotor_inertia_kg_m2);
        in_proportion(&mut full.detent_torque_nm, AssumedFigure::DetentTorque, |m| m.detent_torque_nm);
        (full, assumed)
    }

    /// The shipped motor with these figures, of this frame if there is one, closest in holding torque.
    fn closest_shipped(&self, has: impl Fn(&Motor) -> bool) -> Option<Motor> {
        let distance = |m: &Motor| {
            let other_frame = self.frame != 0 && m.frame != self.frame;
            (other_frame, (m.holding_torque_nm / self.holding_torque_nm).ln().abs())
        };
        let shipped = Self::SHIPPED.iter().filter_map(|(name, text)| Self::from_toml(name, text).ok());
        shipped.filter(|m| has(m)).min_by(|a, b| {
            let (a, b) = (distance(a), distance(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }
}

/// A number as a name shows it: 1841 oz-in are 13 N m, not 13.000316889990144.
fn rounded_to_four_digits(value: f64) -> f64 {
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    if scale.is_finite() { (value * scale).round() / scale } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_motor_is_whole() {
        for (name, text) in Motor::SHIPPED {
            let motor = Motor::from_toml(name, text).unwrap();
            assert!(!motor.source.is_empty(), "{name}");
        }
    }

    #[test]
    fn as1050_has_50_pole_pairs_and_its_torque_constant() {
        let motor: Motor = catalog::find_device("AS1050", None).unwrap();
        assert_eq!((motor.pole_pairs(), motor.steps_per_revolution()), (50.0, 200.0));
        assert!((motor.torque_constant().unwrap() - 0.1697056).abs() < 1e-7);
    }

    #[test]
    fn shipped_data_sheets_say_what_their_sources_say() {
        // Holding torque in N m, current in A, resistance in ohm, inductance in mH, inertia in kg cm2.
        for (name, torque, current, resistance, inductance_mh, inertia_kg_cm2) in [
            ("as1010", 0.38, 1.0, 4.10, 9.5, None),
            ("as1030", 0.6, 1.5, 0.80, 3.80, Some(0.21)),
            ("as1050", 1.2, 5.0, 0.28, 0.86, Some(0.36)),
            ("as1060", 5.0, 5.0, 0.36, 2.80, Some(3.0)),
            ("23hs30-2804s", 1.89, 2.8, 1.13, 5.4, None),
            ("mt-2305hs280aw", 1.87, 2.8, 1.13, 3.6, None),
            ("ml23hs8l4550", 1.5, 5.5, 0.28, 1.03, None),
        ] {
            let motor: Motor = catalog::find_device(name, None).unwrap();
            let same = |found: f64, sheet: f64| (found - sheet).abs() < 1e-12 * sheet;
            assert!(
                same(motor.holding_torque_nm, torque) && same(motor.current_a.unwrap(), current),
                "{name}"
            );
            assert!(same(motor.resistance_ohm.unwrap(), resistance), "{name}");
            assert!(same(motor.inductance_h.unwrap(), inductance_mh * 1e-3), "{name}");
            if let Some(inertia) = inertia_kg_cm2 {
                assert!(same(motor.rotor_inertia_kg_m2.unwrap(), inertia * 1e-4), "{name}");
            }
        }
    }

    #[test]
    fn a_torque_from_other_units_has_a_short_name() {
        let name = |nm| Motor::from_frame(34, nm).unwrap().name;
        assert_eq!(
            [name(13.000316889990144), name(1.8632635), name(0.59)],
            ["NEMA 34, 13 N m", "NEMA 34, 1.863 N m", "NEMA 34, 0.59 N m"]
        );
    }

    #[test]
    fn a_frame_and_a_torque_are_enough() {
        let (motor, assumed) = Motor::from_frame(23, 1.9).unwrap().complete_from_catalog();
        assert!((motor.rotor_inertia_kg_m2.unwrap() - 1.9 / 1.2 * 3.6e-5).abs() < 1e-12);
        assert_eq!((motor.current_a, motor.resistance_ohm), (Some(2.8), Some(1.13)));
        use AssumedFigure::*;
        let figures: Vec<AssumedFigure> = assumed.iter().map(|a| a.figure).collect();
        assert_eq!(figures, [RatedCurrent, Resistance, Inductance, RotorInertia, DetentTorque]);
    }

    #[test]
    fn a_known_current_scales_the_winding() {
        let known = Motor { current_a: Some(5.6), ..Motor::from_frame(23, 1.89).unwrap() };
        let motor = known.complete_from_catalog().0;
        assert!((motor.resistance_ohm.unwrap() - 1.13 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| Motor::from_toml("my.toml", text).unwrap_err().to_string();
        let sheet = "name = 'x'\nstep_angle = '1.8 deg'\n";
        assert!(message(&format!("{sheet}holding_torque = '1.2'")).contains("without a unit"));
        assert!(message(&format!("{sheet}holding_torque = '-1.2 N m'")).contains("above zero"));
        assert!(message(sheet).contains("holding_torque"));
        assert!(message(&format!("{sheet}holding_torque = '1 N m'\ntorque = 3")).contains("line 4"));
        assert!(
            message("name = 'x'\nstep_angle = '1.7 deg'\nholding_torque = '1 N m'").contains("whole number")
        );
        let negative = format!("{sheet}holding_torque = '1 N m'\nrotor_inertia = '-3 g cm2'");
        assert!(message(&negative).contains("rotor inertia"));
    }
}
