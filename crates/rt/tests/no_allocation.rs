//! The measured path allocates nothing: every way to wait runs under an allocator that counts, once as a loop is by
//! default and once as the bench runs a task: on a thread of its own, guarded.

#![expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jitterlab_model::{Policy, TaskSpec, WakeMethod};
use jitterlab_rt::fitted::{FittedClock, monotonic_raw, processor_counter};
use jitterlab_rt::{Linux, OwnWork, PeriodicLoop, System, TaskThread, ThreadOptions, Workload, record};

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
    let mut workload = Workload::new(spec.work);
    let mut task = PeriodicLoop::from_spec(system, spec).count(100).recorder(recorder).build().unwrap();
    let before = CALLS.get();
    while let Some(running) = task.wait() {
        workload.run(running.system(), running.start_ns());
    }
    let calls = CALLS.get() - before;
    // Half of the records did not fit: dropping them is part of the path.
    assert_eq!((task.result().executed, task.result().dropped, drain.waiting()), (100, 50, 50), "{spec}");
    calls
}

/// Writes down how often its thread called the allocator since its first activation.
struct Watched {
    before: Option<u64>,
    calls: Arc<AtomicU64>,
}

impl OwnWork for Watched {
    fn activate(&mut self, _: i64, _: i64, _: &dyn Fn() -> i64) {
        let before = *self.before.get_or_insert(CALLS.get());
        self.calls.store(CALLS.get() - before, Ordering::Relaxed);
    }
}

/// The same of a thread as the bench makes it.
fn calls_on_a_thread(spec: &TaskSpec) -> u64 {
    let calls = Arc::new(AtomicU64::new(u64::MAX));
    let watched = Box::new(Watched { before: None, calls: calls.clone() });
    let policy = if spec.wake.traits().polls { Policy::Other } else { Policy::Fifo(1) };
    let spec = TaskSpec { policy: spec.policy.or(Some(policy)), ..spec.clone() };
    let options = ThreadOptions {
        lock_memory: false,
        ring: 50,
        count: Some(1_000),
        guarded: true,
        ..ThreadOptions::default()
    };
    let mut task = TaskThread::spawn_with(&spec, &options, &Default::default(), Some(watched)).unwrap();
    task.start(Linux.now_ns(), None);
    assert_eq!(task.finish().unwrap().result.executed, 1_000, "{spec}");
    calls.load(Ordering::Relaxed)
}

#[test]
fn an_allocation_would_be_noticed() {
    let before = CALLS.get();
    drop(black_box(Box::new(1)));
    assert_eq!(CALLS.get() - before, 2);
}

#[test]
fn no_way_to_wait_allocates() {
    let methods = WakeMethod::linux_methods().filter(|wake| !wake.traits().deadline);
    let methods = methods.map(|wake| format!("wake={wake}"));
    let others = [
        "wake=nanosleep,work=twente:1000,overrun=re-phase",
        "wake=nanosleep,work=spin:700us,overrun=catch-up",
        "clock=realtime",
        "clock=tai,wake=timer-signal",
        "compensate=repeat:100us",
        "compensate=margin:100us",
        "compensate=late:0.1",
        "compensate=adaptive:0.1",
    ];
    for text in methods.chain(others.map(String::from)) {
        let spec: TaskSpec = format!("period=800us,{text}").parse().unwrap();
        assert_eq!(calls_while_running(Linux, &spec), 0, "{text}");
        if !text.contains("work=") {
            assert_eq!(calls_on_a_thread(&spec), 0, "{text} on a thread");
        }
        if !spec.wake.traits().polls {
            assert_eq!(calls_while_running(FittedClock::new(monotonic_raw), &spec), 0, "{text}");
            assert_eq!(calls_while_running(FittedClock::new(processor_counter), &spec), 0, "{text}");
        }
    }
}
