//! Knobs: settings of this machine or of the task, one file for each topic. Each offers its steps for this
//! machine; setting, reading back and putting back are the same for all.

use jitterlab_analysis::tune::{KnobLeft, LeftOut, Offered, Step};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{CpuSet, Knob, SystemFacts, TaskSpec};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::facts::Root;
use super::isolate::{Alteration, chosen};

mod network;
mod power;
mod processor;
mod task;

/// Place where knobs are to help: a task on its processor.
struct Scene<'a> {
    root: &'a Root,
    facts: &'a SystemFacts,
    /// The CPU of the task.
    cpus: &'a CpuSet,
    /// The CPUs for everything else.
    others: &'a CpuSet,
    task: &'a TaskSpec,
    /// The program of the task, by its number or `self`.
    process: &'a str,
}

/// Offer of a knob on this machine.
enum Offer {
    Sets(Vec<Step>),
    Already,
    Absent,
    /// The task, as it waits and runs, has no use for it.
    NotOfTask,
}

/// Knobs that write the same values on each machine, with the files they write.
const FILES: &[(Knob, &[(&str, &str)])] = &[
    (Knob::Preemption, &[("sys/kernel/debug/sched/preempt", "full")]),
    (Knob::TimerMigration, &[("proc/sys/kernel/timer_migration", "0")]),
    (Knob::RealTimeThrottling, &[("proc/sys/kernel/sched_rt_runtime_us", "-1")]),
    (Knob::RcuNormal, &[("sys/kernel/rcu_normal", "1")]),
    // The kernel has one switch for both, which puts them back as they were.
    (Knob::Watchdogs, &[("proc/sys/kernel/nmi_watchdog", "0"), ("proc/sys/kernel/soft_watchdog", "0")]),
    (Knob::HugePages, &[("sys/kernel/mm/transparent_hugepage/enabled", "never")]),
    (Knob::SamePageMerging, &[("sys/kernel/mm/ksm/run", "0")]),
    (Knob::NumaBalancing, &[("proc/sys/kernel/numa_balancing", "0")]),
    (Knob::MemoryStatistics, &[("proc/sys/vm/stat_interval", "120")]),
    (Knob::Swappiness, &[("proc/sys/vm/swappiness", "1")]),
];

/// Returns the offer of a knob.
fn offer(knob: Knob, scene: &Scene<'_>) -> Offer {
    match knob {
        // A real-time kernel is preemptible as it is.
        Knob::Preemption if scene.facts.kernel.preemption == Some(Preemption::RealTime) => Offer::Already,
        // Stopped without giving its pages back, it costs nothing either.
        Knob::SamePageMerging if scene.facts.memory.same_page_merging == Some(false) => Offer::Already,
        // Without swap there is nothing to swap out.
        Knob::Swappiness if scene.facts.memory.swap_total_bytes == Some(0) => Offer::Absent,
        Knob::OtherThreads => processor::other_threads(scene),
        Knob::Cpuset => processor::cpuset(scene),
        Knob::SmtSibling => processor::smt_sibling(scene),
        Knob::Interrupts => processor::interrupts(scene),
        Knob::KernelThreads => processor::kernel_threads(scene),
        Knob::UnboundWork => processor::unbound_work(scene),
        Knob::IdleLatency => power::idle_latency(scene),
        Knob::IdleStates => power::idle_states(scene),
        Knob::Governor => power::governor(scene),
        Knob::FrequencyFloor => power::frequency_floor(scene),
        Knob::Turbo => power::turbo(scene),
        Knob::GroupLimits => task::group_limits(scene),
        Knob::NetworkThreads => network::threads(scene),
        Knob::NetworkCoalescing => network::coalescing(scene),
        Knob::Policy => task::policy(scene),
        Knob::Priority => task::priority(scene),
        Knob::WakeUp => task::wake_up(scene),
        Knob::WakeEarly => task::wake_early(scene),
        _ => {
            let files = FILES.iter().filter(|(of, _)| *of == knob).flat_map(|(_, files)| *files);
            scene.files(files.map(|(file, value)| ((*file).to_owned(), (*value).to_owned())))
        }
    }
}

impl Scene<'_> {
    /// The files that are there and hold something else, set to these values.
    fn files(&self, wanted: impl IntoIterator<Item = (String, String)>) -> Offer {
        let there: Vec<(String, String)> =
            wanted.into_iter().filter(|(file, _)| self.root.exists(file)).collect();
        if there.is_empty() {
            return Offer::Absent;
        }
        let other = |(file, value): &(String, String)| {
            self.root.text(file).is_none_or(|text| chosen(&text) != value.as_str())
        };
        let steps: Vec<Step> = there
            .into_iter()
            .filter(other)
            .map(|(file, value)| Step::File { file: format!("/{file}"), value })
            .collect();
        if steps.is_empty() { Offer::Already } else { Offer::Sets(steps) }
    }

    fn file(&self, file: &str, value: &str) -> Offer {
        self.files([(file.into(), value.into())])
    }
}

fn cpu_file(cpu: u16, file: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/{file}")
}

/// The requested knobs that can be tried for a task of a program on these CPUs, most promising first, and the
/// reasons against the others.
pub(super) fn offers(
    root: &Root,
    facts: &SystemFacts,
    cpus: &CpuSet,
    (task, process): (&TaskSpec, &str),
    wanted: &[Knob],
) -> (Vec<Offered>, Vec<KnobLeft>) {
    let others = facts.usable().without(cpus);
    let scene = Scene { root, facts, cpus, others: &others, task, process };
    let (mut offered, mut left) = (Vec::new(), Vec::new());
    for knob in Knob::ALL.into_iter().filter(|knob| wanted.contains(knob)) {
        let why = match offer(knob, &scene) {
            _ if task::asked_of(knob).is_some_and(|priority| !task::may_have(facts, priority)) => {
                LeftOut::Refused { error: Errno::EPERM.desc().to_owned() }
            }
            Offer::Sets(steps) => match steps.iter().find_map(|step| refused(root, step)) {
                None => {
                    offered.push(Offered { knob, steps });
                    continue;
                }
                Some(error) => LeftOut::Refused { error },
            },
            Offer::Already => LeftOut::Already,
            Offer::Absent => LeftOut::Absent,
            Offer::NotOfTask => LeftOut::NotOfTask,
        };
        left.push(KnobLeft { knob, why });
    }
    (offered, left)
}

/// Reason why a step is not permitted, as far as it is known without trying.
fn refused(root: &Root, step: &Step) -> Option<String> {
    let writable = |file: &str| {
        let path = root.path(file.trim_start_matches('/'));
        access(&path, AccessFlags::W_OK).err().map(|error| format!("{file}: {}", error.desc()))
    };
    match step {
        Step::File { file, .. } => writable(file),
        Step::Interrupts { .. } => writable("/proc/irq/default_smp_affinity"),
        Step::IdleLatency { .. } => writable("/dev/cpu_dma_latency"),
        Step::Threads { .. } | Step::Siblings { .. } | Step::Cpuset { .. } | Step::KernelThreads { .. } => {
            writable("/run")
        }
        Step::Task { .. } => None,
    }
}

/// Applies the steps of a knob that belong to the machine. Steps that belong to a run stay in
/// [`Offered::steps`] for the measurement.
pub(super) fn set(offered: &Offered, machine: &mut Alteration) -> std::io::Result<()> {
    offered.steps.iter().try_for_each(|step| match step {
        Step::File { file, value } => {
            machine.write(file, value).map_err(|error| std::io::Error::other(format!("{file}: {error}")))
        }
        Step::Interrupts { .. } => machine.move_interrupts(),
        Step::Threads { .. } => machine.move_threads(),
        Step::Siblings { off, to } => machine.move_threads_off(off, to),
        Step::Cpuset { .. } => machine.confine(),
        Step::KernelThreads { priority } => machine.lower_kernel_threads(*priority),
        Step::IdleLatency { .. } | Step::Task { .. } => Ok(()),
    })
}

/// True if any step changes the machine, not only the run.
pub(super) fn touches_machine(offered: &Offered) -> bool {
    offered.steps.iter().any(|step| !matches!(step, Step::IdleLatency { .. } | Step::Task { .. }))
}

/// The task with the settings of a knob.
pub(super) fn task_with(offered: &Offered, task: TaskSpec) -> Result<TaskSpec, jitterlab_model::Error> {
    let mut parts = offered.steps.iter().filter_map(|step| match step {
        Step::Task { parts } => Some(parts),
        _ => None,
    });
    let name = task.name.clone();
    let with = parts.try_fold(task, |task, parts| task.with(parts))?;
    Ok(TaskSpec { name, ..with })
}

/// Checks that the system grants a task the settings of a knob: limits and control groups may refuse a
/// policy.
pub(super) fn try_task(offered: &Offered, task: &TaskSpec) -> Result<(), String> {
    let with = task_with(offered, task.clone()).map_err(|error| error.to_string())?;
    match with.policy {
        Some(policy) if with.policy != task.policy => {
            task::try_policy(policy, with.period_ns).map_err(|error| format!("{policy}: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
