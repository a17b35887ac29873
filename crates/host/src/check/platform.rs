//! Checks of the platform below the task and the programs next to it: the hypervisor, urgent threads, other
//! programs, mitigations.

use jitterlab_model::check::RemedyKind::{Command, Host, Lasting, Option as ForOneRun};
use jitterlab_model::facts::RealTimeThread;

use super::{CheckContext, Rule, Ruling, Scope, fail, not_applicable, pass, unknown, warn};
use crate::facts;
use crate::prepare::DEFAULT_PRIORITY;

/// The share of time taken by the hypervisor from which on no latency can be kept.
const HIGH_STEAL_SHARE: f64 = 0.01;

/// Threads the kernel needs on every CPU, which are idle unless it is in trouble or a user asks for their
/// work.
const HARMLESS: &[&str] = &["migration/", "watchdog/", "idle_inject/", "stopper/", "watchdogd", "irq_work/"];

pub(super) const RULES: &[Rule] = &[
    Rule { id: "virtual-machine", scope: Scope::Process, ruling: check_virtual_machine },
    Rule { id: "steal", scope: Scope::Process, ruling: check_steal },
    Rule { id: "kernel-threads", scope: Scope::Kernel, ruling: check_kernel_threads },
    Rule { id: "real-time-programs", scope: Scope::Kernel, ruling: check_real_time_programs },
    Rule { id: "other-measurements", scope: Scope::Process, ruling: check_other_measurements },
    Rule { id: "graphics", scope: Scope::Kernel, ruling: check_graphics },
    Rule { id: "iommu", scope: Scope::Kernel, ruling: check_iommu },
    Rule { id: "load", scope: Scope::Kernel, ruling: check_load_average },
    Rule { id: "mitigations", scope: Scope::Kernel, ruling: check_mitigations },
];

fn check_virtual_machine(s: &CheckContext<'_>) -> Ruling {
    let virtualisation = &s.facts.virtualisation;
    match (virtualisation.virtual_machine, &virtualisation.hypervisor) {
        (None, _) => unknown(),
        (Some(false), _) => pass("no"),
        (Some(true), Some(name)) => advise_virtual_cpu_binding(s, warn("under").with("hypervisor", name)),
        (Some(true), None) => advise_virtual_cpu_binding(s, warn("yes")),
    }
}

fn advise_virtual_cpu_binding(s: &CheckContext<'_>, ruling: Ruling) -> Ruling {
    ruling.with("online", &s.facts.online_cpus()).advise(Host, "bind")
}

fn check_steal(s: &CheckContext<'_>) -> Ruling {
    if s.facts.virtualisation.virtual_machine == Some(false) {
        return not_applicable("no-hypervisor");
    }
    let times = s.cpus.iter().filter_map(|cpu| s.facts.cpu(cpu)?.times);
    let (stolen, total) =
        times.fold((0u64, 0u64), |(stolen, total), t| (stolen + t.steal_ns, total + t.total_ns()));
    if total == 0 {
        return unknown();
    }
    let share = stolen as f64 / total as f64;
    let ruling = match () {
        () if stolen == 0 => return pass("none"),
        () if share > HIGH_STEAL_SHARE => fail("stolen"),
        () => warn("stolen"),
    };
    ruling.with("stolen_share", share).advise(Host, "fewer")
}

/// True if a thread may keep a task of the default priority waiting.
fn is_urgent(thread: &RealTimeThread) -> bool {
    thread.policy == "deadline" || thread.priority >= DEFAULT_PRIORITY
}

/// Names with policies: `pipewire (rr:88)`.
fn names_with_policies(threads: &[&RealTimeThread]) -> Vec<String> {
    let name = |t: &&RealTimeThread| match t.policy.as_str() {
        "deadline" => format!("{} (deadline)", t.name),
        policy => format!("{} ({policy}:{})", t.name, t.priority),
    };
    threads.iter().map(name).collect()
}

/// Rules on competing threads, with a remedy unless all are less urgent than the task.
fn competing_threads_ruling(
    threads: &[&RealTimeThread],
    remedy: impl FnOnce(Ruling, String) -> Ruling,
) -> Ruling {
    let urgent: Vec<&RealTimeThread> = threads.iter().copied().filter(|t| is_urgent(t)).collect();
    let ruling = match (urgent.as_slice(), threads) {
        ([], []) => return pass("none"),
        ([], lesser) => pass("less-urgent").with("threads", names_with_policies(lesser)),
        (urgent, _) => {
            let mut pids: Vec<String> = urgent.iter().map(|t| t.pid.to_string()).collect();
            pids.dedup();
            remedy(warn("urgent").with("threads", names_with_policies(urgent)), pids.join(" "))
        }
    };
    ruling.with("default_priority", u64::from(DEFAULT_PRIORITY))
}

/// Advises `taskset` for each process, to the other CPUs.
fn add_move_remedy(ruling: Ruling, s: &CheckContext<'_>, option: &str, pids: &str) -> Ruling {
    let others = s.other_cpus();
    ruling.advise_command(match pids.contains(' ') {
        true => format!("for p in {pids}; do taskset {option} {others} $p; done"),
        false => format!("taskset {option} {others} {pids}"),
    })
}

fn check_kernel_threads(s: &CheckContext<'_>) -> Ruling {
    let threads = &s.facts.real_time_threads;
    if !threads.iter().any(|t| t.kernel) {
        // Every kernel has migration threads.
        return unknown();
    }
    let here: Vec<&RealTimeThread> = threads
        .iter()
        .filter(|t| t.kernel && t.cpu.is_some_and(|cpu| s.cpus.contains(cpu)))
        .filter(|t| !HARMLESS.iter().any(|name| t.name.starts_with(name)))
        .collect();
    competing_threads_ruling(&here, |ruling, pids| {
        add_move_remedy(ruling, s, "-cp", &pids).advise(ForOneRun, "higher-priority")
    })
}

fn check_real_time_programs(s: &CheckContext<'_>) -> Ruling {
    let others: Vec<&RealTimeThread> = s.facts.real_time_threads.iter().filter(|t| !t.kernel).collect();
    if others.is_empty() && s.facts.interrupts.irqbalance_running.is_none() {
        return unknown();
    }
    competing_threads_ruling(&others, |ruling, pids| add_move_remedy(ruling, s, "-acp", &pids))
}

/// Name of the monitor's process, cut by the kernel.
const MONITOR: &str = "jitterlab-monit";

fn check_other_measurements(s: &CheckContext<'_>) -> Ruling {
    let measuring = &s.facts.measuring;
    if measuring.is_empty() {
        // Where other processes are hidden, so is this.
        return s.facts.interrupts.irqbalance_running.map_or_else(unknown, |_| pass("none"));
    }
    let pids = measuring.iter().filter(|one| !one.kernel).map(|one| one.pid.to_string());
    let pids = pids.collect::<Vec<_>>().join(" ");
    let ruling = warn("run").with("programs", facts::program_names(measuring));
    // systemd starts the service again where it is killed.
    let is_service = s.facts.kernel.init.as_deref() == Some("systemd");
    match (measuring.iter().all(|one| one.name == MONITOR), pids.is_empty()) {
        (true, _) if is_service => ruling.advise_command("systemctl stop jitterlab-monitor"),
        (_, true) => ruling.advise_write("nop", "/sys/kernel/tracing/current_tracer"),
        _ => ruling.with("pids", pids.as_str()).advise(Command, "end"),
    }
}

fn check_graphics(s: &CheckContext<'_>) -> Ruling {
    let Some(drivers) = &s.facts.devices.graphics else { return unknown() };
    let has = |name: &str| drivers.iter().any(|driver| driver == name);
    let ruling = match () {
        () if drivers.is_empty() => return pass("none"),
        () if has("nvidia") => warn("nvidia").advise(Lasting, "nouveau"),
        () if has("i915") && s.facts.kernel.parameter("i915.enable_dc") != Some("0") => {
            warn("saves-power").advise_parameter("i915.enable_dc=0")
        }
        () => pass("drivers"),
    };
    ruling.with("drivers", drivers.clone())
}

/// Checks for translation of the addresses that devices use, which is changed for each buffer.
fn check_iommu(s: &CheckContext<'_>) -> Ruling {
    match s.facts.devices.translated {
        None => not_applicable("none"),
        Some(0) => pass("direct"),
        Some(groups) => warn("translated").with("groups", groups).advise_parameter("iommu.passthrough=1"),
    }
}

fn check_load_average(s: &CheckContext<'_>) -> Ruling {
    let cpus = s.facts.cpus.len().max(1);
    let ruling = match s.facts.activity.load_1_min {
        None => return unknown(),
        Some(load) if load > cpus as f64 / 2.0 => warn("much").with("load", load).advise(Command, "top"),
        Some(load) => pass("little").with("load", load),
    };
    ruling.with("number_of_cpus", cpus)
}

fn check_mitigations(s: &CheckContext<'_>) -> Ruling {
    let processor = &s.facts.processor;
    if s.facts.kernel.parameter("mitigations") == Some("off") {
        return pass("off");
    }
    let active: Vec<String> = processor
        .vulnerabilities
        .iter()
        .filter(|v| v.state.starts_with("Mitigation"))
        .map(|v| v.name.clone())
        .collect();
    match active.as_slice() {
        [] if processor.vulnerabilities.is_empty() && processor.vendor.is_none() => {
            not_applicable("not-listed")
        }
        [] => pass("none"),
        _ => warn("active").with("active", active).advise(Lasting, "off"),
    }
}
