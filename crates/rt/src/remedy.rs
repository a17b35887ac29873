//! What to do about each thing a system can refuse, in one line.

use std::env;
use std::io;

use jitterlab_model::Policy;

use crate::sys;

/// The program as a user would name it in `setcap`.
fn program() -> String {
    env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string())
}

/// For memory that may not be locked.
pub(crate) fn locked_memory() -> String {
    format!(
        "sudo setcap cap_sys_nice,cap_ipc_lock+ep {} | or in /etc/security/limits.conf: USER - memlock unlimited | or in a container: --cap-add IPC_LOCK --ulimit memlock=-1",
        program()
    )
}

/// For a processor that may not be used.
pub(crate) fn processor(cpu: u16) -> String {
    match sys::sched::cpus() {
        Ok(cpus) => format!(
            "cpu={cpu} does not exist or is outside this process's cpuset: use one of cpu={} (in a container widen --cpuset-cpus)",
            listed(&cpus)
        ),
        Err(_) => format!("cpu={cpu} does not exist or is outside this process's cpuset: use another one"),
    }
}

/// `0-3,8` for [0, 1, 2, 3, 8].
fn listed(cpus: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(u16, u16)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// For SCHED_DEADLINE together with a processor.
pub(crate) fn bound_deadline() -> String {
    "the kernel does not bind a deadline thread inside a scheduling domain: leave cpu= out, use policy=fifo:N, or give the processor a domain of its own (write isolated to cpuset.cpus.partition of a cgroup)".into()
}

/// For a scheduling policy that was refused.
pub(crate) fn policy(policy: Policy, error: &io::Error) -> String {
    match (policy, error.raw_os_error()) {
        (Policy::Deadline { .. }, Some(libc::EINVAL)) => {
            "a deadline task needs a period between sched_deadline_period_min_us and sched_deadline_period_max_us of /proc/sys/kernel (100us to 4s) and a runtime between 1024ns and that period".into()
        }
        (Policy::Deadline { .. }, Some(libc::EBUSY)) => {
            "the deadline tasks together ask for more than the processors give: lower RUNTIME in policy=deadline:RUNTIME, or raise /proc/sys/kernel/sched_rt_runtime_us".into()
        }
        (_, Some(libc::EPERM)) => format!(
            "sudo setcap cap_sys_nice,cap_ipc_lock+ep {} | or in /etc/security/limits.conf: USER - rtprio 99 (not for deadline) | or in a container: --cap-add SYS_NICE --ulimit rtprio=99",
            program()
        ),
        (_, Some(libc::ENOSYS)) => "this system has no sched_setattr (Linux 3.14): use another kernel or sandbox".into(),
        _ => "see sched(7); if this is root in a control group with CONFIG_RT_GROUP_SCHED, give the group a cpu.rt_runtime_us".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_as_ranges() {
        assert_eq!(listed(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(listed(&[5]), "5");
        assert_eq!(listed(&[]), "");
    }
}
