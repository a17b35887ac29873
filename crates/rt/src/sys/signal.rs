//! Signals: cutting a wait short, and the kernel's limit on real-time computing as a backstop.
#![expect(unsafe_code, reason = "C calls")]

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

thread_local! {
    /// Set by [`on_cpu_limit`], the SIGXCPU handler. Constant and without a destructor, so a handler may use it.
    static HELD_CPU_TOO_LONG: Cell<bool> = const { Cell::new(false) };
    /// True if the thread's purpose is to hold its processor.
    static MAY_HOLD_CPU: Cell<bool> = const { Cell::new(false) };
    static STAGE_SWITCHES: Cell<StageSwitches> = const { Cell::new(StageSwitches { count: 0, last_cause: None }) };
}

extern "C" fn on_interrupt(_signal: libc::c_int) {}

/// Handles SIGXCPU, sent to a real-time thread that computed for RLIMIT_RTTIME without once waiting. Such a
/// thread may be keeping everybody else off its processor, so it is made an ordinary thread right here.
///
/// Xenomai's cores use the same signal, under the name SIGDEBUG, for a thread that was moved to Linux's side. These
/// signals are counted.
extern "C" fn on_cpu_limit(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // The interrupted code may be just about to look at the error of its own system call.
    // SAFETY: takes nothing.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the thread's own errno, which lives as long as the thread.
    let errno = unsafe { &mut *errno };
    let before = *errno;
    // SAFETY: the kernel hands over a valid siginfo, which outlives the handler.
    let info = unsafe { &*info };
    if let Some(cause) = debug_signal_cause(info) {
        let StageSwitches { count, .. } = STAGE_SWITCHES.get();
        STAGE_SWITCHES.set(StageSwitches { count: count + 1, last_cause: Some(cause) });
        return;
    }
    if MAY_HOLD_CPU.get() {
        return;
    }
    HELD_CPU_TOO_LONG.set(true);
    let parameter = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: a plain system call, safe in a signal handler; SCHED_OTHER takes an all-zero parameter.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, parameter.as_ptr()) };
    *errno = before;
}

/// Cause in a SIGDEBUG, the low byte of a queued signal's marked value; `None` for other signals.
fn debug_signal_cause(info: &libc::siginfo_t) -> Option<u8> {
    const MARK: usize = 0xfccf_0000;
    if info.si_code != libc::SI_QUEUE {
        return None;
    }
    // SAFETY: a queued signal carries a value.
    let value = unsafe { info.si_value() }.sival_ptr as usize;
    (value & 0xffff_ff00 == MARK).then_some(value as u8)
}

/// Moves of a thread to Linux's side by a Xenomai core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageSwitches {
    /// Number of moves.
    pub count: u64,
    /// The core's number for the cause of the last time.
    pub last_cause: Option<u8>,
}

/// Returns the moves that [`count_stage_switches`] has counted for the calling thread.
pub fn stage_switches() -> StageSwitches {
    STAGE_SWITCHES.get()
}

/// Counts the SIGDEBUGs that Xenomai's cores send to a thread.
///
/// # Errors
/// The kernel's error.
pub fn count_stage_switches() -> io::Result<()> {
    install_handler(libc::SIGXCPU, on_cpu_limit as *const (), libc::SA_SIGINFO | libc::SA_RESTART)
}

/// Installs a handler. Without SA_RESTART in `flags` it makes system calls end early.
fn install_handler(signal: libc::c_int, handler: *const (), flags: libc::c_int) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is the default action with an empty mask and no flags.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = flags;
    // SAFETY: `action` outlives the call; the handlers only make calls that are safe in a signal handler, and take the
    // arguments that the flags promise them.
    super::check_errno(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) }).map(drop)
}

/// The signal that cuts a wait short. Real-time signals near the end are used by nobody else.
fn interrupt_signal() -> libc::c_int {
    libc::SIGRTMAX() - 2
}

/// The signal of timers, which is waited for and never delivered.
pub(super) fn timer_signal() -> libc::c_int {
    libc::SIGRTMAX() - 3
}

/// Keeps [`timer_signal`] from being delivered to the calling thread, so that it can be waited for.
pub(super) fn block_timer_signal() -> io::Result<libc::sigset_t> {
    // SAFETY: an all-zero sigset_t is a valid one.
    let mut set = unsafe { MaybeUninit::<libc::sigset_t>::zeroed().assume_init() };
    // SAFETY: the set outlives the call.
    super::check_errno(unsafe { libc::sigemptyset(&raw mut set) })?;
    // SAFETY: the set outlives the call; the signal number exists.
    super::check_errno(unsafe { libc::sigaddset(&raw mut set, timer_signal()) })?;
    // SAFETY: the set outlives the call; the old mask is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } {
        0 => Ok(set),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Makes [`interrupt`] cut waits short instead of ending the process.
///
/// # Errors
/// The kernel's error.
pub fn accept_interrupts() -> io::Result<()> {
    install_handler(interrupt_signal(), on_interrupt as *const (), 0)
}

/// A thread that can be interrupted from another one.
#[derive(Debug, Clone, Copy)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// The number by which the kernel and its tools know the thread.
    pub fn number(self) -> i32 {
        self.0
    }
}

/// The calling thread.
pub fn this_thread() -> ThreadId {
    // SAFETY: takes nothing.
    ThreadId(unsafe { libc::gettid() })
}

/// Cuts the wait of a thread of this process short, if it is waiting and [`accept_interrupts`] was called.
/// A thread that has ended is left in peace.
pub fn interrupt(thread: ThreadId) {
    let process = std::process::id() as libc::pid_t;
    // SAFETY: takes numbers only; tgkill checks that the thread is one of this process.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread.0, interrupt_signal()) };
}

/// Limits the time that threads of this process compute in real time without a wait to `limit_us`. One that
/// reaches it is made an ordinary thread.
///
/// # Errors
/// The kernel's error.
pub fn limit_real_time(limit_us: u64) -> io::Result<()> {
    count_stage_switches()?;
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the pointer is valid for one rlimit for the whole call.
    super::check_errno(unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, limit.as_mut_ptr()) })?;
    // SAFETY: filled in by the successful call above.
    let mut limit = unsafe { limit.assume_init() };
    limit.rlim_cur = limit.rlim_max.min(limit_us as libc::rlim_t);
    // SAFETY: `limit` outlives the call.
    super::check_errno(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) }).map(drop)
}

/// Returns true if the calling thread ever hit the limit of [`limit_real_time`].
#[inline]
pub fn held_cpu_too_long() -> bool {
    HELD_CPU_TOO_LONG.get()
}

/// Exempts the calling thread from [`limit_real_time`]: it polls on a processor of its own.
pub fn allow_holding_cpu() {
    MAY_HOLD_CPU.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a system call of the calling thread fail with EPERM (seccomp(2)); false where nothing can be forbidden.
    fn forbid(call: libc::c_long) -> bool {
        let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, k);
        let is_call = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32);
        let mut program = [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            libc::sock_filter { jf: 1, ..is_call },
            answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            answer(libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
        // SAFETY: takes numbers only.
        assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
        // SAFETY: `filter` and the program it points to outlive the call.
        let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
        assert!(set == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL));
        set == 0
    }

    #[test]
    fn the_handler_leaves_the_error_of_what_it_interrupted() {
        std::thread::spawn(|| {
            if !forbid(libc::SYS_sched_setscheduler) {
                println!("skipped: no seccomp here, as under qemu-user");
                return;
            }
            // SAFETY: an all-zero siginfo_t is a valid one.
            let mut info = unsafe { MaybeUninit::<libc::siginfo_t>::zeroed().assume_init() };
            // SAFETY: takes nothing.
            let errno = unsafe { libc::__errno_location() };
            // SAFETY: the thread's own errno.
            unsafe { *errno = libc::EAGAIN };
            on_cpu_limit(libc::SIGXCPU, &raw mut info, ptr::null_mut());
            assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN));
            assert!(held_cpu_too_long());
        })
        .join()
        .unwrap();
    }
}
