//! Setup of a real-time thread, and the settings it really got.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jitterlab_model::{Granted, Policy, Refusal};

use crate::error::SystemRequest;
use crate::sys;

/// Requested properties of a thread. None is assumed to have worked: a refusal is reported with its remedy, and the
/// settings in force are read back.
///
/// ```
/// use jitterlab_model::Policy;
/// use jitterlab_rt::ThreadSetup;
///
/// let setup = ThreadSetup { lock_memory: false, ..ThreadSetup::new("main", Policy::Other, 1_000_000) };
/// let (granted, refused) = setup.apply();
/// assert!(refused.is_empty() && granted.policy == Policy::Other);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSetup {
    /// Name of the thread in reports, such as `task servo`.
    pub name: String,
    /// Scheduling policy.
    pub policy: Policy,
    /// T, needed for [`Policy::Deadline`].
    pub period_ns: i64,
    /// The processor it is bound to, if any.
    pub cpu: Option<u16>,
    /// True if the memory of the process is to be locked.
    pub lock_memory: bool,
    /// Time that a real-time thread may compute without once waiting before the kernel makes it an ordinary one. This
    /// lowers RLIMIT_RTTIME and installs a handler for SIGXCPU, both for the whole process; `None`, the default, leaves
    /// them alone.
    pub longest_computing: Option<Duration>,
}

/// Every processor there can be; the kernel keeps to those that exist and are allowed.
const EVERY_CPU: [u16; libc::CPU_SETSIZE as usize] = {
    let mut cpus = [0; libc::CPU_SETSIZE as usize];
    let mut cpu = 0;
    while cpu < cpus.len() {
        cpus[cpu] = cpu as u16;
        cpu += 1;
    }
    cpus
};

/// A [`ThreadSetup::longest_computing`] that no task reaches which leaves its processor to anybody.
pub const LONGEST_COMPUTING: Duration = Duration::from_secs(3);

impl ThreadSetup {
    /// A thread of this policy, bound to no processor, with memory locked.
    pub fn new(name: impl Into<String>, policy: Policy, period_ns: i64) -> Self {
        ThreadSetup {
            name: name.into(),
            policy,
            period_ns,
            cpu: None,
            lock_memory: true,
            longest_computing: None,
        }
    }

    /// Applies the setup to the calling thread, as far as the system allows.
    #[must_use]
    pub fn apply(&self) -> (Granted, Vec<Refusal>) {
        let mut collector = RefusalCollector { of: &self.name, refused: Vec::new() };
        let memory_locked =
            self.lock_memory && collector.check_granted(&SystemRequest::LockedMemory, lock_memory());
        sys::memory::touch_stack();
        collector.check_granted(&SystemRequest::TimerSlack, sys::sched::set_timer_slack_ns(1));
        if let (true, Some(limit)) = (self.policy.is_real_time(), self.longest_computing) {
            let limit_us = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
            collector.check_granted(&SystemRequest::RealTimeLimit, sys::signal::limit_real_time(limit_us));
        }
        // Bound first, so that it never runs in real time on a wrong processor. The kernel refuses to combine a
        // deadline with a processor, whichever comes second: then the policy matters more.
        if matches!(self.policy, Policy::Deadline { .. }) {
            // The kernel takes no deadline thread that may not use every processor of its scheduling domain, and
            // the processors of the caller were inherited.
            let _ = sys::sched::set_cpus(&EVERY_CPU);
            self.set_policy(&mut collector);
            self.bind_to_cpu(&mut collector);
        } else {
            self.bind_to_cpu(&mut collector);
            self.set_policy(&mut collector);
        }
        let granted = Granted {
            policy: sys::sched::policy().unwrap_or(Policy::Other),
            cpus: sys::sched::cpus().unwrap_or_default(),
            memory_locked,
            timer_slack_ns: sys::sched::timer_slack_ns(),
        };
        (granted, collector.refused)
    }

    fn set_policy(&self, collector: &mut RefusalCollector<'_>) {
        let answer = sys::sched::set_policy(self.policy, self.period_ns);
        collector.check_granted(&SystemRequest::Policy(self.policy), answer);
    }

    fn bind_to_cpu(&self, collector: &mut RefusalCollector<'_>) {
        if let Some(cpu) = self.cpu {
            let answer = sys::sched::set_cpus(&[cpu]);
            collector.check_granted(&SystemRequest::Processor { cpu, policy: self.policy }, answer);
        }
    }
}

/// Collects the refusals.
struct RefusalCollector<'a> {
    of: &'a str,
    refused: Vec<Refusal>,
}

impl RefusalCollector<'_> {
    /// Notes the request with its remedy if the answer is an error, and returns true if it was granted.
    fn check_granted(&mut self, wanted: &SystemRequest, answer: io::Result<()>) -> bool {
        let Err(error) = answer else { return true };
        self.refused.push(wanted.refusal(self.of, error.to_string(), error.raw_os_error()));
        false
    }
}

/// Locks the mapped memory and, where the limit cannot make later memory requests fail, all future memory.
///
/// Future memory is locked once for the whole process: each further call would go through all its memory again, which
/// takes a minute for a thousand tasks.
fn lock_memory() -> io::Result<()> {
    static FUTURE_LOCKED: AtomicBool = AtomicBool::new(false);
    if FUTURE_LOCKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let unlimited = sys::memory::lock_limit_bytes().is_none() || has_capability(CAP_IPC_LOCK);
    sys::memory::lock_all(unlimited)?;
    FUTURE_LOCKED.store(unlimited, Ordering::Relaxed);
    Ok(())
}

const CAP_IPC_LOCK: u32 = 14;

/// Returns true if a capability (capabilities(7)) is effective for the calling thread.
fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn an_ordinary_thread_needs_no_rights() {
        let setup =
            ThreadSetup { lock_memory: false, ..ThreadSetup::new("task a", Policy::Batch, 1_000_000) };
        let (granted, refused) = thread::spawn(move || setup.apply()).join().unwrap();
        assert_eq!((granted.policy, refused), (Policy::Batch, vec![]));
        assert_eq!(granted.timer_slack_ns, Some(1));
        assert!(!granted.cpus.is_empty());
    }

    #[test]
    fn a_deadline_is_granted_to_whoever_may_have_real_time() {
        let setup =
            |policy| ThreadSetup { lock_memory: false, ..ThreadSetup::new("task a", policy, 10_000_000) };
        let (fifo, deadline) = (setup(Policy::Fifo(1)), setup(Policy::Deadline { runtime_ns: 100_000 }));
        let may = thread::spawn(move || fifo.apply().1.is_empty()).join().unwrap();
        // Inherited by the thread below, as a bench's housekeeping processors are.
        let (granted, refused) = thread::spawn(move || {
            sys::sched::set_cpus(&[0]).unwrap();
            thread::spawn(move || deadline.apply()).join().unwrap()
        })
        .join()
        .unwrap();
        assert_eq!(matches!(granted.policy, Policy::Deadline { .. }), may, "{refused:?}");
    }

    #[test]
    fn a_processor_that_does_not_exist_is_refused_with_a_remedy() {
        for cpu in [1_000, 60_000] {
            let setup = ThreadSetup {
                cpu: Some(cpu),
                lock_memory: false,
                ..ThreadSetup::new("task a", Policy::Other, 1_000_000)
            };
            let (_, refused) = thread::spawn(move || setup.apply()).join().unwrap();
            assert_eq!(refused.len(), 1);
            assert_eq!(refused[0].what, format!("processor {cpu} for task a"));
            assert!(refused[0].remedy.contains("cpu="), "{}", refused[0].remedy);
        }
    }

    #[test]
    fn what_is_granted_or_refused_is_all_that_was_asked_for() {
        let setup = ThreadSetup::new("task a", Policy::Fifo(1), 1_000_000);
        let (granted, refused) = thread::spawn(move || setup.apply()).join().unwrap();
        let refused_policy = refused.iter().any(|r| r.what.contains("policy fifo:1"));
        assert_eq!(granted.policy == Policy::Fifo(1), !refused_policy);
        let refused_lock = refused.iter().any(|r| r.what.contains("locked memory"));
        assert_eq!(granted.memory_locked, !refused_lock);
        assert!(
            refused.iter().all(|r| !r.why.is_empty() && !r.remedy.is_empty() && !r.remedy.contains('\n'))
        );
    }
}
