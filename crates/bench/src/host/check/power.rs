//! Frequencies, idle states, heat.

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{Cpu, IdleState};

use super::{Rule, Scope, Subject, Verdict, cpu_folder, fail, named, not_applicable, pass, unknown, warn};

/// Idle states that take longer than this to leave are worth a warning.
const LONG_EXIT_US: u64 = 10;
/// Idle states that take longer than this to leave rule real time out.
const VERY_LONG_EXIT_US: u64 = 500;
/// What `/dev/cpu_dma_latency` holds when nobody asked for anything.
const NO_REQUEST_US: u64 = 2_000_000_000;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "governor",
        title: "Frequency governor",
        why: "A governor that saves power lets the CPU sleep at a low frequency and run slower just when the task wakes up.",
        scope: Scope::Hardware("set the governor `performance` on the host's CPUs"),
        verdict: governor,
    },
    Rule {
        id: "frequency-range",
        title: "Frequency range",
        why: "The same code takes longer at a lower frequency, so a changing frequency is jitter.",
        scope: Scope::Hardware("fix the frequency of the host's CPUs"),
        verdict: frequency_range,
    },
    Rule {
        id: "turbo",
        title: "Turbo",
        why: "How far the processor exceeds its nominal frequency depends on heat and on the other cores, moment by moment.",
        scope: Scope::Hardware("switch turbo off on the host"),
        verdict: turbo,
    },
    Rule {
        id: "energy-preference",
        title: "Energy preference",
        why: "It tells the hardware how reluctantly to raise the frequency.",
        scope: Scope::Hardware("set the energy preference `performance` on the host's CPUs"),
        verdict: energy_preference,
    },
    Rule {
        id: "idle-states",
        title: "Idle states (C-states)",
        why: "A CPU in a deep idle state needs its exit latency before the first instruction of a woken task.",
        scope: Scope::Hardware(
            "disable deep idle states on the host, or let the guest poll: `idle=poll` in the guest",
        ),
        verdict: idle_states,
    },
    Rule {
        id: "cpu-dma-latency",
        title: "Requests on /dev/cpu_dma_latency",
        why: "Whoever holds it open forbids deep idle states for the whole machine, and figures measured meanwhile are better than those without that program.",
        scope: Scope::Kernel,
        verdict: dma_latency,
    },
    Rule {
        id: "thermal-throttling",
        title: "Thermal throttling",
        why: "A core that is too hot is slowed down or stopped for moments, without asking the kernel.",
        scope: Scope::Hardware("look at the host's thermal_throttle counters and its cooling"),
        verdict: throttling,
    },
    Rule {
        id: "power-supply",
        title: "Voltage and firmware throttling",
        why: "Boards with a weak supply are slowed down by their firmware.",
        scope: Scope::Hardware("look at the host's supply"),
        verdict: power_supply,
    },
];

fn cpus<'a>(s: &'a Subject<'_>) -> impl Iterator<Item = &'a Cpu> {
    s.cpus.iter().filter_map(|cpu| s.facts.cpu(cpu))
}

/// Of the real-time CPUs those for which this holds.
fn those(s: &Subject<'_>, holds: impl Fn(&Cpu) -> bool) -> CpuSet {
    cpus(s).filter(|cpu| holds(cpu)).map(|cpu| cpu.id).collect()
}

fn governor(s: &Subject<'_>) -> Verdict {
    let Some(sample) = cpus(s).find_map(|cpu| cpu.frequency.governor.clone()) else {
        return not_applicable("the kernel does not choose the frequency");
    };
    let slow = those(s, |cpu| cpu.frequency.governor.as_deref().is_some_and(|g| g != "performance"));
    if slow.is_empty() {
        return pass(sample);
    }
    let names: Vec<String> = cpus(s).filter_map(|cpu| cpu.frequency.governor.clone()).collect();
    let found = names.into_iter().find(|name| name != "performance").unwrap_or(sample);
    warn(format!("{found} on {}", named(&slow)))
        .now(format!("echo performance | tee {}/cpufreq/scaling_governor", cpu_folder(&slow)))
        .parameter("cpufreq.default_governor=performance")
}

fn frequency_range(s: &Subject<'_>) -> Verdict {
    let range = |cpu: &Cpu| cpu.frequency.min_hz.zip(cpu.frequency.max_hz);
    let Some((first, (low, high))) = cpus(s).find_map(|cpu| Some((cpu, range(cpu)?))) else {
        return not_applicable("the kernel does not choose the frequency");
    };
    let mhz = |hz: u64| hz / 1_000_000;
    let wide = those(s, |cpu| range(cpu).is_some_and(|(low, high)| low < high));
    if wide.is_empty() {
        return pass(format!("fixed at {} MHz", mhz(high)));
    }
    let (low, high) = wide.first().and_then(|id| range(s.facts.cpu(id)?)).unwrap_or((low, high));
    let fixed_khz = first.frequency.max_hz.unwrap_or(high) / 1_000;
    warn(format!("{} to {} MHz on {}", mhz(low), mhz(high), named(&wide)))
        .now(format!("echo {fixed_khz} | tee {}/cpufreq/scaling_min_freq", cpu_folder(&wide)))
}

fn turbo(s: &Subject<'_>) -> Verdict {
    let driver = cpus(s).find_map(|cpu| cpu.frequency.driver.clone()).unwrap_or_default();
    match s.facts.power.turbo {
        Some(false) => pass("off"),
        Some(true) if driver.starts_with("intel_") => {
            warn("on").now("echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo")
        }
        Some(true) => warn("on").now("echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
        None => not_applicable("the kernel has no switch for it"),
    }
}

fn energy_preference(s: &Subject<'_>) -> Verdict {
    let saving = those(s, |cpu| {
        cpu.frequency.preference.as_deref().is_some_and(|p| p != "performance" && p != "default")
    });
    match cpus(s).find_map(|cpu| cpu.frequency.preference.clone()) {
        None => not_applicable("the hardware takes no preference"),
        Some(preference) if saving.is_empty() => pass(preference),
        Some(preference) => warn(format!("{preference} on {}", named(&saving))).now(format!(
            "echo performance | tee {}/cpufreq/energy_performance_preference",
            cpu_folder(&saving)
        )),
    }
}

/// The idle states a CPU can really be in: not disabled, and within the latency anyone allows.
fn reachable<'a>(s: &'a Subject<'_>, cpu: &'a Cpu) -> impl Iterator<Item = &'a IdleState> {
    let limit = s.facts.power.dma_latency_us.into_iter().chain(cpu.resume_latency_limit_us).min();
    cpu.idle_states
        .iter()
        .filter(|state| state.disabled != Some(true))
        .filter(move |state| limit.is_none_or(|most| state.exit_latency_us.unwrap_or(0) <= most))
}

fn idle_states(s: &Subject<'_>) -> Verdict {
    if s.facts.kernel.parameter("idle") == Some("poll") {
        return pass("none: idle CPUs poll (idle=poll)");
    }
    if cpus(s).all(|cpu| cpu.idle_states.is_empty()) {
        return not_applicable("the kernel offers no choice of idle states");
    }
    let deepest = cpus(s)
        .flat_map(|cpu| reachable(s, cpu).map(move |state| (cpu.id, state)))
        .max_by_key(|(_, state)| state.exit_latency_us);
    let Some((_, state)) = deepest else { return pass("all are disabled") };
    let exit_us = state.exit_latency_us.unwrap_or(0);
    let found = format!("down to {}, which takes up to {exit_us} us to leave", state.name);
    if exit_us <= LONG_EXIT_US {
        return pass(found);
    }
    let too_deep: Vec<usize> = cpus(s)
        .next()
        .map(|cpu| {
            let long = |state: &IdleState| state.exit_latency_us.is_some_and(|us| us > LONG_EXIT_US);
            cpu.idle_states.iter().enumerate().filter(|(_, state)| long(state)).map(|(n, _)| n).collect()
        })
        .unwrap_or_default();
    let numbers: Vec<String> = too_deep.iter().map(ToString::to_string).collect();
    let states = match numbers.as_slice() {
        [one] => format!("state{one}"),
        many => format!("state{{{}}}", many.join(",")),
    };
    let verdict = if exit_us > VERY_LONG_EXIT_US { fail(found) } else { warn(found) };
    verdict
        .for_one_run("--cpu-dma-latency 0")
        .now(format!("echo 1 | tee {}/cpuidle/{states}/disable", cpu_folder(s.cpus)))
        .parameter(match s.facts.power.idle_driver.as_deref() {
            Some("intel_idle") => "intel_idle.max_cstate=1",
            _ => "processor.max_cstate=1",
        })
}

fn dma_latency(s: &Subject<'_>) -> Verdict {
    let power = &s.facts.power;
    let Some(us) = power.dma_latency_us else { return unknown("/dev/cpu_dma_latency (root only)") };
    if us >= NO_REQUEST_US {
        return pass("none: idle states are what the system's settings make them");
    }
    let holders: Vec<String> =
        power.dma_latency_holders.iter().map(|h| format!("{} (pid {})", h.name, h.pid)).collect();
    let pids: Vec<String> = power.dma_latency_holders.iter().map(|h| h.pid.to_string()).collect();
    if holders.is_empty() {
        return warn(format!("{us} us, held by a process that could not be seen"))
            .now("fuser -v /dev/cpu_dma_latency, to find who holds it");
    }
    warn(format!("{us} us, held by {}", holders.join(", ")))
        .now(format!("kill {}, unless it also runs in production", pids.join(" ")))
}

fn throttling(s: &Subject<'_>) -> Verdict {
    let counts: Vec<u64> =
        cpus(s).flat_map(|cpu| [cpu.core_throttle_count, cpu.package_throttle_count]).flatten().collect();
    match counts.iter().max() {
        None => not_applicable("this processor does not count it"),
        Some(0) => pass("never since the start"),
        Some(n) => warn(format!("{n} times since the start"))
            .on_the_machine("clean or strengthen the cooling, or lower the highest frequency"),
    }
}

fn power_supply(s: &Subject<'_>) -> Verdict {
    let Some(bits) = s.facts.power.firmware_throttled else {
        return not_applicable("this firmware does not report it");
    };
    let advice = "use the supply the board's maker recommends, a short cable, and a heat sink";
    match (bits & 0xF, bits >> 16 & 0xF) {
        (0, 0) => pass("enough, and never throttled since the start"),
        (0, _) => warn("low voltage or throttling since the start").on_the_machine(advice),
        (_, _) => fail("low voltage or throttling at this moment").on_the_machine(advice),
    }
}
