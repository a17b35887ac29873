//! The periodic loop against scripted time, to the nanosecond.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jitterlab_model::{Activation, Flags, Overload, Overrun, Policy};
use jitterlab_rt::fake::FakeSystem;
use jitterlab_rt::{LoopEnd, PeriodicLoop, record};
use proptest::prelude::*;

const T: i64 = 1_000;

fn every(system: &FakeSystem) -> jitterlab_rt::Builder<FakeSystem> {
    PeriodicLoop::every_on(system.clone(), Duration::from_nanos(T as u64))
}

#[test]
fn a_stall_skips_to_the_next_due_time_on_the_grid() {
    let system = FakeSystem::new(0);
    system.script_latencies([10, 5_300, 7]);
    let (recorder, mut drain) = record::ring(16);
    let mut task = every(&system).start_at_ns(1_000).count(3).recorder(recorder).build().unwrap();
    while let Some(running) = task.wait() {
        running.system().work(2);
    }
    let mut got = Vec::new();
    drain.pop_into(&mut got, 16);
    let short = |a: &Activation| (a.index, a.due_ns, a.start_ns, a.end_ns, a.missed);
    assert_eq!(
        got.iter().map(short).collect::<Vec<_>>(),
        [(0, 1_000, 1_010, 1_012, 0), (1, 2_000, 7_300, 7_302, 5), (7, 8_000, 8_007, 8_009, 0)]
    );
    let result = task.result();
    assert_eq!((result.executed, result.missed), (3, 5));
    assert_eq!((result.min_latency_ns, result.max_latency_ns), (7, 5_300));
}

#[test]
fn offset_and_end_are_kept() {
    let system = FakeSystem::new(50);
    let mut task =
        every(&system).start_at_ns(1_000).offset(Duration::from_nanos(300)).until_ns(4_300).build().unwrap();
    let mut due = Vec::new();
    task.run(|a| {
        due.push(a.due_ns());
        std::ops::ControlFlow::<()>::Continue(())
    });
    assert_eq!(due, [1_300, 2_300, 3_300]);
}

#[test]
fn signals_neither_shorten_a_wait_nor_lose_a_due_time() {
    let system = FakeSystem::new(0);
    system.script_signals([1_200, 1_700, 2_500]);
    let mut task = every(&system).start_at_ns(1_000).count(3).build().unwrap();
    while let Some(running) = task.wait() {
        assert_eq!(running.latency_ns(), 0);
    }
    assert_eq!(task.result().executed, 3);
    assert_eq!(system.sleeps(), 6);
}

#[test]
fn a_signal_after_the_stop_ends_a_long_wait() {
    let system = FakeSystem::new(0);
    system.script_signals([1_200]);
    let stop = Arc::new(AtomicBool::new(false));
    let mut task = every(&system).start_at_ns(1_000).stop_flag(stop.clone()).build().unwrap();
    assert!(task.wait().is_some());
    stop.store(true, Ordering::Relaxed);
    assert!(task.wait().is_none());
    assert_eq!(task.result().executed, 1);
}

#[test]
fn the_limit_on_latency_stops_at_once_and_keeps_the_culprit() {
    let system = FakeSystem::new(0);
    system.script_latencies([10, 250, 10]);
    let stop = Arc::new(AtomicBool::new(false));
    let mut task = every(&system)
        .start_at_ns(1_000)
        .stop_flag(stop.clone())
        .stop_above(Duration::from_nanos(200))
        .build()
        .unwrap();
    while task.wait().is_some() {}
    assert!(stop.load(Ordering::Relaxed));
    assert!(matches!(task.end(), Some(LoopEnd::Above(a)) if (a.index, a.latency_ns()) == (1, 250)));
    assert_eq!(task.result().executed, 2);
}

#[test]
fn early_wake_ups_stay_negative() {
    let system = FakeSystem::new(0);
    system.script_latencies([-100, -20, 5]);
    let mut task = every(&system).start_at_ns(1_000).count(3).build().unwrap();
    while task.wait().is_some() {}
    let result = task.result();
    assert_eq!((result.min_latency_ns, result.max_latency_ns, result.missed), (-100, 5, 0));
}

#[test]
fn a_latency_of_exactly_the_limit_is_above_it() {
    let system = FakeSystem::new(0);
    system.script_latencies([199, 200, 10]);
    let mut task = every(&system).start_at_ns(1_000).stop_above(Duration::from_nanos(200)).build().unwrap();
    while task.wait().is_some() {}
    assert!(matches!(task.end(), Some(LoopEnd::Above(a)) if a.latency_ns() == 200));
    assert_eq!(task.result().executed, 2);
}

#[test]
fn a_sleep_that_fails_ends_the_loop_and_keeps_what_was_measured() {
    let system = FakeSystem::new(0);
    system.script_error(3_500, libc::ENOSYS);
    let (recorder, mut drain) = record::ring(16);
    let stop = Arc::new(AtomicBool::new(false));
    let mut task =
        every(&system).start_at_ns(1_000).recorder(recorder).stop_flag(stop.clone()).build().unwrap();
    while task.wait().is_some() {}
    assert!(matches!(task.end(), Some(LoopEnd::Wait(error)) if error.raw_os_error() == Some(libc::ENOSYS)));
    assert!(stop.load(Ordering::Relaxed), "other tasks of the run end too");
    let mut got = Vec::new();
    assert_eq!((drain.pop_into(&mut got, 16), task.result().executed), (3, 3));
    assert!(task.wait().is_none());
}

#[test]
fn the_reason_of_an_end_is_given() {
    let of = |build: fn(jitterlab_rt::Builder<FakeSystem>) -> jitterlab_rt::Builder<FakeSystem>| {
        let mut task = build(every(&FakeSystem::new(0)).start_at_ns(1_000)).build().unwrap();
        assert!(task.end().is_none());
        while task.wait().is_some() {}
        format!("{:?}", task.end().unwrap())
    };
    assert_eq!(of(|loops| loops.count(3)), "Count");
    assert_eq!(of(|loops| loops.until_ns(3_000)), "Until");
    assert_eq!(of(|loops| loops.stop_flag(Arc::new(AtomicBool::new(true)))), "Stopped");
}

/// Runs a millisecond task on fake time until it stops itself or a fake minute has passed.
fn overload_of(overrun: Overrun, work_ns: i64, preempted_ns: i64) -> Option<Overload> {
    guarded_overload_of(Policy::Fifo(50), overrun, work_ns, preempted_ns).0
}

/// The same under any policy, and how often the guard read the processor time.
fn guarded_overload_of(
    policy: Policy,
    overrun: Overrun,
    work_ns: i64,
    preempted_ns: i64,
) -> (Option<Overload>, u64) {
    let system = FakeSystem::new(0).with_policy(policy);
    let mut task = PeriodicLoop::every_on(system.clone(), Duration::from_millis(1))
        .overrun(overrun)
        .until_ns(60_000_000_000)
        .guarded()
        .build()
        .unwrap();
    while let Some(running) = task.wait() {
        running.system().work(work_ns);
        running.system().preempt(preempted_ns);
    }
    let overload = match task.end() {
        Some(LoopEnd::Overload(overload)) => Some(*overload),
        _ => None,
    };
    (overload, system.cpu_time_readings())
}

#[test]
fn the_guard_watches_real_time_policies_only_and_only_when_asked() {
    for policy in [Policy::Other, Policy::Batch, Policy::Idle, Policy::Deadline { runtime_ns: 900_000 }] {
        assert_eq!(guarded_overload_of(policy, Overrun::Skip, 1_500_000, 0), (None, 0), "{policy}");
    }
    assert!(guarded_overload_of(Policy::RoundRobin(1), Overrun::Skip, 1_500_000, 0).0.is_some());
    let mut task =
        PeriodicLoop::every_on(FakeSystem::new(0).with_policy(Policy::Fifo(50)), Duration::from_millis(1))
            .until_ns(10_000_000_000)
            .build()
            .unwrap();
    while let Some(running) = task.wait() {
        running.system().work(1_500_000);
    }
    assert!(matches!(task.end(), Some(LoopEnd::Until)));
}

#[test]
fn a_task_that_keeps_up_costs_the_guard_no_reading_of_processor_time() {
    assert_eq!(guarded_overload_of(Policy::Fifo(50), Overrun::Skip, 800_000, 0), (None, 0));
    // A suspicion is a reading for each window of half a second, not for each activation.
    let (overload, readings) = guarded_overload_of(Policy::Fifo(50), Overrun::Skip, 100_000, 2_000_000);
    assert!(overload.is_none() && (1..=120).contains(&readings), "{readings}");
}

#[test]
fn a_task_that_cannot_keep_up_is_stopped_and_says_why() {
    let too_long = overload_of(Overrun::Skip, 1_500_000, 0);
    assert_eq!(too_long, Some(Overload::WorkExceedsPeriod { work_ns: 1_500_000, period_ns: 1_000_000 }));
    assert!(too_long.unwrap().to_string().contains("1.50 ms"));
    let no_rest = overload_of(Overrun::CatchUp, 1_500_000, 0);
    assert!(matches!(no_rest, Some(Overload::NeverWaits { used_ns, of_ns }) if used_ns == of_ns));
    assert!(matches!(overload_of(Overrun::Skip, 980_000, 0), Some(Overload::NeverWaits { .. })));
}

#[test]
fn a_task_that_keeps_up_or_is_kept_from_it_by_others_goes_on() {
    assert_eq!(overload_of(Overrun::Skip, 900_000, 0), None);
    assert_eq!(overload_of(Overrun::Skip, 100_000, 2_000_000), None);
    assert_eq!(overload_of(Overrun::RePhase, 800_000, 1_000_000), None);
}

fn overruns() -> impl Strategy<Value = Overrun> {
    prop_oneof![Just(Overrun::Skip), Just(Overrun::CatchUp), Just(Overrun::RePhase)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Design, vocabulary: executed + missed = floor((t_end - t_0) / T) + 1.
    #[test]
    fn every_due_time_is_executed_or_missed(
        overrun in overruns(),
        script in prop::collection::vec((prop_oneof![-40i64..900, 900i64..9_000], prop_oneof![0i64..300, 0i64..5_000]), 1..60),
        capacity in 1usize..80,
        first in 0i64..10_000,
    ) {
        let system = FakeSystem::new(0);
        system.script_latencies(script.iter().map(|(late, _)| *late));
        let (recorder, mut drain) = record::ring(capacity);
        let mut task = every(&system)
            .start_at_ns(first).count(script.len() as u64).overrun(overrun).recorder(recorder)
            .build().unwrap();
        let mut works = script.iter().map(|(_, work)| *work);
        while let Some(running) = task.wait() {
            running.system().work(works.next().unwrap());
        }
        let r = task.result();
        let spanned = (r.last_end_ns - r.first_due_ns - r.phase_loss_ns).div_euclid(T) + 1;
        prop_assert_eq!((r.executed + r.missed) as i64, spanned);

        let mut got: Vec<Activation> = Vec::new();
        drain.pop_into(&mut got, usize::MAX);
        prop_assert_eq!(got.len() as u64 + r.dropped, r.executed);
        if r.dropped == 0 {
            let missed: u64 = got.iter().map(|a| u64::from(a.missed)).sum();
            prop_assert!(overrun == Overrun::CatchUp || missed == r.missed);
            prop_assert_eq!(got.iter().map(Activation::latency_ns).min(), Some(r.min_latency_ns));
            prop_assert_eq!(got.iter().map(Activation::latency_ns).max(), Some(r.max_latency_ns));
            let mut loss = 0;
            for pair in got.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                prop_assert_eq!(b.index, a.index + u64::from(a.missed) + 1);
                let shift = b.due_ns - a.due_ns - (b.index - a.index) as i64 * T;
                prop_assert_eq!(shift != 0 && !b.flags.contains(Flags::RE_PHASED), false);
                prop_assert_eq!(b.flags.contains(Flags::CAUGHT_UP), overrun == Overrun::CatchUp && b.due_ns <= a.end_ns);
                prop_assert!(b.due_ns > a.end_ns || overrun == Overrun::CatchUp);
                loss += shift;
            }
            prop_assert!(loss == r.phase_loss_ns || got.last().is_some_and(|a| a.missed > 0));
        }
    }
}
