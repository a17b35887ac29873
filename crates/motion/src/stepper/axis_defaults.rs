//! Defaults for facts of an axis that a user does not give.

use serde::{Deserialize, Serialize};

/// Damping ratio assumed for an axis of unknown friction.
pub const ASSUMED_DAMPING: f64 = 0.02;

/// A figure that was not given: the axis has the value taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumed {
    pub figure: AssumedFigure,
    /// The shipped motor it was taken from: the closest in holding torque that has the figure.
    pub like: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssumedFigure {
    RatedCurrent,
    /// For the same copper with other turns, as the inductance.
    Resistance,
    Inductance,
    /// In proportion to the holding torque, as the detent torque.
    RotorInertia,
    DetentTorque,
    /// StepConf's defaults.
    DriveTiming,
    /// The usual one for the size.
    SupplyVoltage,
    /// A common setting.
    Microsteps,
    /// Half of the holding torque, as in NIST's table 1.
    LoadTorque,
    /// As much as the rotor's.
    LoadInertia,
    /// That of [`ASSUMED_DAMPING`].
    Friction,
}

impl From<AssumedFigure> for Assumed {
    fn from(figure: AssumedFigure) -> Self {
        Assumed { figure, like: None }
    }
}
