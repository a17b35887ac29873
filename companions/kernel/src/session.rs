//! The same commands on any number of kernels.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use jitterlab_model::load::LoadSpec;
use jitterlab_model::{Error, RunInfo, TaskSpec, Warning};
use jitterlab_rt::xenomai::Core;

use super::architecture::AMD64;
use super::devices::Devices;
use super::elf::LibraryPath;
use super::image::{Image, KernelChoice};
use super::initramfs::{self, InitramfsContents};
use super::job::{Answer, INIT, Job, Step, StepResult};
use super::machine::{GuestTime, Machine, TIME_SLICE_NS};
use super::modules::{self};
use super::programs::Programs;
use super::qemu::{self, GuestProgress};
use jitterlab_host::load;

/// Work on each kernel.
#[derive(Debug, Clone)]
pub struct KernelSession {
    pub machine: Machine,
    /// The companion that makes the guest: this program.
    pub companion: PathBuf,
    /// The jitterlab to measure with, if it is not the one next to the companion.
    pub program: Option<PathBuf>,
    /// Programs, libraries and files to include, by path or name.
    pub with: Vec<String>,
    pub modules: Vec<String>,
    /// Commands to run, in order. Programs that are not in [`KernelSession::with`] are included too.
    pub steps: Vec<Step>,
}

/// Creates the step that runs `jitterlab run` with these options; its run file gets the step's name.
pub fn jitterlab_run_step(name: &str, options: &[String]) -> Step {
    let words = ["jitterlab", "run", "--quiet", "--output"].map(String::from).into_iter();
    let command = words.chain([run_file_name(name)]).chain(options.iter().cloned()).collect();
    Step { name: name.into(), command }
}

/// Returns the name of the run file that a measuring step leaves in the guest's working directory.
pub(super) fn run_file_name(step: &str) -> String {
    format!("{step}.parquet")
}

/// Result of one kernel.
#[derive(Debug)]
pub struct GuestRun {
    pub image: Image,
    pub answer: Answer,
    pub devices: Devices,
    /// Number of processors that shared counted time in slices, if any did.
    pub time_slice_cpus: Option<u16>,
}

impl KernelSession {
    /// Adds the libraries that tasks on a Xenomai core need; for Cobalt trusts the time stamp counter.
    /// A library among [`KernelSession::with`] is kept. The guest makes the device nodes.
    pub fn include_core_files(&mut self, tasks: &[TaskSpec]) {
        let libraries = LibraryPath::from_this_machine();
        for core in tasks.iter().filter_map(|task| Core::for_wake(task.wake)) {
            let names = core.libraries();
            let brought = |file: &&String| names.iter().any(|name| Path::new(file).ends_with(name));
            if !self.with.iter().any(|file| brought(&file)) {
                let found = names.iter().find(|name| libraries.library_path(name).is_some());
                self.with.extend(found.or(names.first()).map(ToString::to_string));
            }
            if core == Core::Cobalt {
                // Cobalt's kernels before Linux 5.10 need it, without a sign of that in their version line.
                self.machine.trust_time_stamp_counter();
            }
        }
    }

    /// Adds the files that loads by other programs need in the guest: the program, if it is one, and a shell.
    pub fn include_load_programs(&mut self, loads: &[LoadSpec]) {
        let libraries = LibraryPath::from_this_machine();
        for program in loads.iter().filter_map(load::external_program) {
            let names = ["/bin/sh", program];
            let here = names.into_iter().filter(|name| initramfs::find_file(name, &libraries).is_ok());
            self.with.extend(here.map(String::from).collect::<Vec<_>>());
        }
    }

    /// Boots a kernel, runs all steps on it, and returns their results. `note` is called before work that takes time before the
    /// boot.
    ///
    /// # Errors
    /// The reason why the guest did not answer. A step that failed is no error here.
    pub fn run_on(
        &self,
        kernel: &KernelChoice,
        note: &mut dyn FnMut(&str),
        progress: &mut dyn FnMut(GuestProgress),
    ) -> Result<GuestRun, Error> {
        let image = kernel.find_image(note)?;
        let machine = self.machine_for(&image)?;
        let programs = Programs::find(&self.companion, self.program.as_deref(), image.architecture)?;
        let drivers = machine.devices.driver_modules();
        let modules = if self.modules.is_empty() && drivers.is_empty() {
            Vec::new()
        } else {
            modules::read_modules(&self.modules, &drivers, &find_module_tree(&image)?)?
        };
        let libraries = LibraryPath::for_architecture(image.architecture, note)?;
        let find = |name: &str| {
            initramfs::require_processor(initramfs::find_file(name, &libraries)?, image.architecture)
        };
        let mut with = self.with.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
        let own = ["jitterlab", INIT];
        let programs_of_steps = self.steps.iter().filter_map(|step| step.command.first());
        for program in programs_of_steps.filter(|program| !own.contains(&program.as_str())) {
            let known =
                with.iter().any(|i| i.host_path == Path::new(program) || i.guest_path.ends_with(program));
            if !known {
                with.push(find(program)?);
            }
        }
        initramfs::refuse_equal_program_names(&with)?;
        // A path of this machine does not exist in the guest.
        let mut steps = self.steps.clone();
        for program in steps.iter_mut().filter_map(|step| step.command.first_mut()) {
            if let Some(included) = with.iter().find(|included| included.host_path == Path::new(program)) {
                *program = included.guest_path.to_string_lossy().into_owned();
            }
        }
        let numbered = modules.iter().enumerate();
        let job = Job {
            modules: numbered.map(|(number, module)| initramfs::module_file_name(number, module)).collect(),
            devices: machine.devices,
            answer: format!("/dev/{}", image.architecture.answer),
            steps,
        };
        let contents = InitramfsContents { programs, with, modules, job, libraries };
        let answer = qemu::boot(&machine, &image, &contents.build()?, progress)
            .map_err(|error| error.while_at("cannot prepare the boot"))?;
        let time_slice_cpus = machine.uses_time_slices().then_some(machine.cpus);
        Ok(GuestRun { image, answer, devices: machine.devices, time_slice_cpus })
    }

    /// The machine for an image; an error if it needs what is there for amd64 only.
    fn machine_for(&self, image: &Image) -> Result<Machine, Error> {
        let mut machine = Machine { architecture: image.architecture, ..self.machine.clone() };
        if machine.uses_time_slices() && machine.architecture.time_slice_device.is_none() {
            return Err(Error::bad_use("several processors of counted time are there for amd64 only")
                .remedy("leave --cpus out, or say --time real"));
        }
        if !machine.devices.is_empty() && machine.architecture != &AMD64 {
            return Err(Error::bad_use("disk and network cards are there for amd64 only")
                .remedy("leave --disk and --network out"));
        }
        if image.has_interrupt_pipeline() {
            machine.trust_time_stamp_counter();
        }
        Ok(machine)
    }
}

fn find_module_tree(image: &Image) -> Result<PathBuf, Error> {
    let root = match &image.package {
        Some(package) => package.unpack("./lib")?,
        None => PathBuf::from("/"),
    };
    Ok(root.join("lib/modules").join(&image.release))
}

impl GuestRun {
    /// Adds facts to a run's description that the guest could not know.
    pub fn add_guest_facts(&self, info: &mut RunInfo, time: GuestTime) {
        info.bench = jitterlab_model::Bench::Kernel;
        info.clock = format!("{} of the guest, {time}", info.clock);
        info.command = std::env::args().collect();
        info.warnings.insert(0, Warning::Emulated { ns_per_instruction: time.ns_per_instruction() });
        let (name, release, version) =
            (self.image.name.clone(), self.image.release.clone(), self.image.version.clone());
        info.warnings.insert(1, Warning::Kernel { name, release, version });
        if !self.devices.is_empty() {
            let disk = self.devices.disk.then(|| "virtio".into());
            let network = self.devices.network.map(|card| card.name().into());
            info.warnings.insert(2, Warning::Devices { disk, network });
        }
        if let Some(cpus) = self.time_slice_cpus {
            info.warnings.insert(2, Warning::Turns { cpus, turn_ns: TIME_SLICE_NS });
        }
    }

    pub fn step_output(&self, step: &str) -> Result<&str, Error> {
        let result = self.answer.steps.get(step);
        if let Some(done) = result.filter(|done| done.status == Some(0)) {
            return Ok(&done.stdout);
        }
        let result = result.cloned().unwrap_or_default();
        Err(Error::not_measured(format!(
            "{step} in the guest {}: {}",
            step_error(&result),
            joined_stderr(&result)
        )))
    }

    /// Returns the run file of a [`jitterlab_run_step`] of that name, in memory.
    pub fn run_file(&self, step: &str) -> Result<MemoryRunFile, Error> {
        let content = self.answer.files.get(&run_file_name(step)).ok_or_else(|| {
            let step = self.answer.steps.get(step).cloned().unwrap_or_default();
            Error::not_measured(format!(
                "jitterlab run in the guest {}: {}",
                step_error(&step),
                joined_stderr(&step)
            ))
        })?;
        MemoryRunFile::new(step, content)
            .map_err(|cause| Error::refused("cannot keep what the guest sent").because(cause))
    }
}

fn step_error(step: &StepResult) -> Error {
    match (&step.failure, step.status) {
        // It was cut off, or could not be started.
        (Some(failure), _) => Error::not_measured(format!("did not come to its end ({failure})")),
        (None, Some(status)) => Error::not_measured(format!("ended with status {status}")),
        (None, None) => Error::not_measured("was not run"),
    }
}

fn joined_stderr(step: &StepResult) -> String {
    let lines: Vec<&str> = step.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it said nothing".into() } else { lines.join("; ") }
}

/// A run file that lies in this process's memory only.
#[derive(Debug)]
pub struct MemoryRunFile {
    path: PathBuf,
    _file: File,
}

impl MemoryRunFile {
    pub(super) fn new(name: &str, content: &[u8]) -> io::Result<Self> {
        let mut file = qemu::anonymous_file(name)?;
        file.write_all(content)?;
        Ok(MemoryRunFile { path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), _file: file })
    }

    /// Returns a path by which this process can open it while this value exists.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(with: &[&str]) -> KernelSession {
        KernelSession {
            machine: Machine::default(),
            companion: PathBuf::new(),
            with: with.iter().map(ToString::to_string).collect(),
            program: None,
            modules: Vec::new(),
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_load_brings_the_program_it_runs() {
        let mut session = session(&[]);
        let loads = ["cpu:4", "exec:cat /dev/zero", "exec:while true; do :; done"];
        session.include_load_programs(&loads.map(|load| load.parse().unwrap()));
        assert_eq!(session.with, ["/bin/sh", "cat", "/bin/sh"]);
    }

    #[test]
    fn a_core_brings_what_its_tasks_need_once() {
        let mut session = session(&["/opt/xenomai/lib/libcobalt.so.2"]);
        let tasks = ["wake=cobalt", "wake=cobalt", "wake=evl", "wake=nanosleep"];
        let task = |wake: &&str| format!("period=1ms,{wake}").parse::<TaskSpec>().unwrap();
        session.include_core_files(&tasks.iter().map(task).collect::<Vec<_>>());
        assert_eq!(session.with, ["/opt/xenomai/lib/libcobalt.so.2", "libevl.so"]);
        assert_eq!(session.machine.parameters, ["tsc=reliable"]);
        let mut session = self::session(&["/usr/evl/lib/x86_64-linux-gnu/libevl.so.4"]);
        session.include_core_files(&["wake=evl".parse().unwrap()]);
        assert_eq!(session.with.len(), 1);
    }
}
