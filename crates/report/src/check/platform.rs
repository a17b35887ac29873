//! Words for the checks of the platform below the task and the programs next to it.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "virtual-machine",
        title: "Virtual machine",
        why: "A hypervisor may stop a virtual CPU at any moment, and every timer interrupt takes a way through it.",
        found: &[
            ("unreadable", "this processor does not say"),
            ("no", "no: Linux runs on the machine itself"),
            ("under", "yes, under {hypervisor}: latencies are the guest's and the host's together"),
            ("yes", "yes, under an unknown hypervisor: latencies are the guest's and the host's together"),
        ],
        advice: &[(
            "bind",
            "bind each virtual CPU of {online} to an isolated CPU of its own, with a real-time policy and locked memory (libvirt: <vcpupin>, <vcpusched scheduler='fifo' priority='1'/>, <memoryBacking><locked/>)",
        )],
    },
    Words {
        id: "steal",
        title: "Time stolen by the hypervisor",
        why: "While the hypervisor runs others on the real CPU, the task does not run, and its own kernel cannot help it.",
        found: &[
            ("no-hypervisor", "there is no hypervisor"),
            ("unreadable", "/proc/stat could not be read"),
            ("none", "none since the start"),
            ("stolen", "{stolen_share:share} of the time of {cpus:cpus} since the start"),
        ],
        advice: &[(
            "fewer",
            "do not run more virtual CPUs than there are real ones, and bind these to CPUs of their own",
        )],
    },
    Words {
        id: "kernel-threads",
        title: "Urgent kernel threads",
        why: "A kernel thread of the same or a higher priority on the CPU of a task makes it wait.",
        found: &[
            ("unreadable", "the list of kernel threads could not be read"),
            ("none", "none on {cpus:cpus} beyond the indispensable"),
            (
                "less-urgent",
                "on {cpus:cpus}: {threads:some}, less urgent than a task's fifo:{default_priority}",
            ),
            ("urgent", "on {cpus:cpus}: {threads:some}"),
        ],
        advice: &[("higher-priority", "a higher priority for the task, such as --policy fifo:90")],
    },
    Words {
        id: "real-time-programs",
        title: "Other real-time programs",
        why: "A program of the same or a higher priority competes with the task for its CPU.",
        found: &[
            ("unreadable", "the list of processes could not be read"),
            ("none", "none of priority 50 or more"),
            ("less-urgent", "{threads:some}, less urgent than a task's fifo:{default_priority}"),
            ("urgent", "{threads:some}"),
        ],
        advice: &[],
    },
    Words {
        id: "other-measurements",
        title: "Other measurements",
        why: "Two programs that measure at once delay each other, and neither shows the machine as it is.",
        found: &[
            ("unreadable", "the list of processes could not be read"),
            ("none", "no other program measures"),
            ("run", "running: {programs}"),
        ],
        advice: &[("end", "kill {pids}")],
    },
    Words {
        id: "graphics",
        title: "Graphics driver",
        why: "A graphics driver can hold up a processor or the memory bus for long when the picture changes or the card wakes up.",
        found: &[
            ("unreadable", "the kernel lists no devices"),
            ("none", "no graphics card with a driver"),
            ("nvidia", "NVIDIA's own driver, which its maker does not support on real-time kernels"),
            ("saves-power", "{drivers}: i915 switches its display power off and on"),
            ("drivers", "{drivers}"),
        ],
        advice: &[(
            "nouveau",
            "remove NVIDIA's driver (nouveau or plain pictures instead), or use a graphics card of another maker",
        )],
    },
    Words {
        id: "iommu",
        title: "Address translation for devices (IOMMU)",
        why: "Where it is on, drivers map and unmap each buffer, in interrupt handlers too.",
        found: &[
            ("none", "this kernel has none"),
            ("direct", "devices reach memory directly"),
            ("translated", "on for {groups} groups of devices"),
        ],
        advice: &[],
    },
    Words {
        id: "load",
        title: "Load at this moment",
        why: "What is measured beside unknown work cannot be repeated; load should be there on purpose (--load).",
        found: &[
            ("unreadable", "/proc/loadavg could not be read"),
            ("much", "{load} tasks running or waiting for the disk, on {number_of_cpus} CPUs"),
            ("little", "{load} tasks on {number_of_cpus} CPUs"),
        ],
        advice: &[("top", "top, and stop what should not run")],
    },
    Words {
        id: "mitigations",
        title: "Mitigations of processor vulnerabilities",
        why: "They lengthen every entry into the kernel, and so every wake-up, by a part of a microsecond each.",
        found: &[
            ("off", "switched off: for machines that run trusted programs only"),
            ("not-listed", "this kernel lists none that this processor has"),
            ("none", "none is active"),
            ("active", "active: {active}"),
        ],
        advice: &[(
            "off",
            "kernel parameter mitigations=off, only where every program is trusted and no browser runs",
        )],
    },
];
