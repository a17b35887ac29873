//! System calls by their numbers on this architecture.

use jitterlab_analysis::causes::Call;
use nix::libc;

/// The filter for events of calls that leaves out those that ask for the time: a thread that looks at a clock without the
/// vDSO does nothing else a million times a second, and waits in none of them.
pub(super) fn that_matter() -> String {
    format!("id != {} && id != {}", libc::SYS_clock_gettime, libc::SYS_gettimeofday)
}

/// The system call of this number.
pub(super) fn of(number: i64) -> Call {
    match number {
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
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Call::Poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => Call::Poll,
        libc::SYS_futex => Call::Futex,
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => Call::Signal,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_pause => Call::Signal,
        libc::SYS_sched_yield => Call::Yield,
        other => Call::Other(other),
    }
}
