//! Properties of a task that exclude each other.

use super::{Policy, TaskSpec};
use crate::error::Error;
use crate::units::Exact;
use crate::wake::{Compensation, ReadClock, SleepClock, WakeMethod, WakeTraits};

/// Names of the clocks that a wake-up method can sleep on, as in options.
fn clock_names(wake: WakeMethod) -> String {
    let clocks: Vec<_> = wake.traits().clocks.iter().map(|clock| format!("clock={clock}")).collect();
    clocks.join(" or ")
}

/// Refuses the first contradiction in a description; the message has the remedy.
pub(super) fn check(spec: &TaskSpec) -> Result<(), Error> {
    let TaskSpec { wake, clock, read, compensate, period_ns, policy, .. } = *spec;
    let period = Exact(period_ns);
    let WakeTraits { clocks, polls, drifts, deadline, core } = wake.traits();
    let deadline_policy = matches!(policy, Some(Policy::Deadline { .. }));
    if deadline && !deadline_policy {
        return Err(Error::bad_use(format!("wake={wake} is done by SCHED_DEADLINE"))
            .remedy("add policy=deadline:RUNTIME"));
    }
    if polls && deadline_policy {
        return Err(Error::bad_use(format!("wake={wake} uses up any runtime of policy=deadline"))
            .remedy("use policy=fifo:N"));
    }
    if core {
        if let Some(policy @ (Policy::Batch | Policy::Idle | Policy::Deadline { .. })) = policy {
            return Err(Error::bad_use(format!("wake={wake} has no policy={policy}"))
                .remedy("use policy=fifo:N or policy=rr:N"));
        }
        if clock != SleepClock::Monotonic || read != ReadClock::Monotonic {
            return Err(Error::bad_use(format!("wake={wake} sleeps on and reads its core's own clock"))
                .remedy("leave clock= and read= out"));
        }
        if spec.pulse.is_some() {
            return Err(Error::bad_use(format!(
                "wake={wake} would leave its core for every pulse, which Linux makes"
            ))
            .remedy("leave pulse= out"));
        }
    }
    let steps = spec.pulse.as_ref().and_then(|pulse| pulse.steps.as_ref());
    if let Some(steps) = steps.filter(|steps| steps.every_ns < period_ns) {
        let every = Exact(steps.every_ns);
        return Err(Error::bad_use(format!(
            "a step every {every} is more than one in each period of {period}"
        ))
        .remedy("shorten the period"));
    }
    if !clocks.contains(&clock) {
        return Err(Error::bad_use(format!("wake={wake} does not sleep on that clock"))
            .remedy(format!("leave clock={clock} out or use {}", clock_names(wake))));
    }
    if polls && compensate != Compensation::None {
        return Err(Error::bad_use(format!("wake={wake} polls all the time"))
            .remedy(format!("leave compensate={compensate} out")));
    }
    if drifts && compensate != Compensation::None {
        return Err(Error::bad_use(format!("compensate={compensate} needs a wake-up that does not drift"))
            .remedy("use wake=nanosleep"));
    }
    match (compensate, policy) {
        (Compensation::Margin { margin_ns }, _) if margin_ns >= period_ns => {
            let margin = Exact(margin_ns);
            Err(Error::bad_use(format!(
                "its margin of {margin} is not shorter than its period of {period}, so it would poll all the \
                 time"
            ))
            .remedy("shorten the margin, or use wake=spin"))
        }
        (Compensation::Repeat { every_ns }, _) if every_ns >= period_ns => {
            let every = Exact(every_ns);
            Err(Error::bad_use(format!(
                "waking every {every} leaves no early wake-ups within its period of {period}"
            ))
            .remedy("shorten it"))
        }
        (Compensation::Margin { margin_ns }, Some(Policy::Deadline { runtime_ns }))
            if runtime_ns <= margin_ns =>
        {
            let [runtime, margin] = [runtime_ns, margin_ns].map(Exact);
            Err(Error::bad_use(format!(
                "its runtime of {runtime} is used up by polling for its margin of {margin}"
            ))
            .remedy("raise RUNTIME in policy=deadline:RUNTIME to the work and the margin together"))
        }
        _ => Ok(()),
    }
}
