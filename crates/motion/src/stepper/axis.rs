//! A motor built into a machine: its drive, supply, load and mechanics.

use std::f64::consts::TAU;

use serde::Serialize;

use jitterlab_model::Error;

use super::axis_defaults::{ASSUMED_DAMPING, Assumed, AssumedFigure};
use super::drive::Drive;
use super::jitter_torque::jitter_torque;
use super::motor::Motor;
use super::pull_out::{Supply, limited_torque_nm};
use super::resonance::ring_frequency_hz;
use super::step_loss::critical_jump;
use crate::error;

/// Facts of an axis beside its motor and its drive's timing; everything left out is assumed and listed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AxisFacts {
    pub voltage_v: Option<f64>,
    /// Current of each phase, both on, in A.
    pub current_a: Option<f64>,
    pub microsteps: Option<u32>,
    pub load_torque_nm: Option<f64>,
    /// Inertia that moves with the rotor, in kg m^2.
    pub load_inertia_kg_m2: Option<f64>,
    /// Viscous friction in N m s/rad.
    pub friction: Option<f64>,
    /// Travel of one revolution in mm.
    pub lead_mm: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// The motor; its optional figures are present.
    pub motor: Motor,
    pub drive: Drive,
    pub supply: Supply,
    pub microsteps: u32,
    pub load_torque_nm: f64,
    /// Inertia that moves with the rotor, in kg m^2.
    pub load_inertia_kg_m2: f64,
    /// Viscous friction in N m s/rad.
    pub friction: f64,
    /// Travel of one revolution in mm, if a lead screw or belt was named.
    pub lead_mm: Option<f64>,
    pub assumed: Vec<Assumed>,
}

const ASSUMED_VOLTAGE_V: f64 = 24.0;
const ASSUMED_MICROSTEPS: u32 = 8;

impl Axis {
    /// Completes a user's facts with stated assumptions. They are a motor as far as it is known, and StepConf's
    /// defaults for a drive that is not.
    pub fn new(motor: Motor, drive: Option<Drive>, facts: AxisFacts) -> Result<Axis, Error> {
        let (motor, mut assumed) = motor.checked()?.complete_from_catalog();
        let drive = match drive {
            Some(drive) => drive.checked()?,
            None => {
                assumed.push(AssumedFigure::DriveTiming.into());
                crate::catalog::find_device("stepconf", None)?
            }
        };
        let voltage_v = facts.voltage_v.unwrap_or_else(|| {
            assumed.push(AssumedFigure::SupplyVoltage.into());
            ASSUMED_VOLTAGE_V
        });
        let rated = motor.current_a.ok_or_else(|| motor.missing_figure("current", "the torque at speed"))?;
        let current_a = facts.current_a.unwrap_or(rated);
        let microsteps = facts.microsteps.unwrap_or_else(|| {
            assumed.push(AssumedFigure::Microsteps.into());
            ASSUMED_MICROSTEPS
        });
        let load_torque_nm = facts.load_torque_nm.unwrap_or_else(|| {
            assumed.push(AssumedFigure::LoadTorque.into());
            motor.holding_torque_nm / 2.0
        });
        let rotor =
            motor.rotor_inertia_kg_m2.ok_or_else(|| motor.missing_figure("rotor_inertia", "the swing"))?;
        let load_inertia_kg_m2 = facts.load_inertia_kg_m2.unwrap_or_else(|| {
            assumed.push(AssumedFigure::LoadInertia.into());
            rotor
        });
        for (what, value, positive) in [
            ("supply voltage", voltage_v, true),
            ("drive current", current_a, true),
            ("load torque", load_torque_nm, false),
            ("load inertia", load_inertia_kg_m2, false),
            ("friction", facts.friction.unwrap_or(0.0), false),
            ("travel of a revolution", facts.lead_mm.unwrap_or(1.0), true),
        ] {
            let bound = if positive { error::POSITIVE } else { error::NOT_NEGATIVE };
            if !value.is_finite() || value < 0.0 || positive && value == 0.0 {
                return Err(error::out_of_range(what, value, bound));
            }
        }
        if !(1..=256).contains(&microsteps) {
            return Err(error::out_of_range("microsteps", microsteps, error::MICROSTEPS));
        }
        if load_torque_nm >= motor.holding_torque_nm {
            let value = format!("{load_torque_nm} N m");
            return Err(error::out_of_range("load torque", value, error::BELOW_HOLDING));
        }
        let inertia = rotor + load_inertia_kg_m2;
        let friction = facts.friction.unwrap_or_else(|| {
            let stiffness = motor.pole_pairs() * motor.holding_torque_nm;
            assumed.push(AssumedFigure::Friction.into());
            2.0 * ASSUMED_DAMPING * (stiffness * inertia).sqrt()
        });
        let supply = Supply { voltage_v, current_a };
        let lead_mm = facts.lead_mm;
        Ok(Axis {
            motor,
            drive,
            supply,
            microsteps,
            load_torque_nm,
            load_inertia_kg_m2,
            friction,
            lead_mm,
            assumed,
        })
    }

    /// Shaft speed in rad/s at a rate of full steps per second.
    pub fn shaft_rad_per_s(&self, full_steps_per_s: f64) -> f64 {
        TAU * self.revolutions_per_s(full_steps_per_s)
    }

    /// Revolutions per second at a rate of full steps per second.
    pub fn revolutions_per_s(&self, full_steps_per_s: f64) -> f64 {
        full_steps_per_s / self.motor.steps_per_revolution()
    }

    /// Linear speed in mm/s, if the travel of a revolution is known.
    pub fn mm_per_s(&self, full_steps_per_s: f64) -> Option<f64> {
        self.lead_mm.map(|lead| lead * self.revolutions_per_s(full_steps_per_s))
    }

    /// Step pulses per second at a rate of full steps per second.
    pub fn pulses_per_s(&self, full_steps_per_s: f64) -> f64 {
        full_steps_per_s * f64::from(self.microsteps)
    }

    /// Torque the motor has at most at this speed (ideal upper bound, see [`limited_torque_nm`]).
    pub fn torque_at(&self, full_steps_per_s: f64) -> Result<f64, Error> {
        limited_torque_nm(&self.motor, self.supply, self.shaft_rad_per_s(full_steps_per_s))
    }

    /// Frequency at which rotor and load ring at the load torque.
    pub fn ring_hz(&self) -> Result<f64, Error> {
        ring_frequency_hz(&self.motor, self.load_torque_nm, self.load_inertia_kg_m2)
    }

    /// The fastest full-step rate at which the motor alone, with ideal timing, still has the load torque.
    pub fn torque_limited_steps_per_s(&self) -> Result<f64, Error> {
        self.fastest_while(|f| Ok(self.torque_at(f)? > self.load_torque_nm))
    }

    /// Exact torque of a jitter as a share of the torque left after the load; infinite where none is left.
    pub fn jitter_share(&self, full_steps_per_s: f64, jitter_s: f64) -> Result<f64, Error> {
        let torque = self.torque_at(full_steps_per_s)?;
        if torque <= self.load_torque_nm {
            return Ok(f64::INFINITY);
        }
        let change = jitter_torque(torque, self.load_torque_nm, full_steps_per_s, jitter_s)?;
        // A shift beyond a quarter cycle has taken all there is; the sine would fold back.
        let shift = std::f64::consts::FRAC_PI_2 * full_steps_per_s * jitter_s;
        let folded = shift >= std::f64::consts::FRAC_PI_2;
        Ok(if folded { f64::INFINITY } else { -change.late_nm / (torque - self.load_torque_nm) })
    }

    /// The fastest full-step rate at which jitter takes at most `share` of the reserve.
    pub fn speed_at_jitter_share(&self, share: f64, jitter_s: f64) -> Result<f64, Error> {
        self.fastest_while(|f| Ok(self.jitter_share(f, jitter_s)? <= share))
    }

    /// The fastest full-step rate at which losing `lost_s` for good loses no step (equal-area criterion).
    pub fn step_loss_speed(&self, lost_s: f64) -> Result<f64, Error> {
        self.fastest_while(|f| {
            let torque = self.torque_at(f)?;
            let holds = torque > self.load_torque_nm;
            Ok(holds && f * lost_s < critical_jump(self.load_torque_nm / torque)?)
        })
    }

    /// The largest rate up to which `holds` does, by bisection: true at standstill, false from some speed on.
    fn fastest_while(&self, holds: impl Fn(f64) -> Result<bool, Error>) -> Result<f64, Error> {
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if holds(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    fn as1050() -> Axis {
        let motor: Motor = catalog::find_device("as1050", None).unwrap();
        Axis::new(motor, None, AxisFacts { voltage_v: Some(48.0), ..AxisFacts::default() }).unwrap()
    }

    #[test]
    fn nema_23_with_a_torque_is_enough_and_every_assumption_is_listed() {
        let motor = Motor::from_frame(23, 1.9).unwrap();
        let (voltage_v, microsteps, lead_mm) = (Some(24.0), Some(8), Some(10.0));
        let known = AxisFacts { voltage_v, microsteps, lead_mm, ..AxisFacts::default() };
        let axis = Axis::new(motor, None, known).unwrap();
        let assumed = format!("{:?}", axis.assumed);
        for figure in ["RatedCurrent", "RotorInertia", "DriveTiming", "LoadTorque", "LoadInertia", "Friction"]
        {
            assert!(assumed.contains(figure), "{figure} not in {assumed}");
        }
        assert!(!assumed.contains("SupplyVoltage") && !assumed.contains("Microsteps"), "{assumed}");
        assert_eq!(axis.mm_per_s(200.0), Some(10.0));
    }

    #[test]
    fn the_step_loss_limit_at_half_load_is_0_763_steps() {
        let axis = as1050();
        assert!((axis.step_loss_speed(1e-3).unwrap() - 763.185).abs() < 1e-2);
    }

    #[test]
    fn at_low_speed_the_share_is_the_exact_torque_over_half_the_holding_torque() {
        let share = as1050().jitter_share(1000.0, 10e-6).unwrap();
        let exact = -jitter_torque(1.2, 0.6, 1000.0, 10e-6).unwrap().late_nm / 0.6;
        assert!((share - exact).abs() < 1e-12);
    }

    #[test]
    fn more_jitter_never_allows_more_speed_and_none_leaves_the_motor_s_own_limit() {
        let axis = as1050();
        let alone = axis.torque_limited_steps_per_s().unwrap();
        let mut last = alone;
        for jitter in [1e-9, 1e-6, 1e-5, 1e-4, 1e-3] {
            let speed = axis.speed_at_jitter_share(0.1, jitter).unwrap();
            assert!(speed <= last, "{jitter}: {speed} {last}");
            last = speed;
        }
        assert!((axis.speed_at_jitter_share(1.0, 0.0).unwrap() - alone).abs() < 1e-6 * alone);
    }

    #[test]
    fn impossible_axes_are_refused_with_a_remedy() {
        let motor = Motor::from_frame(23, 1.0).unwrap();
        let message = |facts: AxisFacts| Axis::new(motor.clone(), None, facts).unwrap_err().to_string();
        let base = AxisFacts::default();
        assert!(message(AxisFacts { load_inertia_kg_m2: Some(-1.0), ..base }).contains("below zero"));
        assert!(message(AxisFacts { load_torque_nm: Some(1.0), ..base }).contains("larger motor"));
        assert!(message(AxisFacts { microsteps: Some(0), ..base }).contains("1 to 256"));
        assert!(message(AxisFacts { voltage_v: Some(0.0), ..base }).contains("above zero"));
    }
}
