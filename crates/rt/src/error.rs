//! What can go wrong, and what to do about it: every sentence of this crate but those of [`crate::xenomai`].

use std::env;
use std::fs;
use std::io;

use jitterlab_model::{CpuSet, Policy, Refusal, SleepClock, WakeMethod};

use crate::sys;
use crate::xenomai::XenomaiError;

/// Why a periodic loop or a task's thread cannot be made. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A description that contradicts itself.
    #[error(transparent)]
    Contradiction(#[from] jitterlab_model::Error),
    /// A task that would keep everybody else off the processors there are.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// A Xenomai core that does not take the task.
    #[error(transparent)]
    Core(#[from] XenomaiError),
    /// Not even a plain sleep works.
    #[error("the system does not let the task sleep: {0}")]
    Sleep(io::Error),
    /// The system gave no thread.
    #[error("no thread: {0}; is a limit on processes or memory in the way (ulimit -u, -l)?")]
    Thread(#[from] io::Error),
    /// The thread broke down before or after its work.
    #[error("the task's thread broke down")]
    Broken,
}

/// Why a task cannot wait the way it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WakeError {
    /// SCHED_DEADLINE alone releases a task that waits by it.
    #[error("the thread does not run under SCHED_DEADLINE, which alone could release it")]
    NotReleased,
    /// A core's method on another system than [`crate::xenomai::OnCore`], which would sleep as Linux does.
    #[error("the thread is not attached to a Xenomai core, whose sleep wake={0} is")]
    NotOnCore(WakeMethod),
    /// A method of a newer jitterlab-model.
    #[error("this release of jitterlab-rt has no wake={0}")]
    NotMade(WakeMethod),
    /// The system refused something.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Why tasks may not run together: one polls all the time under a real-time policy, which keeps everybody else off its
/// processor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// It could take any processor.
    #[error("task {0} polls all the time under a real-time policy and is bound to no processor: add cpu=N")]
    Unbound(String),
    /// No processor is left to the machine.
    #[error(
        "polling all the time under a real-time policy, {0} would hold every processor this program may use and make the machine unreachable: use policy=other, another wake= with compensate=margin:TIME, or allow one processor more"
    )]
    NoneLeft(String),
    /// Another task is to run on its processor.
    #[error(
        "task {task} polls all the time on cpu={cpu}, where task {other} could never run: give them different processors"
    )]
    Shared {
        /// The task that polls.
        task: String,
        /// Its processor.
        cpu: u16,
        /// The other task there.
        other: String,
    },
}

/// Why the processor's counter cannot serve as a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// Its rate changes with the processor's.
    #[error("the processor does not promise that its time stamp counter runs at a constant rate")]
    NotConstant,
    /// None is known that a program may read.
    #[error("jitterlab knows no counter of this processor that a program may read")]
    NotThere,
}

/// Something a thread asks the system for and may be refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Wanted {
    #[error("locked memory")]
    LockedMemory,
    #[error("timer slack of 1 ns")]
    TimerSlack,
    #[error("limit on computing without a wait")]
    RealTimeLimit,
    #[error("policy {0}")]
    Policy(Policy),
    #[error("processor {cpu}")]
    Processor { cpu: u16, policy: Policy },
    #[error("wake={0} on clock={1}")]
    WakeUp(WakeMethod, SleepClock),
    #[error("the {}", sys::counter::NAME)]
    Counter,
}

impl Wanted {
    /// That it was refused to `of`, why, and what to do about it.
    pub(crate) fn refused(&self, of: &str, why: String, errno: Option<i32>) -> Refusal {
        Refusal { what: format!("{self} for {of}"), why, remedy: self.remedy(errno) }
    }

    fn remedy(&self, errno: Option<i32>) -> String {
        match (self, errno) {
            (Wanted::LockedMemory, _) => format!(
                "{} | or in /etc/security/limits.conf: USER - memlock unlimited | or in a container: --cap-add IPC_LOCK --ulimit memlock=-1",
                grant(true)
            ),
            (Wanted::TimerSlack, _) => "use policy=fifo:N, which has no timer slack".into(),
            (Wanted::RealTimeLimit, _) => {
                "allow setrlimit(RLIMIT_RTTIME) in the container's seccomp profile".into()
            }
            (Wanted::Processor { policy: Policy::Deadline { .. }, .. }, _) => {
                "the kernel does not bind a deadline thread inside a scheduling domain: leave cpu= out, use policy=fifo:N, or give the processor a domain of its own (write isolated to cpuset.cpus.partition of a cgroup)".into()
            }
            (Wanted::Processor { cpu, .. }, _) => match sys::sched::cpus() {
                Ok(cpus) => format!(
                    "cpu={cpu} does not exist or is outside this process's cpuset: use one of cpu={} (in a container widen --cpuset-cpus)",
                    cpus.into_iter().collect::<CpuSet>()
                ),
                Err(_) => format!("cpu={cpu} does not exist or is outside this process's cpuset: use another one"),
            },
            (Wanted::Policy(Policy::Deadline { .. }), Some(libc::EINVAL)) => {
                "a deadline task needs a period between sched_deadline_period_min_us and sched_deadline_period_max_us of /proc/sys/kernel (100us to 4s) and a runtime between 1024ns and that period".into()
            }
            (Wanted::Policy(Policy::Deadline { .. }), Some(libc::EBUSY)) => {
                "the deadline tasks together ask for more than the processors give: lower RUNTIME in policy=deadline:RUNTIME, or raise /proc/sys/kernel/sched_rt_runtime_us".into()
            }
            (Wanted::Policy(policy), Some(libc::EPERM)) => format!(
                "{} | or in /etc/security/limits.conf: USER - rtprio 99 (not for deadline) | or in a container: --cap-add SYS_NICE --ulimit rtprio=99",
                grant(!matches!(policy, Policy::Deadline { .. }))
            ),
            (Wanted::Policy(_), Some(libc::ENOSYS)) => {
                "this system has no sched_setattr (Linux 3.14): use another kernel or sandbox".into()
            }
            (Wanted::Policy(_), _) => {
                "see sched(7); if this is root in a control group with CONFIG_RT_GROUP_SCHED, give the group a cpu.rt_runtime_us".into()
            }
            (Wanted::WakeUp(..), _) => {
                "get the policy it needs (see the other refusals), or use wake=nanosleep; until then wake=nanosleep is used".into()
            }
            (Wanted::Counter, _) => {
                "use read=monotonic-raw; until then read=monotonic is used".into()
            }
        }
    }
}

/// How a user gets the right: by limits in the group of the Debian package where that is installed, or by the program's own
/// capabilities.
fn grant(by_limits: bool) -> String {
    let is_ours = |line: &str| line.starts_with("jitterlab:");
    let group = || fs::read_to_string("/etc/group").is_ok_and(|groups| groups.lines().any(is_ours));
    if by_limits && group() {
        return "sudo usermod -aG jitterlab \"$USER\" and a new login".into();
    }
    format!("sudo setcap cap_sys_nice,cap_ipc_lock+ep {}", program())
}

/// The program as a user would name it in `setcap`.
fn program() -> String {
    env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string())
}
