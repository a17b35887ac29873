//! What the kernel keeps time with.

use super::{Rule, Scope, Subject, Verdict, fail, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "clocksource",
        title: "Clocksource",
        why: "The clock is read at every wake-up: a slow one costs microseconds each time, a coarse one hides the jitter.",
        scope: Scope::Kernel,
        verdict: clocksource,
    },
    Rule {
        id: "tsc",
        title: "Stability of the processor's counter",
        why: "A counter that changes speed or stops in idle states makes the kernel fall back to a slower clock in the middle of a run.",
        scope: Scope::Hardware("show the guest an invariant counter: `-cpu host,+invtsc` in QEMU"),
        verdict: tsc,
    },
];

fn clocksource(s: &Subject<'_>) -> Verdict {
    let clock = &s.facts.clock;
    let Some(source) = clock.source.as_deref() else { return unknown("the clocksource") };
    let better = clock.available.iter().find(|name| is_fast(name));
    let switch = |verdict: Verdict| {
        match better {
        Some(better) => verdict
            .now(format!("echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"))
            .parameter(format!("clocksource={better}")),
        None if s.in_virtual_machine() => {
            verdict.on_the_host("give the guest a paravirtual clock or an invariant TSC")
        }
        None => verdict.on_the_machine(
            "see `dmesg | grep -i tsc` for why the counter was given up; often a firmware update helps, or the kernel parameter tsc=reliable",
        ),
    }
    };
    match source {
        _ if is_fast(source) => pass(source),
        "jiffies" | "refined-jiffies" => switch(fail(format!("{source}: time advances with the tick only"))),
        "hpet" | "acpi_pm" => {
            switch(warn(format!("{source}: each reading is a system call and takes about 1 us")))
        }
        _ => pass(format!("{source} (not among the known slow ones)")),
    }
}

/// Those that are read without a system call.
fn is_fast(source: &str) -> bool {
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"]
        .contains(&source)
}

fn tsc(s: &Subject<'_>) -> Verdict {
    let processor = &s.facts.processor;
    if processor.vendor.is_none() {
        return not_applicable("this processor has no TSC");
    }
    if s.facts.kernel.parameter("tsc") == Some("unstable") {
        return warn("declared unstable by the kernel parameter tsc=unstable")
            .for_good("take `tsc=unstable` off the kernel's command line, then restart");
    }
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| !processor.properties.iter().any(|p| p == flag))
        .collect();
    match missing.as_slice() {
        [] => pass("runs at one speed and in every idle state"),
        _ if s.in_virtual_machine() => warn(format!("the guest is not promised {}", missing.join(" and ")))
            .on_the_host("show the guest an invariant counter: `-cpu host,+invtsc` in QEMU"),
        ["nonstop_tsc"] => warn("stops in deep idle states").parameter("processor.max_cstate=1"),
        _ => warn(format!("the processor does not promise {}", missing.join(" and "))).parameter("idle=poll"),
    }
}
