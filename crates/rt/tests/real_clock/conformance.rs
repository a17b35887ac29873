//! Requirements on every way to wait, on scripted time and on the real clock: one suite for all wake-up methods and all
//! compensations.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_model::{Activation, Flags, Policy, SleepClock, TaskSpec, WakeMethod};
use jitterlab_rt::fake::FakeSystem;
use jitterlab_rt::system::System;
use jitterlab_rt::{
    Drain, Linux, PeriodicLoop, TaskThread, ThreadOptions, Wake, WakeUp, record, task_wake_up,
};
use proptest::prelude::*;

/// Every compensation, around several methods.
const COMPENSATED: &[&str] = &[
    "compensate=repeat:300us",
    "compensate=margin:200us",
    "compensate=late:0.1",
    "compensate=cost:9",
    "compensate=adaptive:0.1",
    "compensate=margin:200us,clock=tai",
    "compensate=repeat:300us,wake=timerfd",
    "compensate=margin:200us,wake=timerfd",
    "compensate=adaptive:0.1,wake=timer-signal",
    "compensate=margin:200us,wake=deadline,policy=deadline:1900us",
];

/// Every method of Linux, on every clock it has, and every compensation.
fn texts() -> Vec<String> {
    let methods = WakeMethod::linux_methods().flat_map(|wake| {
        let policy = if wake.traits().deadline { ",policy=deadline:1900us" } else { "" };
        wake.traits().clocks.iter().map(move |clock| format!("wake={wake},clock={clock}{policy}"))
    });
    methods.chain(COMPENSATED.iter().map(ToString::to_string)).collect()
}

const T: i64 = 2_000_000;
const READ_COST: i64 = 25;

fn way(text: &str) -> TaskSpec {
    format!("period=2ms,{text}").parse().unwrap()
}

fn ways() -> impl Iterator<Item = TaskSpec> {
    texts().into_iter().map(|text| way(&text))
}

fn fake() -> FakeSystem {
    let system = FakeSystem::new(0).with_deadline_period_ns(T);
    system.set_read_cost_ns(READ_COST);
    system
}

fn spans(spec: &TaskSpec, wanted_ns: i64) -> bool {
    // The relative sleep drifts by design: it keeps to "never early" and to nothing else.
    spec.wake == WakeMethod::NanosleepRelative || wanted_ns >= 0
}

/// Runs a task of this kind on fake time; each activation works for `work_ns`.
fn run_fake(
    system: &FakeSystem,
    spec: &TaskSpec,
    first_due_ns: Option<i64>,
    count: u64,
    work_ns: impl Fn(u64) -> i64,
) -> Vec<Activation> {
    let (recorder, mut drain) = record::ring(count as usize);
    let wake = task_wake_up::wake_up_of_task(system, spec).unwrap();
    let first_due_ns = first_due_ns.unwrap_or(system.now_ns() + T);
    let mut task = PeriodicLoop::every_on(system.clone(), Duration::from_nanos(spec.period_ns as u64))
        .with_wake_up(wake)
        .start_at_ns(first_due_ns)
        .count(count)
        .recorder(recorder)
        .build()
        .unwrap();
    while let Some(running) = task.wait() {
        running.system().work(work_ns(running.index()));
    }
    all_of(&mut drain)
}

fn all_of(drain: &mut Drain) -> Vec<Activation> {
    let mut all = Vec::new();
    drain.pop_into(&mut all, usize::MAX);
    all
}

/// Checks the properties that hold on any clock.
fn check_grid(spec: &TaskSpec, got: &[Activation]) {
    assert_eq!(got[0].index, 0, "{spec}");
    for a in got {
        assert!(a.start_ns >= a.due_ns, "{spec}: early: {a:?}");
        assert_eq!(a.due_ns, got[0].due_ns + a.index as i64 * spec.period_ns, "{spec}: off the grid: {a:?}");
        assert_eq!(i64::from(a.missed), (a.end_ns - a.due_ns) / spec.period_ns, "{spec}: {a:?}");
    }
    for pair in got.windows(2) {
        assert_eq!(pair[1].index, pair[0].index + 1 + u64::from(pair[0].missed), "{spec}");
        assert!(pair[1].start_ns >= pair[0].end_ns, "{spec}");
    }
}

#[test]
fn on_fake_time_an_undisturbed_task_starts_on_time() {
    for spec in ways() {
        let got = run_fake(&fake(), &spec, None, 50, |_| 10_000);
        check_grid(&spec, &got);
        if spans(&spec, -1) {
            continue;
        }
        // Reading the clock is all that takes time here.
        assert!(got.iter().all(|a| a.latency_ns() <= 8 * READ_COST), "{spec}: {got:?}");
    }
}

#[test]
fn on_fake_time_latency_is_neither_hidden_nor_added() {
    for spec in ways() {
        let system = fake();
        let wake = task_wake_up::wake_up_of_task(&system, &spec).unwrap();
        assert_eq!(wake.report().gravity_ns, 0, "{spec}");
        drop(wake);
        // Longer than any margin here but the longest that is chosen by itself, which the calibration sees.
        system.script_latencies(std::iter::repeat_n(700_000, 500));
        let compensated = spec.compensate.to_string();
        let got = run_fake(&system, &spec, None, 20, |_| 10_000);
        check_grid(&spec, &got);
        let late = |a: &Activation| (699_000..=701_000).contains(&a.latency_ns());
        match (spec.wake, compensated.split(':').next().unwrap()) {
            (WakeMethod::Spin, _) => assert!(got.iter().all(|a| a.latency_ns() <= 2 * READ_COST)),
            (WakeMethod::NanosleepRelative, _) => {}
            // Its periods begin with its first, late wake-up.
            (WakeMethod::Deadline, _) => assert!(got[1].latency_ns() >= 1_000_000),
            (_, "none") => assert!(got.iter().all(late), "{spec}: {got:?}"),
            (_, "margin") => {
                assert!(got.iter().all(|a| (499_000..=501_000).contains(&a.latency_ns())), "{spec}: {got:?}");
            }
            (_, "repeat") => assert!(got.iter().all(|a| a.latency_ns() <= 701_000), "{spec}"),
            _ => assert!(got.iter().all(|a| a.latency_ns() <= 8 * READ_COST), "{spec}: {got:?}"),
        }
        let polled = got.iter().any(|a| a.flags.contains(Flags::POLLED));
        assert!(!polled || compensated != "none" || spec.wake == WakeMethod::Spin, "{spec}");
    }
}

#[test]
fn on_fake_time_missed_activations_leave_no_trace_in_the_next() {
    for spec in ways() {
        let got = run_fake(&fake(), &spec, None, 20, |k| if k == 5 { 3 * T + T / 2 } else { 10_000 });
        check_grid(&spec, &got);
        if spans(&spec, -1) {
            continue;
        }
        assert_eq!((got[5].missed, got[6].index), (3, 9), "{spec}");
        assert!(got[6..].iter().all(|a| a.latency_ns() <= 8 * READ_COST), "{spec}: {got:?}");
    }
}

#[test]
fn on_fake_time_signals_change_nothing() {
    for spec in ways() {
        let system = fake();
        let undisturbed = run_fake(&fake(), &spec, Some(1_000_000_000), 30, |_| 10_000);
        system.script_signals((0..100).map(|k| 999_000_000 + k * 777_000));
        let got = run_fake(&system, &spec, Some(1_000_000_000), 30, |_| 10_000);
        check_grid(&spec, &got);
        let close = |(a, b): (&Activation, &Activation)| {
            a.index == b.index && (a.start_ns - b.start_ns).abs() <= 100 * READ_COST
        };
        assert!(got.iter().zip(&undisturbed).all(close), "{spec}");
    }
}

#[test]
fn on_fake_time_offsets_and_long_periods_are_kept() {
    const HOUR: i64 = 3_600_000_000_000;
    for text in texts().iter().filter(|text| !text.contains("spin") && !text.contains("repeat")) {
        let spec: TaskSpec = format!("period=1h,{text}").parse().unwrap();
        let system = FakeSystem::new(0).with_deadline_period_ns(HOUR);
        // Coarse, or a margin of half an hour would be polled for in billions of steps.
        system.set_read_cost_ns(1_000_000);
        let got = run_fake(&system, &spec, Some(3 * HOUR + 7), 4, |_| 1_000);
        assert_eq!(got[0].due_ns, 3 * HOUR + 7);
        check_grid(&spec, &got);
        assert!(spans(&spec, -1) || got.iter().all(|a| a.latency_ns() <= 10_000_000), "{spec}: {got:?}");
    }
}

#[test]
fn on_fake_time_a_set_clock_is_survived_and_counted() {
    const SET: i64 = 1_005_300_000;
    for text in texts().iter().filter(|text| !way(text).wake.traits().drifts) {
        if way(text).clock == SleepClock::Monotonic {
            continue;
        }
        for by_ns in [-3_600_000_000_000, -1_500_000, 1_500_000, 3_600_000_000_000] {
            let spec = way(text);
            let system = fake();
            let wake = task_wake_up::wake_up_of_task(&system, &spec).unwrap();
            system.script_clock_set(SET, by_ns);
            let mut task = PeriodicLoop::every_on(system, Duration::from_nanos(T as u64))
                .with_wake_up(wake)
                .start_at_ns(1_000_000_000)
                .count(10)
                .build()
                .unwrap();
            while let Some(running) = task.wait() {
                let late = running.latency_ns();
                assert!((0..=8 * READ_COST).contains(&late), "{text} by {by_ns}: {late}");
            }
            let result = task.result();
            assert_eq!((result.clock_steps, result.missed), (1, 0), "{text} by {by_ns}");
            assert!((result.clock_moved_ns - by_ns).abs() <= 4 * READ_COST, "{text} by {by_ns}");
        }
    }
}

/// Waits on and on through interruptions.
fn wait_through<S: System>(wake: &mut dyn WakeUp<S>, system: &S, due_ns: i64) -> Wake {
    loop {
        match wake.wait(system, due_ns).unwrap() {
            Wake::Interrupted => {}
            wake => return wake,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_fake_time_no_wait_ends_early_whatever_it_is_asked_for(
        which in 0..texts().len(),
        steps in prop::collection::vec((-300_000i64..5_000_000, 0i64..400_000), 1..40),
        signals in prop::collection::vec(0i64..100_000_000, 0..10),
    ) {
        let spec = way(&texts()[which]);
        let system = fake();
        let mut wake = task_wake_up::wake_up_of_task(&system, &spec).unwrap();
        let begin = system.now_ns();
        system.script_signals(signals.iter().map(|at| begin + at));
        system.script_latencies(steps.iter().map(|(_, late)| *late));
        for (step, _) in &steps {
            // The relative sleep is made for due times that are one period apart, and no other.
            let step = if spec.wake == WakeMethod::NanosleepRelative { T.min(*step) } else { *step };
            let before = system.now_ns();
            let due = before + step;
            let wake = wait_through(&mut *wake, &system, due);
            let after = system.now_ns();
            prop_assert!(after >= due, "{spec}: {due} {after}");
            if let Wake::Read(arrival) = wake {
                prop_assert!(arrival.arrived_ns <= arrival.now_ns && arrival.now_ns >= due && arrival.now_ns <= after);
                prop_assert!(arrival.longest_hole_ns <= arrival.now_ns - arrival.arrived_ns);
            }
            let held_back = matches!(spec.wake, WakeMethod::NanosleepRelative | WakeMethod::Deadline);
            if due <= before && !held_back && spec.compensate.to_string() == "none" {
                let slept = after - before;
                prop_assert!(slept <= 400_000 + 10 * READ_COST, "{spec}: slept {slept} for a due time that had passed");
            }
        }
    }
}

/// Starts a task of this kind on the real clock; `None` if the system refuses its way to wait.
fn start_real(spec: &TaskSpec, count: Option<u64>, stop: &Arc<AtomicBool>) -> Option<TaskThread> {
    let policy = spec.policy.unwrap_or(Policy::Other);
    let spec = TaskSpec { policy: Some(policy), ..spec.clone() };
    let options = ThreadOptions { lock_memory: false, ring: 4_096, count, ..ThreadOptions::default() };
    let task = TaskThread::spawn(&spec, &options, stop).unwrap();
    if task.refused().iter().any(|r| r.what.contains("policy") || r.what.contains("wake=")) {
        println!("skipped: not permitted here: {spec}: {:?}", task.refused());
        assert!(task.refused().iter().all(|r| !r.remedy.is_empty()));
        return None;
    }
    Some(task)
}

/// Runs a task of this kind on the real clock from an offset of half a period on.
fn run_real(spec: &TaskSpec, count: u64, meanwhile: impl FnOnce(&TaskThread)) {
    let stop = Arc::new(AtomicBool::new(false));
    let spec = TaskSpec { offset_ns: T / 2, ..spec.clone() };
    let Some(mut task) = start_real(&spec, Some(count), &stop) else { return };
    let mut drain = task.take_drain().unwrap();
    let epoch = Linux.now_ns() + T;
    task.start(epoch, None);
    meanwhile(&task);
    let ended = task.finish().unwrap();
    let got = all_of(&mut drain);
    assert_eq!((got.len() as u64, got[0].due_ns), (count, epoch + T / 2), "{spec}");
    check_grid(&spec, &got);
    let r = ended.result;
    assert_eq!((r.executed + r.missed) as i64, (r.last_end_ns - r.first_due_ns) / T + 1, "{spec}");
    let polled = got.iter().any(|a| a.flags.contains(Flags::POLLED));
    assert_eq!(polled, r.polled_ns > 0, "{spec}");
    let polls = spec.wake == WakeMethod::Spin || spec.compensate.to_string() != "none";
    assert!(polls || !polled, "{spec}");
    assert_eq!((r.clock_steps, r.clock_moved_ns), (0, 0), "{spec}");
    let chosen = ["margin", "late", "cost", "adaptive"];
    let has_margin = chosen.iter().any(|kind| spec.compensate.to_string().starts_with(kind));
    assert_eq!(r.margin.is_some_and(|m| !m.course.is_empty()), has_margin, "{spec}");
}

#[test]
fn on_the_real_clock_every_way_keeps_the_grid() {
    ways().for_each(|spec| run_real(&spec, 30, |_| {}));
}

#[test]
fn on_the_real_clock_missed_activations_leave_no_trace_in_the_next() {
    // Every activation takes longer than its period: every wait begins on a grid that was skipped along.
    for spec in ways().filter(|spec| spec.wake != WakeMethod::Deadline) {
        run_real(&TaskSpec { work: "twente:400000".parse().unwrap(), ..spec }, 8, |_| {});
    }
}

#[test]
fn on_the_real_clock_signals_change_nothing() {
    for spec in ways() {
        run_real(&spec, 30, |task| {
            while !task.is_finished() {
                task.interrupt();
                thread::sleep(Duration::from_micros(300));
            }
        });
    }
}

#[test]
fn on_the_real_clock_an_hourly_task_stops_when_told() {
    for text in
        texts().iter().filter(|text| !["late", "cost", "adaptive"].iter().any(|kind| text.contains(kind)))
    {
        let spec: TaskSpec = format!("period=1h,{text}").parse().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        // SCHED_DEADLINE knows no period of an hour, and refuses it.
        let Some(mut task) = start_real(&spec, None, &stop) else { continue };
        task.start(Linux.now_ns(), None);
        while task.counters().snapshot().executed == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(task.finish().unwrap().result.executed, 1, "{spec}");
    }
}
