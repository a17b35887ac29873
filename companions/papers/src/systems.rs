//! The systems of the documents as kernel images in virtual time: an ordinary Linux and real-time ones.

use std::path::PathBuf;
use std::time::Duration;

use crate::claims::{SystemUnderLoads, UnderLoad};
use crate::words::Step;
use jitterlab_analysis::Summary;
use jitterlab_kernel::job;
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{GuestTime, KernelChoice, KernelSession, Machine, programs};
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, Policy, TaskSpec, WakeMethod};
use jitterlab_report::page::PageRun;

use crate::{Workplace, read};

/// Memory for six of the Twente report's memory hogs, 256 MB each, and the rest of the guest.
const MEMORY_MIB: u32 = 3_072;
/// A boot with all its measurements takes less.
const TIMEOUT: Duration = Duration::from_secs(1_800);

/// Which kernels stand for the documents' systems.
#[derive(Debug, Clone)]
pub struct Kernels {
    pub ordinary: KernelChoice,
    pub preempt_rt: KernelChoice,
    /// A kernel with Xenomai's Cobalt core.
    pub cobalt: Option<KernelChoice>,
    /// A kernel with the EVL core.
    pub evl: Option<KernelChoice>,
}

/// One system.
#[derive(Debug, Clone)]
pub struct System {
    /// What tables and files call it.
    pub name: &'static str,
    pub kernel: KernelChoice,
    /// The scheduling policy of its tasks.
    pub policy: Policy,
    /// How its tasks wait.
    pub wake: WakeMethod,
}

impl Kernels {
    /// The ordinary Linux, its task with the ordinary policy.
    #[must_use]
    pub fn ordinary(&self) -> System {
        let (kernel, wake) = (self.ordinary.clone(), WakeMethod::Nanosleep);
        System { name: "ordinary", kernel, policy: Policy::Other, wake }
    }

    /// The real-time systems there are images of.
    #[must_use]
    pub fn real_time(&self) -> Vec<System> {
        let all = [
            ("preempt-rt", Some(&self.preempt_rt), WakeMethod::Nanosleep),
            ("cobalt", self.cobalt.as_ref(), WakeMethod::Cobalt),
            ("evl", self.evl.as_ref(), WakeMethod::Evl),
        ];
        let system = |(name, kernel, wake): (&'static str, Option<&KernelChoice>, WakeMethod)| {
            Some(System { name, kernel: kernel?.clone(), policy: Policy::Fifo(80), wake })
        };
        all.into_iter().filter_map(system).collect()
    }
}

/// One condition of a document.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What tables and files call it.
    pub name: &'static str,
    /// The load beside the task, as `--load` takes it.
    pub load: &'static str,
}

/// These steps of this program on a machine.
pub(crate) fn session(machine: Machine, steps: Vec<job::Step>) -> Result<KernelSession, Error> {
    Ok(KernelSession {
        machine: Machine { timeout: TIMEOUT, ..machine },
        companion: programs::own()?,
        with: Vec::new(),
        program: None,
        packaged: Vec::new(),
        modules: Vec::new(),
        background: None,
        steps,
    })
}

impl Workplace<'_> {
    /// Measures a task on a system under all loads, in one boot. Run files that are there from before are kept. Gives what
    /// `of` takes from each, and the runs.
    pub(crate) fn boot<T>(
        &mut self,
        system: &System,
        loads: &[Case],
        task: &TaskSpec,
        of: impl Fn(&Summary) -> Option<T>,
    ) -> Result<(SystemUnderLoads<T>, Vec<PageRun>), Error> {
        let name = |case: &Case| format!("{}-{}", system.name, case.name);
        let files: Vec<PathBuf> = loads.iter().map(|case| self.run_file(&name(case))).collect();
        let missing: Vec<(&Case, &PathBuf)> =
            loads.iter().zip(&files).filter(|(_, file)| !file.exists()).collect();
        files.iter().filter(|file| file.exists()).for_each(|file| (self.tell)(&Step::Kept(file.clone())));
        if !missing.is_empty() {
            let task =
                TaskSpec { cpu: Some(0), policy: Some(system.policy), wake: system.wake, ..task.clone() };
            self.on_kernel(system, &missing, &task).map_err(|error| Box::new(error).within(system.name))?;
        }
        let runs = read(&files)?;
        let loads = loads.iter().zip(&runs).map(|(case, run)| UnderLoad {
            condition: case.name.into(),
            load: case.load.into(),
            found: run.tasks.first().and_then(|task| of(&task.measured.summary)),
        });
        Ok((SystemUnderLoads { system: system.name.into(), loads: loads.collect() }, runs))
    }

    fn on_kernel(
        &mut self,
        system: &System,
        missing: &[(&Case, &PathBuf)],
        task: &TaskSpec,
    ) -> Result<(), Error> {
        let options = |case: &Case| {
            let duration = Exact(self.duration_ns).to_string();
            ["--task", &task.to_string(), "--load", case.load, "--duration", &duration].map(String::from)
        };
        let machine = Machine { memory_mib: MEMORY_MIB, ..Machine::default() };
        let steps = missing.iter().map(|(case, _)| run_step(case.name, &options(case))).collect();
        let mut session = session(machine, steps)?;
        session.bring_cores(std::slice::from_ref(task));
        (self.tell)(&Step::Booting { system: system.name.into(), kernel: system.kernel.to_string() });
        let tell = &mut self.tell;
        let measured =
            session.on(&system.kernel, &mut |text| tell(&Step::Preparing(text.into())), &mut |_| ())?;
        for (case, file) in missing {
            let in_memory = measured.run_file(case.name)?;
            jitterlab_trace::redescribe(in_memory.path(), file, |info| {
                measured.describe(info, GuestTime::default(), std::env::args());
            })?;
        }
        Ok(())
    }
}
