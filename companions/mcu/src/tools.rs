//! The programs of others: found, run, and named with their packages where they are missing.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::McuError;

/// A program that has to be there.
pub(super) struct Tool {
    pub name: &'static str,
    pub packages: &'static str,
}

/// The cross compiler, with its C library.
pub(super) const AVR_CXX: Tool = Tool { name: "avr-g++", packages: "gcc-avr avr-libc" };

/// The cross compiler for ARM, which needs no C library.
pub(super) const ARM_CXX: Tool = Tool { name: "arm-none-eabi-g++", packages: "gcc-arm-none-eabi" };

/// The directory of the Arduino core for AVR.
pub(super) fn arduino_core() -> Result<PathBuf, McuError> {
    let path = PathBuf::from("/usr/share/arduino/hardware/arduino/avr");
    if path.join("cores/arduino/wiring.c").exists() {
        return Ok(path);
    }
    Err(McuError::Missing { what: "the Arduino core", packages: "arduino-core-avr" })
}

impl Tool {
    /// Runs it; gives what it printed.
    pub(super) fn run(
        &self,
        what: &str,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<String, McuError> {
        let output =
            Command::new(self.name).args(arguments).output().map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => McuError::Missing { what: self.name, packages: self.packages },
                _ => McuError::Io { what: format!("starting {}", self.name), error },
            })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(McuError::Compile {
            compiler: self.name,
            what: what.into(),
            message: first_lines(&String::from_utf8_lossy(&output.stderr)),
        })
    }
}

/// The lines that say what is wrong come first; the rest is their consequences.
fn first_lines(message: &str) -> String {
    message.lines().filter(|l| !l.trim().is_empty()).take(12).collect::<Vec<_>>().join("\n")
}
