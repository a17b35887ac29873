//! What else runs on the task's processor.

use jitterlab_analysis::tune::Step;

use super::{Offer, Scene};

pub(super) fn other_threads(scene: &Scene<'_>) -> Offer {
    let to = scene.others.clone();
    if to.is_empty() { Offer::Absent } else { Offer::Sets(vec![Step::Threads { to }]) }
}

pub(super) fn interrupts(scene: &Scene<'_>) -> Offer {
    let to = scene.others.clone();
    let lines = scene.facts.interrupts.lines.iter().filter(|line| line.is_device());
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
