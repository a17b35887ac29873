//! Notice of a change of civil time, even in the middle of a sleep.
#![expect(unsafe_code, reason = "C calls")]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::thread::{self, JoinHandle};

use super::signal::{ThreadId, interrupt};
use super::time::timespec;

/// Interrupts the sleep of one thread whenever somebody sets civil time, until it is dropped.
///
/// A thread of its own waits for a timer on CLOCK_REALTIME that the kernel cancels when that clock is set
/// (TFD_TIMER_CANCEL_ON_SET, timerfd_create(2)).
#[derive(Debug)]
pub struct ClockWatch {
    end: File,
    thread: Option<JoinHandle<()>>,
}

const STACK_BYTES: usize = 64 * 1024;

impl ClockWatch {
    /// Starts a thread that interrupts `sleeper` whenever civil time is set.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(sleeper: ThreadId) -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let timer =
            super::check_errno(unsafe { libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC) })?;
        // SAFETY: a new descriptor that nobody else owns.
        let timer = unsafe { OwnedFd::from_raw_fd(timer) };
        // SAFETY: takes numbers only.
        let end = super::check_errno(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })?;
        // SAFETY: a new descriptor that nobody else owns.
        let end = unsafe { OwnedFd::from_raw_fd(end) };
        let watched_end = end.try_clone()?;
        arm(&timer)?;
        let thread = thread::Builder::new()
            .name("clock-watch".into())
            .stack_size(STACK_BYTES)
            .spawn(move || interrupt_on_clock_set(&timer, &watched_end, sleeper))?;
        Ok(ClockWatch { end: File::from(end), thread: Some(thread) })
    }
}

impl Drop for ClockWatch {
    fn drop(&mut self) {
        let done = self.end.write_all(&1u64.to_ne_bytes()).is_ok();
        if let (true, Some(thread)) = (done, self.thread.take()) {
            // A panic of the watching thread has nothing more to say here.
            let _ = thread.join();
        }
    }
}

/// Arms the timer far in the future, to be cancelled rather than to expire.
fn arm(timer: &OwnedFd) -> io::Result<()> {
    let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(i64::MAX / 2) };
    let flags = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
    // SAFETY: `setting` outlives the call; the old setting is not asked for.
    let answer =
        unsafe { libc::timerfd_settime(timer.as_raw_fd(), flags, &raw const setting, ptr::null_mut()) };
    match super::check_errno(answer) {
        // The timer is armed; this error only repeats that it had been cancelled.
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => Ok(()),
        answer => answer.map(drop),
    }
}

fn interrupt_on_clock_set(timer: &OwnedFd, end: &OwnedFd, sleeper: ThreadId) {
    let of = |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        let mut both = [of(timer), of(end)];
        // SAFETY: the array outlives the call and its length is given.
        let ready = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
        if ready < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
            continue;
        }
        if ready <= 0 || both[1].revents != 0 || arm(timer).is_err() {
            return;
        }
        interrupt(sleeper);
    }
}
