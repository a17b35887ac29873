//! What speaks against the figures of a task, or limits what they may be applied to.

use jitterlab_model::facts::{self, Change, NO_REQUEST_US, Preemption};
use jitterlab_model::{Bench, CpuSet, Gap, Overload, Policy, RunInfo, StopReason, TaskRun};
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// A reason to trust the figures of a task less, or to apply them to less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Caveat {
    /// Records were lost: the extremes hold them, the other figures do not.
    Dropped {
        /// How many.
        records: u64,
    },
    /// The run was not closed: what came after its last record is not known.
    NotClosed,
    /// The run was ended to save the machine.
    Overloaded {
        /// The task that could not keep up.
        task: String,
        /// What was seen.
        overload: Overload,
    },
    /// The run ended because a task could not wait any more.
    WaitFailed {
        /// The task.
        task: String,
        /// What the system answered, in its words.
        why: String,
    },
    /// The run ended at the first latency above the wanted limit.
    StoppedAbove {
        /// That latency.
        latency_ns: i64,
    },
    /// The measuring process died; its records were recovered.
    Crashed,
    /// Activations began outside the real-time mode of their core: those measure Linux.
    OutsideCore {
        /// How many.
        activations: u64,
        /// The core, such as `cobalt`.
        core: String,
        /// What last made the task leave it.
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
    /// The machine is a virtual one, whose host's load is part of the figures.
    VirtualMachine {
        /// What runs it, where that is known.
        hypervisor: Option<String>,
    },
    /// Something happened to the machine while it measured: steal time, SMIs, throttling, changed settings.
    Machine {
        /// What.
        change: Change,
    },
    /// No load was started beside the task: under load the worst case is usually much later. What else was known to run, or
    /// to make the machine better than it is in use, when the run began:
    NoLoad {
        /// Tasks running or waiting, on average over the minute before.
        load_1_min: Option<f64>,
        /// How many CPUs that is of.
        cpus: usize,
        /// Real-time threads of other programs that ran last on the task's CPUs, with policy and priority.
        threads: Vec<String>,
        /// The limit at which somebody held `/dev/cpu_dma_latency`.
        dma_latency_us: Option<u64>,
    },
    /// What comes this rarely may not have shown.
    Length {
        /// Length of the run.
        run_ns: i64,
        /// An event that comes so often or more often has shown with 95 % probability.
        unseen_every_ns: f64,
    },
}

impl Caveat {
    /// What speaks against the figures of a task of a run; the gravest first.
    #[must_use]
    pub fn on(summary: &Summary, task: &TaskRun, run: &RunInfo) -> Vec<Self> {
        let mut all = Vec::new();
        recording(summary, task, &mut all);
        stopped(run, &mut all);
        real_time(task, &mut all);
        machine(task, run, &mut all);
        all.extend(concerns(run, task));
        if run.load.is_none() {
            all.push(no_load(task, run));
        }
        all.extend(measured_ns(task).map(length));
        all
    }
}

/// How long a task was measured, from its first due time to its last end; `None` where that is not known.
#[must_use]
pub fn measured_ns(task: &TaskRun) -> Option<i64> {
    let result = task.result.as_ref().filter(|_| task.knows(Gap::Period) && task.knows(Gap::Count))?;
    Some(result.last_end_ns - result.first_due_ns).filter(|ns| *ns > 0)
}

/// What is known of other work than the task's where no load was started beside it.
fn no_load(task: &TaskRun, run: &RunInfo) -> Caveat {
    let facts = run.facts_before.as_ref();
    let cpus = cpus(task);
    let threads = facts.into_iter().flat_map(|facts| &facts.real_time_threads);
    let beside = threads.filter(|t| !t.kernel && t.cpu.is_some_and(|cpu| cpus.contains(cpu)));
    Caveat::NoLoad {
        load_1_min: facts.and_then(|facts| facts.activity.load_1_min),
        cpus: facts.map_or(0, |facts| facts.cpus.len()),
        threads: beside.map(|t| format!("{} ({}:{})", t.name, t.policy, t.priority)).collect(),
        dma_latency_us: facts.and_then(|facts| facts.power.dma_latency_us).filter(|us| *us < NO_REQUEST_US),
    }
}

/// The CPUs a task ran on.
fn cpus(task: &TaskRun) -> CpuSet {
    match &task.granted {
        Some(granted) => granted.cpus.iter().copied().collect(),
        None => task.spec.cpu.into_iter().collect(),
    }
}

fn recording(summary: &Summary, task: &TaskRun, all: &mut Vec<Caveat>) {
    if let Some(records) = summary.dropped.at_least().filter(|records| *records > 0) {
        all.push(Caveat::Dropped { records });
    }
    if task.result.is_none() {
        all.push(Caveat::NotClosed);
    }
}

fn stopped(run: &RunInfo, all: &mut Vec<Caveat>) {
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

fn real_time(task: &TaskRun, all: &mut Vec<Caveat>) {
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

fn machine(task: &TaskRun, run: &RunInfo, all: &mut Vec<Caveat>) {
    let Some(facts) = &run.facts_before else { return };
    // A task of Xenomai's does not run on Linux's side, however that is preempted.
    let on_linux = !task.spec.wake.traits().core;
    match facts.kernel.preemption {
        Some(preemption) if on_linux && preemption != Preemption::RealTime => {
            all.push(Caveat::Kernel { preemption });
        }
        _ => {}
    }
    // In virtual time the host's load is in no figure; QEMU in real time has its own warning.
    if facts.virtualisation.virtual_machine == Some(true) && run.bench != Bench::Kernel {
        all.push(Caveat::VirtualMachine { hypervisor: facts.virtualisation.hypervisor.clone() });
    }
}

/// What happened to the machine while it measured this task and speaks against the figures.
fn concerns(run: &RunInfo, task: &TaskRun) -> impl Iterator<Item = Caveat> {
    let cpus = cpus(task);
    let both = run.facts_before.as_ref().zip(run.facts_after.as_ref());
    let changes = both.map_or_else(Vec::new, |(before, after)| facts::changes(before, after, &cpus));
    changes.into_iter().filter(Change::is_concern).map(|change| Caveat::Machine { change })
}

/// What rules out to conclude from this run of a task on a longer one: what happened to the machine, and lost records.
#[must_use]
pub fn machine_events(run: &RunInfo, task: &TaskRun) -> Vec<Caveat> {
    let lost = task.result.as_ref().map_or(0, |r| r.dropped);
    concerns(run, task).chain((lost > 0).then_some(Caveat::Dropped { records: lost })).collect()
}

/// Rule of three, exact: with 95 % probability an event seen never in a time t comes less often than -ln(0.05)/t. Always
/// there; it is the one thing every run leaves open.
fn length(run_ns: i64) -> Caveat {
    Caveat::Length { run_ns, unseen_every_ns: run_ns as f64 / -(0.05f64.ln()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::facts::{RealTimeThread, SystemFacts};
    use jitterlab_model::{Activation, CoreUse, Granted, TaskResult, TaskSpec, TimingStats};

    fn run(executed: u64) -> RunInfo {
        let mut run = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        run.load = jitterlab_model::Load::of(["cpu:2".parse().unwrap()]);
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
        Caveat::on(&Summary::of(&run.tasks[0], &stats), &run.tasks[0], run)
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

    #[test]
    fn other_work_than_a_load_is_named() {
        let mut run = run(1);
        run.load = jitterlab_model::Load::NONE;
        let thread = |name: &str, cpu| RealTimeThread {
            name: name.into(),
            policy: "fifo".into(),
            priority: 90,
            cpu: Some(cpu),
            ..RealTimeThread::default()
        };
        let mut facts = SystemFacts::default();
        facts.activity.load_1_min = Some(9.3);
        facts.power.dma_latency_us = Some(0);
        facts.real_time_threads = vec![thread("cyclictest", 1), thread("elsewhere", 0)];
        run.facts_before = Some(facts);
        let expected = Caveat::NoLoad {
            load_1_min: Some(9.3),
            cpus: 0,
            threads: vec!["cyclictest (fifo:90)".into()],
            dma_latency_us: Some(0),
        };
        assert!(caveats(&run).contains(&expected), "{:?}", caveats(&run));
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
