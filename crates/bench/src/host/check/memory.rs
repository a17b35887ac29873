//! Swap, huge pages, balancing, errors.

use super::{Rule, Scope, Subject, Verdict, fail, not_applicable, pass, unknown, warn};

/// Below this share of free memory the kernel starts to reclaim pages.
const SCARCE: f64 = 0.05;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "swap",
        title: "Swap",
        why: "A page that was swapped out has to be read back from the disk when a program touches it, for milliseconds.",
        scope: Scope::Kernel,
        verdict: swap,
    },
    Rule {
        id: "free-memory",
        title: "Free memory",
        why: "A kernel short of memory reclaims pages on every CPU, also in the system calls of a real-time task.",
        scope: Scope::Kernel,
        verdict: free_memory,
    },
    Rule {
        id: "huge-pages",
        title: "Transparent huge pages",
        why: "To make huge pages the kernel moves memory about and stops every thread that uses it meanwhile.",
        scope: Scope::Kernel,
        verdict: huge_pages,
    },
    Rule {
        id: "numa-balancing",
        title: "NUMA balancing",
        why: "It takes pages away from programs to see who touches them, so that locked memory faults all the same.",
        scope: Scope::Kernel,
        verdict: numa_balancing,
    },
    Rule {
        id: "memory-errors",
        title: "Memory and machine errors",
        why: "Every corrected error costs an interrupt, often one of the firmware's that stops all CPUs.",
        scope: Scope::Hardware("look at the host's error counters (`ras-mc-ctl --summary`)"),
        verdict: errors,
    },
];

fn swap(s: &Subject<'_>) -> Verdict {
    let memory = &s.facts.memory;
    let used = memory.swap_used_bytes.unwrap_or(0) >> 20;
    match memory.swap_total_bytes {
        None => unknown("/proc/meminfo"),
        Some(0) => pass("none"),
        Some(bytes) => warn(format!("{} MiB, {used} MiB in use", bytes >> 20))
            .now("swapoff -a")
            .for_good("take the swap lines out of /etc/fstab, or `systemctl mask swap.target`"),
    }
}

fn free_memory(s: &Subject<'_>) -> Verdict {
    let memory = &s.facts.memory;
    let Some((available, total)) = memory.available_bytes.zip(memory.total_bytes).filter(|(_, t)| *t > 0)
    else {
        return unknown("/proc/meminfo");
    };
    let found = format!("{} of {} MiB", available >> 20, total >> 20);
    if (available as f64) < SCARCE * total as f64 {
        warn(found).on_the_machine(
            "stop programs that need much memory (`ps aux --sort -rss | head`), or add memory",
        )
    } else {
        pass(found)
    }
}

fn huge_pages(s: &Subject<'_>) -> Verdict {
    match s.facts.memory.huge_pages.as_deref() {
        None => not_applicable("this kernel has none"),
        Some("always") => warn("always")
            .now("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
            .parameter("transparent_hugepage=madvise"),
        Some("madvise") => pass("only where a program asks for them"),
        Some(other) => pass(other),
    }
}

fn numa_balancing(s: &Subject<'_>) -> Verdict {
    let nodes = s.facts.cpus.iter().filter_map(|cpu| cpu.numa_node).max().map_or(0, |last| last + 1);
    match s.facts.scheduler.numa_balancing {
        Some(false) => pass("off"),
        Some(true) if nodes < 2 => pass("on, without effect: there is one node only"),
        Some(true) => warn(format!("on, between {nodes} nodes"))
            .now("sysctl -w kernel.numa_balancing=0")
            .parameter("numa_balancing=disable"),
        None => not_applicable("this kernel does not have it"),
    }
}

fn errors(s: &Subject<'_>) -> Verdict {
    let activity = &s.facts.activity;
    let line = s.facts.interrupts.lines.iter().find(|line| line.id == "MCE");
    let machine_checks = line.map_or(0, |line| line.total());
    let advice = "see `dmesg | grep -iE 'mce|edac'`, test the memory (memtest86+) and replace what is faulty";
    let counted = (activity.corrected_memory_errors, activity.uncorrected_memory_errors);
    match counted {
        (None, None) if machine_checks == 0 => not_applicable("this machine does not count memory errors"),
        (corrected, uncorrected) => {
            let (corrected, uncorrected) = (corrected.unwrap_or(0), uncorrected.unwrap_or(0));
            let found = format!(
                "{corrected} corrected and {uncorrected} uncorrected memory errors, {machine_checks} machine checks since the start"
            );
            match () {
                () if uncorrected + machine_checks > 0 => fail(found).on_the_machine(advice),
                () if corrected > 0 => warn(found).on_the_machine(advice),
                () => pass("none since the start"),
            }
        }
    }
}
