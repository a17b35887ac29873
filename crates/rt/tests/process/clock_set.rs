//! Somebody sets civil time while a task sleeps on it, on the real kernel. The clock is moved by a microsecond and
//! back, which the kernel announces like any other step.

#![expect(unsafe_code, reason = "setting the clock is a C call")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::mem::MaybeUninit;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jitterlab_model::TaskSpec;
use jitterlab_rt::Linux;
use jitterlab_rt::{System, Wake, task_wake_up};

/// Moves CLOCK_REALTIME; whether that was permitted.
fn move_clock(by_ns: i64) -> bool {
    // SAFETY: all fields of a timex may be zero.
    let mut change = unsafe { MaybeUninit::<libc::timex>::zeroed().assume_init() };
    change.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
    change.time.tv_sec = by_ns.div_euclid(1_000_000_000) as _;
    change.time.tv_usec = by_ns.rem_euclid(1_000_000_000) as _;
    // SAFETY: `change` outlives the call.
    unsafe { libc::adjtimex(&raw mut change) != -1 }
}

/// Moves it by a microsecond and back.
fn set_clock() -> bool {
    move_clock(1_000) && move_clock(-1_000)
}

#[test]
fn a_sleep_on_civil_time_is_told_when_that_is_set() {
    if !set_clock() {
        println!("skipped: it is not permitted to set the clock: {}", std::io::Error::last_os_error());
        return;
    }
    for text in ["clock=realtime", "clock=tai", "clock=realtime,wake=timerfd", "clock=tai,wake=timer-signal"]
    {
        let spec: TaskSpec = text.parse().unwrap();
        let (say, said) = mpsc::channel();
        let sleeper = thread::spawn(move || {
            let mut wake = task_wake_up::wake_up_of_task(&Linux, &spec).unwrap();
            say.send(()).unwrap();
            let woken = wake.wait(&Linux, Linux.now_ns() + 3_600_000_000_000).unwrap();
            (woken, wake.report())
        });
        said.recv().unwrap();
        while !sleeper.is_finished() {
            assert!(set_clock());
            thread::sleep(Duration::from_millis(1));
        }
        let (woken, report) = sleeper.join().unwrap();
        assert_eq!((woken, report.clock_steps), (Wake::Interrupted, 0), "{text}");
    }
}
