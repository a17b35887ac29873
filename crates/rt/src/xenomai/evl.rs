//! EVL, through libevl.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::Path;
use std::ptr;

use jitterlab_model::{Error, Policy};

use super::core::Core;
use super::error::{self, Status, no_core_error, no_policy_error, not_attached_error, not_initialised_error};
use super::library::{self, LoadedLibrary};
use super::try_in_child::try_in_child;
use crate::sys::signal;

/// Folder of the core's state, below the root.
const CONTROL: &str = "sys/devices/virtual/evl/control";
/// EVL's CLOCK_MONOTONIC.
const CLOCK_MONOTONIC: libc::c_int = -1;
/// A switch to Linux's side raises SIGDEBUG.
const T_WOSS: libc::c_int = 0x8000;

/// `struct evl_version` of libevl.
#[repr(C)]
struct Version {
    api: libc::c_int,
    /// The kernel's ABI that it is made for.
    abi: libc::c_int,
    text: *const libc::c_char,
}

/// The functions in use; signatures as in libevl's headers.
#[derive(Debug)]
pub(super) struct Calls {
    version: unsafe extern "C" fn() -> Version,
    init: unsafe extern "C" fn() -> libc::c_int,
    attach: unsafe extern "C" fn(libc::c_int, *const libc::c_char, ...) -> libc::c_int,
    detach: unsafe extern "C" fn(libc::c_int) -> libc::c_int,
    set_mode: unsafe extern "C" fn(libc::c_int, libc::c_int, *mut libc::c_int) -> libc::c_int,
    switch_oob: unsafe extern "C" fn() -> libc::c_int,
    read_clock: unsafe extern "C" fn(libc::c_int, *mut libc::timespec) -> libc::c_int,
    sleep_until: unsafe extern "C" fn(libc::c_int, *const libc::timespec) -> libc::c_int,
    /// A C `bool`: one byte of the answer counts, the rest may be anything.
    is_inband: unsafe extern "C" fn() -> bool,
    library: LoadedLibrary,
}

impl Calls {
    pub(super) fn prepare(root: &Path) -> Result<Self, Error> {
        if fs::metadata(root.join("dev/evl/control")).is_err() {
            return Err(no_core_error(Core::Evl, "/dev/evl/control", "CONFIG_EVL", "evl.state"));
        }
        let control = |file: &str| fs::read_to_string(root.join(CONTROL).join(file)).ok();
        let state = control("state").map(|state| state.trim().to_owned());
        if let Some(state) = state.filter(|state| state != "running") {
            return Err(Error::refused(format!(
                "the {} core of this kernel does not run, it is {state}: {}",
                Core::Evl,
                error::EVL_START
            )));
        }
        let calls = Self::load()?;
        let library = calls.library.name();
        // SAFETY: takes nothing.
        let wanted = unsafe { (calls.version)() }.abi;
        let abi = control("abi").and_then(|abi| abi.trim().parse::<libc::c_int>().ok());
        let failed = |said: &str| not_initialised_error(library, said, error::EVL_PERMISSION);
        // libevl answers an error number; a child goes first all the same, since initialising locks all memory.
        try_in_child(|| {
            calls.initialise().map_or_else(
                |error| {
                    eprintln!("evl_init: {error}");
                    error.raw_os_error().unwrap_or(1)
                },
                |()| 0,
            )
        })
        .map_err(|attempt| match attempt.is(Status(libc::ENOEXEC)) {
            true => Error::refused(format!(
                "{library} is made for ABI {wanted} of the EVL core, and this kernel has ABI {}",
                abi.map_or("unknown".into(), |abi| abi.to_string())
            ))
            .remedy("use the libevl that belongs to this kernel, or the kernel that belongs to it"),
            false => failed(&attempt.to_string()),
        })?;
        calls.initialise().map_err(|error| failed(&format!("evl_init: {error}")))?;
        Ok(calls)
    }

    #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one for each function")]
    fn load() -> Result<Self, Error> {
        let library = library::load(Core::Evl, error::EVL_RELEASE)?;
        // SAFETY: each type is the one libevl's headers declare for that function.
        unsafe {
            Ok(Calls {
                version: library.function("evl_get_version")?,
                init: library.function("evl_init")?,
                attach: library.function("evl_attach_thread")?,
                detach: library.function("evl_detach_thread")?,
                set_mode: library.function("evl_set_thread_mode")?,
                switch_oob: library.function("evl_switch_oob")?,
                read_clock: library.function("evl_read_clock")?,
                sleep_until: library.function("evl_sleep_until")?,
                is_inband: library.function("evl_is_inband")?,
                library,
            })
        }
    }

    fn initialise(&self) -> io::Result<()> {
        // SAFETY: takes nothing.
        checked_answer(unsafe { (self.init)() }).map(drop)
    }

    /// Attaches the calling thread to EVL with the policy it has: EVL takes SCHED_FIFO and SCHED_RR over from Linux.
    pub(super) fn attach(&self, policy: Policy, name: &str) -> Result<(), Error> {
        match policy {
            Policy::Fifo(_) | Policy::RoundRobin(_) | Policy::Other => {}
            _ => return Err(no_policy_error(Core::Evl, policy)),
        }
        // Without this the core's warnings would end the process.
        signal::count_stage_switches()
            .map_err(|error| not_attached_error(Core::Evl, "sigaction", error, error::SIGACTION))?;
        let refused = |call| move |error| not_attached_error(Core::Evl, call, error, error::EVL_PERMISSION);
        // SAFETY: takes nothing.
        let thread = unsafe { libc::gettid() };
        // A slash at the beginning would make the thread's file public. The number makes the name unique.
        let name: String =
            name.chars().filter(|c| *c != '\0').map(|c| if c == '/' { '-' } else { c }).collect();
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the format takes the text and the number given; all of them outlive the call.
        let file = unsafe { (self.attach)(0, c"%s:%d".as_ptr(), name.as_ptr(), thread) };
        let file = checked_answer(file).map_err(refused("evl_attach_thread"))?;
        // SAFETY: the file is the attached thread's; the former mode is not asked for.
        let answer = unsafe { (self.set_mode)(file, T_WOSS, ptr::null_mut()) };
        checked_answer(answer).map(drop).map_err(refused("evl_set_thread_mode"))
    }

    /// Gives the calling thread back to Linux.
    pub(super) fn detach(&self) {
        // SAFETY: takes a number. A thread that ends is detached by the core anyway.
        unsafe { (self.detach)(0) };
    }

    /// Moves the calling thread to EVL's side.
    pub(super) fn enter(&self) {
        // SAFETY: takes nothing; sleeping on EVL's clock does the same if this is refused.
        unsafe { (self.switch_oob)() };
    }

    /// CLOCK_MONOTONIC as EVL has it.
    #[inline]
    pub(super) fn now(&self) -> libc::timespec {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is valid for one timespec for the whole call.
        unsafe { (self.read_clock)(CLOCK_MONOTONIC, &raw mut now) };
        now
    }

    /// Sleeps until that clock shows `due`; the answer is a negative error number, 0 for none.
    #[inline]
    pub(super) fn sleep_until(&self, due: &libc::timespec) -> libc::c_int {
        // SAFETY: `due` outlives the call.
        unsafe { (self.sleep_until)(CLOCK_MONOTONIC, due) }
    }

    /// Returns true if the calling thread is on EVL's side.
    #[inline]
    pub(super) fn in_real_time(&self) -> bool {
        // SAFETY: takes nothing.
        unsafe { !(self.is_inband)() }
    }
}

/// Converts an answer to an error if it is negative; else returns it.
fn checked_answer(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::from_raw_os_error(-answer)) } else { Ok(answer) }
}
