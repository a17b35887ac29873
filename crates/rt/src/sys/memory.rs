//! Keeping memory where it is, so that no page fault delays the task.
#![expect(unsafe_code, reason = "C calls")]

use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;

/// Locks all memory of the process, and all it will ever map if `future` is set.
///
/// # Errors
/// The kernel's error: EPERM or ENOMEM where RLIMIT_MEMLOCK is too small.
pub fn lock_all(future: bool) -> io::Result<()> {
    let flags = if future { libc::MCL_CURRENT | libc::MCL_FUTURE } else { libc::MCL_CURRENT };
    // SAFETY: takes no pointers; changes only paging.
    super::check_errno(unsafe { libc::mlockall(flags) }).map(drop)
}

/// Returns true if any memory of this process is locked.
pub fn is_locked() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    locked.is_some_and(|kib| !kib.trim_start().starts_with("0 "))
}

/// The most memory this process may lock, `None` for no limit.
pub fn lock_limit_bytes() -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the pointer is valid for one rlimit for the whole call.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, limit.as_mut_ptr()) };
    // SAFETY: zeroed, which is a valid rlimit, and overwritten on success.
    let limit = unsafe { limit.assume_init() }.rlim_cur;
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "32-bit processors")]
    (limit != libc::RLIM_INFINITY).then_some(limit as u64)
}

/// Bytes of the stack that [`touch_stack`] makes present.
pub const STACK_TOUCHED: usize = 128 * 1024;

/// Makes the next [`STACK_TOUCHED`] bytes of this thread's stack present, so that using them cannot fault.
#[inline(never)]
pub fn touch_stack() {
    const PAGE: usize = 4096;
    let mut stack = [0u8; STACK_TOUCHED];
    for byte in stack.iter_mut().step_by(PAGE) {
        *byte = 1;
    }
    black_box(&stack);
}
