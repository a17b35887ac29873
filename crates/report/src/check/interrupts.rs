//! Words for the checks of interrupts on the real-time CPUs.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "irq-affinity",
        title: "Device interrupts",
        why: "Every interrupt of a device on the CPU of a task delays it by the time of its handler.",
        found: &[
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "the affinity of interrupts could not be read"),
            ("none", "none on {cpus:cpus}"),
            ("here", "{cpus:cpus} may be interrupted by IRQ {lines:some}"),
            ("fixed", "{cpus:cpus} may be interrupted by IRQ {lines:some}, and the kernel keeps them there"),
        ],
        advice: &[],
    },
    Words {
        id: "default-irq-affinity",
        title: "CPUs for new interrupts",
        why: "A device that is plugged in, or a driver that starts again, gets its interrupts there.",
        found: &[
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "/proc/irq/default_smp_affinity could not be read"),
            ("includes", "{set}, which includes {shared:cpus}"),
            ("apart", "{set}"),
        ],
        advice: &[],
    },
    Words {
        id: "irqbalance",
        title: "irqbalance",
        why: "It moves interrupts between CPUs while tasks run, and undoes what was set by hand.",
        found: &[
            ("unreadable", "the list of processes could not be read"),
            ("stopped", "does not run"),
            ("keeps-off", "runs, and keeps off {cpus:cpus} since {cpus:it} isolated"),
            ("runs", "runs, also for {cpus:cpus}"),
        ],
        advice: &[
            ("stop", "systemctl stop irqbalance"),
            (
                "disable",
                "systemctl disable irqbalance, or line `IRQBALANCE_BANNED_CPULIST={cpus}` in /etc/default/irqbalance",
            ),
        ],
    },
    Words {
        id: "threaded-interrupts",
        title: "Threaded interrupt handlers",
        why: "A handler that is a thread gives way to a more urgent task; one that is not holds up everything.",
        found: &[
            ("always", "always, in a real-time kernel"),
            ("asked-for", "yes (threadirqs)"),
            ("no", "no: drivers' handlers run at once, whatever waits"),
            ("unreadable", "the kernel's command line could not be read"),
        ],
        advice: &[],
    },
    Words {
        id: "smi",
        title: "System-management interrupts",
        why: "The firmware stops all CPUs for them, 10 µs to milliseconds, and no kernel can prevent or even see it.",
        found: &[
            ("unreadable", "the counter could not be read"),
            ("not-counted", "this processor does not count them"),
            (
                "other-processor",
                "there are none on this kind of processor; what its firmware takes by other ways is counted nowhere",
            ),
            ("none", "none since the start"),
            ("counted", "{count} since the start[, {an_hour:one} an hour]"),
        ],
        advice: &[
            ("host", "look at MSR 0x34 on the host (`modprobe msr`, `rdmsr -a 0x34`)"),
            ("modprobe", "modprobe msr, then run jitterlab check as root"),
            (
                "firmware",
                "in the firmware switch off legacy USB support, power and fan control by the firmware, and TPM polling; update it",
            ),
        ],
    },
];
