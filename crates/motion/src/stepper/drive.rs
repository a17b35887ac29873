//! The timing a stepper drive asks of its step and direction inputs.

use jitterlab_model::units::{Exact, parse_duration_ns};
use serde::{Deserialize, Serialize};

use jitterlab_model::Error;

use crate::catalog::{self, Device};
use crate::error;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drive {
    /// Maker and type.
    pub name: String,
    pub source: String,
    /// The step pulse stays active for at least this.
    pub step_time_ns: i64,
    /// The step pulse stays inactive for at least this.
    pub step_space_ns: i64,
    /// Direction stays unchanged after a step for at least this.
    pub direction_hold_ns: i64,
    /// Direction is stable before a step for at least this.
    pub direction_setup_ns: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    name: String,
    #[serde(default)]
    source: String,
    step_time: String,
    step_space: String,
    direction_hold: String,
    direction_setup: String,
}

impl Device for Drive {
    const KIND: &'static str = "drive";
    const FOLDER: &'static str = "drives";
    const SHIPPED: &'static [(&'static str, &'static str)] = catalog::shipped::DRIVES;

    fn from_toml(name: &str, text: &str) -> Result<Self, Error> {
        let sheet: DriveFile = catalog::parse_toml(Self::KIND, name, text)?;
        let read = |key: &str, text: &str| {
            parse_duration_ns(text)
                .map_err(|cause| error::invalid_file(Self::KIND, name, &format!("{key}: {cause}"), ""))
        };
        Drive {
            step_time_ns: read("step_time", &sheet.step_time)?,
            step_space_ns: read("step_space", &sheet.step_space)?,
            direction_hold_ns: read("direction_hold", &sheet.direction_hold)?,
            direction_setup_ns: read("direction_setup", &sheet.direction_setup)?,
            name: sheet.name,
            source: sheet.source,
        }
        .checked()
    }
}

impl Drive {
    /// The drive itself, if its times are possible: from 1 ns to a second for steps, not negative for direction.
    pub fn checked(self) -> Result<Self, Error> {
        const SECOND: i64 = 1_000_000_000;
        for (what, time, least) in [
            ("step time", self.step_time_ns, 1),
            ("step space", self.step_space_ns, 1),
            ("direction hold", self.direction_hold_ns, 0),
            ("direction setup", self.direction_setup_ns, 0),
        ] {
            if !(least..=SECOND).contains(&time) {
                return Err(error::out_of_range(what, Exact(time), error::DRIVE_TIME));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_drive_is_whole() {
        for entry in catalog::list_entries::<Drive>(None) {
            assert!(!entry.device.unwrap().source.is_empty());
        }
        assert_eq!(catalog::find_device::<Drive>("keling", None).unwrap().direction_hold_ns, 20_000);
    }

    #[test]
    fn a_time_without_unit_is_named() {
        let text = "name='x'\nstep_time='5'\nstep_space='5us'\ndirection_hold='0'\ndirection_setup='0'";
        let message = Drive::from_toml("my.toml", text).unwrap_err().to_string();
        assert!(message.contains("step_time") && message.contains("no unit"), "{message}");
    }
}
