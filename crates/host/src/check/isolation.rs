//! Checks of the isolation of CPUs.

use jitterlab_model::CpuSet;
use jitterlab_model::check::RemedyKind::{Command, Machine};

use super::{CheckContext, Rule, Ruling, Scope, cpu_file, fail, not_applicable, pass, unknown, warn};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "cpu-count", scope: Scope::Hardware, ruling: check_cpu_count },
    Rule { id: "isolated-cpus", scope: Scope::Kernel, ruling: check_isolated_cpus },
    Rule { id: "nohz-full", scope: Scope::Kernel, ruling: check_nohz_full },
    Rule { id: "rcu-nocbs", scope: Scope::Kernel, ruling: check_rcu_nocbs },
    Rule { id: "smt", scope: Scope::Hardware, ruling: check_smt },
    Rule { id: "workqueues", scope: Scope::Kernel, ruling: check_workqueues },
    Rule { id: "numa-node", scope: Scope::Process, ruling: check_numa_node },
];

fn check_cpu_count(s: &CheckContext<'_>) -> Ruling {
    match (s.facts.cpus.len(), s.facts.usable_cpus().len()) {
        (0, _) => unknown(),
        (1, _) => fail("one-cpu").advise(Machine, "two-cores"),
        (n, 1) => warn("one-usable")
            .with("number", n)
            .with("online", &s.facts.online_cpus())
            .advise(Command, "taskset"),
        _ => pass("others").with("others", &s.other_cpus()),
    }
}

/// Rules on one kind of isolation: names the real-time CPUs that lack it, and adds the remedy.
fn isolation_ruling(s: &CheckContext<'_>, there: &CpuSet, remedy: impl FnOnce(Ruling) -> Ruling) -> Ruling {
    let missing = s.cpus.without(there);
    if missing.is_empty() {
        pass("covered").with("there", there)
    } else {
        remedy(warn("missing").with("missing", &missing))
    }
}

fn check_isolated_cpus(s: &CheckContext<'_>) -> Ruling {
    if s.facts.cpus.len() == 1 {
        return not_applicable("one-cpu");
    }
    let Some(isolated) = &s.facts.isolation.isolated else { return unknown() };
    isolation_ruling(s, isolated, |ruling| {
        ruling
            .advise_option(format!("--isolate {}", s.cpus))
            .advise_parameter(format!("isolcpus=managed_irq,domain,{}", s.cpus))
    })
}

fn check_nohz_full(s: &CheckContext<'_>) -> Ruling {
    if s.facts.cpus.len() == 1 {
        return not_applicable("one-cpu-keeps-tick");
    }
    let Some(without) = &s.facts.isolation.nohz_full else { return not_applicable("not-built") };
    isolation_ruling(s, without, |ruling| ruling.advise_parameter(format!("nohz_full={}", s.cpus)))
}

fn check_rcu_nocbs(s: &CheckContext<'_>) -> Ruling {
    if s.facts.cpus.len() == 1 {
        return not_applicable("one-cpu");
    }
    let Some(offloaded) = &s.facts.isolation.rcu_nocbs else { return unknown() };
    isolation_ruling(s, offloaded, |ruling| ruling.advise_parameter(format!("rcu_nocbs={}", s.cpus)))
}

fn check_smt(s: &CheckContext<'_>) -> Ruling {
    let siblings: CpuSet = s
        .cpus
        .iter()
        .filter_map(|cpu| s.facts.cpu(cpu))
        .flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>())
        .collect();
    if siblings.is_empty() {
        return unknown();
    }
    // A sibling that is isolated as well runs only threads that jitterlab puts there.
    let isolated = s.facts.isolation.isolated.clone().unwrap_or_default();
    let others = siblings.without(s.cpus);
    let shared = others.without(&isolated).and(&s.facts.online_cpus());
    match () {
        () if !shared.is_empty() => warn("shared")
            .with("siblings", &shared)
            .advise_write(0, &cpu_file(&shared, "online"))
            .advise_parameter("nosmt"),
        () if !others.is_empty() => pass("isolated").with("siblings", &others),
        () if core_count(s) < s.cpus.len() => pass("whole-cores").with("cores", core_count(s)),
        () => pass("alone"),
    }
}

/// Number of cores that the real-time CPUs are on.
fn core_count(s: &CheckContext<'_>) -> usize {
    let first = |cpu: u16| s.facts.cpu(cpu).and_then(|c| c.siblings.first()).unwrap_or(cpu);
    s.cpus.iter().map(first).collect::<CpuSet>().len()
}

fn check_workqueues(s: &CheckContext<'_>) -> Ruling {
    if s.facts.cpus.len() == 1 {
        return not_applicable("one-cpu");
    }
    match &s.facts.isolation.workqueue_cpus {
        None => unknown(),
        Some(cpus) if cpus.overlaps(s.cpus) => warn("includes")
            .with("set", cpus)
            .with("shared", &cpus.and(s.cpus))
            .advise_option(format!("--isolate {}", s.cpus))
            .advise_write(s.other_cpus().to_mask(), "/sys/devices/virtual/workqueue/cpumask"),
        Some(cpus) => pass("apart").with("set", cpus),
    }
}

fn check_numa_node(s: &CheckContext<'_>) -> Ruling {
    let node = |cpu: u16| s.facts.cpu(cpu).and_then(|c| c.numa_node);
    let mut nodes: Vec<u16> = s.facts.cpus.iter().filter_map(|cpu| cpu.numa_node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() < 2 {
        return not_applicable("one-node");
    }
    let mut used: Vec<u16> = s.cpus.iter().filter_map(node).collect();
    used.sort_unstable();
    used.dedup();
    match used.as_slice() {
        [one] => pass("together").with("node", u64::from(*one)),
        [first, ..] => {
            let together: CpuSet = s.cpus.iter().filter(|cpu| node(*cpu) == Some(*first)).collect();
            warn("spread").with("nodes", used.len()).with("together", &together).advise(Command, "together")
        }
        [] => unknown(),
    }
}
