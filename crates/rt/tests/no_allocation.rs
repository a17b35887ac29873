//! The measured path allocates nothing: every way to wait runs under an allocator that counts.

#![expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use jitterlab_model::{TaskSpec, WakeMethod};
use jitterlab_rt::fitted::{Fitted, monotonic_raw, processor_counter};
use jitterlab_rt::system::{Linux, System};
use jitterlab_rt::{PeriodicLoop, Workload, record, wake};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as promised by our caller.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as promised by our caller.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocator calls of this thread while a task of this kind runs.
fn calls_while_running<S: System>(system: S, spec: &TaskSpec) -> u64 {
    let (recorder, drain) = record::ring(50);
    let wake = wake::of_task(&system, spec).unwrap();
    let mut workload = Workload::new(spec.work);
    let mut task = PeriodicLoop::every_on(system, Duration::from_nanos(spec.period_ns as u64))
        .overrun(spec.overrun)
        .wake_by(wake)
        .count(100)
        .recorder(recorder)
        .build()
        .unwrap();
    let before = CALLS.get();
    while let Some(running) = task.wait() {
        workload.run(running.system(), running.start_ns());
    }
    let calls = CALLS.get() - before;
    // Half of the records did not fit: dropping them is part of the path.
    assert_eq!((task.result().executed, task.result().dropped, drain.waiting()), (100, 50, 50), "{spec}");
    calls
}

#[test]
fn an_allocation_would_be_noticed() {
    let before = CALLS.get();
    drop(black_box(Box::new(1)));
    assert_eq!(CALLS.get() - before, 2);
}

#[test]
fn no_way_to_wait_allocates() {
    for text in [
        "wake=nanosleep",
        "wake=nanosleep,work=twente:1000,overrun=re-phase",
        "wake=nanosleep,work=spin:700us,overrun=catch-up",
        "wake=nanosleep-relative",
        "wake=timer-signal",
        "wake=timerfd",
        "wake=spin",
        "clock=realtime",
        "clock=tai,wake=timer-signal",
        "compensate=repeat:100us",
        "compensate=margin:100us",
        "compensate=late:0.1",
        "compensate=adaptive:0.1",
    ] {
        let spec: TaskSpec = format!("period=800us,{text}").parse().unwrap();
        assert_eq!(calls_while_running(Linux, &spec), 0, "{text}");
        if spec.wake != WakeMethod::Spin {
            assert_eq!(calls_while_running(Fitted::new(monotonic_raw), &spec), 0, "{text}");
            assert_eq!(calls_while_running(Fitted::new(processor_counter), &spec), 0, "{text}");
        }
    }
}
