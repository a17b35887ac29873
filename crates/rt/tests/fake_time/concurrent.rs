//! A loop, a thread that drains its ring and one that reads its counters, all at once. Made to be run under sanitizers
//! as well: see sanitized/run.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jitterlab_model::{Activation, Flags};
use jitterlab_rt::fake::FakeSystem;
use jitterlab_rt::{PeriodicLoop, TaskCounters, record};

const T: i64 = 1_000;
const COUNT: u64 = 200_000;

/// Returns the records that the draining thread got, and the count of dropped ones.
fn run(capacity: usize, drain_slowly: bool) -> (Vec<Activation>, u64) {
    let counters = Arc::<TaskCounters>::default();
    let (recorder, mut drain) = record::ring(capacity);
    let shared = counters.clone();
    let looping = thread::spawn(move || {
        let system = FakeSystem::new(0);
        system.script_latencies((0..COUNT).map(|k| (k * 7 % 500) as i64));
        let mut task = PeriodicLoop::every_on(system, Duration::from_nanos(T as u64))
            .start_at_ns(T)
            .count(COUNT)
            .recorder(recorder)
            .counters(shared)
            .build()
            .unwrap();
        while let Some(running) = task.wait() {
            running.system().work(100);
        }
        task.result()
    });
    let draining = thread::spawn(move || {
        let mut got = Vec::new();
        while !drain.is_finished() {
            drain.pop_into(&mut got, if drain_slowly { 3 } else { usize::MAX });
            thread::yield_now();
        }
        got
    });
    let mut last = 0;
    while !looping.is_finished() {
        let now = counters.snapshot();
        assert!(now.executed >= last);
        // Whatever else is in flight: all that the counted activations left behind is there.
        if now.executed > 0 {
            assert!(now.last_end_ns >= now.executed as i64 * T && now.max_latency_ns >= now.min_latency_ns);
            assert_eq!((now.first_due_ns, now.missed), (T, 0));
        }
        last = now.executed;
        thread::yield_now();
    }
    let (got, result) = (draining.join().unwrap(), looping.join().unwrap());
    assert_eq!((result.executed, result.min_latency_ns, result.max_latency_ns), (COUNT, 0, 499));
    assert_eq!(got.len() as u64 + result.dropped, COUNT);
    (got, result.dropped)
}

#[test]
fn every_record_arrives_whole_and_in_order_or_is_counted_as_dropped() {
    check();
}

/// The test, for a program without the standard library's test harness.
pub fn check() {
    for (capacity, drain_slowly) in [(1, false), (64, true), (1 << 12, false)] {
        let (got, dropped) = run(capacity, drain_slowly);
        let mut next = 0;
        for a in &got {
            let latency = (a.index * 7 % 500) as i64;
            assert_eq!(
                (a.due_ns, a.start_ns),
                ((a.index as i64 + 1) * T, (a.index as i64 + 1) * T + latency)
            );
            assert_eq!(a.flags.contains(Flags::AFTER_GAP), a.index != next, "{a:?}");
            next = a.index + 1;
        }
        assert!(capacity > 1 || dropped > 0);
    }
}
