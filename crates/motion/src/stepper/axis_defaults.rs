//! Defaults for facts of an axis that a user does not give.

use serde::{Deserialize, Serialize};

/// A figure that was not given, with the value taken. `like` is the shipped motor it was taken from: the closest in
/// holding torque that has the figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "figure", rename_all = "kebab-case")]
pub enum Assumed {
    /// The motor's rated current, that of another.
    RatedCurrent { current_a: f64, like: String },
    /// Its winding's resistance, for the same copper with other turns.
    Resistance { resistance_ohm: f64, like: String },
    /// Its winding's inductance, for the same copper with other turns.
    Inductance { inductance_h: f64, like: String },
    /// Its rotor's inertia, in proportion to the holding torque.
    RotorInertia { inertia_kg_m2: f64, like: String },
    /// Its detent torque, in proportion to the holding torque.
    DetentTorque { torque_nm: f64, share: f64, like: String },
    /// The drive's times: StepConf's defaults.
    DriveTiming {
        /// Length of a step pulse.
        step_time_ns: i64,
        /// Pause between pulses.
        step_space_ns: i64,
        /// Setup of the direction, and its hold.
        direction_ns: i64,
    },
    /// The supply voltage, the usual one for the size.
    SupplyVoltage { voltage_v: f64 },
    /// Microsteps of a full step, a common setting.
    Microsteps { microsteps: u32 },
    /// The load torque: half of the holding torque, as in NIST's table 1.
    LoadTorque { torque_nm: f64 },
    /// The inertia that moves with the rotor: as much as the rotor's.
    LoadInertia { inertia_kg_m2: f64 },
    /// Viscous friction, as a share of critical damping.
    Friction { friction: f64, damping: f64 },
}
