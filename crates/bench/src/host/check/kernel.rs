//! The kernel's preemption, ticks, limits and detectors.

use jitterlab_model::facts::Preemption;

use super::{Rule, Scope, Subject, Verdict, fail, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "preemption",
        title: "Preemption model",
        why: "It decides how long the kernel's own work may hold up a task that should run now.",
        scope: Scope::Kernel,
        verdict: preemption,
    },
    Rule {
        id: "preempt-rt",
        title: "Real-time kernel (PREEMPT_RT)",
        why: "Only with it are interrupt handlers and almost all locks of the kernel preemptible, which bounds the worst case.",
        scope: Scope::Kernel,
        verdict: preempt_rt,
    },
    Rule {
        id: "high-resolution-timers",
        title: "High-resolution timers",
        why: "Without them every wake-up waits for the next tick, 1 to 10 ms.",
        scope: Scope::Kernel,
        verdict: high_resolution_timers,
    },
    Rule {
        id: "tick",
        title: "Tick on idle CPUs",
        why: "A tick that never stops interrupts every CPU, the measured ones included, hundreds of times a second.",
        scope: Scope::Kernel,
        verdict: tick,
    },
    Rule {
        id: "rt-throttling",
        title: "Real-time throttling",
        why: "Tasks that use up their share of a period are stopped for the rest of it, however urgent they are.",
        scope: Scope::Kernel,
        verdict: rt_throttling,
    },
    Rule {
        id: "timer-migration",
        title: "Timer migration",
        why: "Idle CPUs hand their timers to busy ones, so other programs' timers may fire on the real-time CPUs.",
        scope: Scope::Kernel,
        verdict: timer_migration,
    },
    Rule {
        id: "nmi-watchdog",
        title: "Hard-lockup detector",
        why: "It interrupts every watched CPU with a non-maskable interrupt that delays whatever runs.",
        scope: Scope::Kernel,
        verdict: nmi_watchdog,
    },
    Rule {
        id: "soft-watchdog",
        title: "Soft-lockup detector",
        why: "It wakes a thread of the highest priority on every watched CPU every few seconds.",
        scope: Scope::Kernel,
        verdict: soft_watchdog,
    },
    Rule {
        id: "real-time-core",
        title: "Real-time core beside Linux (Xenomai)",
        why: "Where one runs, tasks can be scheduled ahead of Linux as a whole.",
        scope: Scope::Kernel,
        verdict: real_time_core,
    },
];

fn preemption(s: &Subject<'_>) -> Verdict {
    let kernel = &s.facts.kernel;
    let Some(model) = kernel.preemption else { return unknown("the preemption model") };
    let choose_full = |verdict: Verdict| match kernel.preemption_dynamic {
        Some(true) => verdict.now("echo full > /sys/kernel/debug/sched/preempt").parameter("preempt=full"),
        _ => install_rt(verdict, s),
    };
    match model {
        Preemption::RealTime | Preemption::Full => pass(model.to_string()),
        Preemption::Lazy => choose_full(warn("lazy: full for real-time tasks, at the next tick for others")),
        Preemption::None => choose_full(fail("none: a long system call delays every task of its CPU")),
        Preemption::Voluntary => choose_full(fail(
            "voluntary: the kernel gives way at marked points only, up to milliseconds apart",
        )),
    }
}

fn preempt_rt(s: &Subject<'_>) -> Verdict {
    match s.facts.kernel.preemption {
        Some(Preemption::RealTime) => pass("yes"),
        Some(other) => install_rt(warn(format!("no: preemption is {other}")), s),
        None => unknown("the preemption model"),
    }
}

/// The command that brings a real-time kernel to this distribution.
fn install_rt(verdict: Verdict, s: &Subject<'_>) -> Verdict {
    let kernel = &s.facts.kernel;
    let family = kernel.distribution_family.as_deref().unwrap_or("");
    let first = family.split_whitespace().next().unwrap_or("");
    let debian = match kernel.architecture.as_deref() {
        Some("x86_64") => "apt install linux-image-rt-amd64",
        Some("aarch64") => "apt install linux-image-rt-arm64",
        Some("armv7l") => "apt install linux-image-rt-armmp",
        _ => "apt install the linux-image-rt package of this architecture",
    };
    verdict.for_good(match first {
        "debian" => debian.into(),
        "ubuntu" => "pro attach, then pro enable realtime-kernel".to_owned(),
        "rhel" | "centos" | "almalinux" | "rocky" => {
            "dnf --enablerepo=rt install kernel-rt (the repository may be named nfv or rt)".into()
        }
        "arch" => "pacman -S linux-rt".into(),
        "opensuse-tumbleweed" | "opensuse-leap" | "sles" => "zypper install kernel-rt".into(),
        _ => "install a kernel with CONFIG_PREEMPT_RT=y (part of Linux since 6.12), then restart".into(),
    })
}

fn high_resolution_timers(s: &Subject<'_>) -> Verdict {
    let clock = &s.facts.clock;
    match (clock.high_resolution, clock.resolution_ns) {
        (Some(true), Some(ns)) => pass(format!("active, resolution {ns} ns")),
        (Some(false), Some(ns)) => {
            let verdict = fail(format!("off: timers have a resolution of {} us", ns / 1_000));
            match s.facts.kernel.parameter("highres") {
                Some("off") => verdict.with(
                    super::RemedyKind::Lasting,
                    "take `highres=off` off the kernel's command line, then restart",
                ),
                _ => verdict.parameter("highres=on").for_good("a kernel with CONFIG_HIGH_RES_TIMERS=y"),
            }
        }
        _ => unknown("the resolution of timers"),
    }
}

fn tick(s: &Subject<'_>) -> Verdict {
    let kernel = &s.facts.kernel;
    let hz = kernel.tick_hz.map(|hz| format!("{hz} Hz")).unwrap_or_else(|| "unknown rate".into());
    let set = |option: &str| kernel.options.get(option).is_some_and(|value| value == "y");
    match () {
        () if kernel.parameter("nohz") == Some("off") => {
            warn(format!("never stops ({hz}): the kernel was started with nohz=off"))
                .for_good("take `nohz=off` off the kernel's command line, then restart")
        }
        () if set("HZ_PERIODIC") => warn(format!("never stops ({hz})"))
            .for_good("a kernel with CONFIG_NO_HZ_IDLE=y or CONFIG_NO_HZ_FULL=y"),
        () if kernel.options.is_empty() => unknown("the kernel's configuration"),
        () => pass(format!("stops on idle CPUs ({hz} otherwise)")),
    }
}

fn rt_throttling(s: &Subject<'_>) -> Verdict {
    const NAME: &str = "kernel.sched_rt_runtime_us";
    let scheduler = &s.facts.scheduler;
    let Some((runtime, period)) = scheduler.rt_runtime_us.zip(scheduler.rt_period_us) else {
        return unknown(NAME);
    };
    match runtime {
        0 => fail("real-time tasks get no time at all").sysctl(NAME, "950000"),
        _ if runtime < 0 || runtime >= period => pass("off"),
        _ => {
            let pause_us = period - runtime;
            warn(format!(
                "on: after {runtime} us of work in {period} us, real-time tasks are stopped for up to {pause_us} us"
            ))
            .sysctl(NAME, "-1")
        }
    }
}

fn timer_migration(s: &Subject<'_>) -> Verdict {
    match s.facts.scheduler.timer_migration {
        Some(false) => pass("off"),
        Some(true) if s.facts.cpus.len() == 1 => not_applicable("there is one CPU only"),
        Some(true) => warn("on").sysctl("kernel.timer_migration", "0"),
        None => unknown("kernel.timer_migration"),
    }
}

/// Whether a detector that is on watches the real-time CPUs.
fn watches(s: &Subject<'_>) -> bool {
    s.facts.scheduler.watchdog_cpus.as_ref().is_none_or(|watched| watched.overlaps(s.cpus))
}

fn nmi_watchdog(s: &Subject<'_>) -> Verdict {
    match s.facts.scheduler.nmi_watchdog {
        Some(false) => pass("off"),
        Some(true) if !watches(s) => pass(format!("on, yet not on {}", s.named())),
        Some(true) => warn(format!("on, also on {}", s.named()))
            .now("sysctl -w kernel.nmi_watchdog=0")
            .parameter("nmi_watchdog=0"),
        None => unknown("kernel.nmi_watchdog"),
    }
}

fn soft_watchdog(s: &Subject<'_>) -> Verdict {
    match s.facts.scheduler.soft_watchdog {
        Some(false) => pass("off"),
        Some(true) if !watches(s) => pass(format!("on, yet not on {}", s.named())),
        Some(true) => warn(format!("on, also on {}", s.named()))
            .now(format!("sysctl -w kernel.watchdog_cpumask={}", s.others()))
            .parameter("nosoftlockup"),
        None => unknown("kernel.soft_watchdog"),
    }
}

fn real_time_core(s: &Subject<'_>) -> Verdict {
    let cores = &s.facts.real_time_cores;
    let built = |option: &str| s.facts.kernel.options.get(option).is_some_and(|value| value == "y");
    let gravity = cores.gravity.as_ref().map(|g| format!(", gravity {g}")).unwrap_or_default();
    match (&cores.cobalt, &cores.evl) {
        (Some(version), _) => pass(format!("Xenomai Cobalt {version} runs{gravity}")),
        (None, Some(abi)) => pass(format!("EVL (Xenomai 4) runs, ABI {abi}{gravity}")),
        (None, None) if built("XENOMAI") => warn("Xenomai Cobalt is built into the kernel and does not run")
            .parameter("xenomai.state=enabled"),
        (None, None) if built("EVL") => {
            warn("EVL is built into the kernel and does not run").parameter("evl.state=enabled")
        }
        (None, None) => not_applicable("none in this kernel"),
    }
}
