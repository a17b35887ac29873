//! Words for the checks of swap, huge pages, balancing and errors.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "swap",
        title: "Swap",
        why: "A page that was swapped out has to be read back from the disk when a program touches it, for milliseconds.",
        found: &[
            ("unreadable", "/proc/meminfo could not be read"),
            ("none", "none"),
            ("there", "{total_bytes:mib} MiB, {used_bytes:mib} MiB in use"),
        ],
        advice: &[("fstab", "take the swap lines out of /etc/fstab, or `systemctl mask swap.target`")],
    },
    Words {
        id: "swappiness",
        title: "Readiness to swap (swappiness)",
        why: "The higher it is, the earlier the kernel swaps pages of idle programs out, which keeps disk and memory busy.",
        found: &[
            ("unreadable", "vm.swappiness could not be read"),
            ("without-effect", "without effect: there is no swap"),
            ("set", "{swappiness} of 200"),
        ],
        advice: &[("sysctl-line", "line `{sysctl}` in /etc/sysctl.d/90-realtime.conf")],
    },
    Words {
        id: "free-memory",
        title: "Free memory",
        why: "A kernel short of memory reclaims pages on every CPU, also in the system calls of a real-time task.",
        found: &[
            ("unreadable", "/proc/meminfo could not be read"),
            ("free", "{free_bytes:mib} of {total_bytes:mib} MiB"),
        ],
        advice: &[(
            "stop-programs",
            "stop programs that need much memory (`ps aux --sort -rss | head`), or add memory",
        )],
    },
    Words {
        id: "huge-pages",
        title: "Transparent huge pages",
        why: "To make huge pages the kernel moves memory about and stops every thread that uses it meanwhile.",
        found: &[
            ("none", "this kernel has none"),
            ("set", "{setting}"),
            ("on-request", "only where a program asks for them"),
        ],
        advice: &[],
    },
    Words {
        id: "memory-statistics",
        title: "Memory statistics",
        why: "To collect them a thread of the kernel wakes on every CPU.",
        found: &[
            ("unreadable", "vm.stat_interval could not be read"),
            ("every", "collected every {seconds} s"),
        ],
        advice: &[("sysctl-line", "line `{sysctl}` in /etc/sysctl.d/90-realtime.conf")],
    },
    Words {
        id: "same-page-merging",
        title: "Search for equal pages (KSM)",
        why: "A thread of the kernel compares pages all the time, and a merged page faults when it is written.",
        found: &[("none", "this kernel does not have it"), ("off", "off"), ("on", "on")],
        advice: &[("ksmtuned", "systemctl disable ksm ksmtuned, where they are installed")],
    },
    Words {
        id: "access-times",
        title: "Times of access on disks (mount options)",
        why: "Without relatime or noatime every reading of a file writes to the disk.",
        found: &[
            ("unreadable", "/proc/self/mounts could not be read"),
            ("seldom", "written seldom"),
            ("each", "written at each reading on {places:some}"),
        ],
        advice: &[("fstab", "the option noatime for them in /etc/fstab")],
    },
    Words {
        id: "numa-balancing",
        title: "NUMA balancing",
        why: "It takes pages away from programs to see who touches them, so that locked memory faults all the same.",
        found: &[
            ("off", "off"),
            ("without-effect", "on, without effect: there is one node only"),
            ("on", "on, between {nodes} nodes"),
            ("none", "this kernel does not have it"),
        ],
        advice: &[],
    },
    Words {
        id: "memory-errors",
        title: "Memory and machine errors",
        why: "Every corrected error costs an interrupt, often one of the firmware's that stops all CPUs.",
        found: &[
            ("not-counted", "this machine does not count memory errors"),
            (
                "counted",
                "{corrected} corrected and {uncorrected} uncorrected memory errors, {machine_checks} machine checks since the start",
            ),
            ("none", "none since the start"),
        ],
        advice: &[
            ("host", "look at the host's error counters (`ras-mc-ctl --summary`)"),
            (
                "replace",
                "see `dmesg | grep -iE 'mce|edac'`, test the memory (memtest86+) and replace what is faulty",
            ),
        ],
    },
];
