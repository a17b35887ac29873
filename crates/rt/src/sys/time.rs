//! Clocks and sleeping.
#![expect(unsafe_code, reason = "C calls")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use jitterlab_model::SleepClock;

use crate::system::{Sleep, Slept};

const NS_PER_S: i64 = 1_000_000_000;

/// Converts `ns` for the kernel; a time beyond the range of a 32-bit processor's C library becomes its latest one.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32-bit processors")]
pub(super) fn timespec(ns: i64) -> libc::timespec {
    let seconds = ns.div_euclid(NS_PER_S).min(libc::time_t::MAX as i64);
    libc::timespec { tv_sec: seconds as _, tv_nsec: ns.rem_euclid(NS_PER_S) as _ }
}

/// The kernel's number of a clock.
#[inline]
pub fn clock_id(clock: SleepClock) -> libc::clockid_t {
    match clock {
        SleepClock::Monotonic => libc::CLOCK_MONOTONIC,
        SleepClock::Realtime => libc::CLOCK_REALTIME,
        SleepClock::Tai => libc::CLOCK_TAI,
    }
}

/// Reads a clock. The ids used by this crate exist on every kernel it runs on; they are read through the vDSO,
/// without entering the kernel.
#[inline]
pub fn now_ns(clock: libc::clockid_t) -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is valid for one timespec for the whole call.
    unsafe { libc::clock_gettime(clock, now.as_mut_ptr()) };
    // SAFETY: zeroed, which is a valid timespec, and overwritten if the clock exists.
    let now = unsafe { now.assume_init() };
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32-bit processors")]
    let (seconds, nanos) = (now.tv_sec as i64, now.tv_nsec as i64);
    seconds * NS_PER_S + nanos
}

/// Sleeps on `clock`, or until a signal arrives. A time before the clock's zero counts as zero.
///
/// # Errors
/// The kernel's error, except that a signal arrived.
#[inline]
pub fn sleep(clock: libc::clockid_t, sleep: Sleep) -> io::Result<Slept> {
    let (flags, time) = match sleep {
        Sleep::Until(due_ns) => (libc::TIMER_ABSTIME, timespec(due_ns.max(0))),
        Sleep::For(ns) => (0, timespec(ns.max(0))),
    };
    match nanosleep(clock, flags, &time) {
        0 => Ok(Slept::ToTheEnd),
        libc::EINTR => Ok(Slept::Interrupted),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The system call itself; the answer is an error number, 0 for none. The C library's function is a cancellation
/// point: with several threads it does two atomic operations around each sleep, the second one between waking up and
/// reading the clock.
#[cfg(target_pointer_width = "64")]
#[inline]
fn nanosleep(clock: libc::clockid_t, flags: libc::c_int, time: &libc::timespec) -> libc::c_int {
    let none = ptr::null_mut::<libc::timespec>();
    // SAFETY: `time` outlives the call and has the kernel's layout on 64-bit processors; no remaining time is
    // asked for.
    let answer = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, ptr::from_ref(time), none) };
    if answer == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) }
}

/// On 32-bit processors the C library knows which of two system calls and layouts the kernel has.
#[cfg(not(target_pointer_width = "64"))]
fn nanosleep(clock: libc::clockid_t, flags: libc::c_int, time: &libc::timespec) -> libc::c_int {
    // SAFETY: `time` outlives the call; no remaining time is asked for.
    unsafe { libc::clock_nanosleep(clock, flags, time, ptr::null_mut()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_far_away_is_no_earlier_one() {
        let (far, near) = (timespec(i64::MAX / 2), timespec(-1));
        assert!(far.tv_sec > timespec(2_000_000_000 * NS_PER_S).tv_sec);
        assert_eq!((near.tv_sec, near.tv_nsec), (-1, 999_999_999));
    }

    #[test]
    fn a_sleep_that_cannot_be_is_an_error_and_not_a_due_time() {
        // The clock of processor time: a thread cannot sleep on its own.
        let error = sleep(libc::CLOCK_THREAD_CPUTIME_ID, Sleep::For(1)).unwrap_err();
        assert!(matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)), "{error}");
        assert_eq!(sleep(libc::CLOCK_MONOTONIC, Sleep::For(1)).unwrap(), Slept::ToTheEnd);
    }
}
