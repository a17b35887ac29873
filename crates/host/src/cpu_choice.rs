//! Choice of a CPU for each task, and of the CPUs for everything else.

use std::cmp::Reverse;

use jitterlab_model::facts::Sharing;
use jitterlab_model::warning::{CpuPlacement, PlacementReason};
use jitterlab_model::{CpuSet, Error, SystemFacts, TaskSpec};

/// Device interrupts a second, averaged since the machine started, from which on a CPU counts as busy with them.
const BUSY_INTERRUPTS_PER_S: f64 = 100.0;

/// The CPUs chosen for the tasks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuChoice {
    /// The CPU of each task, in the order of the tasks; one that was asked for is kept.
    pub cpus: Vec<u16>,
    /// The CPUs for all threads that are not measured. Apart from the measured ones wherever there are enough.
    pub housekeeping: CpuSet,
    /// Reasons for the choice.
    pub because: Vec<PlacementReason>,
}

impl CpuChoice {
    /// The CPUs that tasks run on.
    pub fn measured_cpus(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// Converts the choice to the form in a run's description.
    pub fn to_placement(&self) -> CpuPlacement {
        CpuPlacement::Chosen {
            cpus: self.measured_cpus(),
            rest: self.housekeeping.clone(),
            because: self.because.clone(),
        }
    }
}

/// Checks that a task can be bound to a CPU.
pub fn check_cpu(facts: &SystemFacts, cpu: u16) -> Result<(), Error> {
    let (online, usable) = (facts.online_cpus(), facts.usable_cpus());
    match () {
        () if !online.contains(cpu) => Err(Error::bad_use(format!(
            "CPU {cpu} does not exist or is offline: this machine has the CPUs {online}"
        ))),
        () if !usable.contains(cpu) => {
            Err(Error::bad_use(format!("CPU {cpu} is not among those this process may use ({usable})"))
                .remedy("choose one of them, or widen its cpuset or its taskset"))
        }
        () => Ok(()),
    }
}

/// Chooses a CPU for each task that did not ask for one.
///
/// Isolated CPUs come first; then those away from CPU 0 (and from its SMT sibling), which serves most of the
/// kernel's chores; then those no device interrupts; then the strongest; then the highest number. Tasks get
/// CPUs of their own that share a cache, as long as one core is left to the rest of the system, and never two
/// siblings of one core while there is another; where CPUs are short, tasks share.
pub fn choose_cpus(facts: &SystemFacts, tasks: &[TaskSpec]) -> CpuChoice {
    let usable = facts.usable_cpus();
    let asked: CpuSet = tasks.iter().filter_map(|task| task.cpu).collect();
    let slots = best_cpus(facts, &usable, &asked, tasks.iter().filter(|task| task.cpu.is_none()).count());
    let mut next = slots.iter().copied().cycle();
    let fallback = asked.first().or(usable.first()).unwrap_or(0);
    let cpus: Vec<u16> =
        tasks.iter().map(|task| task.cpu.unwrap_or_else(|| next.next().unwrap_or(fallback))).collect();
    let measured: CpuSet = cpus.iter().copied().collect();
    let housekeeping = choose_housekeeping(facts, &usable, &measured);
    let because = choice_reasons(facts, &usable, &asked, &measured);
    CpuChoice { cpus, housekeeping, because }
}

/// Drawbacks of a CPU, most serious first: the smallest value is the best.
type Drawbacks = (bool, bool, bool, bool, bool, Reverse<u32>, Sharing, Reverse<u16>);

fn drawbacks(facts: &SystemFacts, cpu: u16, taken: &[u16]) -> Drawbacks {
    let has = |set: &Option<CpuSet>| set.as_ref().is_some_and(|s| s.contains(cpu));
    let siblings = facts.cpu(cpu).map(|c| c.siblings.clone()).unwrap_or_default();
    (
        !has(&facts.isolation.isolated),
        !has(&facts.isolation.nohz_full),
        taken.iter().any(|other| siblings.contains(*other)),
        cpu == 0 || siblings.contains(0),
        is_busy_with_interrupts(facts, cpu),
        Reverse(facts.cpu(cpu).and_then(|c| c.capacity).unwrap_or(0)),
        taken.first().map_or(Sharing::Same, |first| facts.sharing(*first, cpu)),
        Reverse(cpu),
    )
}

fn is_busy_with_interrupts(facts: &SystemFacts, cpu: u16) -> bool {
    let devices = facts.interrupts.lines.iter().filter(|line| line.is_device());
    let count: u64 = devices.filter_map(|line| line.counts.get(&cpu)).sum();
    facts.uptime_s.is_some_and(|s| s > 0.0 && count as f64 / s > BUSY_INTERRUPTS_PER_S)
}

/// Up to `wanted` CPUs for tasks without a given one, best first. Fewer if more would take the last core from
/// the rest of the system, or leave the isolated CPUs.
fn best_cpus(facts: &SystemFacts, usable: &CpuSet, asked: &CpuSet, wanted: usize) -> Vec<u16> {
    let isolated = facts.isolation.isolated.as_ref().map(|set| set.and(usable)).unwrap_or_default();
    let mut free = usable.without(asked);
    let mut taken: Vec<u16> = asked.iter().collect();
    let mut slots = Vec::new();
    while slots.len() < wanted {
        let Some(best) = free.iter().min_by_key(|cpu| drawbacks(facts, *cpu, &taken)) else { break };
        let used: CpuSet = taken.iter().copied().chain([best]).collect();
        let first = taken.is_empty();
        let leaves_a_core = !cpus_on_other_cores(facts, usable, &used).is_empty();
        let leaves_isolation = !isolated.is_empty() && !isolated.contains(best);
        let beside_a_task = taken.iter().any(|other| facts.sharing(*other, best) == Sharing::Core);
        if !first && (!leaves_a_core || leaves_isolation || beside_a_task) {
            break;
        }
        slots.push(best);
        taken.push(best);
        free = free.without(&[best].into_iter().collect());
    }
    slots
}

/// The usable CPUs on cores without any of the `used` CPUs.
fn cpus_on_other_cores(facts: &SystemFacts, usable: &CpuSet, used: &CpuSet) -> CpuSet {
    let cores: CpuSet = used
        .iter()
        .flat_map(|cpu| {
            facts.cpu(cpu).map(|c| c.siblings.clone()).unwrap_or_default().iter().collect::<Vec<_>>()
        })
        .collect();
    usable.without(used).without(&cores)
}

fn choose_housekeeping(facts: &SystemFacts, usable: &CpuSet, measured: &CpuSet) -> CpuSet {
    let isolated = facts.isolation.isolated.clone().unwrap_or_default();
    let apart = cpus_on_other_cores(facts, usable, measured);
    [apart.without(&isolated), usable.without(measured).without(&isolated), usable.without(measured)]
        .into_iter()
        .find(|set| !set.is_empty())
        .unwrap_or_else(|| usable.clone())
}

/// Reasons for the measured CPUs; `asked` are those that tasks asked for.
fn choice_reasons(
    facts: &SystemFacts,
    usable: &CpuSet,
    asked: &CpuSet,
    measured: &CpuSet,
) -> Vec<PlacementReason> {
    let Some(first) = measured.first() else { return Vec::new() };
    if facts.cpus.is_empty() {
        return vec![PlacementReason::NoneListed];
    }
    if measured.without(asked).is_empty() {
        return vec![PlacementReason::AskedFor];
    }
    if usable.len() == 1 {
        return vec![PlacementReason::OnlyOne];
    }
    let mut because = Vec::new();
    let all_in = |set: &Option<CpuSet>| set.as_ref().is_some_and(|s| measured.without(s).is_empty());
    if all_in(&facts.isolation.isolated) {
        because.push(PlacementReason::Isolated);
    }
    if all_in(&facts.isolation.nohz_full) {
        because.push(PlacementReason::NoTick);
    }
    if !measured.contains(0) {
        because.push(PlacementReason::AwayFromZero);
    }
    let cpus = smt_siblings(facts, measured).and(usable);
    if !cpus.is_empty() {
        let isolated = facts.isolation.isolated.as_ref().is_some_and(|set| cpus.without(set).is_empty());
        because.push(PlacementReason::FreeSiblings { cpus, isolated });
    }
    let distances = measured.iter().filter(|cpu| *cpu != first).map(|cpu| facts.sharing(first, cpu));
    if let Some(Sharing::Cache(level)) = distances.max() {
        because.push(PlacementReason::SharedCache { level });
    }
    because
}

/// SMT siblings of these CPUs that are not among them.
fn smt_siblings(facts: &SystemFacts, cpus: &CpuSet) -> CpuSet {
    let all: CpuSet = cpus
        .iter()
        .filter_map(|cpu| facts.cpu(cpu))
        .flat_map(|cpu| cpu.siblings.iter().collect::<Vec<_>>())
        .collect();
    all.without(cpus)
}

#[cfg(test)]
mod tests;
