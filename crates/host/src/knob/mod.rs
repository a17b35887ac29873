//! Knobs: settings of this machine or of the task. The files of the topics find a knob's steps for this machine;
//! [`apply_to_machine`] and [`apply_task_settings`] set any knob.

use jitterlab_analysis::tune::{ApplicableKnob, LeftOut, Step, UntriedKnob};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{CpuSet, Knob, SystemFacts, TaskSpec};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::changes::bracketed_choice;
use super::facts::Root;
use super::isolate::Alteration;

mod network;
mod power;
mod processor;
mod task;

/// A task on its processor, for which knobs are tried.
struct KnobContext<'a> {
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

/// Result of looking at a knob: its steps, or the reason against it.
enum Applicability {
    Steps(Vec<Step>),
    AlreadySet,
    NotAvailable,
    /// The task, as it waits and runs, has no use for it.
    NotApplicable,
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

/// Finds the steps that apply a knob on this machine, or the reason against it.
fn find_applicability(knob: Knob, context: &KnobContext<'_>) -> Applicability {
    match knob {
        // A real-time kernel is preemptible as it is.
        Knob::Preemption if context.facts.kernel.preemption == Some(Preemption::RealTime) => {
            Applicability::AlreadySet
        }
        // Stopped without giving its pages back, it costs nothing either.
        Knob::SamePageMerging if context.facts.memory.same_page_merging == Some(false) => {
            Applicability::AlreadySet
        }
        // Without swap there is nothing to swap out.
        Knob::Swappiness if context.facts.memory.swap_total_bytes == Some(0) => Applicability::NotAvailable,
        Knob::OtherThreads => processor::other_threads_steps(context),
        Knob::Cpuset => processor::cpuset_steps(context),
        Knob::SmtSibling => processor::smt_sibling_steps(context),
        Knob::Interrupts => processor::interrupts_steps(context),
        Knob::KernelThreads => processor::kernel_threads_steps(context),
        Knob::UnboundWork => processor::unbound_workqueues_steps(context),
        Knob::IdleLatency => power::idle_latency_steps(context),
        Knob::IdleStates => power::idle_states_steps(context),
        Knob::Governor => power::governor_steps(context),
        Knob::FrequencyFloor => power::frequency_floor_steps(context),
        Knob::Turbo => power::turbo_steps(context),
        Knob::GroupLimits => task::group_limits_steps(context),
        Knob::NetworkThreads => network::network_threads_steps(context),
        Knob::NetworkCoalescing => network::network_coalescing_steps(context),
        Knob::Policy => task::policy_steps(context),
        Knob::Priority => task::priority_steps(context),
        Knob::WakeUp => task::wake_up_steps(context),
        Knob::WakeEarly => task::wake_early_steps(context),
        _ => {
            let files = FILES.iter().filter(|(of, _)| *of == knob).flat_map(|(_, files)| *files);
            context.file_steps(files.map(|(file, value)| ((*file).to_owned(), (*value).to_owned())))
        }
    }
}

impl KnobContext<'_> {
    /// Steps that set these files to these values, for those that exist and hold something else.
    fn file_steps(&self, wanted: impl IntoIterator<Item = (String, String)>) -> Applicability {
        let there: Vec<(String, String)> =
            wanted.into_iter().filter(|(file, _)| self.root.exists(file)).collect();
        if there.is_empty() {
            return Applicability::NotAvailable;
        }
        let other = |(file, value): &(String, String)| {
            self.root.text(file).is_none_or(|text| bracketed_choice(&text) != value.as_str())
        };
        let steps: Vec<Step> = there
            .into_iter()
            .filter(other)
            .map(|(file, value)| Step::File { file: format!("/{file}"), value })
            .collect();
        if steps.is_empty() { Applicability::AlreadySet } else { Applicability::Steps(steps) }
    }

    fn file_step(&self, file: &str, value: &str) -> Applicability {
        self.file_steps([(file.into(), value.into())])
    }
}

fn cpu_file(cpu: u16, file: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/{file}")
}

/// Finds the `wanted` knobs that can be tried for a task, most promising first, and why the others cannot.
pub(super) fn applicable_knobs(
    root: &Root,
    facts: &SystemFacts,
    cpus: &CpuSet,
    (task, process): (&TaskSpec, &str),
    wanted: &[Knob],
) -> (Vec<ApplicableKnob>, Vec<UntriedKnob>) {
    let others = facts.usable_cpus().without(cpus);
    let context = KnobContext { root, facts, cpus, others: &others, task, process };
    let (mut offered, mut left) = (Vec::new(), Vec::new());
    for knob in Knob::ALL.into_iter().filter(|knob| wanted.contains(knob)) {
        let why = match find_applicability(knob, &context) {
            _ if task::requested_priority(knob)
                .is_some_and(|priority| !task::is_priority_permitted(facts, priority)) =>
            {
                LeftOut::Refused { error: Errno::EPERM.desc().to_owned() }
            }
            Applicability::Steps(steps) => match steps.iter().find_map(|step| permission_refusal(root, step))
            {
                None => {
                    offered.push(ApplicableKnob { knob, steps });
                    continue;
                }
                Some(error) => LeftOut::Refused { error },
            },
            Applicability::AlreadySet => LeftOut::Already,
            Applicability::NotAvailable => LeftOut::Absent,
            Applicability::NotApplicable => LeftOut::NotOfTask,
        };
        left.push(UntriedKnob { knob, why });
    }
    (offered, left)
}

/// Reason why a step is not permitted, as far as known without trying; `None` if it may be.
fn permission_refusal(root: &Root, step: &Step) -> Option<String> {
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
/// [`ApplicableKnob::steps`] for the measurement.
pub(super) fn apply_to_machine(offered: &ApplicableKnob, machine: &mut Alteration) -> std::io::Result<()> {
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
pub(super) fn changes_machine(offered: &ApplicableKnob) -> bool {
    offered.steps.iter().any(|step| !matches!(step, Step::IdleLatency { .. } | Step::Task { .. }))
}

/// Applies the settings of a knob to a task, which keeps its name.
pub(super) fn apply_task_settings(
    offered: &ApplicableKnob,
    task: TaskSpec,
) -> Result<TaskSpec, jitterlab_model::Error> {
    let mut parts = offered.steps.iter().filter_map(|step| match step {
        Step::Task { parts } => Some(parts),
        _ => None,
    });
    let name = task.name.clone();
    let with = parts.try_fold(task, |task, parts| task.with_properties(parts))?;
    Ok(TaskSpec { name, ..with })
}

/// Checks that the system grants a thread the policy that a knob sets: limits or control groups may refuse.
pub(super) fn try_task_settings(offered: &ApplicableKnob, task: &TaskSpec) -> Result<(), String> {
    let with = apply_task_settings(offered, task.clone()).map_err(|error| error.to_string())?;
    match with.policy {
        Some(policy) if with.policy != task.policy => {
            task::try_policy(policy, with.period_ns).map_err(|error| format!("{policy}: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
