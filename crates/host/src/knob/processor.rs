//! Knobs for other work on the task's processor.

use jitterlab_analysis::tune::Step;
use jitterlab_model::{CpuSet, Policy};

use super::{Applicability, KnobContext};
use crate::changes::may_be_delayed;

pub(super) fn other_threads_steps(context: &KnobContext<'_>) -> Applicability {
    let to = context.others.clone();
    if to.is_empty() { Applicability::NotAvailable } else { Applicability::Steps(vec![Step::Threads { to }]) }
}

pub(super) fn cpuset_steps(context: &KnobContext<'_>) -> Applicability {
    let to = context.others.clone();
    let groups = ["cpuset/cpuset.cpus", "cgroup.controllers"];
    if to.is_empty() || !groups.iter().any(|file| context.root.exists(&format!("sys/fs/cgroup/{file}"))) {
        return Applicability::NotAvailable;
    }
    Applicability::Steps(vec![Step::Cpuset { to }])
}

pub(super) fn smt_sibling_steps(context: &KnobContext<'_>) -> Applicability {
    let known = context.cpus.iter().filter_map(|cpu| context.facts.cpu(cpu));
    let siblings: CpuSet = known.flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>()).collect();
    let off = siblings.and(context.others);
    let to = context.others.without(&off);
    if off.is_empty() || to.is_empty() {
        Applicability::NotAvailable
    } else {
        Applicability::Steps(vec![Step::Siblings { off, to }])
    }
}

pub(super) fn kernel_threads_steps(context: &KnobContext<'_>) -> Applicability {
    let Some(Policy::Fifo(own) | Policy::RoundRobin(own)) = context.task.policy else {
        return Applicability::NotApplicable;
    };
    let before = |priority: u8| priority >= own;
    let mut kernel = context.facts.real_time_threads.iter().filter(|thread| thread.kernel);
    match own.checked_sub(1) {
        None | Some(0) => Applicability::NotApplicable,
        Some(priority) if kernel.any(|thread| before(thread.priority) && may_be_delayed(&thread.name)) => {
            Applicability::Steps(vec![Step::KernelThreads { priority }])
        }
        Some(_) => Applicability::AlreadySet,
    }
}

pub(super) fn interrupts_steps(context: &KnobContext<'_>) -> Applicability {
    let to = context.others.clone();
    let lines = context.facts.interrupts.lines.iter().filter(|line| line.is_device() && !line.fixed);
    let mut bound = lines.filter_map(|line| line.effective.as_ref().or(line.affinity.as_ref())).peekable();
    if to.is_empty() || bound.peek().is_none() {
        return Applicability::NotAvailable;
    }
    if !bound.any(|cpus| cpus.overlaps(context.cpus)) {
        return Applicability::AlreadySet;
    }
    Applicability::Steps(vec![Step::Interrupts { to }])
}

pub(super) fn unbound_workqueues_steps(context: &KnobContext<'_>) -> Applicability {
    const WORK: &str = "sys/devices/virtual/workqueue";
    if context.others.is_empty() {
        return Applicability::NotAvailable;
    }
    if context.facts.isolation.workqueue_cpus.as_ref().is_some_and(|cpus| !cpus.overlaps(context.cpus)) {
        return Applicability::AlreadySet;
    }
    let mask = context.others.to_mask();
    context
        .file_steps([(format!("{WORK}/cpumask"), mask.clone()), (format!("{WORK}/writeback/cpumask"), mask)])
}
