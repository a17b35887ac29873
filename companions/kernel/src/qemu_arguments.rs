//! QEMU's command line for a machine.

use std::ffi::OsString;
use std::path::Path;

use super::machine::{GuestTime, Machine, TIME_SLICE_NS};

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
    /// Adds the arguments for processors that run one after the other, each until its clock's next timer.
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

    /// QEMU's command line for this machine and its files.
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
    use super::super::architecture::{AMD64, Architecture};
    use super::*;

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
