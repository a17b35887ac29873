//! Runs, loops and probes, distinguished by the first word at C's pointers.
#![expect(unsafe_code, reason = "C hands over pointers")]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Kind of object that a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Kind {
    Run = 1,
    Loop = 2,
    Probe = 3,
}

impl Kind {
    /// These bits of a thread's address are 0.
    const MASK: usize = 7;
    /// Key of an object of this kind that was freed: no thread has it.
    pub(crate) fn freed_key(self) -> usize {
        usize::MAX & !Self::MASK | self as usize
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Loop => "loop",
            Kind::Probe => "probe",
        }
    }

    /// Returns true if an object of this kind is here, as far as this can be checked.
    ///
    /// # Safety
    /// `at` is NULL, or may be read.
    pub(crate) unsafe fn is_at<T>(self, at: *const T) -> bool {
        let key = at.cast::<AtomicUsize>();
        // SAFETY: not NULL, and as the caller promises.
        key.is_aligned()
            && unsafe { key.as_ref() }.is_some_and(|key| self.matches_key(key.load(Ordering::Relaxed)))
    }

    fn matches_key(self, key: usize) -> bool {
        key & Self::MASK == self as usize
    }
}
