//! The task itself.

use std::io;

use jitterlab_analysis::tune::Step;
use jitterlab_model::facts::Limit;
use jitterlab_model::{Compensation, Knob, Policy, SystemFacts, WakeMethod};

use jitterlab_rt::sys::sched::set_policy;
use nix::errno::Errno;

use super::{Offer, Scene};
use crate::facts::group_limits as group_limits_of;
use crate::prepare::DEFAULT_PRIORITY;

/// Highest priority for a task: only threads that keep the machine alive have a higher one.
const HIGHEST: u8 = 98;

/// The real-time priority that a knob gives the task.
pub(super) fn asked_of(knob: Knob) -> Option<u8> {
    match knob {
        Knob::Policy => Some(DEFAULT_PRIORITY),
        Knob::Priority => Some(HIGHEST),
        _ => None,
    }
}

/// Checks that the system grants a thread this policy, by a thread that does nothing else.
pub(super) fn try_policy(policy: Policy, period_ns: i64) -> io::Result<()> {
    let tried = std::thread::spawn(move || set_policy(policy, period_ns)).join();
    tried.unwrap_or_else(|_| Err(io::Error::other(Errno::EINVAL)))
}

/// True if a priority is permitted, or if that is unknown.
pub(super) fn may_have(facts: &SystemFacts, priority: u8) -> bool {
    let limited = match facts.process.limits.rtprio {
        Some(Limit::AtMost(most)) => most < u64::from(priority),
        _ => false,
    };
    facts.process.can_use_any_priority() == Some(true) || !limited
}

pub(super) fn policy(scene: &Scene<'_>) -> Offer {
    if scene.task.policy.is_none_or(|policy| policy.is_real_time()) {
        return Offer::Already;
    }
    Offer::Sets(vec![Step::Task { parts: format!("policy=fifo:{DEFAULT_PRIORITY}") }])
}

pub(super) fn group_limits(scene: &Scene<'_>) -> Offer {
    let limits = group_limits_of(scene.root, scene.process);
    scene.files(limits.into_iter().map(|limit| (limit.file.trim_start_matches('/').to_owned(), limit.lifted)))
}

pub(super) fn priority(scene: &Scene<'_>) -> Offer {
    let (policy, own) = match scene.task.policy {
        Some(Policy::Fifo(own)) => ("fifo", own),
        Some(Policy::RoundRobin(own)) => ("rr", own),
        _ => return Offer::NotOfTask,
    };
    // The facts list threads with a priority of 50 or more.
    let mut before = scene.facts.real_time_threads.iter().filter(|thread| thread.priority >= own);
    if own < HIGHEST && before.any(|thread| thread.priority <= HIGHEST) {
        return Offer::Sets(vec![Step::Task { parts: format!("policy={policy}:{HIGHEST}") }]);
    }
    Offer::Already
}

pub(super) fn wake_up(scene: &Scene<'_>) -> Offer {
    let other = match scene.task.wake {
        WakeMethod::Nanosleep => WakeMethod::Timerfd,
        WakeMethod::Timerfd | WakeMethod::TimerSignal => WakeMethod::Nanosleep,
        _ => return Offer::NotOfTask,
    };
    Offer::Sets(vec![Step::Task { parts: format!("wake={other}") }])
}

pub(super) fn wake_early(scene: &Scene<'_>) -> Offer {
    let traits = scene.task.wake.traits();
    // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
    if traits.polls || traits.drifts || traits.deadline {
        return Offer::NotOfTask;
    }
    match scene.task.compensate {
        Compensation::None => Offer::Sets(vec![Step::Task { parts: "compensate=adaptive:1e-3".into() }]),
        _ => Offer::Already,
    }
}
