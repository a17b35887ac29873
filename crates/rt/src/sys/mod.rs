//! The operating system as safe functions. All `unsafe` of this crate is here and in [`crate::xenomai`].

pub mod clock_watch;
pub mod counter;
pub mod memory;
pub mod origin;
pub mod restartable;
pub mod sched;
pub mod signal;
pub mod time;
pub mod timer;
pub mod usage;

use std::io;

/// The result of a call that answers -1 and sets `errno` on failure.
fn check_errno(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The result of a raw `syscall`, which answers -1 and sets `errno` on failure.
fn check_errno_long(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
