//! Cobalt, through libcobalt.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

use jitterlab_model::{Error, Policy};

use super::core::Core;
use super::error::{self, no_core_error, no_policy_error, not_attached_error, not_initialised_error};
use super::library::{self, LoadedLibrary};
use super::try_in_child::try_in_child;
use crate::sys::signal;

/// The thread is on Linux's side.
const XNRELAX: libc::c_int = 0x80;
/// A mode switch raises SIGDEBUG.
const PTHREAD_WARNSW: libc::c_int = 0x4000;

/// `struct cobalt_threadstat` of Xenomai 3.0.5 and later.
#[repr(C)]
struct ThreadStat {
    xtime: u64,
    timeout: u64,
    mode_switches: u64,
    context_switches: u64,
    system_calls: u64,
    status: u32,
    page_faults: u32,
    cpu: i32,
    priority: i32,
    name: [u8; 32],
    personality: [u8; 32],
}

/// The functions in use; signatures as in libcobalt's headers.
#[derive(Debug)]
pub(super) struct Calls {
    init: unsafe extern "C" fn(*mut libc::c_int, *mut *const *mut libc::c_char),
    set_schedparam:
        unsafe extern "C" fn(libc::pthread_t, libc::c_int, *const libc::sched_param) -> libc::c_int,
    nanosleep: unsafe extern "C" fn(
        libc::clockid_t,
        libc::c_int,
        *const libc::timespec,
        *mut libc::timespec,
    ) -> libc::c_int,
    gettime: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int,
    set_mode: unsafe extern "C" fn(libc::c_int, libc::c_int, *mut libc::c_int) -> libc::c_int,
    set_name: unsafe extern "C" fn(libc::pthread_t, *const libc::c_char) -> libc::c_int,
    mode: unsafe extern "C" fn() -> libc::c_int,
    stat: unsafe extern "C" fn(libc::pid_t, *mut ThreadStat) -> libc::c_int,
    library: LoadedLibrary,
}

impl Calls {
    pub(super) fn prepare(root: &Path) -> Result<Self, Error> {
        let version = root.join("proc/xenomai/version");
        if fs::metadata(&version).is_err() {
            return Err(no_core_error(
                Core::Cobalt,
                "/proc/xenomai/version",
                "CONFIG_XENOMAI",
                "xenomai.state",
            ));
        }
        let calls = Self::load()?;
        // The initialisation ends the process when it does not like something, so a child goes first.
        try_in_child(|| {
            calls.initialise();
            0
        })
        .map_err(|said| {
            not_initialised_error(
                calls.library.name(),
                &said.to_string(),
                &format!("{}. {}", error::COBALT_PERMISSION, error::COBALT_MEMORY),
            )
        })?;
        calls.initialise();
        Ok(calls)
    }

    #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one for each function")]
    fn load() -> Result<Self, Error> {
        let library = library::load(Core::Cobalt, error::COBALT_RELEASE)?;
        // SAFETY: each type is the one libcobalt's headers declare for that function.
        unsafe {
            Ok(Calls {
                init: library.function("xenomai_init_dso")?,
                set_schedparam: library.function("__cobalt_pthread_setschedparam")?,
                nanosleep: library.function("__cobalt_clock_nanosleep")?,
                gettime: library.function("__cobalt_clock_gettime")?,
                set_mode: library.function("pthread_setmode_np")?,
                set_name: library.function("__cobalt_pthread_setname_np")?,
                mode: library.function("cobalt_thread_mode")?,
                stat: library.function("cobalt_thread_stat")?,
                library,
            })
        }
    }

    /// Initialises libcobalt by a command line of its own, since it takes options out of the one it gets. It
    /// may keep pointers into it.
    fn initialise(&self) {
        let program: &'static mut [libc::c_char] = Box::leak(Box::new(*b"jitterlab\0"))
            .iter()
            .map(|b| *b as libc::c_char)
            .collect::<Vec<_>>()
            .leak();
        let words: &'static mut [*mut libc::c_char] =
            Box::leak(Box::new([program.as_mut_ptr(), ptr::null_mut()]));
        let mut count = 1;
        let mut words: *const *mut libc::c_char = words.as_ptr();
        // SAFETY: a count and that many words, NULL behind them, all of which live for ever.
        unsafe { (self.init)(&raw mut count, &raw mut words) };
    }

    pub(super) fn attach(&self, policy: Policy, name: &str) -> Result<(), Error> {
        let (number, priority) = match policy {
            Policy::Fifo(priority) => (libc::SCHED_FIFO, priority),
            Policy::RoundRobin(priority) => (libc::SCHED_RR, priority),
            Policy::Other => (libc::SCHED_OTHER, 0),
            _ => return Err(no_policy_error(Core::Cobalt, policy)),
        };
        // Without this the core's warnings would end the process.
        signal::count_stage_switches()
            .map_err(|error| not_attached_error(Core::Cobalt, "sigaction", error, error::SIGACTION))?;
        let refused = |call, remedy| move |error| not_attached_error(Core::Cobalt, call, error, remedy);
        // SAFETY: an all-zero sched_param is a valid one.
        let mut parameter = unsafe { MaybeUninit::<libc::sched_param>::zeroed().assume_init() };
        parameter.sched_priority = i32::from(priority);
        // SAFETY: takes nothing.
        let this = unsafe { libc::pthread_self() };
        // SAFETY: the thread is the calling one; the parameter outlives the call.
        let answer = unsafe { (self.set_schedparam)(this, number, &raw const parameter) };
        checked_errno(answer).map_err(refused("__cobalt_pthread_setschedparam", error::COBALT_MEMORY))?;
        let name: String = name.chars().filter(|c| *c != '\0').take(31).collect();
        if let Ok(name) = CString::new(name) {
            // SAFETY: the name outlives the call. A name that is taken is no reason to stop.
            unsafe { (self.set_name)(this, name.as_ptr()) };
        }
        // SAFETY: the former mode is not asked for.
        let answer = unsafe { (self.set_mode)(0, PTHREAD_WARNSW, ptr::null_mut()) };
        checked_errno(answer).map_err(refused("pthread_setmode_np", error::REPORT))
    }

    /// CLOCK_MONOTONIC as Cobalt has it.
    #[inline]
    pub(super) fn now(&self) -> libc::timespec {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is valid for one timespec for the whole call.
        unsafe { (self.gettime)(libc::CLOCK_MONOTONIC, &raw mut now) };
        now
    }

    /// Sleeps until that clock shows `due`; the answer is an error number, 0 for none.
    #[inline]
    pub(super) fn sleep_until(&self, due: &libc::timespec) -> libc::c_int {
        // SAFETY: `due` outlives the call; no remaining time is asked for.
        unsafe { (self.nanosleep)(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, due, ptr::null_mut()) }
    }

    /// Returns true if the calling thread is on Cobalt's side. Cheap, and no mode switch by itself.
    #[inline]
    pub(super) fn in_real_time(&self) -> bool {
        // SAFETY: takes nothing.
        unsafe { (self.mode)() & XNRELAX == 0 }
    }

    /// Number of times the calling thread changed sides since it exists; `None` if libcobalt fails.
    pub(super) fn mode_switches(&self) -> Option<u64> {
        let mut stat = MaybeUninit::<ThreadStat>::zeroed();
        // SAFETY: 0 is the calling thread; the pointer is valid for one structure for the whole call.
        let answer = unsafe { (self.stat)(0, stat.as_mut_ptr()) };
        // SAFETY: all-zero is a valid value, overwritten on success.
        let stat = unsafe { stat.assume_init() };
        (answer == 0).then_some(stat.mode_switches)
    }
}

/// Converts an error number, positive as POSIX's or negative as the kernel's, to an error; 0 is none.
fn checked_errno(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer.abs())) }
}
