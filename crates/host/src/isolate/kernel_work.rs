//! Kernel work that may run on any CPU by default: interrupts, unbound work, timers, watchdogs.

use jitterlab_model::CpuSet;
use jitterlab_model::warning::{Chore, IsolationReport, LeftBehind, tally};

use crate::changes::Journal;

/// Sends every device's interrupts to the other CPUs.
pub(super) fn move_interrupts(journal: &mut Journal, others: &CpuSet, report: &mut IsolationReport) {
    let mut refused = Vec::new();
    let root = journal.root().clone();
    for irq in root.names("proc/irq").into_iter().filter(|name| name.parse::<u32>().is_ok()) {
        let name = format!("proc/irq/{irq}/smp_affinity_list");
        // Two things count: the CPUs that it really goes to, if the kernel shows them, and those that another
        // isolation would restore.
        let goes_to = root
            .cpus(&format!("proc/irq/{irq}/effective_affinity_list"))
            .filter(|cpus| !cpus.is_empty())
            .or_else(|| root.cpus(&name));
        let may_go: CpuSet =
            journal.original_text(&name).and_then(|cpus| cpus.parse().ok()).unwrap_or_default();
        if !goes_to.is_some_and(|cpus| cpus.overlaps(&report.cpus)) && !may_go.overlaps(&report.cpus) {
            continue;
        }
        let left = match may_go.and(others) {
            left if left.is_empty() => others.clone(),
            left => left,
        };
        match journal.set_value(&name, &left.to_string()) {
            Ok(_) => report.interrupts_moved += 1,
            Err(error) => {
                let device = root
                    .names(&format!("proc/irq/{irq}"))
                    .into_iter()
                    .find(|entry| root.path(&format!("proc/irq/{irq}/{entry}")).is_dir());
                refused.push(format!("IRQ {irq} {} ({error})", device.unwrap_or_default()));
            }
        }
    }
    if !refused.is_empty() {
        report.left.push(LeftBehind::Interrupts { names: tally(&refused) });
    }
}

/// Moves unbound work, watchdogs and new interrupts to the other CPUs, and keeps timers where they are.
pub(super) fn move_kernel_work(journal: &mut Journal, others: &CpuSet, report: &mut IsolationReport) {
    const WORK: &str = "sys/devices/virtual/workqueue";
    let mask = others.to_mask();
    let chores: [(Chore, String, String); 5] = [
        (Chore::NewInterrupts, "proc/irq/default_smp_affinity".into(), mask.clone()),
        (Chore::UnboundWork, format!("{WORK}/cpumask"), mask.clone()),
        (Chore::WriteBack, format!("{WORK}/writeback/cpumask"), mask),
        (Chore::Watchdogs, "proc/sys/kernel/watchdog_cpumask".into(), others.to_string()),
        (Chore::OtherTimers, "proc/sys/kernel/timer_migration".into(), "0".into()),
    ];
    for (chore, name, value) in chores {
        let root = journal.root().clone();
        if !root.exists(&name) {
            continue;
        }
        let now = root.text(&name).unwrap_or_default();
        let before = journal.original_text(&name).unwrap_or_default();
        if is_same_mask(&before, &value) && is_same_mask(&now, &value) {
            continue;
        }
        match journal.set_value(&name, &value) {
            Ok(_) => report.changed.push(chore),
            Err(error) => report.left.push(LeftBehind::Chore { chore, error: error.to_string() }),
        }
    }
}

/// True if two CPU masks are equal apart from leading zeros, which some kernels write.
pub(super) fn is_same_mask(a: &str, b: &str) -> bool {
    a == b || CpuSet::from_mask(a).is_some_and(|set| Some(set) == CpuSet::from_mask(b))
}
