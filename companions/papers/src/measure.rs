//! Measurements on this machine, and in guests whose time is virtual.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::loads::{
    Extract, LoadFigures, LoadResult, REPETITIONS, SystemResults, TimingSpread, stretch_timings,
};
use crate::systems::{DIVIDED, LoadCase, System};
use crate::words::{boot_without_devices_text, second_boot_text};
use crate::{Reproducer, open_page_runs};
use jitterlab_host::load::parse_loads;
use jitterlab_host::{Request, record_to};
use jitterlab_kernel::devices::{DISK, PEER};
use jitterlab_kernel::qemu::{JobRefused, NoCompleteAnswer};
use jitterlab_kernel::session::jitterlab_run_step;
use jitterlab_kernel::{
    Devices, GuestRun, GuestTime, KernelChoice, KernelSession, Machine, NetworkCard, job, programs,
};
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, StopReason, TaskSpec};
use jitterlab_report::page::PageRun;
use jitterlab_runs::{Hints, Run};

/// Memory for six of the Twente report's memory hogs, 256 MB each, and the rest of the guest.
const MEMORY_MIB: u32 = 3_072;
/// A boot with all its measurements takes less.
const TIMEOUT: Duration = Duration::from_secs(1_800);

pub(crate) struct LoadRuns {
    pub figures: LoadFigures,
    pub runs: Vec<Vec<PageRun>>,
}

/// Measurements in one boot: the name of each, and its options of `jitterlab run`.
type GuestRuns = Vec<(String, Vec<String>)>;

impl Reproducer<'_> {
    /// Measures tasks under a load (as `--load` takes it) into a run file of that name; returns the file's path.
    /// A file that exists is kept, so that an interrupted reproduction continues where it was.
    pub(crate) fn measure(
        &mut self,
        name: &str,
        tasks: Vec<TaskSpec>,
        load: &str,
        duration_ns: i64,
    ) -> Result<PathBuf, Error> {
        let loads = parse_loads(load)?;
        let request = Request { duration_ns: Some(duration_ns), loads, ..Request::for_tasks(tasks) };
        self.record(name, load, request)
    }

    /// Records a run into the file of this name, unless it exists; returns its path.
    fn record(&mut self, name: &str, load: &str, request: Request) -> Result<PathBuf, Error> {
        let file = self.run_file(name);
        if self.reuse_run_file(&file) {
            return Ok(file);
        }
        (self.announce)(&format!("measuring {name}, load {load}"));
        let not_measured =
            |why: &dyn Display| Error::not_measured(format!("{name} could not be measured: {why}"));
        let failed = match record_to(request, &file, self.interrupted)?.run.stop {
            Some(StopReason::Interrupted) => Error::not_measured(format!(
                "interrupted in {name}: what was measured before is kept, and the same command \
                 goes on from there"
            )),
            Some(StopReason::Overloaded { overload, .. }) => not_measured(&overload),
            Some(StopReason::WaitFailed { why, .. }) => not_measured(&why),
            _ => return Ok(file),
        };
        // A part of a measurement must not be taken for the whole one when the command is repeated.
        let _ = fs::remove_file(&file);
        Err(failed)
    }

    /// Measures a task on a system once for each name, with the kernel's events; returns the run files.
    pub(crate) fn measure_traced(
        &mut self,
        system: &System,
        task: &TaskSpec,
        names: Vec<String>,
        duration_ns: i64,
    ) -> Result<Vec<PathBuf>, Error> {
        if system.kernel.is_some() {
            let options = ["--why".into(), "--duration".into(), Exact(duration_ns).to_string()];
            let runs = names.into_iter().map(|name| (name, options.to_vec()));
            return self.measure_in_guest(system, runs.collect(), Devices::default(), task);
        }
        let request =
            |task| Request { duration_ns: Some(duration_ns), why: true, ..Request::for_tasks(vec![task]) };
        names.iter().map(|name| self.record(name, "none", request(system.adapt_task(task)))).collect()
    }

    /// Measures a task on systems under all loads, interleaved here or in one boot; run files that exist are kept.
    pub(crate) fn measure_loads(
        &mut self,
        systems: &[System],
        loads: &[LoadCase],
        task: &TaskSpec,
        timing: Extract,
    ) -> Result<LoadRuns, Error> {
        let name = |system: &System, case: &LoadCase, repetition: usize| match repetition {
            0 => format!("{}-{}", system.name, case.name),
            repetition => format!("{}-{}-{}", system.name, case.name, repetition + 1),
        };
        let in_virtual_time = self.kernels.is_some();
        let repetitions = if in_virtual_time { 1 } else { REPETITIONS };
        let (mut boots, here): (Vec<_>, Vec<_>) = systems.iter().partition(|system| system.kernel.is_some());
        for repetition in 0..repetitions {
            for system in &here {
                for case in loads {
                    let (name, tasks) = (name(system, case, repetition), vec![system.adapt_task(task)]);
                    self.measure(&name, tasks, &system.load_text(case), self.duration_ns)?;
                }
            }
        }
        // First those on a core of Xenomai, whose images are the user's own and fail where a core does not run.
        boots.sort_by_key(|system| !system.uses_xenomai_core());
        for system in boots {
            // Each of several processors is as slow as all of them.
            let duration = Exact(self.duration_ns / if system.is_divided { 5 } else { 1 }).to_string();
            let runs = |load: &dyn Fn(&LoadCase) -> String| -> GuestRuns {
                let options = |case| ["--load", &load(case), "--duration", &duration].map(String::from);
                loads.iter().map(|case| (name(system, case, 0), options(case).into())).collect()
            };
            let devices = guest_devices(loads);
            let found = self.measure_in_guest(system, runs(&|case| system.load_text(case)), devices, task);
            match found {
                // A kernel of the user's own may have no drivers for them.
                Err(error) if error.is(JobRefused) && !guest_devices(loads).is_empty() => {
                    (self.announce)(&boot_without_devices_text(&error));
                    let plain = runs(&|case| case.load.split(',').next().unwrap_or_default().into());
                    self.measure_in_guest(system, plain, Devices::default(), task)?;
                }
                found => _ = found?,
            }
        }
        let ns_per_instruction = GuestTime::default().ns_per_instruction().filter(|_| in_virtual_time);
        let figures = LoadFigures { ns_per_instruction, ..LoadFigures::default() };
        let mut all = LoadRuns { figures, runs: Vec::new() };
        for system in systems {
            let (mut found, mut firsts) = (Vec::new(), Vec::new());
            for case in loads {
                let files: Vec<PathBuf> =
                    (0..repetitions).map(|of| self.run_file(&name(system, case, of))).collect();
                found.push(load_result(case, &files, timing)?);
                firsts.extend(files.into_iter().next());
            }
            all.figures.systems.push(SystemResults { system: system.name.into(), loads: found });
            all.runs.push(open_page_runs(&firsts)?);
        }
        Ok(all)
    }

    /// Measures the missing runs of a task on a system's kernel, in one boot; returns the files of all runs.
    fn measure_in_guest(
        &mut self,
        system: &System,
        runs: GuestRuns,
        devices: Devices,
        task: &TaskSpec,
    ) -> Result<Vec<PathBuf>, Error> {
        let files: Vec<PathBuf> = runs.iter().map(|(name, _)| self.run_file(name)).collect();
        let runs = runs.into_iter().zip(&files);
        let missing: Vec<_> = runs.filter(|(_, file)| !self.reuse_run_file(file)).collect();
        let (Some(kernel), false) = (&system.kernel, missing.is_empty()) else { return Ok(files) };
        let task = system.adapt_task(task);
        let step = |(name, options): &(String, Vec<String>)| {
            let task = ["--task".into(), task.to_string()];
            jitterlab_run_step(name, &[&task[..], &options[..]].concat())
        };
        let mut machine = Machine { memory_mib: MEMORY_MIB, devices, ..Machine::default() };
        if system.is_divided {
            machine.cpus = DIVIDED.0;
            machine.parameters.push(format!("isolcpus={}-{}", DIVIDED.2, DIVIDED.0 - 1));
        }
        let steps = missing.iter().map(|(run, _)| step(run)).collect();
        let guest = self.boot(system.name, kernel, machine, steps, std::slice::from_ref(&task))?;
        for ((name, _), file) in &missing {
            save_run(&guest, name, file).map_err(|error| error.within(system.name))?;
        }
        Ok(files)
    }

    /// Boots a kernel for these steps and tasks; once more if the answer is not complete.
    pub(crate) fn boot(
        &mut self,
        name: &str,
        kernel: &KernelChoice,
        machine: Machine,
        steps: Vec<job::Step>,
        tasks: &[TaskSpec],
    ) -> Result<GuestRun, Error> {
        let mut session = KernelSession {
            machine: Machine { timeout: TIMEOUT, ..machine },
            companion: programs::own_executable()?,
            with: self.kernels.map_or_else(Vec::new, |kernels| kernels.with.clone()),
            program: None,
            modules: Vec::new(),
            steps,
        };
        session.include_core_files(tasks);
        (self.announce)(&format!("booting {name} ({kernel})"));
        let mut answer = session.run_on(kernel, &mut *self.announce, &mut |_| ());
        if let Err(lost) = answer.as_ref()
            && lost.is(NoCompleteAnswer)
        {
            (self.announce)(&second_boot_text(name));
            answer = session.run_on(kernel, &mut *self.announce, &mut |_| ());
        }
        answer.map_err(|error| error.within(name))
    }
}

/// Saves the run file of a step, with the facts of its guest.
pub(crate) fn save_run(guest: &GuestRun, step: &str, file: &Path) -> Result<(), Error> {
    let in_memory = guest.run_file(step)?;
    jitterlab_trace::redescribe(in_memory.path(), file, |info| {
        guest.add_guest_facts(info, GuestTime::default());
    })?;
    Ok(())
}

fn guest_devices(loads: &[LoadCase]) -> Devices {
    let is_named = |what: &str| loads.iter().any(|case| case.load.ends_with(what));
    let network = is_named(&PEER.to_string()).then_some(NetworkCard::E1000);
    Devices { disk: is_named(DISK), network }
}

/// Result of a load from the run files of all its repetitions.
pub(crate) fn load_result(case: &LoadCase, files: &[PathBuf], timing: Extract) -> Result<LoadResult, Error> {
    let (condition, load) = (case.name.into(), case.load.into());
    let mut all = LoadResult { condition, load, ..LoadResult::default() };
    let (mut values, mut executed, mut missed) = (Vec::new(), 0, 0);
    for file in files {
        let run = Run::open(file, &Hints::default())?;
        let activations = run.activations(0, 0..u64::MAX)?;
        let of_run = timing(&activations);
        all.stretches.extend(stretch_timings(&of_run));
        all.done.extend(run.info().loads.iter().map(ToString::to_string));
        if case.load.contains(',') {
            // Devices may have been left out.
            let specs = run.info().loads.iter().map(|load| load.spec.to_string());
            all.load = specs.collect::<Vec<_>>().join(" ");
        }
        let result = run.info().tasks.first().and_then(|task| task.result.as_ref());
        missed += result.map_or(0, |result| result.missed);
        executed += activations.len() as u64;
        values.extend_from_slice(&of_run);
        if all.first.is_empty() {
            all.first = of_run;
        }
    }
    all.found = TimingSpread::from_values(&values).map(|of| TimingSpread { executed, missed, ..of });
    Ok(all)
}
