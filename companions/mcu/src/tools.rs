//! External programs: found, run, and named with their packages if they are missing.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::Error;

use super::error::FailureCase;

/// A program that has to be there.
pub(super) struct Tool {
    pub name: &'static str,
    pub packages: &'static str,
}

pub(super) const AVR_CXX: Tool = Tool { name: "avr-g++", packages: "gcc-avr avr-libc" };

/// The cross compiler for ARM, which needs no C library.
pub(super) const ARM_CXX: Tool = Tool { name: "arm-none-eabi-g++", packages: "gcc-arm-none-eabi" };

pub(super) fn arduino_core_directory() -> Result<PathBuf, Error> {
    let path = PathBuf::from("/usr/share/arduino/hardware/arduino/avr");
    if path.join("cores/arduino/wiring.c").exists() {
        return Ok(path);
    }
    Err(not_installed_error("the Arduino core", "arduino-core-avr"))
}

/// Returns the error that something is not installed; `packages` are those that contain it.
pub(super) fn not_installed_error(what: &str, packages: &str) -> Error {
    Error::refused(format!("{what} is not installed"))
        .remedy(format!("on Debian and Ubuntu it comes with `apt install {packages}`"))
        .case(FailureCase::Missing)
}

pub(super) fn not_compiled_error(compiler: &str, what: &str, message: String) -> Error {
    Error::not_measured(format!("{compiler} could not compile {what}:\n{message}"))
        .case(FailureCase::NotCompiled(message))
}

impl Tool {
    /// Runs it with its own temporary directory, which is deleted afterwards; returns its output.
    pub(super) fn run(
        &self,
        temporary: &Path,
        what: &str,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<String, Error> {
        let mut command = Command::new(self.name);
        let output = command.args(arguments).env("TMPDIR", temporary).output();
        let output = output.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not_installed_error(self.name, self.packages),
            _ => Error::refused(format!("cannot start {}", self.name)).because(error),
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(not_compiled_error(self.name, what, first_error_lines(&String::from_utf8_lossy(&output.stderr))))
    }
}

/// The first 12 lines that are not empty: the error comes first, the rest are its consequences.
fn first_error_lines(message: &str) -> String {
    message.lines().filter(|l| !l.trim().is_empty()).take(12).collect::<Vec<_>>().join("\n")
}
