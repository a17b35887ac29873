//! Knobs for other work on the task's processor.

use jitterlab_analysis::tune::Step;
use jitterlab_model::{CpuSet, Policy};

use super::{Offer, Scene};
use crate::isolate::may_wait;

pub(super) fn other_threads(scene: &Scene<'_>) -> Offer {
    let to = scene.others.clone();
    if to.is_empty() { Offer::Absent } else { Offer::Sets(vec![Step::Threads { to }]) }
}

pub(super) fn cpuset(scene: &Scene<'_>) -> Offer {
    let to = scene.others.clone();
    let groups = ["cpuset/cpuset.cpus", "cgroup.controllers"];
    if to.is_empty() || !groups.iter().any(|file| scene.root.exists(&format!("sys/fs/cgroup/{file}"))) {
        return Offer::Absent;
    }
    Offer::Sets(vec![Step::Cpuset { to }])
}

pub(super) fn smt_sibling(scene: &Scene<'_>) -> Offer {
    let known = scene.cpus.iter().filter_map(|cpu| scene.facts.cpu(cpu));
    let siblings: CpuSet = known.flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>()).collect();
    let off = siblings.and(scene.others);
    let to = scene.others.without(&off);
    if off.is_empty() || to.is_empty() {
        Offer::Absent
    } else {
        Offer::Sets(vec![Step::Siblings { off, to }])
    }
}

pub(super) fn kernel_threads(scene: &Scene<'_>) -> Offer {
    let Some(Policy::Fifo(own) | Policy::RoundRobin(own)) = scene.task.policy else {
        return Offer::NotOfTask;
    };
    let before = |priority: u8| priority >= own;
    let mut kernel = scene.facts.real_time_threads.iter().filter(|thread| thread.kernel);
    match own.checked_sub(1) {
        None | Some(0) => Offer::NotOfTask,
        Some(priority) if kernel.any(|thread| before(thread.priority) && may_wait(&thread.name)) => {
            Offer::Sets(vec![Step::KernelThreads { priority }])
        }
        Some(_) => Offer::Already,
    }
}

pub(super) fn interrupts(scene: &Scene<'_>) -> Offer {
    let to = scene.others.clone();
    let lines = scene.facts.interrupts.lines.iter().filter(|line| line.is_device() && !line.fixed);
    let mut bound = lines.filter_map(|line| line.effective.as_ref().or(line.affinity.as_ref())).peekable();
    if to.is_empty() || bound.peek().is_none() {
        return Offer::Absent;
    }
    if !bound.any(|cpus| cpus.overlaps(scene.cpus)) {
        return Offer::Already;
    }
    Offer::Sets(vec![Step::Interrupts { to }])
}

pub(super) fn unbound_work(scene: &Scene<'_>) -> Offer {
    const WORK: &str = "sys/devices/virtual/workqueue";
    if scene.others.is_empty() {
        return Offer::Absent;
    }
    if scene.facts.isolation.workqueue_cpus.as_ref().is_some_and(|cpus| !cpus.overlaps(scene.cpus)) {
        return Offer::Already;
    }
    let mask = scene.others.to_mask();
    scene.files([(format!("{WORK}/cpumask"), mask.clone()), (format!("{WORK}/writeback/cpumask"), mask)])
}
