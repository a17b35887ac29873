//! The systems of the documents as kernel images in virtual time: an ordinary Linux and real-time ones.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use jitterlab_analysis::Summary;
use jitterlab_analysis::papers::{SystemUnderLoads, UnderLoad};
use jitterlab_bench::kernel::elf::LibraryPath;
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{GuestTime, KernelChoice, Machine, Session};
use jitterlab_model::units::Exact;
use jitterlab_report::page::PageRun;

use crate::commands::kernel::boots::{boot_all, check_run_options, figures_and_file};
use crate::exit::Failure;
use crate::output;
use crate::run_args::page_runs_of;

/// Memory for six of the Twente report's memory hogs, 256 MB each, and the rest of the guest.
const MEMORY_MIB: u32 = 3_072;

/// Which kernels stand for the documents' systems.
#[derive(Debug, Clone, clap::Args)]
pub struct Kernels {
    /// Measure on kernel images in QEMU's virtual time instead of this machine
    #[arg(long = "virtual")]
    pub in_virtual_time: bool,
    /// The ordinary kernel
    #[arg(long, default_value = "debian:generic", requires = "in_virtual_time", value_name = "KERNEL")]
    pub ordinary: KernelChoice,
    /// The kernel with PREEMPT_RT
    #[arg(long, default_value = "debian:rt", requires = "in_virtual_time", value_name = "KERNEL")]
    pub preempt_rt: KernelChoice,
    /// A kernel with Xenomai's Cobalt core; libcobalt.so.2 is looked for where the dynamic linker looks
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    pub cobalt: Option<KernelChoice>,
    /// A kernel with the EVL core (Xenomai 4); libevl.so is looked for where the dynamic linker looks
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    pub evl: Option<KernelChoice>,
}

/// One system.
#[derive(Debug, Clone)]
pub struct System {
    /// What tables and files call it.
    pub name: &'static str,
    /// Its kernel.
    pub kernel: KernelChoice,
    /// The scheduling policy of its tasks.
    pub policy: &'static str,
    /// How its tasks wait.
    pub wake: &'static str,
}

impl Kernels {
    /// The ordinary Linux, its task with the ordinary policy.
    pub fn ordinary(&self) -> System {
        System { name: "ordinary", kernel: self.ordinary.clone(), policy: "other", wake: "nanosleep" }
    }

    /// The real-time systems there are images of.
    pub fn real_time(&self) -> Vec<System> {
        let on = |name, kernel: &KernelChoice, wake| System {
            name,
            kernel: kernel.clone(),
            policy: "fifo:80",
            wake,
        };
        let mut systems = vec![on("preempt-rt", &self.preempt_rt, "nanosleep")];
        systems.extend(self.cobalt.iter().map(|kernel| on("cobalt", kernel, "cobalt")));
        systems.extend(self.evl.iter().map(|kernel| on("evl", kernel, "evl")));
        systems
    }
}

/// One measurement of a document.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What tables and files call it.
    pub name: &'static str,
    /// The load beside the task.
    pub load: &'static str,
}

/// Where a system's run file of a case is.
pub fn file(directory: &Path, system: &System, case: &Case) -> PathBuf {
    directory.join(format!("{}-{}.parquet", system.name, case.name))
}

/// What was measured of each case, and its runs.
pub fn read<T>(
    directory: &Path,
    system: &System,
    cases: &[Case],
    of: impl Fn(&Summary) -> Option<T>,
) -> Result<(SystemUnderLoads<T>, Vec<PageRun>)> {
    let files: Vec<PathBuf> = cases.iter().map(|case| file(directory, system, case)).collect();
    let runs = page_runs_of(&files)?;
    let loads = cases.iter().zip(&runs).map(|(case, run)| UnderLoad {
        condition: case.name.into(),
        load: case.load.into(),
        found: run.tasks.first().and_then(|task| of(&task.figures.summary)),
    });
    Ok((SystemUnderLoads { system: system.name.into(), loads: loads.collect() }, runs))
}

/// Measures all cases in one boot of each system. `task` are the options of `jitterlab run` that say what the task
/// does. The run files of a system that are all there from before are kept.
///
/// # Errors
/// A kernel that cannot be had or gives no answer.
pub fn measure(
    directory: &Path,
    systems: &[System],
    cases: &[Case],
    task: &[&str],
    duration_ns: i64,
) -> Result<(), Failure> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    for system in systems {
        let missing: Vec<&Case> =
            cases.iter().filter(|case| !file(directory, system, case).exists()).collect();
        if missing.is_empty() {
            output::note(&format!(
                "{}: its run files are there already and are taken as they are",
                system.name
            ));
            continue;
        }
        output::note(&format!("booting {} ({})", system.name, system.kernel));
        let mut steps = Vec::new();
        let mut specs = Vec::new();
        for case in &missing {
            let duration = Exact(duration_ns).to_string();
            let rest = [
                "--policy",
                system.policy,
                "--wake",
                system.wake,
                "--load",
                case.load,
                "--duration",
                &duration,
            ];
            let options: Vec<String> = task.iter().chain(&rest).map(|word| (*word).to_owned()).collect();
            specs.extend(check_run_options(&options)?.specs());
            steps.push(run_step(case.name, &options));
        }
        let mut session = Session {
            machine: Machine {
                memory_mib: MEMORY_MIB,
                timeout: std::time::Duration::from_secs(1_800),
                ..Machine::default()
            },
            jitterlab: std::env::current_exe().context("cannot find the program itself")?,
            with: Vec::new(),
            programs: Vec::new(),
            modules: Vec::new(),
            libraries: LibraryPath::of_this_machine(),
            background: None,
            steps,
        };
        session.bring_cores(&specs);
        let booted = boot_all(&session, std::slice::from_ref(&system.kernel), None, false).pop();
        let measured = booted.unwrap_or_else(|| Err(anyhow!("it was not booted"))).context(system.name)?;
        for case in missing {
            let name = format!("{}-{}", system.name, case.name);
            figures_and_file(&measured, case.name, GuestTime::default(), directory, &name).context(name)?;
        }
    }
    Ok(())
}
