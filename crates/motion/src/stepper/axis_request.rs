//! An axis as a user describes it: known facts of motor, supply, mechanics and drive.

use super::{Axis, AxisFacts, Drive, Motor};
use crate::catalog;
use jitterlab_model::Error;

/// Known facts of an axis; unknown ones come from the data sheet, or are assumed.
#[derive(Debug, Clone, Default)]
pub struct AxisRequest {
    /// The motor's data sheet: a name, or a TOML file.
    pub motor: Option<String>,
    pub frame: Option<u32>,
    pub torque_nm: Option<f64>,
    pub facts: AxisFacts,
    /// The drive's timing: a name, or a TOML file.
    pub drive: Option<String>,
    pub step_time_ns: Option<i64>,
    pub step_space_ns: Option<i64>,
    pub direction_setup_ns: Option<i64>,
    pub direction_hold_ns: Option<i64>,
}

impl AxisRequest {
    /// The axis from a data sheet, the known facts, and assumptions.
    pub fn axis(self) -> Result<Axis, Error> {
        let motor = match (&self.motor, self.torque_nm) {
            (Some(name), _) => catalog::known_device::<Motor>(name)?,
            (None, Some(torque)) => Motor::from_frame(self.frame.unwrap_or(0), torque)?,
            (None, None) => {
                return Err(Error::bad_use(
                    "which motor? Name one of `jitterlab stepper --list` with --motor, or give --torque \"1.9 N m\" (and --frame 23)",
                ));
            }
        };
        let motor = Motor {
            holding_torque_nm: self.torque_nm.unwrap_or(motor.holding_torque_nm),
            frame: self.frame.unwrap_or(motor.frame),
            ..motor
        };
        let drive = self.requested_drive()?;
        Axis::new(motor, drive, self.facts)
    }

    fn requested_drive(&self) -> Result<Option<Drive>, Error> {
        let times = [self.step_time_ns, self.step_space_ns, self.direction_setup_ns, self.direction_hold_ns];
        if self.drive.is_none() && times.iter().all(Option::is_none) {
            return Ok(None);
        }
        let drive: Drive = catalog::known_device(self.drive.as_deref().unwrap_or("stepconf"))?;
        Ok(Some(Drive {
            step_time_ns: self.step_time_ns.unwrap_or(drive.step_time_ns),
            step_space_ns: self.step_space_ns.unwrap_or(drive.step_space_ns),
            direction_setup_ns: self.direction_setup_ns.unwrap_or(drive.direction_setup_ns),
            direction_hold_ns: self.direction_hold_ns.unwrap_or(drive.direction_hold_ns),
            ..drive
        }))
    }
}
