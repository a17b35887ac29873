//! The machine QEMU emulates, so that it is the same machine every time, and the kernel's command line for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::architecture::Architecture;
use super::devices::Devices;
use super::job::{INIT, INIT_WORD};
use jitterlab_host::cause_finder::VIRTUAL_TIME;
use jitterlab_model::Error;

/// Time base of the guest. Text: `icount:SHIFT` or `real`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestTime {
    /// 2^shift nanoseconds for every instruction, and idle time passes at once: repeatable.
    PerInstruction {
        /// 0 to 10.
        shift: u8,
    },
    /// As this machine's clock: not repeatable, and the emulation's own delays are in every figure.
    Real,
}

impl Default for GuestTime {
    fn default() -> Self {
        GuestTime::PerInstruction { shift: 0 }
    }
}

impl fmt::Display for GuestTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuestTime::PerInstruction { shift } => write!(f, "icount:{shift}"),
            GuestTime::Real => write!(f, "real"),
        }
    }
}

impl FromStr for GuestTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let shift = text.strip_prefix("icount:").and_then(|shift| shift.parse().ok());
        match (text, shift) {
            ("real", _) => Ok(GuestTime::Real),
            (_, Some(shift @ 0..=10)) => Ok(GuestTime::PerInstruction { shift }),
            _ => Err(Error::bad_use(format!("{text:?} is no way for time to pass"))
                .remedy("use icount:0 (1 ns for each instruction) to icount:10 (1024 ns), or real")),
        }
    }
}

impl GuestTime {
    /// Virtual time of each instruction in nanoseconds; `None` where time passes as on this machine.
    pub fn ns_per_instruction(self) -> Option<u32> {
        match self {
            GuestTime::PerInstruction { shift } => Some(1 << shift),
            GuestTime::Real => None,
        }
    }
}

/// The emulated machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Architecture, that of the kernel.
    pub architecture: &'static Architecture,
    /// The emulator, by its path or found in PATH; `None`: the usual one for the processor.
    pub qemu: Option<PathBuf>,
    pub cpus: u16,
    pub memory_mib: u32,
    pub time: GuestTime,
    pub devices: Devices,
    pub parameters: Vec<String>,
    /// Longest time of the emulation, in this machine's time.
    pub timeout: Duration,
}

impl Default for Machine {
    /// One processor, 1 GiB, virtual time, 10 minutes.
    fn default() -> Self {
        Machine {
            architecture: Architecture::own_or_default(),
            qemu: None,
            cpus: 1,
            memory_mib: 1024,
            time: GuestTime::default(),
            devices: Devices::default(),
            parameters: Vec::new(),
            timeout: Duration::from_secs(600),
        }
    }
}

/// The longest time in ns that a processor runs while the others wait, if several share counted time. It
/// divides no usual period, so that due times fall on every part of a slice.
pub const TIME_SLICE_NS: i64 = 7_000;
impl Machine {
    pub fn emulator(&self) -> &Path {
        self.qemu.as_deref().unwrap_or(Path::new(self.architecture.emulator))
    }

    /// True if several processors share time counted in instructions, in slices of [`TIME_SLICE_NS`].
    pub fn uses_time_slices(&self) -> bool {
        self.cpus > 1 && self.time != GuestTime::Real
    }

    /// Makes the kernel trust the processor's time stamp counter, unless a `tsc=` parameter was given.
    /// Without that, sleeps hang in a virtual machine if a real-time core takes the interrupts first, also
    /// those of ordinary tasks.
    pub fn trust_time_stamp_counter(&mut self) {
        if !self.parameters.iter().any(|word| word.starts_with("tsc=")) {
            self.parameters.push("tsc=reliable".into());
        }
    }

    pub fn kernel_command_line(&self, library_path: &[String]) -> String {
        // Addresses are not randomised, so that hash tables and caches collide the same way each time; a
        // panic resets at once, which QEMU reports. The emulated serial line causes many spurious interrupts
        // while much is sent, so that the kernel would take the interrupt for a broken one and turn it off
        // for good.
        let mut words = vec![format!("console={}", self.architecture.console)];
        words.extend(["panic=-1", "nokaslr", "norandmaps", "noirqdebug"].map(String::from));
        words.push(format!("rdinit={INIT}"));
        if !library_path.is_empty() {
            words.push(format!("LD_LIBRARY_PATH={}", library_path.join(":")));
        }
        if let Some(ns) = self.time.ns_per_instruction() {
            words.push(format!("{VIRTUAL_TIME}={ns}"));
        }
        if self.uses_time_slices() {
            // Printing thousands of lines on the console would take a large part of such a boot.
            words.extend([format!("nr_cpus={}", self.cpus), "quiet".into()]);
            if !self.parameters.iter().any(|word| word.starts_with("tsc=")) {
                words.push("tsc=reliable".into());
            }
        }
        words.extend(self.parameters.iter().cloned());
        words.extend(["--", INIT_WORD].map(String::from));
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_written_as_it_is_read() {
        for text in ["icount:0", "icount:10", "real"] {
            assert_eq!(text.parse::<GuestTime>().unwrap().to_string(), text);
        }
        for text in ["icount:11", "icount:-1", "icount", "kvm"] {
            assert!(text.parse::<GuestTime>().unwrap_err().to_string().contains("icount:0"));
        }
        assert_eq!(GuestTime::PerInstruction { shift: 3 }.ns_per_instruction(), Some(8));
    }

    #[test]
    fn the_users_parameters_come_before_the_word_for_init() {
        let machine = Machine { parameters: vec!["isolcpus=1".into()], ..Machine::default() };
        let line = machine.kernel_command_line(&["/lib".into(), "/usr/lib".into()]);
        assert!(
            line.ends_with("LD_LIBRARY_PATH=/lib:/usr/lib jitterlab.virtual_time=1 isolcpus=1 -- guest"),
            "{line}"
        );
    }
}
