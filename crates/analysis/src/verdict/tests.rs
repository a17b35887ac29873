use super::*;
use jitterlab_model::facts::SystemFacts;
use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{Activation, CoreUse, Granted, Keep, Policy, TaskResult, TaskSpec, TimingStats};

fn run(latencies_ns: &[i64], missed: u32) -> RunInfo {
    let result = TaskResult {
        executed: latencies_ns.len() as u64,
        missed: missed.into(),
        last_end_ns: (latencies_ns.len() as i64 + i64::from(missed)) * 1_000_000,
        ..TaskResult::default()
    };
    let granted =
        Granted { policy: Policy::Fifo(90), cpus: vec![1], memory_locked: true, timer_slack_ns: None };
    let task = TaskRun { granted: Some(granted), result: Some(result), ..TaskRun::new(TaskSpec::default()) };
    RunInfo {
        format: FORMAT_VERSION,
        tool: "jitterlab".into(),
        command: vec![],
        bench: jitterlab_model::Bench::Host,
        started: String::new(),
        clock: "CLOCK_MONOTONIC".into(),
        duration_ns: None,
        count: None,
        stop_above_ns: None,
        keep: Keep::All,
        load: jitterlab_model::Load::of(["cpu:2".parse().unwrap()]),
        loads: Vec::new(),
        placement: None,
        tasks: vec![task],
        refused: vec![],
        warnings: vec![],
        stop: Some(StopReason::Duration),
        facts_before: None,
        facts_after: None,
    }
}

fn verdict(run: &RunInfo, latencies_ns: &[i64]) -> Verdict {
    let mut stats = TimingStats::new(1_000_000);
    for (k, latency_ns) in latencies_ns.iter().enumerate() {
        let due_ns = k as i64 * 1_000_000;
        let start_ns = due_ns + latency_ns;
        stats.push(&Activation { due_ns, start_ns, end_ns: start_ns, ..Activation::default() });
    }
    Verdict::on(&Summary::of(&run.tasks[0], &stats), &run.tasks[0], run)
}

fn ids(verdict: &Verdict) -> Vec<&str> {
    verdict.caveats.iter().map(|c| c.id.as_str()).collect()
}

#[test]
fn a_good_run_says_what_it_rests_on_and_how_long_it_was() {
    let latencies = [2_000, 3_000, 2_000, 81_000];
    let found = verdict(&run(&latencies, 0), &latencies);
    assert_eq!(
        found.to_string(),
        "Task main served all of its 4 due times in 4 ms; at worst it started 81 us late, 8.1 % of its period \
         of 1ms, half within 2.01 us. Its periods were between 1 us shorter and 79 us longer than asked. In \
         4 ms an event that comes every 1.34 ms or less often may not have shown."
    );
    assert_eq!(ids(&found), ["length"]);
}

#[test]
fn missed_due_times_come_first() {
    let found = verdict(&run(&[5_300_000], 5), &[5_300_000]);
    assert!(found.statement.contains("MISSED 5 of its 6 due times"), "{found}");
    assert!(found.statement.contains("5.3 times its period"), "{found}");
}

#[test]
fn what_was_not_tested_or_not_granted_is_told() {
    let mut run = run(&[1_000], 0);
    run.load = jitterlab_model::Load::NONE;
    run.stop = Some(StopReason::Overloaded { task: 0, overload: jitterlab_model::Overload::HeldCpu });
    if let Some(granted) = &mut run.tasks[0].granted {
        (granted.policy, granted.memory_locked) = (Policy::Other, false);
    }
    let mut facts = SystemFacts::default();
    facts.kernel.preemption = Some(Preemption::Voluntary);
    facts.virtualisation.virtual_machine = Some(true);
    run.facts_before = Some(facts);
    let found = verdict(&run, &[1_000]);
    let all = [
        "overloaded",
        "not-real-time",
        "memory-not-locked",
        "kernel",
        "virtual-machine",
        "no-load",
        "length",
    ];
    assert_eq!(ids(&found), all);
}

#[test]
fn a_task_that_never_ran_has_no_figures() {
    let found = verdict(&run(&[], 0), &[]);
    assert_eq!(found.statement, "Task main never ran: nothing was measured.");
}

#[test]
fn early_wake_ups_are_told_as_such() {
    let found = verdict(&run(&[-4_000, -1_000], 0), &[-4_000, -1_000]);
    assert!(found.statement.contains("at the latest 1 us early"), "{found}");
}

#[test]
fn a_small_share_is_never_nothing() {
    let of = |share| percent(share);
    assert_eq!((of(0.081), of(0.25), of(0.0012)), ("8.1 %".into(), "25 %".into(), "0.12 %".into()));
    assert_eq!(
        (of(1e-5), of(1e-7), of(0.9999)),
        ("0.0010 %".into(), "less than 0.001 %".into(), "more than 99.9 %".into())
    );
}

#[test]
fn activations_outside_a_cores_real_time_mode_are_named() {
    let latencies = [-100, 59_000];
    let mut run = run(&latencies, 0);
    assert!(!ids(&verdict(&run, &latencies)).contains(&"outside-core"));
    let core = CoreUse {
        core: "cobalt".into(),
        outside: 1,
        last_cause: Some("a system call".into()),
        ..CoreUse::default()
    };
    run.tasks[0].result.as_mut().unwrap().core = Some(core);
    let found = verdict(&run, &latencies);
    let caveat = found.caveats.iter().find(|c| c.id == "outside-core").unwrap();
    assert!(
        caveat.text.contains("1 activations") && caveat.text.contains("a system call"),
        "{}",
        caveat.text
    );
}
