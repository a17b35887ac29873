//! Memory that the system refuses: a sentence and an exit status instead of an abort.
#![expect(unsafe_code, reason = "an allocator hands out addresses")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_report::progress::OUT_OF_MEMORY;
use jitterlab_trace::atomic_file;

use crate::exit::Status;

/// In the standard library's words where the system has no stack for a thread's signals.
const NO_STACK: &str = "alternative stack";

/// The system's allocator; where it has no memory left, the program ends.
struct AbortingAllocator;

#[global_allocator]
static MEMORY: AbortingAllocator = AbortingAllocator;

// SAFETY: every call is passed to the system allocator, and returns its answer, or never.
unsafe impl GlobalAlloc for AbortingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        allocate_or_exit(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        allocate_or_exit(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        allocate_or_exit(|| unsafe { System.realloc(at, layout, size) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Returns the allocated address; ends the program if there is no memory.
#[inline]
fn allocate_or_exit(ask: impl FnOnce() -> *mut u8) -> *mut u8 {
    let at = if fault_injection::is_failing_allocation() { std::ptr::null_mut() } else { ask() };
    if at.is_null() {
        exit_without_memory();
    }
    at
}

/// Removes unfinished files and ends the program, by system calls alone: the thread may hold any lock. Very long file
/// names take memory themselves, and are tried once.
#[cold]
fn exit_without_memory() -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    if !ENDS.swap(true, Ordering::Relaxed) {
        atomic_file::remove_unfinished();
        // SAFETY: the text is there for good.
        unsafe { libc::write(libc::STDERR_FILENO, OUT_OF_MEMORY.as_ptr().cast(), OUT_OF_MEMORY.len()) };
    }
    // SAFETY: nothing of the program runs after it.
    unsafe { libc::_exit(Status::CouldNotMeasure as i32) }
}

/// Installs a panic hook that ends the program where a thread gets no stack for its signals.
pub fn exit_where_threads_lack_memory() {
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        if text.or(payload.downcast_ref::<&str>().copied()).is_some_and(|text| text.contains(NO_STACK)) {
            exit_without_memory();
        }
        before(panic);
    }));
}

/// In builds for tests, the allocation of this number fails.
#[cfg(debug_assertions)]
mod fault_injection {
    use std::sync::atomic::{AtomicU64, Ordering};

    const VARIABLE: &str = "JITTERLAB_FAILING_ALLOCATION";
    /// The number was not looked up yet.
    const UNKNOWN: u64 = u64::MAX;
    static LEFT: AtomicU64 = AtomicU64::new(UNKNOWN);

    /// Counts an allocation; true for the one whose number the variable names, which is to fail.
    pub(super) fn is_failing_allocation() -> bool {
        match LEFT.load(Ordering::Relaxed) {
            0 => false,
            UNKNOWN => {
                // Looking it up allocates.
                LEFT.store(0, Ordering::Relaxed);
                let number = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
                LEFT.store(number.unwrap_or(0), Ordering::Relaxed);
                false
            }
            _ => LEFT.fetch_sub(1, Ordering::Relaxed) == 1,
        }
    }
}

#[cfg(not(debug_assertions))]
mod fault_injection {
    #[inline]
    pub(super) fn is_failing_allocation() -> bool {
        false
    }
}
