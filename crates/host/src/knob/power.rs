//! Idle states and frequencies.

use jitterlab_analysis::tune::Step;
use jitterlab_model::facts::IdleState;

use super::{Applicability, KnobContext, cpu_file};

/// Idle states that take longer to leave than this are deep.
const DEEP_US: u64 = 2;

pub(super) fn idle_latency_steps(context: &KnobContext<'_>) -> Applicability {
    if !context.root.exists("dev/cpu_dma_latency") {
        return Applicability::NotAvailable;
    }
    match context.facts.power.dma_latency_us {
        Some(0) => Applicability::AlreadySet,
        _ => Applicability::Steps(vec![Step::IdleLatency { us: 0 }]),
    }
}

pub(super) fn idle_states_steps(context: &KnobContext<'_>) -> Applicability {
    let states = context.cpus.iter().filter_map(|cpu| context.facts.cpu(cpu)).flat_map(|cpu| {
        let deep = |(_, state): &(usize, &IdleState)| state.exit_latency_us.is_some_and(|us| us > DEEP_US);
        let deep: Vec<usize> = cpu.idle_states.iter().enumerate().filter(deep).map(|(n, _)| n).collect();
        deep.into_iter()
            .map(move |n| (cpu_file(cpu.id, &format!("cpuidle/state{n}/disable")), "1".to_owned()))
    });
    context.file_steps(states)
}

pub(super) fn governor_steps(context: &KnobContext<'_>) -> Applicability {
    let of = |cpu| (cpu_file(cpu, "cpufreq/scaling_governor"), "performance".to_owned());
    context.file_steps(context.cpus.iter().map(of))
}

pub(super) fn frequency_floor_steps(context: &KnobContext<'_>) -> Applicability {
    let highest = |cpu: u16| context.root.text(&cpu_file(cpu, "cpufreq/scaling_max_freq"));
    let floors = context
        .cpus
        .iter()
        .filter_map(|cpu| Some((cpu_file(cpu, "cpufreq/scaling_min_freq"), highest(cpu)?)));
    context.file_steps(floors)
}

pub(super) fn turbo_steps(context: &KnobContext<'_>) -> Applicability {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate";
    if context.root.path(INTEL).is_dir() {
        return context.file_step(&format!("{INTEL}/no_turbo"), "1");
    }
    context.file_step("sys/devices/system/cpu/cpufreq/boost", "0")
}
