//! The systems of the documents: an ordinary Linux and real-time ones, as far as this machine has them, or as kernel images in
//! virtual time.

use std::path::Path;

use crate::error::{kernel_without_core_error, missing_core_library_error};
use jitterlab_host::facts::{self, Root};
use jitterlab_kernel::elf::LibraryPath;
use jitterlab_kernel::{KernelChoice, initramfs};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Error, Policy, SystemFacts, TaskSpec, WakeMethod};
use jitterlab_rt::xenomai::Core;

#[derive(Debug, Clone, clap::Args)]
pub struct Kernels {
    /// The ordinary kernel
    #[arg(long, default_value = "debian:generic", requires = "in_virtual_time", value_name = "KERNEL")]
    pub ordinary: KernelChoice,
    /// The kernel with PREEMPT_RT
    #[arg(long, default_value = "debian:rt", requires = "in_virtual_time", value_name = "KERNEL")]
    pub preempt_rt: KernelChoice,
    /// A kernel with Xenomai's Cobalt core; libcobalt.so.2 is looked for where the dynamic linker looks, unless --with has it
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    pub cobalt: Option<KernelChoice>,
    /// A kernel with the EVL core (Xenomai 4); libevl.so is looked for where the dynamic linker looks, unless --with has it
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    pub evl: Option<KernelChoice>,
    /// A file that the guest gets besides, with the libraries it needs, such as libcobalt.so.2; may be given several times
    #[arg(long, requires = "in_virtual_time", value_name = "FILE")]
    pub with: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct System {
    /// Name in tables and files.
    pub name: &'static str,
    /// Booted in virtual time; `None` for this machine's own.
    pub kernel: Option<KernelChoice>,
    pub policy: Policy,
    pub wake: WakeMethod,
    /// True if the task has processors of its own: of four, loads get two, and the other two are isolated where emulated.
    pub is_divided: bool,
}

/// Processors of a machine that is divided, the load's ones, and the first one of the task.
pub const DIVIDED: (u16, &str, u16) = (4, "0-1", 2);

/// Policy for the documents' tasks, which compute for less than this runtime in each period.
const DEADLINE: Policy = Policy::Deadline { runtime_ns: 200_000 };

impl System {
    fn new(name: &'static str, policy: Policy, wake: WakeMethod) -> Self {
        System { name, kernel: None, policy, wake, is_divided: false }
    }

    fn with_kernel(self, kernel: &KernelChoice) -> Self {
        System { kernel: Some(kernel.clone()), ..self }
    }

    /// Ordinary and real-time systems of this machine, the ordinary policy first.
    pub fn all_of_this_machine() -> Vec<System> {
        Self::all_of_machine(&facts::read(&Root::system()))
    }

    pub fn all_of_machine(machine: &SystemFacts) -> Vec<System> {
        let fifo = Policy::Fifo(80);
        let is_real_time = machine.kernel.preemption == Some(Preemption::RealTime);
        let mut all = vec![
            Self::new("ordinary", Policy::Other, WakeMethod::Nanosleep),
            Self::new(if is_real_time { "preempt-rt" } else { "fifo" }, fifo, WakeMethod::Nanosleep),
            Self::new("deadline", DEADLINE, WakeMethod::Deadline),
        ];
        let cores = &machine.real_time_cores;
        all.extend(cores.cobalt.is_some().then(|| Self::new("cobalt", fifo, WakeMethod::Cobalt)));
        all.extend(cores.evl.is_some().then(|| Self::new("evl", fifo, WakeMethod::Evl)));
        all
    }

    /// Gives the system another name, and its task processors of its own.
    pub fn with_own_processors(self, name: &'static str) -> System {
        System { name, is_divided: true, ..self }
    }

    /// The load of a case as `--load` takes it; for a system with own processors, on the others.
    pub(crate) fn load_text(&self, case: &LoadCase) -> String {
        if self.is_divided && case.load != "none" {
            format!("{}@{}", case.load, DIVIDED.1)
        } else {
            case.load.into()
        }
    }

    /// A task of the documents with this system's policy, wake-up method and processor.
    pub fn adapt_task(&self, task: &TaskSpec) -> TaskSpec {
        let emulated = self.kernel.is_some().then_some(0);
        let cpu = if self.is_divided { Some(DIVIDED.2) } else { emulated.or(task.cpu) };
        TaskSpec { cpu, policy: Some(self.policy), wake: self.wake, ..task.clone() }
    }

    /// The system nearest to Xenomai 2: one on a Xenomai core, else the first real-time one.
    pub fn nearest_to_xenomai(all: &[System]) -> Option<System> {
        let mut real_time = all.iter().filter(|system| !system.is_ordinary());
        let on_core = real_time.clone().find(|system| system.uses_xenomai_core());
        on_core.or_else(|| real_time.next()).cloned()
    }

    pub(crate) fn uses_xenomai_core(&self) -> bool {
        Core::for_wake(self.wake).is_some()
    }

    pub fn is_ordinary(&self) -> bool {
        self.policy == Policy::Other
    }
}

impl Kernels {
    /// Ordinary Linux and the real-time systems of these kernels, at least two: one kernel has two schedulers.
    pub fn systems(&self) -> Vec<System> {
        let fifo = Policy::Fifo(80);
        let mut all = vec![
            System::new("ordinary", Policy::Other, WakeMethod::Nanosleep).with_kernel(&self.ordinary),
            System::new("preempt-rt", fifo, WakeMethod::Nanosleep).with_kernel(&self.preempt_rt),
        ];
        all.extend(
            self.cobalt.iter().map(|of| System::new("cobalt", fifo, WakeMethod::Cobalt).with_kernel(of)),
        );
        all.extend(self.evl.iter().map(|of| System::new("evl", fifo, WakeMethod::Evl).with_kernel(of)));
        if all.len() == 2 {
            let deadline = System::new("preempt-rt-deadline", DEADLINE, WakeMethod::Deadline);
            all.push(deadline.with_kernel(&self.preempt_rt));
        }
        all
    }

    /// Checks before any boot that image files and guests' files exist, and that kernels have the cores needed.
    pub fn check_images(&self) -> Result<(), Error> {
        let libraries = LibraryPath::from_this_machine();
        for file in &self.with {
            initramfs::find_file(file, &libraries)?;
        }
        let plain = [&self.ordinary, &self.preempt_rt].map(|kernel| (kernel, None));
        let cores = [(&self.cobalt, Core::Cobalt), (&self.evl, Core::Evl)];
        let cores = cores.into_iter().filter_map(|(kernel, core)| Some((kernel.as_ref()?, Some(core))));
        for (kernel, core) in plain.into_iter().chain(cores) {
            if core.is_none() && !matches!(kernel, KernelChoice::File(_)) {
                continue;
            }
            let image = kernel.find_image(&mut |_| ())?;
            let Some(core) = core else { continue };
            // Older kernels have another pipeline, which their version line does not name.
            if kernel_version(&image.release) >= (5, 10) && !image.has_interrupt_pipeline() {
                return Err(kernel_without_core_error(&image.name, &image.release, core));
            }
            let brought = |name: &str| self.with.iter().any(|file| Path::new(file).ends_with(name));
            if !core.libraries().iter().any(|name| brought(name) || libraries.library_path(name).is_some()) {
                return Err(missing_core_library_error(core));
            }
        }
        Ok(())
    }
}

fn kernel_version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[derive(Debug, Clone, Copy)]
pub struct LoadCase {
    /// Name in tables and files.
    pub name: &'static str,
    /// The load of the measurement, as `--load` takes it.
    pub load: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_of_a_machine_is_measured_as_itself() {
        let names = |machine: &SystemFacts| {
            System::all_of_machine(machine).iter().map(|of| of.name).collect::<Vec<_>>()
        };
        let mut machine = SystemFacts::default();
        assert_eq!(names(&machine), ["ordinary", "fifo", "deadline"]);
        machine.kernel.preemption = Some(Preemption::RealTime);
        machine.real_time_cores.cobalt = Some("3.2.4".into());
        machine.real_time_cores.evl = Some("35".into());
        assert_eq!(names(&machine), ["ordinary", "preempt-rt", "deadline", "cobalt", "evl"]);
        assert_eq!(System::all_of_machine(&machine).iter().filter(|system| system.is_ordinary()).count(), 1);
    }
}
