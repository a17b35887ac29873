//! The options that describe a stepper axis: its motor, supply, mechanics and drive.

use jitterlab_model::Error;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_motion::quantity::{self, Dimension};
use jitterlab_motion::stepper::{Axis, AxisFacts, AxisRequest};

use crate::values;

/// A motor built into a machine.
#[derive(clap::Args)]
pub struct AxisArgs {
    /// The motor's data sheet: a name from --list, or a TOML file
    #[arg(long, help_heading = "Motor", value_parser = values::parse_motor, value_name = "NAME|FILE")]
    motor: Option<String>,
    /// NEMA frame size, such as 23, for a motor without a data sheet
    #[arg(long, help_heading = "Motor", value_parser = values::parse_frame_size, value_name = "SIZE")]
    frame: Option<u32>,
    /// Holding torque, such as "1.9 N m" or "269 oz-in"
    #[arg(long, help_heading = "Motor", value_parser = torque, value_name = "TORQUE")]
    torque: Option<f64>,

    /// Supply voltage of the drive, such as 48V [default: 24V]
    #[arg(long, help_heading = "Axis", value_parser = voltage, value_name = "VOLTAGE")]
    voltage: Option<f64>,
    /// Current the drive is set to, such as 2.8A [default: the motor's]
    #[arg(long, help_heading = "Axis", value_parser = current, value_name = "CURRENT")]
    drive_current: Option<f64>,
    /// Microsteps: 16 or 1/16 [default: 8]
    #[arg(long, help_heading = "Axis", value_parser = parse_microsteps, value_name = "N")]
    microsteps: Option<u32>,
    /// Constant load at the shaft, such as 0.4Nm [default: half of the holding torque]
    #[arg(long, help_heading = "Axis", value_parser = torque, value_name = "TORQUE")]
    load_torque: Option<f64>,
    /// Inertia that moves with the rotor, such as 300gcm2 [default: as much as the rotor]
    #[arg(long, help_heading = "Axis", value_parser = inertia, value_name = "INERTIA")]
    load_inertia: Option<f64>,
    /// Travel of one revolution, such as 10mm/rev; speeds are then also told in mm/min
    #[arg(long, help_heading = "Axis", value_parser = lead, value_name = "TRAVEL")]
    travel: Option<f64>,

    /// The drive's timing: a name from --list, or a TOML file [default: stepconf, LinuxCNC's defaults]
    #[arg(long, help_heading = "Drive", value_name = "NAME|FILE")]
    drive: Option<String>,
    /// Shortest step pulse the drive takes, such as 2.5us [default: the drive's]
    #[arg(long, help_heading = "Drive", value_parser = parse_duration_ns, value_name = "TIME")]
    step_time: Option<i64>,
    /// Shortest pause between pulses [default: the drive's]
    #[arg(long, help_heading = "Drive", value_parser = parse_duration_ns, value_name = "TIME")]
    step_space: Option<i64>,
    /// Time the direction is set before a step [default: the drive's]
    #[arg(long, help_heading = "Drive", value_parser = parse_duration_ns, value_name = "TIME")]
    direction_setup: Option<i64>,
    /// Time the direction is held after a step [default: the drive's]
    #[arg(long, help_heading = "Drive", value_parser = parse_duration_ns, value_name = "TIME")]
    direction_hold: Option<i64>,
}

macro_rules! readers {
    ($($name:ident: $dimension:ident),* $(,)?) => {
        $(fn $name(text: &str) -> Result<f64, Error> {
            quantity::parse(Dimension::$dimension, "it", text)
        })*
    };
}

readers! {
    torque: Torque, current: Current, inertia: Inertia, voltage: Voltage, lead: Lead,
}

fn parse_microsteps(text: &str) -> Result<u32, Error> {
    let number = text.trim().strip_prefix("1/").unwrap_or(text.trim());
    number
        .parse()
        .map_err(|_| Error::bad_use(format!("{text:?} is not a number of microsteps: write 8 or 1/8")))
}

impl AxisArgs {
    /// True if an option names the motor.
    pub fn names_a_motor(&self) -> bool {
        self.motor.is_some() || self.torque.is_some()
    }

    /// The axis from a data sheet, options, and assumptions.
    pub fn axis(&self) -> Result<Axis, Error> {
        let facts = AxisFacts {
            voltage_v: self.voltage,
            current_a: self.drive_current,
            microsteps: self.microsteps,
            load_torque_nm: self.load_torque,
            load_inertia_kg_m2: self.load_inertia,
            friction: None,
            lead_mm: self.travel,
        };
        AxisRequest {
            motor: self.motor.clone(),
            frame: self.frame,
            torque_nm: self.torque,
            facts,
            drive: self.drive.clone(),
            step_time_ns: self.step_time,
            step_space_ns: self.step_space,
            direction_setup_ns: self.direction_setup,
            direction_hold_ns: self.direction_hold,
        }
        .axis()
    }
}
