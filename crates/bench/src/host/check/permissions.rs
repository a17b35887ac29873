//! What this process may do.

use jitterlab_model::facts::Limit;

use super::{Rule, Scope, Subject, Verdict, fail, not_applicable, pass, unknown, warn};

/// Memory that a control program of ordinary size locks.
const LOCKED_BYTES: u64 = 64 << 20;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "rtprio",
        title: "Permission for real-time priorities",
        why: "Without a real-time policy every ordinary program may delay the task by milliseconds.",
        scope: Scope::Process,
        verdict: rtprio,
    },
    Rule {
        id: "memlock",
        title: "Permission to lock memory",
        why: "Memory that is not locked may have to be fetched when it is touched, which takes microseconds to milliseconds.",
        scope: Scope::Process,
        verdict: memlock,
    },
    Rule {
        id: "rttime",
        title: "Limit on the time of a real-time thread",
        why: "A task that works longer than this without waiting is killed by the kernel (SIGXCPU).",
        scope: Scope::Process,
        verdict: rttime,
    },
    Rule {
        id: "rt-group",
        title: "Real-time time of the control group",
        why: "With group scheduling a control group without real-time time of its own may not use real-time policies at all, not even as root.",
        scope: Scope::Kernel,
        verdict: rt_group,
    },
    Rule {
        id: "container",
        title: "Container",
        why: "A container is given real-time priorities, locked memory and CPUs by whoever starts it, and by default none of them.",
        scope: Scope::Process,
        verdict: container,
    },
    Rule {
        id: "allowed-cpus",
        title: "CPUs this process may use",
        why: "A process held to some CPUs can neither run its tasks on better ones nor keep its own helpers away from them.",
        scope: Scope::Process,
        verdict: allowed_cpus,
    },
];

fn setcap(verdict: Verdict, s: &Subject<'_>, line: &str, docker: &str) -> Verdict {
    if s.facts.virtualisation.container.is_some() {
        return verdict.on_the_host(format!("docker run {docker} ..."));
    }
    verdict
        .now("setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v jitterlab)\"")
        .for_good(format!("line `{line}` in /etc/security/limits.d/90-realtime.conf, then log in again"))
}

fn rtprio(s: &Subject<'_>) -> Verdict {
    let line = "@realtime - rtprio 99";
    let docker = "--cap-add SYS_NICE --ulimit rtprio=99";
    match (s.facts.process.can_use_any_priority(), s.facts.process.limits.rtprio) {
        (Some(true), _) => pass("all priorities (CAP_SYS_NICE)"),
        (_, Some(Limit::Unlimited)) => pass("all priorities (no limit)"),
        (_, Some(Limit::AtMost(0))) => {
            setcap(fail("none: no CAP_SYS_NICE, and the limit rtprio is 0"), s, line, docker)
        }
        (_, Some(Limit::AtMost(n))) if n < 80 => {
            let found =
                format!("priorities up to {n}: threaded interrupts have 50, other programs may have more");
            setcap(warn(found), s, line, docker)
        }
        (_, Some(Limit::AtMost(n))) => pass(format!("priorities up to {n} (limit rtprio)")),
        (_, None) => unknown("the limit rtprio"),
    }
}

fn memlock(s: &Subject<'_>) -> Verdict {
    match (s.facts.process.can_lock_any_memory(), s.facts.process.limits.memlock) {
        (Some(true), _) => pass("any amount (CAP_IPC_LOCK)"),
        (_, Some(limit)) if limit.allows(LOCKED_BYTES) => match limit {
            Limit::Unlimited => pass("any amount (no limit)"),
            Limit::AtMost(bytes) => pass(format!("up to {} MiB", bytes >> 20)),
        },
        (_, Some(Limit::AtMost(bytes))) => {
            let found = format!("only {} KiB, less than a control program needs", bytes >> 10);
            setcap(warn(found), s, "@realtime - memlock unlimited", "--cap-add IPC_LOCK --ulimit memlock=-1")
        }
        (_, Some(Limit::Unlimited) | None) => unknown("the limit memlock"),
    }
}

fn rttime(s: &Subject<'_>) -> Verdict {
    match s.facts.process.limits.rttime {
        Some(Limit::Unlimited) => pass("no limit"),
        Some(Limit::AtMost(us)) => warn(format!("{us} us, after which a busy task is killed"))
            .for_good("line `@realtime - rttime unlimited` in /etc/security/limits.d/90-realtime.conf"),
        None => unknown("the limit rttime"),
    }
}

fn rt_group(s: &Subject<'_>) -> Verdict {
    let group = s.facts.process.cpuset.as_deref().unwrap_or("/").trim_matches('/');
    match s.facts.process.cgroup_rt_runtime_us {
        Some(0) => fail("0 us: real-time policies are refused in this control group")
            .now(format!("echo 950000 > /sys/fs/cgroup/cpu/{group}/cpu.rt_runtime_us"))
            .parameter("rt_group_sched=0"),
        Some(us) => pass(format!("{us} us in each period")),
        None => not_applicable("real-time time is not shared out among control groups"),
    }
}

fn container(s: &Subject<'_>) -> Verdict {
    let Some(kind) = &s.facts.virtualisation.container else {
        return pass("none: this process sees the machine itself");
    };
    let process = &s.facts.process;
    if process.can_use_any_priority() == Some(true) && process.can_lock_any_memory() == Some(true) {
        return pass(format!("{kind}, with the capabilities for real time"));
    }
    warn(format!("{kind}, without the capabilities for real time")).on_the_host(format!(
        "docker run --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 --ulimit memlock=-1 --cpuset-cpus={} ...",
        s.facts.usable()
    ))
}

fn allowed_cpus(s: &Subject<'_>) -> Verdict {
    let (online, usable) = (s.facts.online(), s.facts.usable());
    if online.is_empty() {
        return unknown("the list of CPUs");
    }
    let found = format!("{usable} of {online}");
    match () {
        () if usable == online => pass(format!("all of {online}")),
        () if s.facts.virtualisation.container.is_some() => {
            warn(found).on_the_host(format!("docker run --cpuset-cpus={online} ..."))
        }
        () => {
            warn(found).now(format!("taskset -c {online} jitterlab ..., outside of any restricting cpuset"))
        }
    }
}
