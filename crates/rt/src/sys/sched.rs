//! Scheduling policy, processors and timer slack of the calling thread.
#![expect(unsafe_code, reason = "C calls")]

use std::io;
use std::mem::MaybeUninit;

use jitterlab_model::Policy;

/// `struct sched_attr` of sched_setattr(2), first version; neither glibc 2.36 nor musl declares it.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Gives the calling thread a scheduling policy. `period_ns` is used by [`Policy::Deadline`] only, as its
/// period and its relative deadline.
///
/// # Errors
/// The kernel's error.
pub fn set_policy(policy: Policy, period_ns: i64) -> io::Result<()> {
    set_policy_of(0, policy, period_ns)
}

/// Sets the policy of the thread of this number; 0 is the calling one.
///
/// # Errors
/// The kernel's error.
pub fn set_policy_of(thread: i32, policy: Policy, period_ns: i64) -> io::Result<()> {
    let (number, priority) = match policy {
        Policy::Other => (libc::SCHED_OTHER, 0),
        Policy::Batch => (libc::SCHED_BATCH, 0),
        Policy::Idle => (libc::SCHED_IDLE, 0),
        Policy::Fifo(priority) => (libc::SCHED_FIFO, priority),
        Policy::RoundRobin(priority) => (libc::SCHED_RR, priority),
        Policy::Deadline { .. } => (libc::SCHED_DEADLINE, 0),
    };
    let mut attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: number as u32,
        priority: u32::from(priority),
        ..SchedAttr::default()
    };
    if let Policy::Deadline { runtime_ns } = policy {
        attr.runtime_ns = runtime_ns.max(0) as u64;
        attr.deadline_ns = period_ns.max(0) as u64;
        attr.period_ns = attr.deadline_ns;
        // Otherwise the kernel forbids the thread to start others.
        attr.flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
    }
    // SAFETY: `attr` states its own size and outlives the call.
    super::check_errno_long(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attr, 0) })
        .map(drop)
}

/// The policy the calling thread runs with.
///
/// # Errors
/// The kernel's error, or a policy this crate does not know.
pub fn policy() -> io::Result<Policy> {
    policy_of(0)
}

/// The policy the thread of this number runs with; 0 is the calling one.
///
/// # Errors
/// The kernel's error, or a policy this crate does not know.
pub fn policy_of(thread: i32) -> io::Result<Policy> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>();
    // SAFETY: the kernel writes at most `size` bytes into `attr`, which outlives the call.
    super::check_errno_long(unsafe {
        libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attr, size, 0)
    })?;
    match attr.policy as libc::c_int {
        libc::SCHED_OTHER => Ok(Policy::Other),
        libc::SCHED_BATCH => Ok(Policy::Batch),
        libc::SCHED_IDLE => Ok(Policy::Idle),
        libc::SCHED_FIFO => Ok(Policy::Fifo(attr.priority as u8)),
        libc::SCHED_RR => Ok(Policy::RoundRobin(attr.priority as u8)),
        libc::SCHED_DEADLINE => Ok(Policy::Deadline { runtime_ns: attr.runtime_ns as i64 }),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Binds the calling thread to these processors.
///
/// # Errors
/// The kernel's error; EINVAL where none of them exists or is allowed.
pub fn set_cpus(cpus: &[u16]) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    for cpu in cpus.iter().map(|cpu| usize::from(*cpu)) {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: `cpu` is below CPU_SETSIZE, so the bit lies in the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: `set` outlives the call and its size is given; 0 is the calling thread.
    super::check_errno(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }).map(drop)
}

/// The processors the calling thread may run on.
///
/// # Errors
/// The kernel's error; EINVAL on machines with more than 1024 processors.
pub fn cpus() -> io::Result<Vec<u16>> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    // SAFETY: `set` outlives the call and its size is given; 0 is the calling thread.
    super::check_errno(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) })?;
    let allowed = |cpu: &u16| {
        // SAFETY: `cpu` is below CPU_SETSIZE, so the bit lies in the set.
        unsafe { libc::CPU_ISSET(usize::from(*cpu), &set) }
    };
    Ok((0..libc::CPU_SETSIZE as u16).filter(allowed).collect())
}

/// Returns the processor the calling thread is on, read without entering the kernel where the C library can. If
/// unknown, 65535, which is none: Linux has at most 8192.
#[inline]
pub fn current_cpu() -> u16 {
    // SAFETY: takes nothing, answers -1 where it is not supported.
    (unsafe { libc::sched_getcpu() }) as u16
}

/// Sets how much later than asked the kernel may wake the calling thread (policies other, batch and idle).
///
/// # Errors
/// The kernel's error.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    // SAFETY: takes a number only.
    super::check_errno(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong) }).map(drop)
}

/// Returns the timer slack in force; real-time threads always have none, whatever this value is.
pub fn timer_slack_ns() -> Option<u64> {
    // SAFETY: takes nothing.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).ok()
}

/// Ends the job of a SCHED_DEADLINE thread: it runs again when the kernel replenishes its runtime, at its next
/// period. Nowhere else is sched_yield the right call.
#[inline]
pub fn end_deadline_job() {
    // SAFETY: takes nothing.
    unsafe { libc::sched_yield() };
}
