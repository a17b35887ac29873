//! The task itself.

use jitterlab_analysis::tune::Step;
use jitterlab_model::facts::Limit;
use jitterlab_model::{Compensation, SystemFacts};

use super::{Offer, Scene};
use crate::host::prepare::DEFAULT_PRIORITY;

/// Whether the policy that `policy` sets is permitted; where that is not known, it may be.
pub(super) fn may_be_real_time(facts: &SystemFacts) -> bool {
    let limited = match facts.process.limits.rtprio {
        Some(Limit::AtMost(priority)) => priority < u64::from(DEFAULT_PRIORITY),
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

pub(super) fn wake_early(scene: &Scene<'_>) -> Offer {
    let traits = scene.task.wake.traits();
    // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
    if traits.polls || traits.drifts || traits.deadline {
        return Offer::Absent;
    }
    match scene.task.compensate {
        Compensation::None => Offer::Sets(vec![Step::Task { parts: "compensate=adaptive:1e-3".into() }]),
        _ => Offer::Already,
    }
}
