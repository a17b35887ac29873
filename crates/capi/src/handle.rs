//! Handles of loops and probes, as C holds them. A handle stays when its content is freed, so that a later use is an error.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use jitterlab_recording::{Error, origin};

use crate::error::{freed_error, note_error, ok_or_note, other_thread_error, panic_error, wrong_kind_error};
use crate::kind::Kind;

/// A loop or probe, and the only thread that may use it.
#[repr(C)]
pub struct Handle<T> {
    /// Kind and thread that may use it: thread 0 before the first use.
    key: AtomicUsize,
    /// Activations that another thread began.
    refused: AtomicU64,
    content: UnsafeCell<Option<Box<T>>>,
}

impl<T> Handle<T> {
    /// Makes a handle for C, which only `thread` may use, or only the first thread that uses it.
    pub(crate) fn new(kind: Kind, thread: Option<usize>, content: T) -> *mut Self {
        let key = AtomicUsize::new(thread.unwrap_or(0) | kind as usize);
        Box::into_raw(Box::new(Handle {
            key,
            refused: AtomicU64::new(0),
            content: Some(Box::new(content)).into(),
        }))
    }

    /// Returns the content of a handle, if the calling thread may use it, else notes an error; NULL has none.
    /// An activation that another thread `begins` is counted.
    ///
    /// # Safety
    /// `at` is NULL or may be read; the thread that may use the content has no other reference to it.
    #[inline]
    pub(crate) unsafe fn content<'a>(at: *mut Self, kind: Kind, begins: bool) -> Option<&'a mut T> {
        let owner = origin::thread_key() | kind as usize;
        // SAFETY: as the caller promises, where it is not NULL.
        let is_ours =
            !at.is_null() && at.is_aligned() && unsafe { &*at }.key.load(Ordering::Relaxed) == owner;
        // SAFETY: as the caller promises.
        if is_ours || unsafe { Self::claim_if_first(at, kind, owner, begins) } {
            // SAFETY: as the caller promises.
            let content = unsafe { &*at }.content.get();
            // SAFETY: only the thread whose key it is comes here.
            return unsafe { &mut *content }.as_deref_mut();
        }
        None
    }

    /// Makes the calling thread the user of an unused handle, and returns true; otherwise notes an error.
    #[cold]
    unsafe fn claim_if_first(at: *mut Self, kind: Kind, owner: usize, begins: bool) -> bool {
        // SAFETY: as the caller of `content` promises.
        let Some(handle) = (unsafe { Self::handle_at(at, kind) }) else { return false };
        match handle.key.compare_exchange(kind as usize, owner, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(key) if key == kind.freed_key() => note_error(&freed_error(kind)),
            Err(_) => {
                handle.refused.fetch_add(u64::from(begins), Ordering::Relaxed);
                note_error(&other_thread_error(kind));
            }
        }
        false
    }

    /// Returns the handle of this kind at an address; `None` for NULL and, with a noted error, for anything else.
    ///
    /// # Safety
    /// `at` is NULL or may be read.
    unsafe fn handle_at<'a>(at: *const Self, kind: Kind) -> Option<&'a Self> {
        if at.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        let handle = unsafe { kind.is_at(at) }.then(|| unsafe { &*at });
        if handle.is_none() {
            note_error(&wrong_kind_error(kind));
        }
        handle
    }

    /// Takes out the content, with the number of refused activations; `None`, noted as an error, if gone.
    /// From any thread, since the owning one may have ended.
    ///
    /// # Safety
    /// As for [`Handle::content`].
    pub(crate) unsafe fn free(at: *mut Self, kind: Kind) -> Option<(Box<T>, u64)> {
        // SAFETY: as the caller promises.
        let handle = unsafe { Self::handle_at(at, kind) }?;
        let key = kind.freed_key();
        if handle.key.swap(key, Ordering::AcqRel) == key {
            note_error(&freed_error(kind));
            return None;
        }
        // SAFETY: no thread has the key any more.
        let content = unsafe { &mut *handle.content.get() }.take();
        content.map(|content| (content, handle.refused.load(Ordering::Relaxed)))
    }
}

/// Makes a handle for C: its pointer, or NULL and a noted error.
pub(crate) fn make_handle<T>(
    kind: Kind,
    thread: Option<usize>,
    make: impl FnOnce() -> Result<T, Error>,
) -> *mut Handle<T> {
    let made = catch_panic(|| ok_or_note(make())).flatten();
    made.map_or(ptr::null_mut(), |made| Handle::new(kind, thread, made))
}

/// Runs a call; `None` if it panics, which ends here and is noted.
#[inline]
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| note_error(&panic_error())).ok()
}
