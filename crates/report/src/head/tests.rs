//! From a fresh start to a decision: what a CNC builder reads who measures with `run --for step-50us` and asks `stepper`.

use jitterlab_analysis::measured::{MeasuredRun, MeasuredTask};
use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::facts::{Preemption, SystemFacts};
use jitterlab_model::{
    Activation, Bench, Granted, Policy, Refusal, RunInfo, StopReason, TaskResult, TaskSpec, TimingStats,
};
use jitterlab_motion::JudgedRun;
use jitterlab_motion::stepper::{Axis, AxisOptions, Motor, StepperQuestion};

use crate::chart::Terminal;
use crate::document::{Content, Document, Extent};

const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };
const PERIOD_NS: i64 = 50_000;
const MOST_WORDS: usize = 150;

/// Ten seconds of a base thread every 50 us that is `usual_ns` late, and `worst_ns` once in a while.
fn measured(usual_ns: i64, worst_ns: i64) -> (RunInfo, TimingStats) {
    let spec = TaskSpec {
        period_ns: PERIOD_NS,
        policy: Some(Policy::Fifo(80)),
        cpu: Some(3),
        ..TaskSpec::default()
    };
    let mut run = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [spec]);
    let mut stats = TimingStats::new(PERIOD_NS);
    let (mut free_ns, mut executed, mut missed) = (0, 0, 0);
    let mut last = None::<Activation>;
    for index in 0..200_000i64 {
        let due_ns = index * PERIOD_NS;
        if due_ns + PERIOD_NS <= free_ns {
            missed += 1;
            continue;
        }
        let late_ns = if index % 40_000 == 20_000 { worst_ns } else { usual_ns + index * 7 % 1_000 };
        let start_ns = due_ns.max(free_ns) + late_ns;
        let end_ns = start_ns + 500;
        let skipped = ((start_ns - due_ns) / PERIOD_NS) as u32;
        free_ns = end_ns;
        stats.push(&Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns,
            missed: skipped,
            ..Activation::default()
        });
        executed += 1;
        last = Some(Activation { end_ns, ..Activation::default() });
    }
    run.tasks[0].granted =
        Some(Granted { policy: Policy::Fifo(80), cpus: vec![3], memory_locked: true, timer_slack_ns: None });
    run.tasks[0].result = Some(TaskResult {
        executed,
        missed,
        last_end_ns: last.map_or(0, |last| last.end_ns),
        min_latency_ns: usual_ns,
        max_latency_ns: worst_ns,
        ..TaskResult::default()
    });
    run.stop = Some(StopReason::Duration);
    let mut facts = SystemFacts::default();
    facts.kernel.preemption = Some(Preemption::RealTime);
    run.facts_before = Some(facts);
    (run, stats)
}

/// What is read: the head of the run, then the answer for the motor.
fn read((run, stats): (RunInfo, TimingStats)) -> String {
    let motor = AxisOptions {
        voltage_v: Some(36.0),
        microsteps: Some(8),
        lead_mm: Some(5.0),
        ..AxisOptions::new(Motor::of_frame(23, 1.9).unwrap())
    };
    let question = StepperQuestion::new(Axis::new(motor).unwrap(), None, None).unwrap();
    let judged = JudgedRun {
        file: "run.parquet".into(),
        task: "main".into(),
        period_ns: PERIOD_NS,
        executed: stats.executed(),
        warnings: Vec::new(),
        caveats: MeasuredTask::of(&run.tasks[0], &stats, &run).caveats,
    };
    let stepper = question.under_run(judged, &stats).unwrap();
    let run =
        MeasuredRun::new(run, &[stats], Some("run.parquet".into())).judged_for(Purpose::named("step-50us"));
    let run = Document::new(Content::Run(Box::new(run))).told(Extent::Head, TERMINAL);
    let stepper = Document::new(Content::Stepper(Box::new(stepper))).told(Extent::Answer, TERMINAL);
    let text = format!("{run}---\n{stepper}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = text.split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words: {text}");
    text
}

#[test]
fn a_good_pc() {
    insta::assert_snapshot!(read(measured(3_000, 12_000)));
}

#[test]
fn a_limited_pc() {
    insta::assert_snapshot!(read(measured(5_000, 38_000)));
}

#[test]
fn an_unfit_pc() {
    insta::assert_snapshot!(read(measured(9_000, 400_000)));
}

#[test]
fn an_unprivileged_user() {
    let (mut run, stats) = measured(60_000, 2_700_000);
    if let Some(granted) = &mut run.tasks[0].granted {
        granted.policy = Policy::Other;
    }
    run.refused = vec![Refusal {
        what: "policy fifo:80 for task main".into(),
        why: "Operation not permitted".into(),
        remedy: "sudo setcap cap_sys_nice,cap_ipc_lock+ep $(command -v jitterlab)".into(),
    }];
    insta::assert_snapshot!(read((run, stats)));
}

#[test]
fn a_virtual_machine() {
    let (mut run, stats) = measured(15_000, 6_700_000);
    let mut facts = run.facts_before.take().unwrap_or_default();
    facts.virtualisation.virtual_machine = Some(true);
    facts.virtualisation.hypervisor = Some("KVM".into());
    run.facts_before = Some(facts);
    insta::assert_snapshot!(read((run, stats)));
}
