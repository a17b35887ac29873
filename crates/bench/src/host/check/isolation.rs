//! Which CPUs are kept free of what.

use jitterlab_model::CpuSet;

use super::{Rule, Scope, Subject, Verdict, cpu_folder, fail, named, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "cpu-count",
        title: "A CPU for everything else",
        why: "On the only CPU the task shares every interrupt and every chore, and a task that runs away takes the machine down.",
        scope: Scope::Hardware("give the virtual machine at least two CPUs"),
        verdict: cpu_count,
    },
    Rule {
        id: "isolated-cpus",
        title: "Isolated CPUs (isolcpus, cpusets)",
        why: "Without isolation the scheduler puts other programs on the CPU of the real-time task and balances load across it.",
        scope: Scope::Kernel,
        verdict: isolated,
    },
    Rule {
        id: "nohz-full",
        title: "CPUs without a tick (nohz_full)",
        why: "The tick interrupts a working task hundreds of times a second, for a few microseconds each.",
        scope: Scope::Kernel,
        verdict: nohz_full,
    },
    Rule {
        id: "rcu-nocbs",
        title: "CPUs without RCU callbacks (rcu_nocbs)",
        why: "The kernel's deferred freeing of memory otherwise runs on the CPU that asked for it, in bursts.",
        scope: Scope::Kernel,
        verdict: rcu_nocbs,
    },
    Rule {
        id: "smt",
        title: "SMT siblings",
        why: "A sibling shares the core's units and first-level caches, so whatever runs there slows the task down.",
        scope: Scope::Hardware(
            "do not let the host run two virtual CPUs on one core: `-smp threads=1` and pinning",
        ),
        verdict: smt,
    },
    Rule {
        id: "workqueues",
        title: "Unbound kernel work",
        why: "Deferred work of drivers and file systems otherwise runs on any CPU.",
        scope: Scope::Kernel,
        verdict: workqueues,
    },
    Rule {
        id: "numa-node",
        title: "One NUMA node",
        why: "Tasks on different nodes reach each other's memory through the link between them, at twice the latency.",
        scope: Scope::Process,
        verdict: numa_node,
    },
];

fn cpu_count(s: &Subject<'_>) -> Verdict {
    match s.facts.cpus.len() {
        0 => unknown("the list of CPUs"),
        1 => fail("there is one CPU only").on_the_machine("use a machine with two cores or more"),
        n => match s.facts.usable().len() {
            1 => warn(format!("of {n} CPUs this process may use one only"))
                .now(format!("taskset -c {} jitterlab ...", s.facts.online())),
            _ => pass(format!(
                "{} for {}",
                s.others(),
                if s.facts.usable().len() == 2 { "it" } else { "them" }
            )),
        },
    }
}

/// The rest of what is wanted, where it is not all there.
fn missing(wanted: &CpuSet, there: &CpuSet) -> Option<CpuSet> {
    let missing = wanted.without(there);
    (!missing.is_empty()).then_some(missing)
}

fn isolated(s: &Subject<'_>) -> Verdict {
    if s.facts.cpus.len() == 1 {
        return not_applicable("there is one CPU only");
    }
    let Some(isolated) = &s.facts.isolation.isolated else { return unknown("the list of isolated CPUs") };
    match missing(s.cpus, isolated) {
        None => pass(format!("{isolated}")),
        Some(cpus) => warn(format!("{} not isolated", is_are(&cpus)))
            .for_one_run(format!("--isolate {}", s.cpus))
            .parameter(format!("isolcpus=managed_irq,domain,{}", s.cpus)),
    }
}

fn nohz_full(s: &Subject<'_>) -> Verdict {
    if s.facts.cpus.len() == 1 {
        return not_applicable("there is one CPU only, and one has to keep the tick");
    }
    let Some(without) = &s.facts.isolation.nohz_full else {
        return not_applicable("this kernel is built without it (CONFIG_NO_HZ_FULL)");
    };
    match missing(s.cpus, without) {
        None => pass(format!("{without}")),
        Some(cpus) => warn(format!("{} ticking", is_are(&cpus))).parameter(format!("nohz_full={}", s.cpus)),
    }
}

fn rcu_nocbs(s: &Subject<'_>) -> Verdict {
    if s.facts.cpus.len() == 1 {
        return not_applicable("there is one CPU only");
    }
    let Some(offloaded) = &s.facts.isolation.rcu_nocbs else { return unknown("the list of these CPUs") };
    match missing(s.cpus, offloaded) {
        None => pass(format!("{offloaded}")),
        Some(cpus) => warn(format!("{} running RCU callbacks", is_are(&cpus)))
            .parameter(format!("rcu_nocbs={}", s.cpus)),
    }
}

fn is_are(cpus: &CpuSet) -> String {
    format!("{} {}", named(cpus), if cpus.len() == 1 { "is" } else { "are" })
}

fn smt(s: &Subject<'_>) -> Verdict {
    let siblings: CpuSet = s
        .cpus
        .iter()
        .filter_map(|cpu| s.facts.cpu(cpu))
        .flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>())
        .collect();
    if siblings.is_empty() {
        return unknown("the topology");
    }
    // A sibling that is isolated as well runs nothing that jitterlab does not put there.
    let isolated = s.facts.isolation.isolated.clone().unwrap_or_default();
    let others = siblings.without(s.cpus);
    let shared = others.without(&isolated).and(&s.facts.online());
    match () {
        () if !shared.is_empty() => {
            warn(format!("{} the second thread of a core that real-time tasks use", is_are(&shared)))
                .now(format!("echo 0 | tee {}/online", cpu_folder(&shared)))
                .parameter("nosmt")
        }
        () if !others.is_empty() => pass(format!("{} isolated as well", is_are(&others))),
        () if cores(s) < s.cpus.len() => {
            pass(format!("all threads of the {} cores are isolated: use one of each", cores(s)))
        }
        () => pass(format!("no other thread on the core of {}", s.named())),
    }
}

/// The number of cores the real-time CPUs are on.
fn cores(s: &Subject<'_>) -> usize {
    let first = |cpu: u16| s.facts.cpu(cpu).and_then(|c| c.siblings.first()).unwrap_or(cpu);
    s.cpus.iter().map(first).collect::<CpuSet>().len()
}

fn workqueues(s: &Subject<'_>) -> Verdict {
    if s.facts.cpus.len() == 1 {
        return not_applicable("there is one CPU only");
    }
    match &s.facts.isolation.workqueue_cpus {
        None => unknown("the CPUs of unbound work"),
        Some(cpus) if cpus.overlaps(s.cpus) => {
            warn(format!("may run on {cpus}, which includes {}", named(&cpus.and(s.cpus))))
                .for_one_run(format!("--isolate {}", s.cpus))
                .now(format!("echo {} > /sys/devices/virtual/workqueue/cpumask", s.others().to_mask()))
        }
        Some(cpus) => pass(format!("runs on {cpus}")),
    }
}

fn numa_node(s: &Subject<'_>) -> Verdict {
    let node = |cpu: u16| s.facts.cpu(cpu).and_then(|c| c.numa_node);
    let mut nodes: Vec<u16> = s.facts.cpus.iter().filter_map(|cpu| cpu.numa_node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() < 2 {
        return not_applicable("there is one node only");
    }
    let mut used: Vec<u16> = s.cpus.iter().filter_map(node).collect();
    used.sort_unstable();
    used.dedup();
    match used.as_slice() {
        [one] => pass(format!("{} in node {one}", is_are(s.cpus))),
        [first, ..] => {
            let together: CpuSet = s.cpus.iter().filter(|cpu| node(*cpu) == Some(*first)).collect();
            warn(format!("{} spread over {} nodes", is_are(s.cpus), used.len()))
                .for_one_run(format!("run the tasks that exchange data on {together} only"))
        }
        [] => unknown("the nodes of these CPUs"),
    }
}
