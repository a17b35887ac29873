//! Origin of an object: its process, as far as it forks, and its thread.
#![expect(unsafe_code, reason = "C calls")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Number of forks since the first call, which differs in each child of fork(2). Threads stay with the
/// parent, and so do the objects they work for.
pub fn fork_count() -> u32 {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        // SAFETY: the function only counts. Without memory for the note, children are not distinguished.
        unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
    });
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread: an address that is a multiple of 8, and no other living thread's of this process.
#[inline]
pub fn thread_key() -> usize {
    thread_pointer().addr()
}

/// Returns the address of the C library's data for the calling thread.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn thread_pointer() -> *const u8 {
    let pointer;
    // SAFETY: the first word of the thread control block is its own address (System V ABI, thread-local storage).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// Returns the address of the C library's data for the calling thread.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(super) fn thread_pointer() -> *const u8 {
    let pointer;
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags))
    };
    pointer
}

/// The C library's own name of the thread, which is an address too.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn thread_pointer() -> *const u8 {
    // SAFETY: it only answers.
    std::ptr::without_provenance((unsafe { libc::pthread_self() }) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart() {
        let here = thread_key();
        assert_eq!((here, here % 8), (thread_key(), 0));
        let there = std::thread::spawn(thread_key).join().unwrap();
        assert_ne!(here, there);
        assert_eq!(fork_count(), fork_count());
    }
}
