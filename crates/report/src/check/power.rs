//! Words for the checks of frequencies, idle states and heat.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "governor",
        title: "Frequency governor",
        why: "A governor that saves power lets the CPU sleep at a low frequency and run slower just when the task wakes up.",
        found: &[
            ("not-the-kernels", "the kernel does not choose the frequency"),
            ("fast", "{governor}"),
            ("saving", "{governor} on {slow:cpus}"),
        ],
        advice: &[("host", "set the governor `performance` on the host's CPUs")],
    },
    Words {
        id: "frequency-range",
        title: "Frequency range",
        why: "The same code takes longer at a lower frequency, so a changing frequency is jitter.",
        found: &[
            ("not-the-kernels", "the kernel does not choose the frequency"),
            ("fixed", "fixed at {highest_hz:mhz} MHz"),
            ("wide", "{lowest_hz:mhz} to {highest_hz:mhz} MHz on {wide:cpus}"),
        ],
        advice: &[("host", "fix the frequency of the host's CPUs")],
    },
    Words {
        id: "turbo",
        title: "Turbo",
        why: "How far the processor exceeds its nominal frequency depends on heat and on the other cores, moment by moment.",
        found: &[("off", "off"), ("on", "on"), ("no-switch", "the kernel has no switch for it")],
        advice: &[("host", "switch turbo off on the host")],
    },
    Words {
        id: "energy-preference",
        title: "Energy preference",
        why: "It decides how reluctantly the hardware raises the frequency.",
        found: &[
            ("none-taken", "the hardware takes no preference"),
            ("fast", "{preference}"),
            ("saving", "{preference} on {saving:cpus}"),
        ],
        advice: &[("host", "set the energy preference `performance` on the host's CPUs")],
    },
    Words {
        id: "idle-states",
        title: "Idle states",
        why: "A CPU in a deep idle state needs its exit latency before the first instruction of a woken task.",
        found: &[
            ("unreadable", "how long they take to leave could not be read"),
            ("polling", "none: idle CPUs poll ({parameter})"),
            ("no-choice", "the kernel offers no choice of idle states"),
            ("all-disabled", "all are disabled"),
            ("down-to", "down to {state}, which takes up to {exit_us} µs to leave"),
        ],
        advice: &[(
            "host",
            "disable deep idle states on the host, or let the guest poll: `idle=poll` in the guest, `nohlt` if it is ARM",
        )],
    },
    Words {
        id: "cpu-dma-latency",
        title: "Requests on /dev/cpu_dma_latency",
        why: "Whoever holds it open forbids deep idle states for the whole machine, and what is measured meanwhile is better than without that program.",
        found: &[
            ("unreadable", "/dev/cpu_dma_latency (root only) could not be read"),
            ("none", "none: idle states are what the system's settings make them"),
            ("unseen-holder", "{limit_us} µs, held by a process that could not be seen"),
            ("held", "{limit_us} µs, held by {holders}"),
        ],
        advice: &[
            ("find", "fuser -v /dev/cpu_dma_latency, to find who holds it"),
            ("kill", "kill {pids}, unless it also runs in production"),
        ],
    },
    Words {
        id: "thermal-throttling",
        title: "Thermal throttling",
        why: "A core that is too hot is slowed down or stopped for moments, without asking the kernel.",
        found: &[
            ("not-counted", "this processor does not count it"),
            ("never", "never since the start"),
            ("counted", "{times} times since the start"),
        ],
        advice: &[
            ("host", "look at the host's thermal_throttle counters and its cooling"),
            ("cool", "clean or strengthen the cooling, or lower the highest frequency"),
        ],
    },
    Words {
        id: "power-supply",
        title: "Voltage and firmware throttling",
        why: "Boards with a weak supply are slowed down by their firmware.",
        found: &[
            ("not-reported", "no firmware reports it here"),
            ("enough", "enough, and never throttled since the start"),
            ("since-start", "low voltage or throttling since the start"),
            ("now", "low voltage or throttling at this moment"),
        ],
        advice: &[
            ("host", "look at the host's supply"),
            ("supply", "use the supply the board's maker recommends, a short cable, and a heat sink"),
        ],
    },
];
