//! The task itself.

use std::io;

use jitterlab_analysis::tune::Step;
use jitterlab_model::facts::Limit;
use jitterlab_model::{Compensation, Knob, Policy, SystemFacts, WakeMethod};

use jitterlab_rt::sys::sched::set_policy;
use nix::errno::Errno;

use super::{Applicability, KnobContext};
use crate::facts::group_limits as group_limits_of;
use crate::prepare::DEFAULT_PRIORITY;

/// Highest priority for a task: only threads that keep the machine alive have a higher one.
const HIGHEST: u8 = 98;

/// Real-time priority that a knob requests for the task, if it sets one.
pub(super) fn requested_priority(knob: Knob) -> Option<u8> {
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
pub(super) fn is_priority_permitted(facts: &SystemFacts, priority: u8) -> bool {
    let limited = match facts.process.limits.rtprio {
        Some(Limit::AtMost(most)) => most < u64::from(priority),
        _ => false,
    };
    facts.process.can_use_any_priority() == Some(true) || !limited
}

pub(super) fn policy_steps(context: &KnobContext<'_>) -> Applicability {
    if context.task.policy.is_none_or(|policy| policy.is_real_time()) {
        return Applicability::AlreadySet;
    }
    Applicability::Steps(vec![Step::Task { parts: format!("policy=fifo:{DEFAULT_PRIORITY}") }])
}

pub(super) fn group_limits_steps(context: &KnobContext<'_>) -> Applicability {
    let limits = group_limits_of(context.root, context.process);
    context.file_steps(
        limits.into_iter().map(|limit| (limit.file.trim_start_matches('/').to_owned(), limit.lifted)),
    )
}

pub(super) fn priority_steps(context: &KnobContext<'_>) -> Applicability {
    let (policy, own) = match context.task.policy {
        Some(Policy::Fifo(own)) => ("fifo", own),
        Some(Policy::RoundRobin(own)) => ("rr", own),
        _ => return Applicability::NotApplicable,
    };
    // The facts list threads with a priority of 50 or more.
    let mut before = context.facts.real_time_threads.iter().filter(|thread| thread.priority >= own);
    if own < HIGHEST && before.any(|thread| thread.priority <= HIGHEST) {
        return Applicability::Steps(vec![Step::Task { parts: format!("policy={policy}:{HIGHEST}") }]);
    }
    Applicability::AlreadySet
}

/// Waits by timerfd instead of nanosleep, or the other way round.
pub(super) fn wake_up_steps(context: &KnobContext<'_>) -> Applicability {
    let other = match context.task.wake {
        WakeMethod::Nanosleep => WakeMethod::Timerfd,
        WakeMethod::Timerfd | WakeMethod::TimerSignal => WakeMethod::Nanosleep,
        _ => return Applicability::NotApplicable,
    };
    Applicability::Steps(vec![Step::Task { parts: format!("wake={other}") }])
}

pub(super) fn wake_early_steps(context: &KnobContext<'_>) -> Applicability {
    let traits = context.task.wake.traits();
    // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
    if traits.polls || traits.drifts || traits.deadline {
        return Applicability::NotApplicable;
    }
    match context.task.compensate {
        Compensation::None => {
            Applicability::Steps(vec![Step::Task { parts: "compensate=adaptive:1e-3".into() }])
        }
        _ => Applicability::AlreadySet,
    }
}
