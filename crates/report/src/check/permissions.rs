//! Words for the checks of this process's permissions.

use super::entry::Words;

/// Command that gives a program its permissions without root.
const SETCAP: (&str, &str) = ("setcap", "setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v jitterlab)\"");

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "rtprio",
        title: "Permission for real-time priorities",
        why: "Without a real-time policy every ordinary program may delay the task by milliseconds.",
        found: &[
            ("capability", "all priorities (CAP_SYS_NICE)"),
            ("no-limit", "all priorities (no limit)"),
            ("none", "none: no CAP_SYS_NICE, and the limit rtprio is 0"),
            ("low", "priorities up to {priority}: threaded interrupts have 50, other programs may have more"),
            ("limit", "priorities up to {priority} (limit rtprio)"),
            ("unreadable", "the limit rtprio could not be read"),
        ],
        advice: &[
            SETCAP,
            (
                "limits-line",
                "line `@realtime - rtprio 85` in /etc/security/limits.d/90-realtime.conf, then log in again",
            ),
            ("docker", "{engine} run --cap-add SYS_NICE --ulimit rtprio=85 ..."),
        ],
    },
    Words {
        id: "memlock",
        title: "Permission to lock memory",
        why: "Memory that is not locked may have to be fetched when it is touched, which takes microseconds to milliseconds.",
        found: &[
            ("capability", "any amount (CAP_IPC_LOCK)"),
            ("no-limit", "any amount (no limit)"),
            ("limit", "up to {limit_bytes:mib} MiB"),
            ("little", "only {limit_bytes:kib} KiB, less than a control program needs"),
            ("unreadable", "the limit memlock could not be read"),
        ],
        advice: &[
            SETCAP,
            (
                "limits-line",
                "line `@realtime - memlock unlimited` in /etc/security/limits.d/90-realtime.conf, then log in again",
            ),
            ("docker", "{engine} run --cap-add IPC_LOCK --ulimit memlock=-1 ..."),
        ],
    },
    Words {
        id: "dma-latency-permission",
        title: "Permission to forbid deep idle states",
        why: "A control program that may write /dev/cpu_dma_latency keeps its CPU out of idle states that take long to leave.",
        found: &[
            ("may", "/dev/cpu_dma_latency may be written"),
            ("may-not", "/dev/cpu_dma_latency may not be written"),
            ("unreadable", "there is no /dev/cpu_dma_latency"),
        ],
        advice: &[
            ("chown", "sudo chown \"$USER\" /dev/cpu_dma_latency"),
            (
                "udev",
                "line `KERNEL==\"cpu_dma_latency\", MODE=\"0666\"` in /etc/udev/rules.d/90-realtime.rules",
            ),
            ("docker", "{engine} run --device /dev/cpu_dma_latency ..."),
        ],
    },
    Words {
        id: "rttime",
        title: "Limit on the time of a real-time thread",
        why: "A task that works longer than this without waiting is killed by the kernel (SIGXCPU).",
        found: &[
            ("no-limit", "no limit"),
            ("limit", "{limit_us} µs, after which a busy task is killed"),
            ("unreadable", "the limit rttime could not be read"),
        ],
        advice: &[(
            "limits-line",
            "line `@realtime - rttime unlimited` in /etc/security/limits.d/90-realtime.conf",
        )],
    },
    Words {
        id: "rt-group",
        title: "Real-time time of the control group",
        why: "With group scheduling a control group without real-time time of its own may not use real-time policies at all, not even as root.",
        found: &[
            ("no-time", "0 µs: real-time policies are refused in this control group"),
            ("time", "{runtime_us} µs in each period"),
            ("not-shared-out", "real-time time is not shared out among control groups"),
        ],
        advice: &[],
    },
    Words {
        id: "group-limits",
        title: "Limit of the control group",
        why: "Once the programs of a group have used up its time, all of them wait for the next period.",
        found: &[
            ("unreadable", "the control groups could not be read"),
            ("none", "none on the processor time"),
            ("limited", "{quota_us} µs of processor time in {period_us} µs"),
        ],
        advice: &[],
    },
    Words {
        id: "container",
        title: "Container",
        why: "A container is given real-time priorities, locked memory and CPUs by whoever starts it, and by default none of them.",
        found: &[
            ("none", "none: this process sees the machine itself"),
            ("capable", "{container}, with the capabilities for real time"),
            ("not-capable", "{container}, without the capabilities for real time"),
        ],
        advice: &[(
            "docker",
            "{engine} run --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=85 --ulimit memlock=-1 --cpuset-cpus={usable} ...",
        )],
    },
    Words {
        id: "allowed-cpus",
        title: "CPUs this process may use",
        why: "A process held to some CPUs can neither run its tasks on better ones nor keep its own helpers away from them.",
        found: &[
            ("unreadable", "the list of CPUs could not be read"),
            ("all", "all of {online}"),
            ("some", "{usable} of {online}"),
        ],
        advice: &[
            ("docker", "{engine} run --cpuset-cpus={online} ..."),
            ("taskset", "taskset -c {online} jitterlab ..., outside of any restricting cpuset"),
        ],
    },
];
