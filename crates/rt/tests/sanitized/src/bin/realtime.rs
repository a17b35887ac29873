//! The measured loop under RealtimeSanitizer, which ends a program whose real-time part allocates, locks or makes a call that
//! may block: everything from one wake-up to the next, but the wait. With an argument the work of the loop allocates, so that
//! the end can be seen.

use std::hint::black_box;
use std::io;
use std::time::Duration;

use jitterlab_rt::wake::Nanosleep;
use jitterlab_rt::{Linux, PeriodicLoop, Wake, WakeUp, record};

unsafe extern "C" {
    safe fn __rtsan_realtime_enter();
    safe fn __rtsan_realtime_exit();
    safe fn __rtsan_disable();
    safe fn __rtsan_enable();
}

/// The one call that is meant to block.
struct Waiting(Nanosleep);

impl WakeUp<Linux> for Waiting {
    fn wait(&mut self, system: &Linux, due_ns: i64) -> io::Result<Wake> {
        __rtsan_disable();
        let woken = self.0.wait(system, due_ns);
        __rtsan_enable();
        woken
    }
}

fn main() {
    let allocates = std::env::args().len() > 1;
    // Smaller than the number of records, so that it is full, too.
    let (recorder, mut drain) = record::ring(1 << 10);
    let mut task = PeriodicLoop::every(Duration::from_micros(200))
        .with_wake_up(Box::new(Waiting(Nanosleep::default())))
        .count(2_000)
        .recorder(recorder)
        .guarded()
        .build()
        .expect("a loop");
    __rtsan_realtime_enter();
    while let Some(running) = task.wait() {
        if allocates {
            drop(black_box(Box::new(running.index())));
        }
    }
    __rtsan_realtime_exit();
    let (result, mut recorded) = (task.result(), Vec::new());
    drain.pop_into(&mut recorded, usize::MAX);
    assert_eq!(result.executed, 2_000);
    assert_eq!(recorded.len() as u64 + result.dropped, 2_000);
    assert!(result.dropped > 0);
}
