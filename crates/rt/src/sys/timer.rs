//! Periodic timers of the kernel: as a file and as a signal.
#![expect(unsafe_code, reason = "C calls")]

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::signal::{block_timer_signal, timer_signal};
use super::time::timespec;
use crate::system::{Expired, Timer, TimerKind};

/// One timer, of either kind.
#[derive(Debug)]
pub enum SystemTimer {
    /// timerfd.
    File(File),
    /// A POSIX timer.
    Signal(SignalTimer),
}

impl SystemTimer {
    /// A timer for the calling thread, not yet armed.
    ///
    /// # Errors
    /// The kernel's error; EINVAL for a clock it has no such timer on.
    pub fn new(kind: TimerKind, clock: libc::clockid_t) -> io::Result<Self> {
        match kind {
            TimerKind::File => {
                // SAFETY: takes numbers only.
                let fd = super::check_errno(unsafe { libc::timerfd_create(clock, libc::TFD_CLOEXEC) })?;
                // SAFETY: a new descriptor that nobody else owns.
                Ok(SystemTimer::File(File::from(unsafe { OwnedFd::from_raw_fd(fd) })))
            }
            TimerKind::Signal => SignalTimer::new(clock).map(SystemTimer::Signal),
        }
    }
}

impl Timer for SystemTimer {
    fn arm(&mut self, first_ns: i64, interval_ns: i64) -> io::Result<()> {
        // A first expiry of zero would disarm the timer.
        let setting =
            libc::itimerspec { it_interval: timespec(interval_ns), it_value: timespec(first_ns.max(1)) };
        match self {
            SystemTimer::File(file) => {
                let (fd, flags) = (file.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
                // SAFETY: `setting` outlives the call; the old setting is not asked for.
                super::check_errno(unsafe {
                    libc::timerfd_settime(fd, flags, &raw const setting, ptr::null_mut())
                })
                .map(drop)
            }
            SystemTimer::Signal(timer) => timer.arm(&setting),
        }
    }

    #[inline]
    fn wait(&mut self) -> io::Result<Expired> {
        match self {
            SystemTimer::File(file) => {
                let mut count = [0; 8];
                match file.read(&mut count) {
                    Ok(8) => Ok(Expired::Times(u64::from_ne_bytes(count).max(1))),
                    Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(error) => interrupted_or_error(error),
                }
            }
            SystemTimer::Signal(timer) => timer.wait(),
        }
    }
}

/// Converts the error of a wait: a signal, and ECANCELED after civil time was set, count as interruptions.
fn interrupted_or_error(error: io::Error) -> io::Result<Expired> {
    match error.raw_os_error() {
        Some(libc::EINTR | libc::ECANCELED) => Ok(Expired::Interrupted),
        _ => Err(error),
    }
}

/// A POSIX timer that signals the thread that made it.
#[derive(Debug)]
pub struct SignalTimer {
    id: libc::timer_t,
    signals: libc::sigset_t,
    armed: bool,
}

// SAFETY: a timer id is a name given by the kernel, valid in the whole process.
unsafe impl Send for SignalTimer {}

/// The beginning of siginfo_t for a timer's signal, as sigaction(2) lays it out; libc does not name these fields.
#[repr(C)]
struct TimerSignalInfo {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    fields: TimerFields,
}

#[repr(C)]
struct TimerFields {
    timer: libc::c_int,
    overrun: libc::c_int,
    value: *mut libc::c_void,
}

const _: () = assert!(size_of::<TimerSignalInfo>() <= size_of::<libc::siginfo_t>());

impl SignalTimer {
    fn new(clock: libc::clockid_t) -> io::Result<Self> {
        let signals = block_timer_signal()?;
        // SAFETY: all fields of a sigevent may be zero.
        let mut event = unsafe { MaybeUninit::<libc::sigevent>::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = timer_signal();
        // SAFETY: takes nothing.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut id = MaybeUninit::<libc::timer_t>::zeroed();
        // SAFETY: both pointers are valid for the whole call.
        super::check_errno(unsafe { libc::timer_create(clock, &raw mut event, id.as_mut_ptr()) })?;
        // SAFETY: filled in by the successful call above.
        Ok(SignalTimer { id: unsafe { id.assume_init() }, signals, armed: false })
    }

    fn arm(&mut self, setting: &libc::itimerspec) -> io::Result<()> {
        if self.armed {
            // A signal of the former setting may be pending: stop the timer and take it away.
            self.set(&libc::itimerspec { it_interval: timespec(0), it_value: timespec(0) })?;
            let none = timespec(0);
            // SAFETY: set and time outlive the call; the signal's information is not asked for.
            while unsafe { libc::sigtimedwait(&raw const self.signals, ptr::null_mut(), &raw const none) } > 0
            {
            }
        }
        self.armed = true;
        self.set(setting)
    }

    fn set(&self, setting: &libc::itimerspec) -> io::Result<()> {
        // SAFETY: the timer exists until it is dropped; `setting` outlives the call.
        let answer = unsafe { libc::timer_settime(self.id, libc::TIMER_ABSTIME, setting, ptr::null_mut()) };
        super::check_errno(answer).map(drop)
    }

    #[inline]
    fn wait(&mut self) -> io::Result<Expired> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: set and info outlive the call.
        if unsafe { libc::sigwaitinfo(&raw const self.signals, info.as_mut_ptr()) } == -1 {
            return interrupted_or_error(io::Error::last_os_error());
        }
        // SAFETY: siginfo_t begins with these fields for the signal of a timer, and is at least as large.
        let overrun = unsafe { (*info.as_ptr().cast::<TimerSignalInfo>()).fields.overrun };
        Ok(Expired::Times(1 + u64::try_from(overrun).unwrap_or(0)))
    }
}

impl Drop for SignalTimer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and nothing uses it after this.
        unsafe { libc::timer_delete(self.id) };
    }
}
