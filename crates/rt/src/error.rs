//! Errors and their remedies: requests that the system refuses, and how to get them granted.

use std::env;
use std::fmt;
use std::fs;
use std::io;

use jitterlab_model::{CpuSet, Error, Policy, Refusal, SleepClock, WakeMethod};

use crate::sys;

/// Error for a system that refuses a thread.
pub fn no_thread_error(cause: io::Error) -> Error {
    Error::refused("no thread")
        .because(cause)
        .remedy("is a limit on processes or memory in the way (ulimit -u, -l)?")
}

/// Error for a task's thread that ended by a panic.
pub fn thread_panic_error() -> Error {
    Error::not_measured("the task's thread broke down")
}

/// Something a thread asks the system for and may be refused.
#[derive(Debug)]
pub(crate) enum SystemRequest {
    LockedMemory,
    TimerSlack,
    RealTimeLimit,
    Policy(Policy),
    Processor { cpu: u16, policy: Policy },
    WakeUp(WakeMethod, SleepClock),
    Counter,
}

impl fmt::Display for SystemRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SystemRequest::LockedMemory => f.write_str("locked memory"),
            SystemRequest::TimerSlack => f.write_str("timer slack of 1 ns"),
            SystemRequest::RealTimeLimit => f.write_str("limit on computing without a wait"),
            SystemRequest::Policy(policy) => write!(f, "policy {policy}"),
            SystemRequest::Processor { cpu, .. } => write!(f, "processor {cpu}"),
            SystemRequest::WakeUp(wake, clock) => write!(f, "wake={wake} on clock={clock}"),
            SystemRequest::Counter => write!(f, "the {}", sys::counter::NAME),
        }
    }
}

impl SystemRequest {
    /// Describes the refusal of this request to `of`, with reason and remedy.
    pub(crate) fn refusal(&self, of: &str, why: String, errno: Option<i32>) -> Refusal {
        Refusal { what: format!("{self} for {of}"), why, remedy: self.remedy(errno) }
    }

    fn remedy(&self, errno: Option<i32>) -> String {
        match (self, errno) {
            (SystemRequest::LockedMemory, _) => format!(
                "{} | or in /etc/security/limits.conf: USER - memlock unlimited | or in a container: --cap-add IPC_LOCK --ulimit memlock=-1",
                remedy_for_right(true)
            ),
            (SystemRequest::TimerSlack, _) => "use policy=fifo:N, which has no timer slack".into(),
            (SystemRequest::RealTimeLimit, _) => {
                "allow setrlimit(RLIMIT_RTTIME) in the container's seccomp profile".into()
            }
            (SystemRequest::Processor { policy: Policy::Deadline { .. }, .. }, _) => {
                "the kernel does not bind a deadline thread inside a scheduling domain: leave cpu= out, use policy=fifo:N, or give the processor a domain of its own (write isolated to cpuset.cpus.partition of a cgroup)".into()
            }
            (SystemRequest::Processor { cpu, .. }, _) => match sys::sched::cpus() {
                Ok(cpus) => format!(
                    "cpu={cpu} does not exist or is outside this process's cpuset: use one of cpu={} (in a container widen --cpuset-cpus)",
                    cpus.into_iter().collect::<CpuSet>()
                ),
                Err(_) => format!("cpu={cpu} does not exist or is outside this process's cpuset: use another one"),
            },
            (SystemRequest::Policy(Policy::Deadline { .. }), Some(libc::EINVAL)) => {
                "a deadline task needs a period between sched_deadline_period_min_us and sched_deadline_period_max_us of /proc/sys/kernel (100us to 4s) and a runtime between 1024ns and that period".into()
            }
            (SystemRequest::Policy(Policy::Deadline { .. }), Some(libc::EBUSY)) => {
                "the deadline tasks together ask for more than the processors give: lower RUNTIME in policy=deadline:RUNTIME, or raise /proc/sys/kernel/sched_rt_runtime_us".into()
            }
            (SystemRequest::Policy(policy), Some(libc::EPERM)) => format!(
                "{} | or in /etc/security/limits.conf: USER - rtprio 85 (not for deadline) | or in a container: --cap-add SYS_NICE --ulimit rtprio=85",
                remedy_for_right(!matches!(policy, Policy::Deadline { .. }))
            ),
            (SystemRequest::Policy(_), Some(libc::ENOSYS)) => {
                "this system has no sched_setattr (Linux 3.14): use another kernel or sandbox".into()
            }
            (SystemRequest::Policy(_), _) => {
                "see sched(7); if this is root in a control group with CONFIG_RT_GROUP_SCHED, give the group a cpu.rt_runtime_us".into()
            }
            (SystemRequest::WakeUp(..), _) => {
                "get the policy it needs (see the other refusals), or use wake=nanosleep; until then wake=nanosleep is used".into()
            }
            (SystemRequest::Counter, _) => {
                "use read=monotonic-raw; until then read=monotonic is used".into()
            }
        }
    }
}

/// Remedy for a missing right: joining the Debian package's group where there is one, else `setcap`.
fn remedy_for_right(limits_suffice: bool) -> String {
    let is_ours = |line: &str| line.starts_with("jitterlab:");
    let group = || fs::read_to_string("/etc/group").is_ok_and(|groups| groups.lines().any(is_ours));
    if limits_suffice && group() {
        return "sudo usermod -aG jitterlab \"$USER\" and a new login".into();
    }
    format!("sudo setcap cap_sys_nice,cap_ipc_lock+ep {}", program_name())
}

/// The program as a user would name it in `setcap`.
fn program_name() -> String {
    env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string())
}
