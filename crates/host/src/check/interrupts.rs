//! Interrupts on the real-time CPUs.

use jitterlab_model::CpuSet;
use jitterlab_model::check::RemedyKind::{Command, Host, Lasting, Machine};
use jitterlab_model::facts::{Interrupt, Preemption};

use super::{CheckContext, Rule, Ruling, Scope, not_applicable, pass, shell_alternatives, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "irq-affinity", scope: Scope::Kernel, ruling: check_irq_affinity },
    Rule { id: "default-irq-affinity", scope: Scope::Kernel, ruling: check_default_affinity },
    Rule { id: "irqbalance", scope: Scope::Kernel, ruling: check_irqbalance },
    Rule { id: "threaded-interrupts", scope: Scope::Kernel, ruling: check_threaded_interrupts },
    Rule { id: "smi", scope: Scope::Kernel, ruling: check_smi },
];

/// CPUs that an interrupt goes to, else those it may go to; `None` if unknown.
fn target_cpus(line: &Interrupt) -> Option<&CpuSet> {
    line.effective.as_ref().filter(|set| !set.is_empty()).or(line.affinity.as_ref())
}

fn check_irq_affinity(s: &CheckContext<'_>) -> Ruling {
    let devices = || s.facts.interrupts.lines.iter().filter(|line| line.is_device());
    if s.facts.cpus.len() == 1 {
        return not_applicable("one-cpu");
    }
    if devices().all(|line| target_cpus(line).is_none()) {
        return unknown();
    }
    let mut here: Vec<&Interrupt> =
        devices().filter(|line| target_cpus(line).is_some_and(|cpus| cpus.overlaps(s.cpus))).collect();
    if here.is_empty() {
        return pass("none");
    }
    let movable = || here.iter().filter(|line| !line.fixed).map(|line| &line.id);
    let file = (movable().next().is_some())
        .then(|| format!("/proc/irq/{}/smp_affinity_list", shell_alternatives(movable())));
    here.sort_by_key(|line| std::cmp::Reverse(line.total()));
    let lines: Vec<String> = here.iter().map(|line| format!("{} ({})", line.id, line.name)).collect();
    match file {
        Some(file) => warn("here")
            .advise_option(format!("--isolate {}", s.cpus))
            .advise_write(s.other_cpus(), &file)
            .advise_parameter(format!("irqaffinity={}", s.other_cpus())),
        None => warn("fixed").advise_parameter(format!("isolcpus=managed_irq,domain,{}", s.cpus)),
    }
    .with("lines", lines)
}

fn check_default_affinity(s: &CheckContext<'_>) -> Ruling {
    match &s.facts.interrupts.default_affinity {
        None => unknown(),
        Some(_) if s.facts.cpus.len() == 1 => not_applicable("one-cpu"),
        Some(cpus) if cpus.overlaps(s.cpus) => {
            let online = cpus.and(&s.facts.online_cpus());
            warn("includes")
                .with("set", &online)
                .with("shared", &online.and(s.cpus))
                .advise_write(s.other_cpus().to_mask(), "/proc/irq/default_smp_affinity")
                .advise_parameter(format!("irqaffinity={}", s.other_cpus()))
        }
        Some(cpus) => pass("apart").with("set", cpus),
    }
}

fn check_irqbalance(s: &CheckContext<'_>) -> Ruling {
    let kept_off = |set: &Option<CpuSet>| set.as_ref().is_some_and(|cpus| s.cpus.without(cpus).is_empty());
    match s.facts.interrupts.irqbalance_running {
        None => unknown(),
        Some(false) => pass("stopped"),
        Some(true) if kept_off(&s.facts.isolation.isolated) || kept_off(&s.facts.isolation.nohz_full) => {
            pass("keeps-off")
        }
        Some(true) => warn("runs").advise(Command, "stop").advise(Lasting, "disable"),
    }
}

fn check_threaded_interrupts(s: &CheckContext<'_>) -> Ruling {
    let kernel = &s.facts.kernel;
    match (kernel.preemption, kernel.command_line.is_some()) {
        (Some(Preemption::RealTime), _) => pass("always"),
        (_, true) if kernel.parameter("threadirqs").is_some() => pass("asked-for"),
        (Some(_), true) => warn("no").advise_parameter("threadirqs"),
        _ => unknown(),
    }
}

fn check_smi(s: &CheckContext<'_>) -> Ruling {
    let counts: Vec<u64> = s.facts.cpus.iter().filter_map(|cpu| cpu.smi_count).collect();
    let x86 =
        s.facts.kernel.architecture.as_deref().is_none_or(|name| name.ends_with("86") || name == "x86_64");
    let intel = s.facts.processor.vendor.as_deref() == Some("GenuineIntel");
    match counts.iter().max() {
        None if intel && !s.in_virtual_machine() => unknown().advise(Command, "modprobe"),
        None if !x86 => not_applicable("other-processor"),
        None if s.in_virtual_machine() => not_applicable("not-counted").advise(Host, "host"),
        None => not_applicable("not-counted"),
        Some(0) => pass("none"),
        Some(n) => {
            let hours = s.facts.uptime_s.map(|seconds| seconds / 3_600.0).filter(|h| *h > 0.0);
            let ruling = warn("counted").with("count", *n).advise(Machine, "firmware");
            match hours {
                Some(hours) => ruling.with("an_hour", *n as f64 / hours),
                None => ruling,
            }
        }
    }
}
