//! What runs under and beside the task: the hypervisor, urgent threads, other programs, guards against attacks.

use jitterlab_model::facts::RealTimeThread;

use super::{Rule, Scope, Subject, Verdict, fail, not_applicable, pass, unknown, warn};

/// The share of time taken by the hypervisor from which on no latency can be kept.
const MUCH_STEAL: f64 = 0.01;

/// Threads the kernel needs on every CPU, which do nothing unless it is in trouble or somebody asks.
const HARMLESS: &[&str] = &["migration/", "watchdog/", "idle_inject/", "stopper/", "watchdogd", "irq_work/"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "virtual-machine",
        title: "Virtual machine",
        why: "A hypervisor may stop a virtual CPU at any moment, and every timer interrupt takes a way through it.",
        scope: Scope::Process,
        verdict: virtual_machine,
    },
    Rule {
        id: "steal",
        title: "Time stolen by the hypervisor",
        why: "While the hypervisor runs others on the real CPU, the task does not run, and its own kernel cannot help it.",
        scope: Scope::Process,
        verdict: steal,
    },
    Rule {
        id: "kernel-threads",
        title: "Urgent kernel threads",
        why: "A kernel thread of the same or a higher priority on the CPU of a task makes it wait.",
        scope: Scope::Kernel,
        verdict: kernel_threads,
    },
    Rule {
        id: "real-time-programs",
        title: "Other real-time programs",
        why: "A program of the same or a higher priority competes with the task for its CPU.",
        scope: Scope::Kernel,
        verdict: real_time_programs,
    },
    Rule {
        id: "load",
        title: "Load at this moment",
        why: "Figures measured beside unknown work cannot be repeated; load should be there on purpose (--load).",
        scope: Scope::Kernel,
        verdict: load,
    },
    Rule {
        id: "mitigations",
        title: "Mitigations of processor vulnerabilities",
        why: "They lengthen every entry into the kernel, and so every wake-up, by a part of a microsecond each.",
        scope: Scope::Kernel,
        verdict: mitigations,
    },
];

fn virtual_machine(s: &Subject<'_>) -> Verdict {
    let virtualisation = &s.facts.virtualisation;
    match virtualisation.virtual_machine {
        None => not_applicable("could not be told on this processor"),
        Some(false) => pass("no: Linux runs on the machine itself"),
        Some(true) => {
            let name = virtualisation.hypervisor.as_deref().unwrap_or("an unknown hypervisor");
            warn(format!("yes, under {name}: latencies are the guest's and the host's together")).on_the_host(format!(
                "bind each virtual CPU of {} to an isolated CPU of its own, with a real-time policy and locked memory (libvirt: <vcpupin>, <vcpusched scheduler='fifo' priority='1'/>, <memoryBacking><locked/>)",
                s.facts.online()
            ))
        }
    }
}

fn steal(s: &Subject<'_>) -> Verdict {
    if s.facts.virtualisation.virtual_machine == Some(false) {
        return not_applicable("there is no hypervisor");
    }
    let times = s.cpus.iter().filter_map(|cpu| s.facts.cpu(cpu)?.times);
    let (stolen, total) =
        times.fold((0u64, 0u64), |(stolen, total), t| (stolen + t.steal_ns, total + t.total_ns()));
    if total == 0 {
        return unknown("/proc/stat");
    }
    let share = stolen as f64 / total as f64;
    let found = format!("{:.2} % of the time of {} since the start", share * 100.0, s.named());
    let advice = "do not run more virtual CPUs than there are real ones, and bind these to CPUs of their own";
    match () {
        () if stolen == 0 => pass("none since the start"),
        () if share > MUCH_STEAL => fail(found).on_the_host(advice),
        () => warn(found).on_the_host(advice),
    }
}

fn list(threads: &[&RealTimeThread]) -> String {
    let some: Vec<String> = threads
        .iter()
        .take(4)
        .map(|t| match t.policy.as_str() {
            "deadline" => format!("{} (deadline)", t.name),
            policy => format!("{} ({policy}:{})", t.name, t.priority),
        })
        .collect();
    let more = if threads.len() > 4 { format!(" and {} more", threads.len() - 4) } else { String::new() };
    some.join(", ") + &more
}

/// `for p in 12 34; do COMMAND; done`, or the command alone for one process.
fn for_each(threads: &[&RealTimeThread], command: &str) -> String {
    let pids: Vec<String> = threads.iter().map(|t| t.pid.to_string()).collect();
    match pids.as_slice() {
        [one] => command.replace("$p", one),
        many => format!("for p in {}; do {command}; done", many.join(" ")),
    }
}

fn kernel_threads(s: &Subject<'_>) -> Verdict {
    let threads = &s.facts.real_time_threads;
    if !threads.iter().any(|t| t.kernel) {
        // Every kernel has migration threads.
        return unknown("the list of kernel threads");
    }
    let here: Vec<&RealTimeThread> = threads
        .iter()
        .filter(|t| t.kernel && t.cpu.is_some_and(|cpu| s.cpus.contains(cpu)))
        .filter(|t| !HARMLESS.iter().any(|name| t.name.starts_with(name)))
        .collect();
    if here.is_empty() {
        return pass(format!("none on {} beyond the indispensable", s.named()));
    }
    warn(format!("on {}: {}", s.named(), list(&here)))
        .now(for_each(&here, &format!("taskset -cp {} $p", s.others())))
        .for_one_run("a higher priority for the task, such as --policy fifo:90")
}

fn real_time_programs(s: &Subject<'_>) -> Verdict {
    let others: Vec<&RealTimeThread> = s.facts.real_time_threads.iter().filter(|t| !t.kernel).collect();
    match others.as_slice() {
        [] if s.facts.interrupts.irqbalance_running.is_none() => unknown("the list of processes"),
        [] => pass("none of priority 50 or more"),
        _ => warn(list(&others)).now(for_each(&others, &format!("taskset -acp {} $p", s.others()))),
    }
}

fn load(s: &Subject<'_>) -> Verdict {
    let cpus = s.facts.cpus.len().max(1) as f64;
    match s.facts.activity.load_1_min {
        None => unknown("/proc/loadavg"),
        Some(load) if load > cpus / 2.0 => {
            warn(format!("{load:.2} tasks running or waiting for the disk, on {cpus} CPUs"))
                .now("top, and stop what should not run")
        }
        Some(load) => pass(format!("{load:.2} tasks on {cpus} CPUs")),
    }
}

fn mitigations(s: &Subject<'_>) -> Verdict {
    let processor = &s.facts.processor;
    if s.facts.kernel.parameter("mitigations") == Some("off") {
        return pass("switched off: for machines that run trusted programs only");
    }
    let active: Vec<&str> = processor
        .vulnerabilities
        .iter()
        .filter(|v| v.state.starts_with("Mitigation"))
        .map(|v| v.name.as_str())
        .collect();
    match active.as_slice() {
        [] if processor.vulnerabilities.is_empty() && processor.vendor.is_none() => {
            not_applicable("this kernel lists no vulnerabilities")
        }
        [] => pass("none is active"),
        _ => warn(format!("active: {}", active.join(", "))).for_good(
            "kernel parameter mitigations=off, only where every program is trusted and no browser runs",
        ),
    }
}
