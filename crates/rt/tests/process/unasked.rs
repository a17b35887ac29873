//! Changes to the whole process are made only on request. One test, since a process has one limit.

#![expect(unsafe_code, reason = "C calls")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use jitterlab_model::Policy;
use jitterlab_rt::{Linux, PeriodicLoop, System, TaskThread, ThreadOptions};

/// RLIMIT_RTTIME in force, and whether SIGXCPU has its default action.
fn process() -> (u64, bool) {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the pointer is valid for one rlimit for the whole call.
    unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, limit.as_mut_ptr()) };
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the pointer is valid for one sigaction for the whole call; nothing is changed.
    unsafe { libc::sigaction(libc::SIGXCPU, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid, and overwritten on success.
    let limit = unsafe { limit.assume_init() };
    // SAFETY: as above.
    let action = unsafe { action.assume_init() };
    (limit.rlim_cur, action.sa_sigaction == libc::SIG_DFL)
}

#[test]
fn a_loop_leaves_the_process_as_it_was_unless_it_is_guarded() {
    let before = process();
    let every = || PeriodicLoop::every(Duration::from_millis(1)).policy(Policy::Fifo(1)).count(3);
    let mut task = every().build().unwrap();
    while task.wait().is_some() {}
    let spec = "period=1ms,policy=fifo:1".parse().unwrap();
    let options = ThreadOptions { lock_memory: false, count: Some(3), ..ThreadOptions::default() };
    let mut thread = TaskThread::spawn(&spec, &options, &Default::default()).unwrap();
    thread.start(Linux.now_ns(), None);
    thread.finish().unwrap();
    assert_eq!(process(), before);

    let _guarded = every().guarded().build().unwrap();
    let (limit_us, default) = process();
    assert!(limit_us <= 3_000_000 && !default);
}
