//! Checks of this process's permissions.

use jitterlab_model::check::RemedyKind::{Command, Host, Lasting};
use jitterlab_model::facts::{GroupLimit, Limit};

use super::{CheckContext, Rule, Ruling, Scope, fail, not_applicable, pass, unknown, warn};

/// Memory that a control program of ordinary size locks.
const LOCKED_BYTES: u64 = 64 << 20;
/// The priority of a task that asks for none; a limit below it is worth a warning.
const DEFAULT_PRIORITY: u64 = crate::prepare::DEFAULT_PRIORITY as u64;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "rtprio", scope: Scope::Process, ruling: check_rtprio },
    Rule { id: "memlock", scope: Scope::Process, ruling: check_memlock },
    Rule { id: "dma-latency-permission", scope: Scope::Process, ruling: check_dma_latency },
    Rule { id: "rttime", scope: Scope::Process, ruling: check_rttime },
    Rule { id: "rt-group", scope: Scope::Kernel, ruling: check_rt_group },
    Rule { id: "group-limits", scope: Scope::Kernel, ruling: check_group_limits },
    Rule { id: "container", scope: Scope::Process, ruling: check_container },
    Rule { id: "allowed-cpus", scope: Scope::Process, ruling: check_allowed_cpus },
];

/// Advises the option that a container engine needs: podman takes those of docker.
fn add_engine_option(ruling: Ruling, s: &CheckContext<'_>) -> Ruling {
    let podman = |kind: &str| matches!(kind, "podman" | "libpod");
    let engine =
        if s.facts.virtualisation.container.as_deref().is_some_and(podman) { "podman" } else { "docker" };
    ruling.with("engine", engine).advise(Host, "docker")
}

/// Advises how to raise a limit: a capability, a line for the user, or an option of the container engine.
fn add_limit_remedies(ruling: Ruling, s: &CheckContext<'_>) -> Ruling {
    if s.facts.virtualisation.container.is_some() {
        return add_engine_option(ruling, s);
    }
    ruling.advise(Command, "setcap").advise(Lasting, "limits-line")
}

fn check_rtprio(s: &CheckContext<'_>) -> Ruling {
    match (s.facts.process.can_use_any_priority(), s.facts.process.limits.rtprio) {
        (Some(true), _) => pass("capability"),
        (_, Some(Limit::Unlimited)) => pass("no-limit"),
        (_, Some(Limit::AtMost(0))) => add_limit_remedies(fail("none"), s),
        (_, Some(Limit::AtMost(n))) if n < DEFAULT_PRIORITY => {
            add_limit_remedies(warn("low").with("priority", n), s)
        }
        (_, Some(Limit::AtMost(n))) => pass("limit").with("priority", n),
        (_, None) => unknown(),
    }
}

fn check_memlock(s: &CheckContext<'_>) -> Ruling {
    match (s.facts.process.can_lock_any_memory(), s.facts.process.limits.memlock) {
        (Some(true), _) => pass("capability"),
        (_, Some(Limit::Unlimited)) => pass("no-limit"),
        (_, Some(Limit::AtMost(bytes))) if bytes >= LOCKED_BYTES => pass("limit").with("limit_bytes", bytes),
        (_, Some(Limit::AtMost(bytes))) => add_limit_remedies(warn("little").with("limit_bytes", bytes), s),
        (_, None) => unknown(),
    }
}

fn check_dma_latency(s: &CheckContext<'_>) -> Ruling {
    match s.facts.power.dma_latency_writable {
        Some(true) => pass("may"),
        Some(false) if s.facts.virtualisation.container.is_some() => add_engine_option(warn("may-not"), s),
        Some(false) => warn("may-not").advise(Command, "chown").advise(Lasting, "udev"),
        None => unknown(),
    }
}

fn check_rttime(s: &CheckContext<'_>) -> Ruling {
    match s.facts.process.limits.rttime {
        Some(Limit::Unlimited) => pass("no-limit"),
        Some(Limit::AtMost(us)) => warn("limit").with("limit_us", us).advise(Lasting, "limits-line"),
        None => unknown(),
    }
}

fn check_rt_group(s: &CheckContext<'_>) -> Ruling {
    let refuses = |limit: &&GroupLimit| limit.quota_us == 0;
    match s.facts.process.cgroup_rt_runtime_us {
        Some(0) => {
            // A group gets time only where those above it have some: they are last here.
            let groups = s.facts.process.group_limits.iter().rev().filter(refuses);
            groups
                .fold(fail("no-time"), |ruling, group| ruling.advise_write(&group.lifted, &group.file))
                .advise_parameter("rt_group_sched=0")
        }
        Some(us) => pass("time").with("runtime_us", us),
        None => not_applicable("not-shared-out"),
    }
}

fn check_group_limits(s: &CheckContext<'_>) -> Ruling {
    let process = &s.facts.process;
    // Without a group there is nothing to limit, and nothing was read.
    if process.cpuset.is_none() {
        return unknown();
    }
    let pause_us = |limit: &GroupLimit| limit.period_us - limit.quota_us;
    let limits = || process.group_limits.iter().filter(|limit| limit.quota_us > 0);
    let Some(worst) = limits().max_by_key(|limit| pause_us(limit)) else {
        return pass("none");
    };
    let ruling = warn("limited")
        .with("quota_us", worst.quota_us)
        .with("period_us", worst.period_us)
        .with_delay_us(pause_us(worst));
    limits().fold(ruling, |ruling, limit| ruling.advise_write(&limit.lifted, &limit.file))
}

fn check_container(s: &CheckContext<'_>) -> Ruling {
    let Some(kind) = &s.facts.virtualisation.container else { return pass("none") };
    let process = &s.facts.process;
    let ruling =
        if process.can_use_any_priority() == Some(true) && process.can_lock_any_memory() == Some(true) {
            pass("capable")
        } else {
            add_engine_option(warn("not-capable").with("usable", &s.facts.usable_cpus()), s)
        };
    ruling.with("container", kind)
}

fn check_allowed_cpus(s: &CheckContext<'_>) -> Ruling {
    let (online, usable) = (s.facts.online_cpus(), s.facts.usable_cpus());
    let ruling = match () {
        () if online.is_empty() => return unknown(),
        () if usable == online => pass("all"),
        () if s.facts.virtualisation.container.is_some() => add_engine_option(warn("some"), s),
        () => warn("some").advise(Command, "taskset"),
    };
    ruling.with("online", &online).with("usable", &usable)
}
