//! Swap, huge pages, balancing, errors.

use jitterlab_model::check::RemedyKind::{Lasting, Machine};

use super::{CheckContext, Rule, Ruling, Scope, fail, not_applicable, pass, unknown, warn};

/// Below this share of free memory the kernel starts to reclaim pages.
const SCARCE_FREE_SHARE: f64 = 0.05;

/// Swappiness up to which the kernel swaps only if memory is short: the value of rtcqs and audio
/// distributions.
const LOW_SWAPPINESS: u32 = 10;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "swap", scope: Scope::Kernel, ruling: check_swap },
    Rule { id: "swappiness", scope: Scope::Kernel, ruling: check_swappiness },
    Rule { id: "free-memory", scope: Scope::Kernel, ruling: check_free_memory },
    Rule { id: "huge-pages", scope: Scope::Kernel, ruling: check_huge_pages },
    Rule { id: "memory-statistics", scope: Scope::Kernel, ruling: check_vm_statistics },
    Rule { id: "same-page-merging", scope: Scope::Kernel, ruling: check_same_page_merging },
    Rule { id: "access-times", scope: Scope::Kernel, ruling: check_access_times },
    Rule { id: "numa-balancing", scope: Scope::Kernel, ruling: check_numa_balancing },
    Rule { id: "memory-errors", scope: Scope::Hardware, ruling: check_memory_errors },
];

fn check_swap(s: &CheckContext<'_>) -> Ruling {
    let memory = &s.facts.memory;
    match memory.swap_total_bytes {
        None => unknown(),
        Some(0) => pass("none"),
        Some(bytes) => warn("there")
            .with("total_bytes", bytes)
            .with("used_bytes", memory.swap_used_bytes.unwrap_or(0))
            .advise_command("swapoff -a")
            .advise(Lasting, "fstab"),
    }
}

fn check_swappiness(s: &CheckContext<'_>) -> Ruling {
    let memory = &s.facts.memory;
    match (memory.swap_total_bytes, memory.swappiness) {
        (Some(0), _) => pass("without-effect"),
        (Some(_), Some(low)) if low <= LOW_SWAPPINESS => pass("set").with("swappiness", u64::from(low)),
        (Some(_), Some(high)) => warn("set")
            .with("swappiness", u64::from(high))
            .advise_sysctl("vm.swappiness", &LOW_SWAPPINESS.to_string()),
        _ => unknown(),
    }
}

fn check_free_memory(s: &CheckContext<'_>) -> Ruling {
    let memory = &s.facts.memory;
    let Some((available, total)) = memory.available_bytes.zip(memory.total_bytes).filter(|(_, t)| *t > 0)
    else {
        return unknown();
    };
    let ruling = if (available as f64) < SCARCE_FREE_SHARE * total as f64 {
        warn("free").advise(Machine, "stop-programs")
    } else {
        pass("free")
    };
    ruling.with("free_bytes", available).with("total_bytes", total)
}

fn check_huge_pages(s: &CheckContext<'_>) -> Ruling {
    match s.facts.memory.huge_pages.as_deref() {
        None => not_applicable("none"),
        Some("always") => warn("set")
            .with("setting", "always")
            .advise_write("madvise", "/sys/kernel/mm/transparent_hugepage/enabled")
            .advise_parameter("transparent_hugepage=madvise"),
        Some("madvise") => pass("on-request"),
        Some(other) => pass("set").with("setting", other),
    }
}

/// Seconds between collections that tuned's profile for real time asks for.
const STATISTICS_S: u64 = 10;

fn check_vm_statistics(s: &CheckContext<'_>) -> Ruling {
    match s.facts.memory.stat_interval_s {
        None => unknown(),
        Some(seconds) if seconds >= STATISTICS_S => pass("every").with("seconds", seconds),
        Some(seconds) => warn("every")
            .with("seconds", seconds)
            .advise_sysctl("vm.stat_interval", &STATISTICS_S.to_string()),
    }
}

fn check_same_page_merging(s: &CheckContext<'_>) -> Ruling {
    match s.facts.memory.same_page_merging {
        None => not_applicable("none"),
        Some(false) => pass("off"),
        Some(true) => warn("on").advise_write(0, "/sys/kernel/mm/ksm/run").advise(Lasting, "ksmtuned"),
    }
}

fn check_access_times(s: &CheckContext<'_>) -> Ruling {
    match &s.facts.memory.access_times {
        None => unknown(),
        Some(places) if places.is_empty() => pass("seldom"),
        Some(places) => warn("each").with("places", places.clone()).advise(Lasting, "fstab"),
    }
}

fn check_numa_balancing(s: &CheckContext<'_>) -> Ruling {
    let nodes = s.facts.cpus.iter().filter_map(|cpu| cpu.numa_node).max().map_or(0, |last| last + 1);
    match s.facts.scheduler.numa_balancing {
        Some(false) => pass("off"),
        Some(true) if nodes < 2 => pass("without-effect"),
        Some(true) => warn("on")
            .with("nodes", u64::from(nodes))
            .advise_sysctl_now("kernel.numa_balancing", 0)
            .advise_parameter("numa_balancing=disable"),
        None => not_applicable("none"),
    }
}

fn check_memory_errors(s: &CheckContext<'_>) -> Ruling {
    let activity = &s.facts.activity;
    let line = s.facts.interrupts.lines.iter().find(|line| line.id == "MCE");
    let machine_checks = line.map_or(0, |line| line.total());
    let counted = (activity.corrected_memory_errors, activity.uncorrected_memory_errors);
    if counted == (None, None) && machine_checks == 0 {
        return not_applicable("not-counted");
    }
    let (corrected, uncorrected) = (counted.0.unwrap_or(0), counted.1.unwrap_or(0));
    let ruling = match () {
        () if uncorrected + machine_checks > 0 => fail("counted"),
        () if corrected > 0 => warn("counted"),
        () => return pass("none"),
    };
    ruling
        .with("corrected", corrected)
        .with("uncorrected", uncorrected)
        .with("machine_checks", machine_checks)
        .advise(Machine, "replace")
}
