//! Errors of pins that cannot be moved, with the remedy.

use std::io;
use std::path::Path;

use nix::errno::Errno;

use jitterlab_model::Error;

/// Remedies for a kind of device.
pub(super) struct Remedies {
    missing: &'static str,
    forbidden: &'static str,
    busy: &'static str,
    refused: &'static str,
}

impl Remedies {
    pub(super) const GPIO: Remedies = Remedies {
        missing: "see `gpiodetect` (package gpiod) for the chips that this machine has",
        forbidden: "run as root, or add yourself to the group that owns it (gpio on many boards) and log in again",
        busy: "`gpioinfo` names what uses each line: take a free one",
        refused: "`gpioinfo` lists the chip's lines; pulses need Linux 5.10 or later",
    };
    pub(super) const PARALLEL: Remedies = Remedies {
        missing: "load its drivers with `modprobe -a parport_pc ppdev`; a port on a USB adapter does not do",
        forbidden: "run as root, or add yourself to the group lp and log in again",
        busy: "another driver holds the port: `rmmod lp` gives it back",
        refused: "another driver holds the port, or it has none: `rmmod lp`, then `modprobe -a parport_pc ppdev`",
    };
    pub(super) const SERIAL: Remedies = Remedies {
        missing: "see `ls /dev/tty*` for the ports that this machine has",
        forbidden: "run as root, or add yourself to the group dialout and log in again",
        busy: "something else holds the port: `fuser -v` on it names what",
        refused: "this port has no control lines: take one of the main board (ttyS0) or of an adapter (ttyUSB0)",
    };
    pub(super) const FILE: Remedies = Remedies {
        missing: "name a file in a folder that is there",
        forbidden: "name a file in a folder that you may write",
        busy: "name another file",
        refused: "name a new file: what is there is kept",
    };

    /// Remedy for a direction pin that was taken and does not stay high.
    pub(super) const NOT_HELD: &str = "take another pin for the direction";

    /// Error for a device that the system refused, with the remedy for that.
    pub(super) fn explain(&self, path: &Path, error: io::Error) -> Error {
        let remedy = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ENXIO | Errno::ENODEV) => {
                return Error::refused(format!("there is no {} for pulses", path.display()))
                    .remedy(self.missing);
            }
            Some(Errno::EACCES | Errno::EPERM) => self.forbidden,
            Some(Errno::EBUSY) => self.busy,
            _ => self.refused,
        };
        unusable_device_error(path, error, remedy)
    }
}

/// Error for a device that takes no pulses, with cause and remedy.
pub(super) fn unusable_device_error(path: &Path, error: io::Error, remedy: &str) -> Error {
    Error::refused(format!("{} takes no pulses", path.display())).because(error).remedy(remedy)
}
