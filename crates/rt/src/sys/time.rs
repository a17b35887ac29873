//! Clocks and sleeping.
#![expect(unsafe_code, reason = "clock_gettime and clock_nanosleep take pointers")]

use std::mem::MaybeUninit;
use std::ptr;

use jitterlab_model::SleepClock;

use crate::system::Slept;

const NS_PER_S: i64 = 1_000_000_000;

/// `ns` as the kernel takes it.
pub(super) fn timespec(ns: i64) -> libc::timespec {
    libc::timespec { tv_sec: ns.div_euclid(NS_PER_S) as _, tv_nsec: ns.rem_euclid(NS_PER_S) as _ }
}

/// The kernel's number of a clock.
#[inline]
pub fn id_of(clock: SleepClock) -> libc::clockid_t {
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
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32 bits wide on 32-bit processors")]
    let (seconds, nanos) = (now.tv_sec as i64, now.tv_nsec as i64);
    seconds * NS_PER_S + nanos
}

/// Sleeps until `clock` shows `due_ns`, or a signal arrives.
#[inline]
pub fn sleep_until(clock: libc::clockid_t, due_ns: i64) -> Slept {
    let due = timespec(due_ns.max(0));
    sleep(clock, libc::TIMER_ABSTIME, &due)
}

/// Sleeps for `ns` of `clock`, or until a signal arrives.
#[inline]
pub fn sleep_for(clock: libc::clockid_t, ns: i64) -> Slept {
    let time = timespec(ns.max(0));
    sleep(clock, 0, &time)
}

/// The system call itself. The C library's function is a cancellation point: with several threads it does two
/// atomic operations around each sleep, the second one between waking up and reading the clock.
#[cfg(target_pointer_width = "64")]
#[inline]
fn sleep(clock: libc::clockid_t, flags: libc::c_int, time: &libc::timespec) -> Slept {
    let none = ptr::null_mut::<libc::timespec>();
    // SAFETY: `time` outlives the call and has the kernel's layout on 64-bit processors; no remaining time is
    // asked for.
    let answer = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, ptr::from_ref(time), none) };
    let interrupted =
        answer != 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
    if interrupted { Slept::Interrupted } else { Slept::ToTheEnd }
}

/// On 32-bit processors the C library knows which of two system calls and layouts the kernel has.
#[cfg(not(target_pointer_width = "64"))]
fn sleep(clock: libc::clockid_t, flags: libc::c_int, time: &libc::timespec) -> Slept {
    // SAFETY: `time` outlives the call; no remaining time is asked for.
    let answer = unsafe { libc::clock_nanosleep(clock, flags, time, ptr::null_mut()) };
    if answer == libc::EINTR { Slept::Interrupted } else { Slept::ToTheEnd }
}
