//! System calls by their numbers on this architecture.

use jitterlab_analysis::causes::Call;
use nix::libc::{self, c_long};

/// The calls that 32-bit processors have a second time, with times of 64 bits: that number, the same on each of them, and the first.
#[cfg(target_pointer_width = "32")]
const AGAIN: &[(c_long, c_long)] = &[
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
const AGAIN: &[(c_long, c_long)] = &[];

/// The filter for events of calls that leaves out those that ask for the time: a thread that looks at a clock without the
/// vDSO does nothing else a million times a second, and waits in none of them.
pub(super) fn that_matter() -> String {
    let ask = [libc::SYS_clock_gettime, libc::SYS_gettimeofday];
    let again = AGAIN.iter().filter(|(_, first)| ask.contains(first)).map(|(again, _)| *again);
    let others: Vec<String> = ask.into_iter().chain(again).map(|call| format!("id != {call}")).collect();
    others.join(" && ")
}

/// The system call of this number.
pub(super) fn of(number: i64) -> Call {
    #[allow(clippy::unnecessary_cast, reason = "32-bit processors")]
    let call = number as c_long;
    match AGAIN.iter().find(|(again, _)| *again == call).map_or(call, |(_, first)| *first) {
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
        _ => Call::Other(number),
    }
}
