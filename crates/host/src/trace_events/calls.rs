//! System calls by their numbers on this architecture.

use jitterlab_analysis::causes::Call;
use nix::libc::{self, c_long};

/// The calls that 32-bit processors have a second time, with times of 64 bits: that number, the same on each of them, and the first.
#[cfg(target_pointer_width = "32")]
const CALLS_WITH_64_BIT_TIMES: &[(c_long, c_long)] = &[
    (403, libc::SYS_clock_gettime),
    (407, libc::SYS_clock_nanosleep),
    (413, libc::SYS_pselect6),
    (414, libc::SYS_ppoll),
    (417, libc::SYS_recvmmsg),
    (419, libc::SYS_mq_timedreceive),
    (421, libc::SYS_rt_sigtimedwait),
    (422, libc::SYS_futex),
];
#[cfg(not(target_pointer_width = "32"))]
const CALLS_WITH_64_BIT_TIMES: &[(c_long, c_long)] = &[];

/// Filter for events of calls, which leaves out those that read a clock. A thread that does so without the
/// vDSO does nothing else a million times a second, and waits in none of them.
pub(super) fn filter_without_clock_readings() -> String {
    let ask = [libc::SYS_clock_gettime, libc::SYS_gettimeofday];
    let again =
        CALLS_WITH_64_BIT_TIMES.iter().filter(|(_, first)| ask.contains(first)).map(|(again, _)| *again);
    let others: Vec<String> = ask.into_iter().chain(again).map(|call| format!("id != {call}")).collect();
    others.join(" && ")
}

/// Ways to use `futex` (linux/futex.h): to wait for a value, and to take a lock whose holder inherits priority.
const WAIT: u64 = 0;
const LOCK_PI: u64 = 6;
const LOCK_PI2: u64 = 13;
/// Without the flags for a futex of one process only and for the clock of its time.
const FUTEX_OPERATION: u64 = 0x7f;
/// The C library's lock has this value while others wait for it.
const WAITED_FOR: u64 = 2;

/// Calls by which loops lose time.
const NAMES: &[(c_long, &str)] = &[
    (libc::SYS_write, "write"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_read, "read"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_close, "close"),
    (libc::SYS_lseek, "lseek"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    #[cfg(not(target_arch = "arm"))]
    (libc::SYS_mmap, "mmap"),
    #[cfg(target_arch = "arm")]
    (libc::SYS_mmap2, "mmap"),
    (libc::SYS_munmap, "munmap"),
    (libc::SYS_mremap, "mremap"),
    (libc::SYS_mprotect, "mprotect"),
    (libc::SYS_madvise, "madvise"),
    (libc::SYS_brk, "brk"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_socket, "socket"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_sched_yield, "sched_yield"),
    (libc::SYS_sched_setscheduler, "sched_setscheduler"),
    (libc::SYS_getpid, "getpid"),
    (libc::SYS_gettid, "gettid"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_exit, "exit"),
    (libc::SYS_kill, "kill"),
    (libc::SYS_tgkill, "tgkill"),
    (libc::SYS_prctl, "prctl"),
    (libc::SYS_rt_sigprocmask, "rt_sigprocmask"),
    (libc::SYS_rt_sigaction, "rt_sigaction"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_timerfd_settime, "timerfd_settime"),
    (libc::SYS_timer_settime, "timer_settime"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_getdents64, "getdents64"),
    (libc::SYS_statx, "statx"),
    (libc::SYS_execve, "execve"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_getrandom, "getrandom"),
];

/// The name of the call with this number; empty if it is not listed.
pub fn call_name(number: i64) -> String {
    #[allow(clippy::useless_conversion, reason = "32-bit processors")]
    let found = NAMES.iter().find(|(known, _)| i64::from(*known) == number);
    found.map_or_else(String::new, |(_, name)| (*name).to_owned())
}

/// Kind of the system call of this number, with its first four arguments.
pub(super) fn decode_call(number: i64, arguments: [u64; 4]) -> Call {
    match (call_of_number(number), arguments) {
        (Call::Futex, [_, way, WAITED_FOR, 0]) if way & FUTEX_OPERATION == WAIT => {
            Call::Lock { inherits: false }
        }
        (Call::Futex, [_, way, _, 0]) if matches!(way & FUTEX_OPERATION, LOCK_PI | LOCK_PI2) => {
            Call::Lock { inherits: true }
        }
        (call, _) => call,
    }
}

fn call_of_number(number: i64) -> Call {
    #[allow(clippy::unnecessary_cast, reason = "32-bit processors")]
    let call = number as c_long;
    match CALLS_WITH_64_BIT_TIMES.iter().find(|(again, _)| *again == call).map_or(call, |(_, first)| *first) {
        libc::SYS_clock_nanosleep => Call::ClockNanosleep,
        libc::SYS_nanosleep => Call::Nanosleep,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_mq_timedreceive
        | libc::SYS_ioctl => Call::Read,
        #[cfg(target_arch = "arm")]
        libc::SYS_recv => Call::Read,
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Call::Poll,
        #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
        libc::SYS_poll | libc::SYS_epoll_wait => Call::Poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => Call::Poll,
        #[cfg(target_arch = "arm")]
        libc::SYS__newselect => Call::Poll,
        libc::SYS_futex => Call::Futex,
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => Call::Signal,
        #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
        libc::SYS_pause => Call::Signal,
        libc::SYS_sched_yield => Call::Yield,
        libc::SYS_restart_syscall => Call::Restart,
        _ => Call::Other(number),
    }
}
