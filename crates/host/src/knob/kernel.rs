//! Knobs of the kernel's scheduling and watchdogs.

use jitterlab_model::facts::Preemption;

use super::{Offer, Scene};

pub(super) fn preemption(scene: &Scene<'_>) -> Offer {
    // A real-time kernel is preemptible as it is.
    if scene.facts.kernel.preemption == Some(Preemption::RealTime) {
        return Offer::Already;
    }
    scene.file("sys/kernel/debug/sched/preempt", "full")
}

pub(super) fn timer_migration(scene: &Scene<'_>) -> Offer {
    scene.file("proc/sys/kernel/timer_migration", "0")
}

pub(super) fn real_time_throttling(scene: &Scene<'_>) -> Offer {
    scene.file("proc/sys/kernel/sched_rt_runtime_us", "-1")
}

pub(super) fn rcu_normal(scene: &Scene<'_>) -> Offer {
    scene.file("sys/kernel/rcu_normal", "1")
}

pub(super) fn watchdogs(scene: &Scene<'_>) -> Offer {
    // One switch for both, which puts them back as they were.
    let both =
        ["nmi_watchdog", "soft_watchdog"].map(|file| (format!("proc/sys/kernel/{file}"), "0".to_owned()));
    scene.files(both)
}
