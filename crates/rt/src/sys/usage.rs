//! Resource usage of the calling thread so far.
#![expect(unsafe_code, reason = "C calls")]

use std::mem::MaybeUninit;

/// Processor time, page faults and context switches of one thread since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Processor time, user and system.
    pub cpu_time_ns: i64,
    /// Page faults served without reading from disk.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because something else was preferred.
    pub involuntary_switches: u64,
}

impl Usage {
    /// Returns the usage since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            cpu_time_ns: self.cpu_time_ns - earlier.cpu_time_ns,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }
}

/// Processor time the calling thread has used, exact (CLOCK_THREAD_CPUTIME_ID).
pub fn thread_cpu_time_ns() -> i64 {
    super::time::now_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the usage of the calling thread.
pub fn of_this_thread() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage for the whole call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroed, which is a valid rusage, and overwritten on success.
    let usage = unsafe { usage.assume_init() };
    Usage {
        cpu_time_ns: thread_cpu_time_ns(),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}
