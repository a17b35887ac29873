//! The machine QEMU emulates, so that it is the same machine every time, and QEMU's arguments for it.

use std::ffi::OsString;
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
/// The object of the emulator that ends the time slices.
pub(super) const TIME_SLICES_ID: &str = "turns";

/// The files QEMU opens.
#[derive(Debug, Clone, Copy)]
pub(super) struct QemuFiles<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a str,
    pub answer: &'a str,
    pub disk: Option<&'a str>,
    pub monitor: i32,
}

impl Machine {
    pub fn emulator(&self) -> &Path {
        self.qemu.as_deref().unwrap_or(Path::new(self.architecture.emulator))
    }

    /// True if its processors share time in slices of [`TIME_SLICE_NS`]: with several processors, and time counted in
    /// instructions.
    pub fn uses_time_slices(&self) -> bool {
        self.cpus > 1 && self.time != GuestTime::Real
    }

    /// Adds the processors for an emulator that runs them one after the other, each until its clock's next timer.
    ///
    /// A timer that does nothing ends every slice. The processor behind one that ran to the end of its slice does not get the
    /// next one (the emulator spends it on timers), so between any two there is one that the kernel does not start.
    fn add_time_sliced_processors(&self, device: &str, add: &mut dyn FnMut(&[&str])) {
        let cpus = self.cpus;
        add(&["-smp", &format!("1,maxcpus={},sockets=2,cores={cpus},threads=1", 2 * cpus)]);
        for core in 1..cpus {
            for socket in [1, 0] {
                let place = format!("{device},socket-id={socket},core-id={core},thread-id=0");
                add(&["-device", &place]);
            }
        }
        let interval = TIME_SLICE_NS / 1_000;
        add(&["-netdev", "hubport,id=nowhere,hubid=0", "-object"]);
        add(&[&format!("filter-buffer,id={TIME_SLICES_ID},netdev=nowhere,interval={interval}")]);
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

    pub(super) fn qemu_arguments(&self, files: QemuFiles<'_>, library_path: &[String]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        let of = self.architecture;
        add(&["-machine", of.machine, "-cpu", of.cpu]);
        match of.time_slice_device.filter(|_| self.uses_time_slices()) {
            Some(device) => self.add_time_sliced_processors(device, &mut add),
            None => add(&["-smp", &self.cpus.to_string()]),
        }
        add(&["-m", &self.memory_mib.to_string()]);
        match self.time {
            // sleep=off: idle time is skipped instead of waited for. The clock and the random numbers of the
            // machine begin the same way each time.
            GuestTime::PerInstruction { shift } => {
                add(&["-accel", "tcg", "-icount", &format!("shift={shift},sleep=off")]);
                add(&["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "7"]);
            }
            GuestTime::Real => add(&["-accel", "tcg"]),
        }
        add(&["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]);
        add(&["-chardev", &format!("file,id=answer,path={}", files.answer)]);
        add(of.answer_device);
        self.devices.add_qemu_arguments(files.disk, &mut add);
        add(&[
            "-chardev",
            &format!("socket,id=monitor,fd={}", files.monitor),
            "-mon",
            "chardev=monitor,mode=control",
        ]);
        add(&["-initrd", files.initramfs, "-append", &self.kernel_command_line(library_path)]);
        arguments.push("-kernel".into());
        arguments.push(files.kernel.into());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::super::architecture::AMD64;
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

    #[test]
    fn nothing_of_the_machine_depends_on_the_host_in_virtual_time() {
        let files =
            QemuFiles { kernel: Path::new("/k"), initramfs: "/i", answer: "/a", disk: None, monitor: 9 };
        let arguments = Machine::default().qemu_arguments(files, &[]);
        let line = arguments.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        let cpu = format!("-cpu {}", Architecture::own_or_default().cpu);
        for part in ["shift=0,sleep=off", "clock=vm", "-seed 7", "-nodefaults", &cpu, "-smp 1"] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }

    #[test]
    fn several_processors_take_short_turns_where_time_is_counted_and_only_there() {
        let files =
            QemuFiles { kernel: Path::new("/k"), initramfs: "/i", answer: "/a", disk: None, monitor: 9 };
        let several = Machine { cpus: 3, architecture: &AMD64, ..Machine::default() };
        let line = several.qemu_arguments(files, &[]).join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        let spare = line.find("socket-id=1,core-id=1").unwrap();
        assert!(spare < line.find("socket-id=0,core-id=1").unwrap(), "{line}");
        for part in ["maxcpus=6,", "interval=7 ", "nr_cpus=3 ", "tsc=reliable"] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        let unstable = Machine { parameters: vec!["tsc=unstable".into()], ..several.clone() };
        assert!(!unstable.kernel_command_line(&[]).contains("tsc=reliable"));
        let real = Machine { time: GuestTime::Real, ..several };
        assert!(!real.uses_time_slices() && !real.kernel_command_line(&[]).contains("nr_cpus"));
    }
}
