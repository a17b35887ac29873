//! Frequencies, idle states, heat.

use jitterlab_model::CpuSet;
use jitterlab_model::check::RemedyKind::{Command, Machine};
use jitterlab_model::facts::{Cpu, IdleState, NO_REQUEST_US};

use super::{
    CheckContext, Rule, Ruling, Scope, cpu_file, fail, not_applicable, pass, shell_alternatives, unknown,
    warn,
};

/// Idle states that take longer than this to leave are worth a warning.
const LONG_EXIT_US: u64 = 10;
/// Idle states that take longer than this to leave rule real time out.
const VERY_LONG_EXIT_US: u64 = 500;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "governor", scope: Scope::Hardware, ruling: check_governor },
    Rule { id: "frequency-range", scope: Scope::Hardware, ruling: check_frequency_range },
    Rule { id: "turbo", scope: Scope::Hardware, ruling: check_turbo },
    Rule { id: "energy-preference", scope: Scope::Hardware, ruling: check_energy_preference },
    Rule { id: "idle-states", scope: Scope::Hardware, ruling: check_idle_states },
    Rule { id: "cpu-dma-latency", scope: Scope::Kernel, ruling: check_dma_latency },
    Rule { id: "thermal-throttling", scope: Scope::Hardware, ruling: check_throttling },
    Rule { id: "power-supply", scope: Scope::Hardware, ruling: check_power_supply },
];

fn real_time_cpus<'a>(s: &'a CheckContext<'_>) -> impl Iterator<Item = &'a Cpu> {
    s.cpus.iter().filter_map(|cpu| s.facts.cpu(cpu))
}

/// Real-time CPUs for which `holds` is true.
fn cpus_where(s: &CheckContext<'_>, holds: impl Fn(&Cpu) -> bool) -> CpuSet {
    real_time_cpus(s).filter(|cpu| holds(cpu)).map(|cpu| cpu.id).collect()
}

fn check_governor(s: &CheckContext<'_>) -> Ruling {
    let names: Vec<&String> = real_time_cpus(s).filter_map(|cpu| cpu.frequency.governor.as_ref()).collect();
    let Some(first) = names.first() else { return not_applicable("not-the-kernels") };
    let slow = cpus_where(s, |cpu| cpu.frequency.governor.as_deref().is_some_and(|g| g != "performance"));
    match names.iter().find(|name| **name != "performance") {
        None => pass("fast").with("governor", *first),
        Some(name) => warn("saving")
            .with("governor", *name)
            .with("slow", &slow)
            .advise_write("performance", &cpu_file(&slow, "cpufreq/scaling_governor"))
            .advise_parameter("cpufreq.default_governor=performance"),
    }
}

fn check_frequency_range(s: &CheckContext<'_>) -> Ruling {
    let range = |cpu: &Cpu| cpu.frequency.min_hz.zip(cpu.frequency.max_hz);
    let Some((first, (_, high))) = real_time_cpus(s).find_map(|cpu| Some((cpu, range(cpu)?))) else {
        return not_applicable("not-the-kernels");
    };
    let wide = cpus_where(s, |cpu| range(cpu).is_some_and(|(low, high)| low < high));
    let Some((low, high)) = wide.first().and_then(|id| range(s.facts.cpu(id)?)) else {
        return pass("fixed").with("highest_hz", high);
    };
    let fixed_khz = first.frequency.max_hz.unwrap_or(high) / 1_000;
    warn("wide")
        .with("lowest_hz", low)
        .with("highest_hz", high)
        .with("wide", &wide)
        .advise_write(fixed_khz, &cpu_file(&wide, "cpufreq/scaling_min_freq"))
}

fn check_turbo(s: &CheckContext<'_>) -> Ruling {
    let driver = real_time_cpus(s).find_map(|cpu| cpu.frequency.driver.clone()).unwrap_or_default();
    match s.facts.power.turbo {
        Some(false) => pass("off"),
        Some(true) if driver.starts_with("intel_") => {
            warn("on").advise_write(1, "/sys/devices/system/cpu/intel_pstate/no_turbo")
        }
        Some(true) => warn("on").advise_write(0, "/sys/devices/system/cpu/cpufreq/boost"),
        None => not_applicable("no-switch"),
    }
}

fn check_energy_preference(s: &CheckContext<'_>) -> Ruling {
    let saving = cpus_where(s, |cpu| {
        cpu.frequency.preference.as_deref().is_some_and(|p| p != "performance" && p != "default")
    });
    match real_time_cpus(s).find_map(|cpu| cpu.frequency.preference.as_ref()) {
        None => not_applicable("none-taken"),
        Some(preference) if saving.is_empty() => pass("fast").with("preference", preference),
        Some(preference) => {
            let file = cpu_file(&saving, "cpufreq/energy_performance_preference");
            let ruling = warn("saving").with("preference", preference).with("saving", &saving);
            ruling.advise_write("performance", &file)
        }
    }
}

/// Idle states that a CPU can be in: not disabled, and within the exit latency that is allowed.
fn reachable_idle_states<'a>(s: &'a CheckContext<'_>, cpu: &'a Cpu) -> impl Iterator<Item = &'a IdleState> {
    let limit = s.facts.power.dma_latency_us.into_iter().chain(cpu.resume_latency_limit_us).min();
    cpu.idle_states
        .iter()
        .filter(|state| state.disabled != Some(true))
        .filter(move |state| limit.is_none_or(|most| state.exit_latency_us.is_none_or(|us| us <= most)))
}

fn check_idle_states(s: &CheckContext<'_>) -> Ruling {
    let kernel = &s.facts.kernel;
    let polls = [
        (kernel.parameter("idle") == Some("poll"), "idle=poll"),
        (kernel.parameter("nohlt").is_some(), "nohlt"),
    ];
    if let Some((_, parameter)) = polls.into_iter().find(|(set, _)| *set) {
        return pass("polling").with("parameter", parameter);
    }
    if real_time_cpus(s).all(|cpu| cpu.idle_states.is_empty()) {
        return not_applicable("no-choice");
    }
    let reachable = || real_time_cpus(s).flat_map(|cpu| reachable_idle_states(s, cpu));
    let Some(state) = reachable().max_by_key(|state| state.exit_latency_us) else {
        return pass("all-disabled");
    };
    // A state of unknown latency may be deeper than those that are known to be harmless.
    let exit_us = match state.exit_latency_us {
        Some(us) if us > LONG_EXIT_US || reachable().all(|state| state.exit_latency_us.is_some()) => us,
        _ => return unknown(),
    };
    let ruling = if exit_us <= LONG_EXIT_US {
        pass("down-to")
    } else if exit_us <= VERY_LONG_EXIT_US {
        warn("down-to")
    } else {
        fail("down-to")
    };
    let ruling = ruling.with("state", &state.name).with("exit_us", exit_us);
    if exit_us <= LONG_EXIT_US {
        return ruling;
    }
    let ruling = ruling.with_delay_us(i64::try_from(exit_us).unwrap_or(i64::MAX));
    let long = |state: &IdleState| state.exit_latency_us.is_some_and(|us| us > LONG_EXIT_US);
    let states = real_time_cpus(s).next().map_or(&[][..], |cpu| cpu.idle_states.as_slice());
    let too_deep = states.iter().enumerate().filter(|(_, state)| long(state)).map(|(n, _)| n);
    let file = format!("cpuidle/state{}/disable", shell_alternatives(too_deep));
    ruling.advise_option("--cpu-dma-latency 0").advise_write(1, &cpu_file(s.cpus, &file)).advise_parameter(
        match s.facts.power.idle_driver.as_deref() {
            Some("intel_idle") => "intel_idle.max_cstate=1",
            Some("acpi_idle") | None => "processor.max_cstate=1",
            // Other drivers have no such limit; the kernel can only do without them.
            Some(_) => "cpuidle.off=1",
        },
    )
}

fn check_dma_latency(s: &CheckContext<'_>) -> Ruling {
    let power = &s.facts.power;
    let Some(us) = power.dma_latency_us else { return unknown() };
    if us >= NO_REQUEST_US {
        return pass("none");
    }
    let holders: Vec<String> =
        power.dma_latency_holders.iter().map(|h| format!("{} (pid {})", h.name, h.pid)).collect();
    let pids: Vec<String> = power.dma_latency_holders.iter().map(|h| h.pid.to_string()).collect();
    let ruling = if holders.is_empty() {
        warn("unseen-holder").advise(Command, "find")
    } else {
        warn("held").with("holders", holders).with("pids", pids.join(" ").as_str()).advise(Command, "kill")
    };
    ruling.with("limit_us", us)
}

fn check_throttling(s: &CheckContext<'_>) -> Ruling {
    let counts =
        real_time_cpus(s).flat_map(|cpu| [cpu.core_throttle_count, cpu.package_throttle_count]).flatten();
    match counts.max() {
        None => not_applicable("not-counted"),
        Some(0) => pass("never"),
        Some(n) => warn("counted").with("times", n).advise(Machine, "cool"),
    }
}

fn check_power_supply(s: &CheckContext<'_>) -> Ruling {
    let Some(bits) = s.facts.power.firmware_throttled else { return not_applicable("not-reported") };
    match (bits & 0xF, bits >> 16 & 0xF) {
        (0, 0) => pass("enough"),
        (0, _) => warn("since-start").advise(Machine, "supply"),
        (_, _) => fail("now").advise(Machine, "supply"),
    }
}
