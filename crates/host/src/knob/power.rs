//! Idle states and frequencies.

use jitterlab_analysis::tune::Step;
use jitterlab_model::facts::IdleState;

use super::{Offer, Scene, cpu_file};

/// Idle states that take longer to leave than this are deep.
const DEEP_US: u64 = 2;

pub(super) fn idle_latency(scene: &Scene<'_>) -> Offer {
    if !scene.root.exists("dev/cpu_dma_latency") {
        return Offer::Absent;
    }
    match scene.facts.power.dma_latency_us {
        Some(0) => Offer::Already,
        _ => Offer::Sets(vec![Step::IdleLatency { us: 0 }]),
    }
}

pub(super) fn idle_states(scene: &Scene<'_>) -> Offer {
    let states = scene.cpus.iter().filter_map(|cpu| scene.facts.cpu(cpu)).flat_map(|cpu| {
        let deep = |(_, state): &(usize, &IdleState)| state.exit_latency_us.is_some_and(|us| us > DEEP_US);
        let deep: Vec<usize> = cpu.idle_states.iter().enumerate().filter(deep).map(|(n, _)| n).collect();
        deep.into_iter()
            .map(move |n| (cpu_file(cpu.id, &format!("cpuidle/state{n}/disable")), "1".to_owned()))
    });
    scene.files(states)
}

pub(super) fn governor(scene: &Scene<'_>) -> Offer {
    let of = |cpu| (cpu_file(cpu, "cpufreq/scaling_governor"), "performance".to_owned());
    scene.files(scene.cpus.iter().map(of))
}

pub(super) fn frequency_floor(scene: &Scene<'_>) -> Offer {
    let highest = |cpu: u16| scene.root.text(&cpu_file(cpu, "cpufreq/scaling_max_freq"));
    let floors =
        scene.cpus.iter().filter_map(|cpu| Some((cpu_file(cpu, "cpufreq/scaling_min_freq"), highest(cpu)?)));
    scene.files(floors)
}

pub(super) fn turbo(scene: &Scene<'_>) -> Offer {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate";
    if scene.root.path(INTEL).is_dir() {
        return scene.file(&format!("{INTEL}/no_turbo"), "1");
    }
    scene.file("sys/devices/system/cpu/cpufreq/boost", "0")
}
