//! Checks of the kernel's clock source.

use jitterlab_model::check::RemedyKind::{Host, Lasting, Machine};

use super::{CheckContext, Rule, Ruling, Scope, fail, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "clocksource", scope: Scope::Kernel, ruling: check_clocksource },
    Rule { id: "tsc", scope: Scope::Hardware, ruling: check_tsc },
];

fn check_clocksource(s: &CheckContext<'_>) -> Ruling {
    let clock = &s.facts.clock;
    let Some(source) = clock.source.as_deref() else { return unknown() };
    let better = clock.available.iter().find(|name| is_fast(name));
    let switch = |ruling: Ruling| match better {
        Some(better) => ruling
            .advise_write(better, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .advise_parameter(format!("clocksource={better}")),
        None if s.in_virtual_machine() => ruling.advise(Host, "paravirtual"),
        None => ruling.advise(Machine, "dmesg"),
    };
    let ruling = match source {
        _ if is_fast(source) => pass("fast"),
        "jiffies" | "refined-jiffies" => switch(fail("tick")),
        "hpet" | "acpi_pm" => switch(warn("slow")),
        _ => pass("not-known-slow"),
    };
    ruling.with("source", source)
}

/// True for clock sources that are read without a system call.
fn is_fast(source: &str) -> bool {
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"]
        .contains(&source)
}

fn check_tsc(s: &CheckContext<'_>) -> Ruling {
    let processor = &s.facts.processor;
    // Arm's architecture: it counts at one frequency, in a power domain that is always on.
    if s.facts.clock.available.iter().any(|name| name == "arch_sys_counter") {
        return pass("architectural");
    }
    if processor.vendor.is_none() {
        return not_applicable("none");
    }
    if s.facts.kernel.parameter("tsc") == Some("unstable") {
        return warn("declared-unstable").advise(Lasting, "take-off");
    }
    let missing: Vec<String> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| !processor.properties.iter().any(|p| p == flag))
        .map(String::from)
        .collect();
    match missing.as_slice() {
        [] => pass("stable"),
        _ if s.in_virtual_machine() => {
            warn("not-promised-to-guest").with("missing", missing).advise(Host, "host")
        }
        [one] if one == "nonstop_tsc" => warn("stops").advise_parameter("processor.max_cstate=1"),
        _ => warn("not-promised").with("missing", missing).advise_parameter("idle=poll"),
    }
}
