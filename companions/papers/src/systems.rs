//! The systems of the documents: an ordinary Linux and real-time ones, as far as this machine has them, or as kernel images in
//! virtual time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::claims::loads::{LoadFigures, Spread, SystemUnderLoads, TURNS, Timing, UnderLoad, stretches};
use crate::error::{without_core, without_library};
use crate::words::Step;
use jitterlab_host::facts::{self, Root};
use jitterlab_kernel::devices::{DISK, PEER};
use jitterlab_kernel::elf::LibraryPath;
use jitterlab_kernel::initramfs;
use jitterlab_kernel::job;
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{Devices, GuestTime, KernelChoice, KernelSession, Machine, NetworkCard, programs};
use jitterlab_model::facts::Preemption;
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, Policy, SystemFacts, TaskSpec, WakeMethod};
use jitterlab_report::page::PageRun;
use jitterlab_rt::xenomai::Core;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::Columns;

use crate::{Workplace, read};

/// Memory for six of the Twente report's memory hogs, 256 MB each, and the rest of the guest.
const MEMORY_MIB: u32 = 3_072;
/// A boot with all its measurements takes less.
const TIMEOUT: Duration = Duration::from_secs(1_800);

/// Kernels for the documents' systems.
#[derive(Debug, Clone)]
pub struct Kernels {
    pub ordinary: KernelChoice,
    pub preempt_rt: KernelChoice,
    /// A kernel with Xenomai's Cobalt core.
    pub cobalt: Option<KernelChoice>,
    /// A kernel with the EVL core.
    pub evl: Option<KernelChoice>,
}

/// A system of a document.
#[derive(Debug, Clone)]
pub struct System {
    /// Name in tables and files.
    pub name: &'static str,
    /// Booted in virtual time; `None` for this machine's own.
    pub kernel: Option<KernelChoice>,
    /// The scheduling policy of its tasks.
    pub policy: Policy,
    /// Wake-up method of its tasks.
    pub wake: WakeMethod,
    /// True if its task has processors of its own: of four, loads get the first two, and the other two are isolated where they
    /// are emulated.
    pub apart: bool,
}

/// Processors of a machine that is divided, the load's ones, and the first one of the task.
pub const DIVIDED: (u16, &str, u16) = (4, "0-1", 2);

/// Of the documents' tasks, which compute for less in each period.
const DEADLINE: Policy = Policy::Deadline { runtime_ns: 200_000 };

impl System {
    fn here(name: &'static str, policy: Policy, wake: WakeMethod) -> Self {
        System { name, kernel: None, policy, wake, apart: false }
    }

    fn emulated(name: &'static str, kernel: &KernelChoice, policy: Policy, wake: WakeMethod) -> Self {
        System { name, kernel: Some(kernel.clone()), policy, wake, apart: false }
    }

    /// All systems of this machine, the ordinary policy first.
    pub fn of_this_machine() -> Vec<System> {
        Self::all_on(&facts::read(&Root::system()))
    }

    pub fn all_on(machine: &SystemFacts) -> Vec<System> {
        let fifo = Policy::Fifo(80);
        let is_real_time = machine.kernel.preemption == Some(Preemption::RealTime);
        let mut all = vec![
            Self::here("ordinary", Policy::Other, WakeMethod::Nanosleep),
            Self::here(if is_real_time { "preempt-rt" } else { "fifo" }, fifo, WakeMethod::Nanosleep),
            Self::here("deadline", DEADLINE, WakeMethod::Deadline),
        ];
        let cores = &machine.real_time_cores;
        all.extend(cores.cobalt.is_some().then(|| Self::here("cobalt", fifo, WakeMethod::Cobalt)));
        all.extend(cores.evl.is_some().then(|| Self::here("evl", fifo, WakeMethod::Evl)));
        all
    }

    /// The same with processors of its own, under another name.
    #[must_use]
    pub fn apart(self, name: &'static str) -> System {
        System { name, apart: true, ..self }
    }

    /// A load as this system is under it.
    fn load(&self, case: &Case) -> String {
        if self.apart && case.load != "none" {
            format!("{}@{}", case.load, DIVIDED.1)
        } else {
            case.load.into()
        }
    }

    /// A task of the documents as this system has it.
    pub fn task(&self, task: &TaskSpec) -> TaskSpec {
        let emulated = self.kernel.is_some().then_some(0);
        let cpu = if self.apart { Some(DIVIDED.2) } else { emulated.or(task.cpu) };
        TaskSpec { cpu, policy: Some(self.policy), wake: self.wake, ..task.clone() }
    }

    /// Of several, the one that is nearest to Xenomai 2: on a core of it, else the first real-time one.
    pub fn like_xenomai(all: Vec<System>) -> Option<System> {
        let mut real_time: Vec<System> = all.into_iter().filter(|system| !system.is_ordinary()).collect();
        let on_core = real_time.iter().position(|system| Core::for_wake(system.wake).is_some());
        (!real_time.is_empty()).then(|| real_time.swap_remove(on_core.unwrap_or(0)))
    }

    /// True if it is no real-time system.
    pub fn is_ordinary(&self) -> bool {
        self.policy == Policy::Other
    }
}

impl Kernels {
    /// The ordinary Linux, its task with the ordinary policy, and the real-time systems there are images of: two at least, for
    /// one kernel has two schedulers.
    pub fn systems(&self) -> Vec<System> {
        let fifo = Policy::Fifo(80);
        let mut all = vec![
            System::emulated("ordinary", &self.ordinary, Policy::Other, WakeMethod::Nanosleep),
            System::emulated("preempt-rt", &self.preempt_rt, fifo, WakeMethod::Nanosleep),
        ];
        all.extend(self.cobalt.iter().map(|of| System::emulated("cobalt", of, fifo, WakeMethod::Cobalt)));
        all.extend(self.evl.iter().map(|of| System::emulated("evl", of, fifo, WakeMethod::Evl)));
        if all.len() == 2 {
            let deadline = "preempt-rt-deadline";
            all.push(System::emulated(deadline, &self.preempt_rt, DEADLINE, WakeMethod::Deadline));
        }
        all
    }

    /// Looks before anything boots at the images that are files or have to have a core, and for the files that guests get.
    pub fn check(&self, with: &[String]) -> Result<(), Error> {
        let libraries = LibraryPath::of_this_machine();
        for file in with {
            initramfs::find(file, &libraries)?;
        }
        let plain = [&self.ordinary, &self.preempt_rt].map(|kernel| (kernel, None));
        let cores = [(&self.cobalt, Core::Cobalt), (&self.evl, Core::Evl)];
        let cores = cores.into_iter().filter_map(|(kernel, core)| Some((kernel.as_ref()?, Some(core))));
        for (kernel, core) in plain.into_iter().chain(cores) {
            if core.is_none() && !matches!(kernel, KernelChoice::File(_)) {
                continue;
            }
            let image = kernel.image(&mut |_| ())?;
            let Some(core) = core else { continue };
            // Older kernels have another pipeline, which their version line does not name.
            if version(&image.release) >= (5, 10) && !image.pipelines_interrupts() {
                return Err(without_core(&image.name, &image.release, core));
            }
            let brought = |name: &str| with.iter().any(|file| Path::new(file).ends_with(name));
            if !core.libraries().iter().any(|name| brought(name) || libraries.library(name).is_some()) {
                return Err(without_library(core));
            }
        }
        Ok(())
    }
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// One condition of a document.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Name in tables and files.
    pub name: &'static str,
    /// The load of the measurement, as `--load` takes it.
    pub load: &'static str,
}

/// These steps of this program on a machine.
pub(crate) fn session(
    machine: Machine,
    steps: Vec<job::Step>,
    with: &[String],
) -> Result<KernelSession, Error> {
    Ok(KernelSession {
        machine: Machine { timeout: TIMEOUT, ..machine },
        companion: programs::own()?,
        with: with.to_vec(),
        program: None,
        packaged: Vec::new(),
        modules: Vec::new(),
        background: None,
        steps,
    })
}

/// Systems under all loads, with the first run of each.
pub(crate) struct Measured {
    pub systems: Vec<SystemUnderLoads>,
    /// Runs of each system under each load.
    pub runs: Vec<Vec<PageRun>>,
}

/// Figures of systems of this machine, or of guests in virtual time.
pub(crate) fn figures(systems: Vec<SystemUnderLoads>, in_virtual_time: bool) -> LoadFigures {
    let ns_per_instruction = GuestTime::default().ns_per_instruction().filter(|_| in_virtual_time);
    LoadFigures { systems, in_virtual_time, ns_per_instruction }
}

impl Workplace<'_> {
    /// Measures a task on systems under all loads: on this machine in turns, on a kernel in one boot.
    /// Existing run files are kept.
    pub(crate) fn under_loads(
        &mut self,
        systems: &[System],
        loads: &[Case],
        task: &TaskSpec,
        timing: Timing,
    ) -> Result<Measured, Error> {
        let name = |system: &System, case: &Case, turn: usize| match turn {
            0 => format!("{}-{}", system.name, case.name),
            turn => format!("{}-{}-{}", system.name, case.name, turn + 1),
        };
        for turn in 0..TURNS {
            for system in systems.iter().filter(|system| system.kernel.is_none()) {
                for case in loads {
                    self.measure(&name(system, case, turn), system.task(task), &system.load(case))?;
                }
            }
        }
        // First those on a core of Xenomai, whose images are the user's own and fail where a core does not run.
        let mut boots: Vec<&System> = systems.iter().collect();
        boots.sort_by_key(|system| Core::for_wake(system.wake).is_none());
        for system in boots {
            if let Some(kernel) = &system.kernel {
                self.boot(system, kernel, loads, task)?;
            }
        }
        let mut all = Measured { systems: Vec::new(), runs: Vec::new() };
        for system in systems {
            let turns = if system.kernel.is_some() { 1 } else { TURNS };
            let (mut found, mut firsts) = (Vec::new(), Vec::new());
            for case in loads {
                let files: Vec<PathBuf> =
                    (0..turns).map(|turn| self.run_file(&name(system, case, turn))).collect();
                let runs = read(&files)?;
                found.push(under_load(case, &runs, timing)?);
                firsts.extend(runs.into_iter().next());
            }
            all.systems.push(SystemUnderLoads { system: system.name.into(), loads: found });
            all.runs.push(firsts);
        }
        Ok(all)
    }

    /// Measures the missing runs of a task on a kernel under all loads, in one boot.
    fn boot(
        &mut self,
        system: &System,
        kernel: &KernelChoice,
        loads: &[Case],
        task: &TaskSpec,
    ) -> Result<(), Error> {
        let file = |case: &Case| self.run_file(&format!("{}-{}", system.name, case.name));
        let files: Vec<PathBuf> = loads.iter().map(file).collect();
        files.iter().filter(|file| file.exists()).for_each(|file| (self.tell)(&Step::Kept(file.clone())));
        let missing: Vec<(&Case, &PathBuf)> =
            loads.iter().zip(&files).filter(|(_, file)| !file.exists()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // Each of several processors is as slow as all of them.
        let duration = Exact(self.duration_ns / if system.apart { 5 } else { 1 }).to_string();
        let options =
            |case: &Case| ["--load", &system.load(case), "--duration", &duration].map(String::from).to_vec();
        let steps = missing.into_iter().map(|(case, file)| (case.name, options(case), file.clone()));
        self.on_kernel(system, kernel, (steps.collect(), devices(loads)), task)
    }

    /// Measures series of a task on a system, with the kernel's events.
    pub(crate) fn traced(
        &mut self,
        system: &System,
        task: &TaskSpec,
        names: &[String],
        duration_ns: i64,
    ) -> Result<Vec<PathBuf>, Error> {
        let Some(kernel) = &system.kernel else {
            return names.iter().map(|name| self.trace(name, system.task(task), duration_ns)).collect();
        };
        let files: Vec<PathBuf> = names.iter().map(|name| self.run_file(name)).collect();
        let duration = Exact(duration_ns).to_string();
        let options = || ["--why", "--duration", &duration].map(String::from).to_vec();
        let missing = names.iter().zip(&files).filter(|(_, file)| !file.exists());
        let steps: Vec<_> = missing.map(|(name, file)| (name.as_str(), options(), file.clone())).collect();
        if !steps.is_empty() {
            self.on_kernel(system, kernel, (steps, Devices::default()), task)?;
        }
        Ok(files)
    }

    /// Runs these steps, each with its options of `jitterlab run` and its run file, in one boot.
    fn on_kernel(
        &mut self,
        system: &System,
        kernel: &KernelChoice,
        (steps, devices): (Vec<GuestStep<'_>>, Devices),
        task: &TaskSpec,
    ) -> Result<(), Error> {
        let task = system.task(task);
        let measured = |(name, options, _): &GuestStep<'_>| {
            let task = ["--task".into(), task.to_string()];
            run_step(name, &task.into_iter().chain(options.iter().cloned()).collect::<Vec<_>>())
        };
        let mut machine = Machine { memory_mib: MEMORY_MIB, devices, ..Machine::default() };
        if system.apart {
            machine.cpus = DIVIDED.0;
            machine.parameters.push(format!("isolcpus={}-{}", DIVIDED.2, DIVIDED.0 - 1));
        }
        let mut session = session(machine, steps.iter().map(measured).collect(), self.with)?;
        session.bring_cores(std::slice::from_ref(&task));
        (self.tell)(&Step::Booting { system: system.name.into(), kernel: kernel.to_string() });
        let tell = &mut self.tell;
        let within = |error: Error| error.within(system.name);
        let guest = session.on(kernel, &mut |text| tell(&Step::Preparing(text.into())), &mut |_| ());
        let guest = guest.map_err(within)?;
        for (name, _, file) in &steps {
            let in_memory = guest.run_file(name).map_err(within)?;
            jitterlab_trace::redescribe(in_memory.path(), file, |info| {
                guest.describe(info, GuestTime::default(), std::env::args());
            })?;
        }
        Ok(())
    }
}

/// A measurement in a guest: its name, its options of `jitterlab run`, and its run file here.
type GuestStep<'a> = (&'a str, Vec<String>, PathBuf);

/// Devices of the guest that these loads use.
fn devices(loads: &[Case]) -> Devices {
    let is_named = |what: &str| loads.iter().any(|case| case.load.ends_with(what));
    let network = is_named(&PEER.to_string()).then_some(NetworkCard::E1000);
    Devices { disk: is_named(DISK), network }
}

/// The figures of all runs under a load.
fn under_load(case: &Case, runs: &[PageRun], timing: Timing) -> Result<UnderLoad, Error> {
    let tasks = runs.iter().filter_map(|run| run.tasks.first());
    let spreads = tasks.filter_map(|task| Spread::from_summary(timing, &task.measured.summary));
    let found = spreads.reduce(Spread::with);
    let (mut all, mut done, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        let opened = Run::open(&run.file, &Hints::default())?;
        done.extend(opened.info().loads.iter().map(ToString::to_string));
        let mut activations = Vec::new();
        opened.visit(0, Columns::ALL, |rows| activations.extend_from_slice(rows))?;
        let values = timing.values(&activations);
        all.extend(stretches(&values));
        if first.is_empty() {
            first = values;
        }
    }
    let (condition, load) = (case.name.into(), case.load.into());
    Ok(UnderLoad { condition, load, done, found, stretches: all, first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_of_a_machine_is_measured_as_itself() {
        let names =
            |machine: &SystemFacts| System::all_on(machine).iter().map(|of| of.name).collect::<Vec<_>>();
        let mut machine = SystemFacts::default();
        assert_eq!(names(&machine), ["ordinary", "fifo", "deadline"]);
        machine.kernel.preemption = Some(Preemption::RealTime);
        machine.real_time_cores.cobalt = Some("3.2.4".into());
        machine.real_time_cores.evl = Some("35".into());
        assert_eq!(names(&machine), ["ordinary", "preempt-rt", "deadline", "cobalt", "evl"]);
        assert_eq!(System::all_on(&machine).iter().filter(|system| system.is_ordinary()).count(), 1);
    }
}
