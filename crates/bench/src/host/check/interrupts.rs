//! Interrupts on the real-time CPUs.

use jitterlab_model::CpuSet;
use jitterlab_model::facts::Interrupt;

use super::{Rule, Scope, Subject, Verdict, named, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "irq-affinity",
        title: "Device interrupts",
        why: "Every interrupt of a device on the CPU of a task delays it by the time of its handler.",
        scope: Scope::Kernel,
        verdict: irq_affinity,
    },
    Rule {
        id: "default-irq-affinity",
        title: "CPUs for new interrupts",
        why: "A device that is plugged in, or a driver that starts again, gets its interrupts there.",
        scope: Scope::Kernel,
        verdict: default_affinity,
    },
    Rule {
        id: "irqbalance",
        title: "irqbalance",
        why: "It moves interrupts between CPUs while tasks run, and undoes what was set by hand.",
        scope: Scope::Kernel,
        verdict: irqbalance,
    },
    Rule {
        id: "smi",
        title: "System-management interrupts",
        why: "The firmware stops all CPUs for them, 10 us to milliseconds, and no kernel can prevent or even see it.",
        scope: Scope::Hardware("look at MSR 0x34 on the host (`modprobe msr`, `rdmsr -a 0x34`)"),
        verdict: smi,
    },
];

/// Where an interrupt goes, as far as is known.
fn goes_to(line: &Interrupt) -> Option<&CpuSet> {
    line.effective.as_ref().filter(|set| !set.is_empty()).or(line.affinity.as_ref())
}

fn irq_affinity(s: &Subject<'_>) -> Verdict {
    let devices = || s.facts.interrupts.lines.iter().filter(|line| line.is_device());
    if s.facts.cpus.len() == 1 {
        return not_applicable("there is one CPU only");
    }
    if devices().all(|line| goes_to(line).is_none()) {
        return unknown("the affinity of interrupts");
    }
    let here: Vec<&Interrupt> =
        devices().filter(|line| goes_to(line).is_some_and(|cpus| cpus.overlaps(s.cpus))).collect();
    if here.is_empty() {
        return pass(format!("none on {}", s.named()));
    }
    let mut by_count = here.clone();
    by_count.sort_by_key(|line| std::cmp::Reverse(line.total()));
    let some: Vec<String> =
        by_count.iter().take(3).map(|line| format!("{} ({})", line.id, line.name)).collect();
    let more = if here.len() > 3 { format!(" and {} more", here.len() - 3) } else { String::new() };
    let ids: Vec<&str> = here.iter().map(|line| line.id.as_str()).collect();
    warn(format!("{} may be interrupted by IRQ {}{more}", s.named(), some.join(", ")))
        .for_one_run(format!("--isolate {}", s.cpus))
        .now(format!(
            "for i in {}; do echo {} > /proc/irq/$i/smp_affinity_list; done",
            ids.join(" "),
            s.others()
        ))
        .parameter(format!("irqaffinity={}", s.others()))
}

fn default_affinity(s: &Subject<'_>) -> Verdict {
    match &s.facts.interrupts.default_affinity {
        None => unknown("/proc/irq/default_smp_affinity"),
        Some(_) if s.facts.cpus.len() == 1 => not_applicable("there is one CPU only"),
        Some(cpus) if cpus.overlaps(s.cpus) => {
            let online = cpus.and(&s.facts.online());
            warn(format!("{online}, which includes {}", named(&online.and(s.cpus))))
                .now(format!("echo {} > /proc/irq/default_smp_affinity", s.others().to_mask()))
                .parameter(format!("irqaffinity={}", s.others()))
        }
        Some(cpus) => pass(format!("{cpus}")),
    }
}

fn irqbalance(s: &Subject<'_>) -> Verdict {
    let kept_off = |set: &Option<CpuSet>| set.as_ref().is_some_and(|cpus| s.cpus.without(cpus).is_empty());
    match s.facts.interrupts.irqbalance_running {
        None => unknown("the list of processes"),
        Some(false) => pass("does not run"),
        Some(true) if kept_off(&s.facts.isolation.isolated) || kept_off(&s.facts.isolation.nohz_full) => {
            pass(format!("runs, and keeps off {} since {} isolated", s.named(), if s.cpus.len() == 1 { "it is" } else { "they are" }))
        }
        Some(true) => warn(format!("runs, also for {}", s.named())).now("systemctl stop irqbalance").for_good(format!(
            "systemctl disable irqbalance, or line `IRQBALANCE_BANNED_CPULIST={}` in /etc/default/irqbalance",
            s.cpus
        )),
    }
}

fn smi(s: &Subject<'_>) -> Verdict {
    let counts: Vec<u64> = s.facts.cpus.iter().filter_map(|cpu| cpu.smi_count).collect();
    let intel = s.facts.processor.vendor.as_deref() == Some("GenuineIntel");
    match counts.iter().max() {
        None if intel && !s.in_virtual_machine() => {
            unknown("the counter").now("modprobe msr, then run jitterlab check as root")
        }
        None => not_applicable("this processor does not count them"),
        Some(0) => pass("none since the start"),
        Some(n) => {
            let hours = s.facts.uptime_s.map(|seconds| seconds / 3_600.0).filter(|h| *h > 0.0);
            let rate = hours.map(|h| format!(", {:.1} an hour", *n as f64 / h)).unwrap_or_default();
            warn(format!("{n} since the start{rate}")).on_the_machine(
                "in the firmware switch off legacy USB support, power and fan control by the firmware, and TPM polling; update it",
            )
        }
    }
}
