//! Words for the checks of the kernel's preemption, ticks, limits and detectors.

use super::entry::Words;

const UNREADABLE_MODEL: (&str, &str) = ("unreadable", "the preemption model could not be read");
/// The ways to a real-time kernel, by distribution.
const INSTALL: &[(&str, &str)] = &[
    ("install-debian", "apt install linux-image-rt-{debian_architecture}"),
    ("install-debian-other", "apt install the linux-image-rt package of this architecture"),
    ("install-ubuntu", "pro attach, then pro enable realtime-kernel"),
    ("install-rhel", "dnf --enablerepo=rt install kernel-rt (the repository may be named nfv or rt)"),
    ("install-arch", "pacman -S linux-rt"),
    ("install-suse", "zypper install kernel-rt"),
    (
        "install-host",
        "have the host start this machine with a kernel with PREEMPT_RT: it supplies the kernel",
    ),
    ("install", "install a kernel with CONFIG_PREEMPT_RT=y (part of Linux since 6.12), then restart"),
];
/// A `sysctl` that stays.
const SYSCTL: (&str, &str) = ("sysctl-line", "line `{sysctl}` in /etc/sysctl.d/90-realtime.conf");

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "preemption",
        title: "Preemption model",
        why: "It decides how long the kernel's own work may hold up a task that should run now.",
        found: &[
            UNREADABLE_MODEL,
            ("full", "{model}"),
            ("lazy", "lazy: full for real-time tasks, at the next tick for others"),
            ("none", "none: a long system call delays every task of its CPU"),
            ("voluntary", "voluntary: the kernel gives way at marked points only, up to milliseconds apart"),
        ],
        advice: INSTALL,
    },
    Words {
        id: "preempt-rt",
        title: "Real-time kernel (PREEMPT_RT)",
        why: "Only with it are interrupt handlers and almost all locks of the kernel preemptible, which bounds the worst case.",
        found: &[UNREADABLE_MODEL, ("yes", "yes"), ("no", "no: preemption is {model}")],
        advice: INSTALL,
    },
    Words {
        id: "high-resolution-timers",
        title: "High-resolution timers",
        why: "Without them every wake-up waits for the next tick, 1 to 10 ms.",
        found: &[
            ("on", "active, resolution {resolution_ns} ns"),
            ("off", "off: timers have a resolution of {resolution_ns:us} µs"),
            ("unreadable", "the resolution of timers could not be read"),
        ],
        advice: &[
            ("take-off", "take `highres=off` off the kernel's command line, then restart"),
            ("build", "a kernel with CONFIG_HIGH_RES_TIMERS=y"),
        ],
    },
    Words {
        id: "skew-tick",
        title: "Ticks at different times",
        why: "Where all CPUs tick at the same moment, they wait for each other's locks in the kernel.",
        found: &[
            ("unreadable", "the kernel's command line could not be read"),
            ("one-cpu", "there is one CPU only"),
            ("apart", "yes"),
            ("together", "no: all CPUs tick together"),
        ],
        advice: &[],
    },
    Words {
        id: "tick",
        title: "Tick on idle CPUs",
        why: "A tick that never stops interrupts every CPU, the measured ones included, hundreds of times a second.",
        found: &[
            ("switched-on", "never stops[ ({tick_hz} Hz)]: the kernel was started with nohz=off"),
            ("never-stops", "never stops[ ({tick_hz} Hz)]"),
            ("unreadable", "the kernel's configuration could not be read"),
            ("stops", "stops on idle CPUs[ ({tick_hz} Hz otherwise)]"),
        ],
        advice: &[
            ("take-off", "take `nohz=off` off the kernel's command line, then restart"),
            ("build", "a kernel with CONFIG_NO_HZ_IDLE=y or CONFIG_NO_HZ_FULL=y"),
        ],
    },
    Words {
        id: "rt-throttling",
        title: "Real-time throttling",
        why: "Tasks that use up their share of a period are stopped for the rest of it, however urgent they are.",
        found: &[
            ("unreadable", "kernel.sched_rt_runtime_us could not be read"),
            ("no-time", "real-time tasks get no time at all"),
            ("off", "off"),
            (
                "on",
                "on: after {runtime_us} µs of work in {period_us} µs, real-time tasks are stopped for up to {pause_us} µs",
            ),
        ],
        advice: &[SYSCTL],
    },
    Words {
        id: "timer-migration",
        title: "Timer migration",
        why: "Idle CPUs hand their timers to busy ones, so other programs' timers may fire on the real-time CPUs.",
        found: &[
            ("off", "off"),
            ("on", "on"),
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "kernel.timer_migration could not be read"),
        ],
        advice: &[SYSCTL],
    },
    Words {
        id: "nmi-watchdog",
        title: "Hard-lockup detector",
        why: "It interrupts every watched CPU with a non-maskable interrupt that delays whatever runs.",
        found: &[
            ("off", "off"),
            ("elsewhere", "on, yet not on {cpus:cpus}"),
            ("here", "on, also on {cpus:cpus}"),
            ("unreadable", "kernel.nmi_watchdog could not be read"),
        ],
        advice: &[],
    },
    Words {
        id: "soft-watchdog",
        title: "Soft-lockup detector",
        why: "It wakes a thread of the highest priority on every watched CPU every few seconds.",
        found: &[
            ("off", "off"),
            ("elsewhere", "on, yet not on {cpus:cpus}"),
            ("here", "on, also on {cpus:cpus}"),
            ("unreadable", "kernel.soft_watchdog could not be read"),
        ],
        advice: &[],
    },
    Words {
        id: "real-time-core",
        title: "Real-time core beside Linux (Xenomai)",
        why: "Where one runs, tasks can be scheduled ahead of Linux as a whole.",
        found: &[
            ("cobalt", "Xenomai Cobalt {version} runs[, gravity {gravity}]"),
            ("evl", "EVL (Xenomai 4) runs, ABI {version}[, gravity {gravity}]"),
            ("cobalt-stopped", "Xenomai Cobalt is built into the kernel and does not run"),
            ("evl-stopped", "EVL is built into the kernel and does not run"),
            ("none", "none in this kernel"),
        ],
        advice: &[],
    },
];
