//! The kernel's preemption, ticks, limits and detectors.

use jitterlab_model::check::RemedyKind::{Host, Lasting};
use jitterlab_model::facts::Preemption;

use super::{CheckContext, Rule, Ruling, Scope, fail, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "preemption", scope: Scope::Kernel, ruling: check_preemption },
    Rule { id: "preempt-rt", scope: Scope::Kernel, ruling: check_preempt_rt },
    Rule { id: "high-resolution-timers", scope: Scope::Kernel, ruling: check_high_resolution_timers },
    Rule { id: "skew-tick", scope: Scope::Kernel, ruling: check_skew_tick },
    Rule { id: "tick", scope: Scope::Kernel, ruling: check_tick },
    Rule { id: "rt-throttling", scope: Scope::Kernel, ruling: check_rt_throttling },
    Rule { id: "timer-migration", scope: Scope::Kernel, ruling: check_timer_migration },
    Rule { id: "nmi-watchdog", scope: Scope::Kernel, ruling: check_nmi_watchdog },
    Rule { id: "soft-watchdog", scope: Scope::Kernel, ruling: check_soft_watchdog },
    Rule { id: "real-time-core", scope: Scope::Kernel, ruling: check_real_time_core },
];

fn check_preemption(s: &CheckContext<'_>) -> Ruling {
    let kernel = &s.facts.kernel;
    let Some(model) = kernel.preemption else { return unknown() };
    let choose_full = |ruling: Ruling| match kernel.preemption_dynamic {
        // A switch that is not there, or that a locked-down kernel keeps shut, is no remedy.
        Some(true) if kernel.preemption_switch == Some(false) => ruling.advise_parameter("preempt=full"),
        Some(true) => {
            ruling.advise_write("full", "/sys/kernel/debug/sched/preempt").advise_parameter("preempt=full")
        }
        _ => advise_rt_kernel(ruling, s),
    };
    match model {
        Preemption::RealTime | Preemption::Full => pass("full").with("model", model.to_string().as_str()),
        Preemption::Lazy => choose_full(warn("lazy")),
        Preemption::None => choose_full(fail("none")),
        Preemption::Voluntary => choose_full(fail("voluntary")),
    }
}

fn check_preempt_rt(s: &CheckContext<'_>) -> Ruling {
    match s.facts.kernel.preemption {
        Some(Preemption::RealTime) => pass("yes"),
        Some(other) => advise_rt_kernel(warn("no").with("model", other.to_string().as_str()), s),
        None => unknown(),
    }
}

/// Advises how to get a real-time kernel from this distribution, or from the host that supplies the kernel.
fn advise_rt_kernel(ruling: Ruling, s: &CheckContext<'_>) -> Ruling {
    if s.facts.is_kernel_of_host() {
        return ruling.advise(Host, "install-host");
    }
    let kernel = &s.facts.kernel;
    let family = kernel.distribution_family.as_deref().unwrap_or("");
    let debian = match kernel.architecture.as_deref() {
        Some("x86_64") => Some("amd64"),
        Some("aarch64") => Some("arm64"),
        Some("armv7l") => Some("armmp"),
        _ => None,
    };
    let (advice, architecture) = match family.split_whitespace().next().unwrap_or("") {
        "debian" if debian.is_none() => ("install-debian-other", None),
        "debian" => ("install-debian", debian),
        "ubuntu" => ("install-ubuntu", None),
        "rhel" | "centos" | "almalinux" | "rocky" => ("install-rhel", None),
        "arch" => ("install-arch", None),
        "opensuse-tumbleweed" | "opensuse-leap" | "sles" => ("install-suse", None),
        _ => ("install", None),
    };
    match architecture {
        Some(architecture) => ruling.with("debian_architecture", architecture),
        None => ruling,
    }
    .advise(Lasting, advice)
}

fn check_high_resolution_timers(s: &CheckContext<'_>) -> Ruling {
    let clock = &s.facts.clock;
    match (clock.high_resolution, clock.resolution_ns) {
        (Some(true), Some(ns)) => pass("on").with("resolution_ns", ns),
        (Some(false), Some(ns)) => {
            let ruling = fail("off").with("resolution_ns", ns).with_delay_us(ns as i64 / 1_000);
            match s.facts.kernel.parameter("highres") {
                Some("off") => ruling.advise(Lasting, "take-off"),
                _ => ruling.advise_parameter("highres=on").advise(Lasting, "build"),
            }
        }
        _ => unknown(),
    }
}

fn check_tick(s: &CheckContext<'_>) -> Ruling {
    let kernel = &s.facts.kernel;
    let set = |option: &str| kernel.options.get(option).is_some_and(|value| value == "y");
    let ruling = match () {
        () if kernel.parameter("nohz") == Some("off") => warn("switched-on").advise(Lasting, "take-off"),
        () if set("HZ_PERIODIC") => warn("never-stops").advise(Lasting, "build"),
        () if kernel.options.is_empty() => return unknown(),
        () => pass("stops"),
    };
    match kernel.tick_hz {
        Some(hz) => ruling.with("tick_hz", u64::from(hz)),
        None => ruling,
    }
}

fn check_rt_throttling(s: &CheckContext<'_>) -> Ruling {
    const NAME: &str = "kernel.sched_rt_runtime_us";
    let scheduler = &s.facts.scheduler;
    let Some((runtime, period)) = scheduler.rt_runtime_us.zip(scheduler.rt_period_us) else {
        return unknown();
    };
    match runtime {
        0 => fail("no-time").advise_sysctl(NAME, "950000"),
        _ if runtime < 0 || runtime >= period => pass("off"),
        _ => warn("on")
            .with("runtime_us", runtime)
            .with("period_us", period)
            .with("pause_us", period - runtime)
            .advise_sysctl(NAME, "-1"),
    }
}

/// Checks if the ticks of all processors come at once and then wait for one lock.
fn check_skew_tick(s: &CheckContext<'_>) -> Ruling {
    match (s.facts.kernel.command_line.as_ref(), s.facts.kernel.parameter("skew_tick")) {
        (None, _) => unknown(),
        _ if s.facts.cpus.len() < 2 => not_applicable("one-cpu"),
        (_, Some("1")) => pass("apart"),
        _ => warn("together").advise_parameter("skew_tick=1"),
    }
}

fn check_timer_migration(s: &CheckContext<'_>) -> Ruling {
    match s.facts.scheduler.timer_migration {
        Some(false) => pass("off"),
        Some(true) if s.facts.cpus.len() == 1 => not_applicable("one-cpu"),
        Some(true) => warn("on").advise_sysctl("kernel.timer_migration", "0"),
        None => unknown(),
    }
}

/// Rules on a detector of locked-up CPUs, which should not watch the real-time CPUs.
fn detector_ruling(s: &CheckContext<'_>, on: Option<bool>, remedy: impl FnOnce(Ruling) -> Ruling) -> Ruling {
    let elsewhere = s.facts.scheduler.watchdog_cpus.as_ref().is_some_and(|watched| !watched.overlaps(s.cpus));
    match on {
        Some(false) => pass("off"),
        Some(true) if elsewhere => pass("elsewhere"),
        Some(true) => remedy(warn("here")),
        None => unknown(),
    }
}

fn check_nmi_watchdog(s: &CheckContext<'_>) -> Ruling {
    detector_ruling(s, s.facts.scheduler.nmi_watchdog, |ruling| {
        ruling.advise_sysctl_now("kernel.nmi_watchdog", 0).advise_parameter("nmi_watchdog=0")
    })
}

fn check_soft_watchdog(s: &CheckContext<'_>) -> Ruling {
    detector_ruling(s, s.facts.scheduler.soft_watchdog, |ruling| {
        ruling.advise_sysctl_now("kernel.watchdog_cpumask", s.other_cpus()).advise_parameter("nosoftlockup")
    })
}

fn check_real_time_core(s: &CheckContext<'_>) -> Ruling {
    let cores = &s.facts.real_time_cores;
    let built = |option: &str| s.facts.kernel.options.get(option).is_some_and(|value| value == "y");
    let runs = cores.evl_state.as_deref().is_none_or(|state| state == "running");
    let ruling = match (&cores.cobalt, &cores.evl) {
        (Some(version), _) => pass("cobalt").with("version", version),
        (None, Some(_)) if !runs => warn("evl-stopped")
            .advise_write("start", "/sys/devices/virtual/evl/control/state")
            .advise_parameter("evl.state=enabled"),
        (None, Some(abi)) => pass("evl").with("version", abi),
        (None, None) if built("XENOMAI") => warn("cobalt-stopped").advise_parameter("xenomai.state=enabled"),
        (None, None) if built("EVL") => warn("evl-stopped").advise_parameter("evl.state=enabled"),
        (None, None) => not_applicable("none"),
    };
    match &cores.gravity {
        Some(gravity) => ruling.with("gravity", gravity),
        None => ruling,
    }
}
