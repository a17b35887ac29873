//! Caveats on the figures of a task: reasons against them, and limits on their use.

use jitterlab_model::facts::{self, Change, NO_REQUEST_US, Preemption, SystemFacts};
use jitterlab_model::{Bench, CpuSet, Gap, Overload, Policy, RunInfo, StopReason, TaskRun, WakeMethod};
use serde::{Deserialize, Serialize};

use crate::summary::{P50, Summary};

/// A reason to trust the figures of a task less, or to apply them more narrowly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Caveat {
    /// The due times reported by another tool seem to be on another clock than the starts. The difference of
    /// the rates is removed, and the earliest start counts as punctual.
    TwoClocks {
        /// Rate by which starts gain on due times, in millionths; below 0 they lose.
        millionths: f64,
    },
    /// Records were lost: the extremes include them, the other figures do not.
    Dropped {
        /// Number of records.
        records: u64,
    },
    /// Records were lost that no counter includes: no figure does.
    Unseen {
        /// Number of due times without a record.
        records: u64,
    },
    /// The run was not closed: activations after its last record are unknown.
    NotClosed,
    /// The run was ended to save the machine.
    Overloaded {
        /// The task that could not keep up.
        task: String,
        /// Observations that ended the run.
        overload: Overload,
    },
    /// The run ended because a task could not wait any more.
    WaitFailed {
        /// The task.
        task: String,
        /// Error message of the system.
        why: String,
    },
    /// The run ended at the first latency above the given limit.
    StoppedAbove {
        /// The latency, in ns.
        latency_ns: i64,
    },
    /// The measuring process died; its records were recovered.
    Crashed,
    /// All tasks were as late as each other once, as when the whole machine stands still: suspended, or without time from
    /// its host.
    StoodStill {
        /// The largest latency of the task with the smallest, in ns.
        ns: i64,
        /// True if all tasks ran on one CPU: it alone may have stood still.
        one_cpu: bool,
    },
    /// Activations began outside the real-time mode of their core: they measure Linux.
    OutsideCore {
        /// Number of activations.
        activations: u64,
        /// The core, such as `cobalt`.
        core: String,
        /// Last reason why the task left that mode.
        last_cause: Option<String>,
    },
    /// The task ran under an ordinary policy: any other thread may delay it.
    NotRealTime {
        /// The policy.
        policy: Policy,
    },
    /// Memory was not locked: a page fault may delay the task.
    MemoryNotLocked,
    /// The kernel is not a real-time kernel.
    Kernel {
        /// Its preemption model.
        preemption: Preemption,
    },
    /// The machine is a virtual one: the figures include its host's load.
    VirtualMachine {
        /// The hypervisor, if known.
        hypervisor: Option<String>,
    },
    /// Something happened to the machine while it measured: steal time, SMIs, throttling, changed settings.
    Machine {
        /// The change.
        change: Change,
    },
    /// Something moved the task off the processor it was bound to.
    Moved {
        /// The processor it was bound to.
        bound: u16,
        /// Activations that began elsewhere.
        elsewhere: u64,
        /// Activations in all.
        executed: u64,
        /// Processor on which the last of them began.
        other: u16,
    },
    /// Real-time threads of other programs ran last on the task's CPUs, before or after the run.
    OtherThreads {
        /// Their names, with policy and priority.
        threads: Vec<String>,
    },
    /// Another process held `/dev/cpu_dma_latency`, which keeps CPUs out of deep idle states: the machine was
    /// better than it is without that request.
    LatencyHeld {
        /// At this limit, in microseconds.
        us: u64,
    },
    /// A part of the latency is the phase of the kernel's own periods, which can jump: a task that SCHED_DEADLINE releases
    /// begins when its runtime is replenished, not when it is due.
    ReplenishmentPhase {
        /// The smallest latency, in ns.
        least_ns: i64,
        /// The median latency, in ns.
        usual_ns: i64,
    },
    /// The task polls all the time, and the kernel stops real-time tasks that take more than their share: the longest hole
    /// is as long as that stop.
    Throttled {
        /// The longest hole, in ns.
        hole_ns: i64,
        /// Time that real-time tasks get in each period, in microseconds.
        runtime_us: i64,
        /// The period, in microseconds.
        period_us: i64,
    },
    /// No load was started during the run: under load the worst case is usually much later. Its fields
    /// describe the load from elsewhere.
    NoLoad {
        /// Tasks running or waiting, on average over the minute before the run or its last one, whichever is more.
        load_1_min: Option<f64>,
        /// Number of CPUs.
        cpus: usize,
    },
    /// Events as rare as this may not have occurred in the run.
    Length {
        /// Length of the run, in ns.
        run_ns: i64,
        /// An event that occurs at least this often has shown with 95 % probability.
        unseen_every_ns: f64,
    },
}

impl Caveat {
    /// Returns the caveats on the figures of a task of a run; the gravest first.
    #[must_use]
    pub fn for_task(summary: &Summary, task: &TaskRun, run: &RunInfo) -> Vec<Self> {
        let mut all = Vec::new();
        add_recording_caveats(summary, task, &mut all);
        add_stop_caveats(run, &mut all);
        all.extend(Self::machine_stop(run));
        add_real_time_caveats(task, &mut all);
        all.extend(moved_caveat(task));
        add_machine_caveats(task, run, &mut all);
        all.extend(machine_change_caveats(run, task));
        all.extend(throttled_caveat(task, run));
        all.extend(replenishment_phase_caveat(summary, task));
        all.extend(other_program_caveats(task, run));
        if run.load.is_none() {
            all.push(no_load_caveat(run));
        }
        all.extend(measured_ns(task).map(length_caveat));
        all
    }
}

impl Caveat {
    /// Returns the caveat that the whole machine stood still, if the real-time tasks of a run were all late alike.
    #[must_use]
    pub fn machine_stop(run: &RunInfo) -> Option<Self> {
        let of = |task: &TaskRun| {
            let granted = task.granted.as_ref().filter(|granted| granted.policy.is_real_time())?;
            Some((task.result.as_ref()?.max_latency_ns, granted.cpus.clone()))
        };
        let tasks: Vec<(i64, Vec<u16>)> = run.tasks.iter().map(of).collect::<Option<_>>()?;
        let latest = || tasks.iter().map(|(ns, _)| *ns);
        let (least_ns, most_ns) = (latest().min()?, latest().max()?);
        // Each task was due within a period of its own when it began, and starts anew in the order of priorities.
        let alike_ns = 2 * run.tasks.iter().map(|task| task.spec.period_ns).max()?;
        let is_stop = run.bench == Bench::Host && tasks.len() > 1 && least_ns >= STOP_NS;
        let mut cpus: Vec<u16> = tasks.into_iter().flat_map(|(_, cpus)| cpus).collect();
        cpus.dedup();
        (is_stop && most_ns - least_ns <= alike_ns)
            .then_some(Caveat::StoodStill { ns: least_ns, one_cpu: cpus.len() == 1 })
    }
}

/// Shortest stop that counts as one of the whole machine: two real-time tasks that wait as long by chance are rare.
const STOP_NS: i64 = 100_000_000;

/// Returns the time in ns from a task's first due time to its last end; `None` if unknown or not above 0.
#[must_use]
pub fn measured_ns(task: &TaskRun) -> Option<i64> {
    let result = task.result.as_ref().filter(|_| task.knows(Gap::Period) && task.knows(Gap::Count))?;
    Some(result.last_end_ns - result.first_due_ns).filter(|ns| *ns > 0)
}

/// Returns the caveat that no load was started, with the machine's load from elsewhere.
fn no_load_caveat(run: &RunInfo) -> Caveat {
    let loads = facts_of(run).filter_map(|facts| facts.activity.load_1_min);
    Caveat::NoLoad {
        load_1_min: loads.max_by(f64::total_cmp),
        cpus: facts_of(run).map(|facts| facts.cpus.len()).max().unwrap_or(0),
    }
}

/// Returns the facts of the machine before and after the run, as far as they are known.
fn facts_of(run: &RunInfo) -> impl Iterator<Item = &SystemFacts> {
    run.facts_before.iter().chain(&run.facts_after)
}

/// Returns the caveats of real-time threads on the task's CPUs and of a held `/dev/cpu_dma_latency`.
fn other_program_caveats(task: &TaskRun, run: &RunInfo) -> impl Iterator<Item = Caveat> + use<> {
    let cpus = cpus(task);
    let mut threads: Vec<String> = Vec::new();
    for thread in facts_of(run).flat_map(|facts| &facts.real_time_threads) {
        let name = format!("{} ({}:{})", thread.name, thread.policy, thread.priority);
        let here = !thread.kernel && thread.cpu.is_some_and(|cpu| cpus.contains(cpu));
        if here && !threads.contains(&name) {
            threads.push(name);
        }
    }
    let held = facts_of(run).filter_map(|facts| facts.power.dma_latency_us).filter(|us| *us < NO_REQUEST_US);
    let held = held.min().map(|us| Caveat::LatencyHeld { us });
    let threads = (!threads.is_empty()).then_some(Caveat::OtherThreads { threads });
    threads.into_iter().chain(held)
}

/// Returns the caveat of activations off the one processor that the task was bound to, if there were any.
fn moved_caveat(task: &TaskRun) -> Option<Caveat> {
    let (granted, result) = (task.granted.as_ref()?, task.result.as_ref()?);
    let ([bound], Some(other)) = (granted.cpus.as_slice(), result.other_cpu) else { return None };
    let (elsewhere, executed) = (result.elsewhere, result.executed);
    (elsewhere > 0).then_some(Caveat::Moved { bound: *bound, elsewhere, executed, other })
}

/// Returns the caveat of throttling, if a real-time task polls all the time and has a hole as long as a stop.
fn throttled_caveat(task: &TaskRun, run: &RunInfo) -> Option<Caveat> {
    let (granted, result) = (task.granted.as_ref()?, task.result.as_ref()?);
    let scheduler = &run.facts_before.as_ref()?.scheduler;
    let (runtime_us, period_us) = scheduler.rt_runtime_us.zip(scheduler.rt_period_us)?;
    let stop_ns = (period_us - runtime_us).saturating_mul(1_000);
    let length_ns = result.last_end_ns.saturating_sub(result.first_due_ns);
    let share = runtime_us as f64 / period_us as f64;
    let always = result.polled_ns as f64 > 0.9 * share * length_ns as f64;
    // From half of the stop, which the kernel keeps only to a tick, to two stops: at the end of one period
    // and at the beginning of the next. A stop begins in the middle of a poll.
    let alike = (stop_ns / 2..=stop_ns / 10 * 21).contains(&result.longest_hole_ns);
    (granted.policy.is_real_time() && runtime_us > 0 && stop_ns > 0 && always && alike)
        .then_some(Caveat::Throttled { hole_ns: result.longest_hole_ns, runtime_us, period_us })
}

/// Returns the caveat of the replenishment phase, if SCHED_DEADLINE releases the task.
fn replenishment_phase_caveat(summary: &Summary, task: &TaskRun) -> Option<Caveat> {
    let (least_ns, usual_ns) = (summary.latency.min_ns?, summary.latency.at(P50).exactly()?);
    let released = task.spec.wake == WakeMethod::Deadline;
    released.then_some(Caveat::ReplenishmentPhase { least_ns, usual_ns })
}

/// Returns the CPUs that a task was granted, or else its planned one.
fn cpus(task: &TaskRun) -> CpuSet {
    match &task.granted {
        Some(granted) => granted.cpus.iter().copied().collect(),
        None => task.spec.cpu.into_iter().collect(),
    }
}

fn add_recording_caveats(summary: &Summary, task: &TaskRun, all: &mut Vec<Caveat>) {
    all.extend(lost_records_caveat(task, summary.dropped.at_least()));
    if task.result.is_none() {
        all.push(Caveat::NotClosed);
    }
}

/// Returns the caveat of this many lost records, by whether a counter includes them; `None` if there are none.
fn lost_records_caveat(task: &TaskRun, records: Option<u64>) -> Option<Caveat> {
    match &task.result {
        Some(result) if !task.knows(Gap::Unseen) => Some(Caveat::Unseen { records: result.dropped }),
        _ => records.filter(|records| *records > 0).map(|records| Caveat::Dropped { records }),
    }
}

fn add_stop_caveats(run: &RunInfo, all: &mut Vec<Caveat>) {
    let name = |task: &usize| run.tasks.get(*task).map_or_else(String::new, |task| task.spec.name.clone());
    all.extend(match &run.stop {
        Some(StopReason::Overloaded { task, overload }) => {
            Some(Caveat::Overloaded { task: name(task), overload: *overload })
        }
        Some(StopReason::Above { latency_ns, .. }) => Some(Caveat::StoppedAbove { latency_ns: *latency_ns }),
        Some(StopReason::WaitFailed { task, why }) => {
            Some(Caveat::WaitFailed { task: name(task), why: why.clone() })
        }
        Some(StopReason::Crashed) => Some(Caveat::Crashed),
        _ => None,
    });
}

fn add_real_time_caveats(task: &TaskRun, all: &mut Vec<Caveat>) {
    let core = task.result.as_ref().and_then(|result| result.core.as_ref());
    all.extend(core.filter(|core| core.outside > 0).map(|core| Caveat::OutsideCore {
        activations: core.outside,
        core: core.core.clone(),
        last_cause: core.last_cause.clone(),
    }));
    let Some(granted) = &task.granted else { return };
    if !granted.policy.is_real_time() {
        all.push(Caveat::NotRealTime { policy: granted.policy });
    }
    if !granted.memory_locked {
        all.push(Caveat::MemoryNotLocked);
    }
}

fn add_machine_caveats(task: &TaskRun, run: &RunInfo, all: &mut Vec<Caveat>) {
    let Some(facts) = &run.facts_before else { return };
    // A Xenomai task does not run on the Linux side, whatever its preemption model.
    let on_linux = !task.spec.wake.traits().core;
    match facts.kernel.preemption {
        Some(preemption) if on_linux && preemption != Preemption::RealTime => {
            all.push(Caveat::Kernel { preemption });
        }
        _ => {}
    }
    // In virtual time no figure includes the host's load; QEMU in real time has its own warning.
    if facts.virtualisation.virtual_machine == Some(true) && run.bench != Bench::Kernel {
        all.push(Caveat::VirtualMachine { hypervisor: facts.virtualisation.hypervisor.clone() });
    }
}

/// Returns the changes of the machine during the run that count against this task's figures.
fn machine_change_caveats(run: &RunInfo, task: &TaskRun) -> impl Iterator<Item = Caveat> {
    let cpus = cpus(task);
    let both = run.facts_before.as_ref().zip(run.facts_after.as_ref());
    let changes = both.map_or_else(Vec::new, |(before, after)| facts::changes(before, after, &cpus));
    changes.into_iter().map(|change| Caveat::Machine { change })
}

/// Returns the machine changes and lost records that forbid conclusions from a task's run about a longer one.
#[must_use]
pub fn machine_events(run: &RunInfo, task: &TaskRun) -> Vec<Caveat> {
    let records = task.result.as_ref().map(|result| result.dropped);
    machine_change_caveats(run, task).chain(lost_records_caveat(task, records)).collect()
}

/// Returns the caveat of the run's length: the rate of events that it would have shown with 95 % probability. An event
/// never seen in a time t occurs less often than -ln(0.05)/t.
fn length_caveat(run_ns: i64) -> Caveat {
    Caveat::Length { run_ns, unseen_every_ns: run_ns as f64 / -(0.05f64.ln()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::facts::{RealTimeThread, SystemFacts};
    use jitterlab_model::{Activation, CoreUse, Granted, TaskResult, TaskSpec, TimingStats};

    fn run(executed: u64) -> RunInfo {
        let mut run = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        run.load = jitterlab_model::Load::from_specs(["cpu:2".parse().unwrap()]);
        run.stop = Some(StopReason::Duration);
        run.tasks[0].result =
            Some(TaskResult { executed, last_end_ns: executed as i64 * 1_000_000, ..TaskResult::default() });
        run.tasks[0].granted = Some(Granted {
            policy: Policy::Fifo(90),
            cpus: vec![1],
            memory_locked: true,
            timer_slack_ns: None,
        });
        run
    }

    fn caveats(run: &RunInfo) -> Vec<Caveat> {
        let mut stats = TimingStats::new(1_000_000);
        for index in 0..run.tasks[0].result.as_ref().map_or(0, |result| result.executed) {
            let due_ns = index as i64 * 1_000_000;
            let (start_ns, end_ns) = (due_ns + 1_000, due_ns + 1_000);
            stats.push(&Activation { index, due_ns, start_ns, end_ns, ..Activation::default() });
        }
        Caveat::for_task(&Summary::new(&run.tasks[0], &stats), &run.tasks[0], run)
    }

    fn ids(caveats: &[Caveat]) -> Vec<String> {
        let id = |caveat| serde_json::to_value(caveat).unwrap()["id"].as_str().unwrap().to_owned();
        caveats.iter().map(id).collect()
    }

    #[test]
    fn a_good_run_leaves_open_what_comes_rarely() {
        let found = caveats(&run(4));
        let [Caveat::Length { run_ns: 4_000_000, unseen_every_ns }] = found[..] else { panic!("{found:?}") };
        assert!((unseen_every_ns - 1_335_233.0).abs() < 1.0, "{unseen_every_ns}");
    }

    #[test]
    fn what_was_not_tested_or_not_granted_is_named() {
        let mut run = run(1);
        run.load = jitterlab_model::Load::NONE;
        run.stop = Some(StopReason::Overloaded { task: 0, overload: Overload::HeldCpu });
        if let Some(granted) = &mut run.tasks[0].granted {
            (granted.policy, granted.memory_locked) = (Policy::Other, false);
        }
        let mut facts = SystemFacts::default();
        facts.kernel.preemption = Some(Preemption::Voluntary);
        facts.virtualisation.virtual_machine = Some(true);
        run.facts_before = Some(facts);
        let all = [
            "overloaded",
            "not-real-time",
            "memory-not-locked",
            "kernel",
            "virtual-machine",
            "no-load",
            "length",
        ];
        assert_eq!(ids(&caveats(&run)), all);
    }

    fn of_kind<'a>(caveats: &'a [Caveat], id: &str) -> &'a Caveat {
        let at = ids(caveats).iter().position(|one| one == id);
        &caveats[at.unwrap_or_else(|| panic!("no {id} in {caveats:?}"))]
    }

    #[test]
    fn other_work_than_a_load_is_named_whether_there_was_a_load_or_not() {
        let mut run = run(1);
        let thread = |name: &str, cpu| RealTimeThread {
            name: name.into(),
            policy: "fifo".into(),
            priority: 90,
            cpu: Some(cpu),
            ..RealTimeThread::default()
        };
        let mut facts = SystemFacts::default();
        facts.activity.load_1_min = Some(0.3);
        facts.real_time_threads = vec![thread("cyclictest", 1), thread("elsewhere", 0)];
        let mut after = facts.clone();
        after.activity.load_1_min = Some(9.3);
        after.power.dma_latency_us = Some(0);
        after.real_time_threads.push(thread("late", 1));
        (run.facts_before, run.facts_after) = (Some(facts), Some(after));
        let found = caveats(&run);
        let threads = vec!["cyclictest (fifo:90)".into(), "late (fifo:90)".into()];
        assert_eq!(*of_kind(&found, "other-threads"), Caveat::OtherThreads { threads });
        assert_eq!(*of_kind(&found, "latency-held"), Caveat::LatencyHeld { us: 0 });
        run.load = jitterlab_model::Load::NONE;
        let found = caveats(&run);
        assert_eq!(*of_kind(&found, "no-load"), Caveat::NoLoad { load_1_min: Some(9.3), cpus: 0 });
    }

    #[test]
    fn a_task_that_was_moved_is_told() {
        let mut run = run(5_989);
        let result = run.tasks[0].result.as_mut().unwrap();
        (result.elsewhere, result.other_cpu) = (3_526, Some(0));
        let expected = Caveat::Moved { bound: 1, elsewhere: 3_526, executed: 5_989, other: 0 };
        assert_eq!(*of_kind(&caveats(&run), "moved"), expected);
        // Bound to several, it may be on any of them.
        run.tasks[0].granted.as_mut().unwrap().cpus = vec![0, 1];
        assert!(!ids(&caveats(&run)).contains(&"moved".to_owned()));
    }

    #[test]
    fn tasks_that_are_as_late_as_each_other_show_a_stop_of_the_machine() {
        let mut run = run(9);
        let late = |run: &mut RunInfo, task: usize, ns| {
            run.tasks[task].result.as_mut().unwrap().max_latency_ns = ns;
        };
        late(&mut run, 0, 5_000_000_000);
        assert_eq!(Caveat::machine_stop(&run), None, "one task alone may have waited for another thread");
        run.tasks.push(run.tasks[0].clone());
        late(&mut run, 1, 4_999_100_000);
        let stop = |one_cpu| Some(Caveat::StoodStill { ns: 4_999_100_000, one_cpu });
        assert_eq!(Caveat::machine_stop(&run), stop(true));
        run.tasks[1].granted.as_mut().unwrap().cpus = vec![0];
        assert_eq!(Caveat::machine_stop(&run), stop(false));
        late(&mut run, 1, 4_000_000_000);
        assert_eq!(Caveat::machine_stop(&run), None);
        late(&mut run, 1, 5_000_000_000);
        run.tasks[1].granted.as_mut().unwrap().policy = Policy::Other;
        assert_eq!(Caveat::machine_stop(&run), None);
    }

    #[test]
    fn a_poll_that_is_stopped_names_the_throttling() {
        let mut run = run(10_000);
        let result = run.tasks[0].result.as_mut().unwrap();
        (result.polled_ns, result.longest_hole_ns) = (9_500_000_000, 49_800_000);
        let mut facts = SystemFacts::default();
        (facts.scheduler.rt_runtime_us, facts.scheduler.rt_period_us) = (Some(950_000), Some(1_000_000));
        run.facts_before = Some(facts);
        let expected = Caveat::Throttled { hole_ns: 49_800_000, runtime_us: 950_000, period_us: 1_000_000 };
        assert_eq!(*of_kind(&caveats(&run), "throttled"), expected);
        for (hole_ns, said) in [(92_100_000, true), (130_000_000, false), (5_000_000, false)] {
            run.tasks[0].result.as_mut().unwrap().longest_hole_ns = hole_ns;
            assert_eq!(ids(&caveats(&run)).contains(&"throttled".to_owned()), said, "{hole_ns}");
        }
        run.facts_before.as_mut().unwrap().scheduler.rt_runtime_us = Some(-1);
        assert!(!ids(&caveats(&run)).contains(&"throttled".to_owned()));
    }

    #[test]
    fn activations_outside_a_cores_real_time_mode_are_named() {
        let mut run = run(2);
        assert!(!ids(&caveats(&run)).contains(&"outside-core".to_owned()));
        let core = CoreUse {
            core: "cobalt".into(),
            outside: 1,
            last_cause: Some("a system call".into()),
            ..CoreUse::default()
        };
        run.tasks[0].result.as_mut().unwrap().core = Some(core);
        let expected = Caveat::OutsideCore {
            activations: 1,
            core: "cobalt".into(),
            last_cause: Some("a system call".into()),
        };
        assert!(caveats(&run).contains(&expected));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = caveats(&run(9));
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Caveat>>(&text).unwrap(), all);
    }
}
