//! Handles of loops and probes, as C holds them. A handle stays when its content is freed, so that a later use is an error.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use jitterlab_recording::{Error, origin};

use crate::error::{broken, elsewhere, freed, not_one, note, noted};
use crate::kind::Kind;

/// A loop or probe, and the only thread that may use it.
#[repr(C)]
pub struct Handle<T> {
    /// Its kind, and the thread: 0 before the first that uses it.
    key: AtomicUsize,
    /// Activations that another thread began.
    refused: AtomicU64,
    held: UnsafeCell<Option<Box<T>>>,
}

impl<T> Handle<T> {
    /// For C, of this thread, or of the first that uses it.
    pub(crate) fn new(kind: Kind, thread: Option<usize>, held: T) -> *mut Self {
        let key = AtomicUsize::new(thread.unwrap_or(0) | kind as usize);
        Box::into_raw(Box::new(Handle { key, refused: AtomicU64::new(0), held: Some(Box::new(held)).into() }))
    }

    /// The content of a handle of this kind and of the calling thread; NULL has none. An activation that another thread `begins`
    /// is counted.
    ///
    /// # Safety
    /// `at` is NULL or may be read; the thread that may use the content has no other reference to it.
    #[inline]
    pub(crate) unsafe fn held<'a>(at: *mut Self, kind: Kind, begins: bool) -> Option<&'a mut T> {
        let owner = origin::thread() | kind as usize;
        // SAFETY: as the caller promises, where it is not NULL.
        let is_ours =
            !at.is_null() && at.is_aligned() && unsafe { &*at }.key.load(Ordering::Relaxed) == owner;
        // SAFETY: as the caller promises.
        if is_ours || unsafe { Self::is_first(at, kind, owner, begins) } {
            // SAFETY: as the caller promises.
            let held = unsafe { &*at }.held.get();
            // SAFETY: only the thread whose key it is comes here.
            return unsafe { &mut *held }.as_deref_mut();
        }
        None
    }

    /// Returns true if the calling thread is the first; otherwise notes the reason why it may not use the content.
    #[cold]
    unsafe fn is_first(at: *mut Self, kind: Kind, owner: usize, begins: bool) -> bool {
        // SAFETY: as the caller of `held` promises.
        let Some(handle) = (unsafe { Self::of_kind(at, kind) }) else { return false };
        match handle.key.compare_exchange(kind as usize, owner, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(key) if key == kind.freed() => note(&freed(kind)),
            Err(_) => {
                handle.refused.fetch_add(u64::from(begins), Ordering::Relaxed);
                note(&elsewhere(kind));
            }
        }
        false
    }

    /// The handle of this kind at an address; NULL is none, and anything else is a note.
    ///
    /// # Safety
    /// `at` is NULL or may be read.
    unsafe fn of_kind<'a>(at: *const Self, kind: Kind) -> Option<&'a Self> {
        if at.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        let handle = unsafe { kind.is_at(at) }.then(|| unsafe { &*at });
        if handle.is_none() {
            note(&not_one(kind));
        }
        handle
    }

    /// Takes out the content, with the number of refused activations; from any thread, since the owning one may have
    /// ended.
    ///
    /// # Safety
    /// As for [`Handle::held`].
    pub(crate) unsafe fn free(at: *mut Self, kind: Kind) -> Option<(Box<T>, u64)> {
        // SAFETY: as the caller promises.
        let handle = unsafe { Self::of_kind(at, kind) }?;
        let key = kind.freed();
        if handle.key.swap(key, Ordering::AcqRel) == key {
            note(&freed(kind));
            return None;
        }
        // SAFETY: no thread has the key any more.
        let held = unsafe { &mut *handle.held.get() }.take();
        held.map(|held| (held, handle.refused.load(Ordering::Relaxed)))
    }
}

/// The pointer to a new handle, or NULL and a note.
pub(crate) fn made<T>(
    kind: Kind,
    thread: Option<usize>,
    make: impl FnOnce() -> Result<T, Error>,
) -> *mut Handle<T> {
    let made = caught(|| noted(make())).flatten();
    made.map_or(ptr::null_mut(), |made| Handle::new(kind, thread, made))
}

/// Runs a call; a panic ends here, and is noted.
#[inline]
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| note(&broken())).ok()
}
