//! Properties of a task that exclude each other.

use super::{Policy, TaskSpec};
use crate::units::Exact;
use crate::wake::{Compensation, ReadClock, SleepClock, WakeMethod, WakeTraits};

/// What does not go together in the description of a task. The message says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// A wake-up by SCHED_DEADLINE under another policy.
    #[error("wake={0} is done by SCHED_DEADLINE: add policy=deadline:RUNTIME")]
    NeedsDeadline(WakeMethod),
    /// A wake-up that polls under SCHED_DEADLINE.
    #[error("wake={0} uses up any runtime of policy=deadline: use policy=fifo:N")]
    PollsUnderDeadline(WakeMethod),
    /// A Xenomai core has no such policy.
    #[error("wake={wake} has no policy={policy}: use policy=fifo:N or policy=rr:N")]
    NotOnCore {
        /// The wake-up method, which is the core's.
        wake: WakeMethod,
        /// The policy asked for.
        policy: Policy,
    },
    /// A Xenomai core has a clock of its own.
    #[error("wake={0} sleeps on and reads its core's own clock: leave clock= and read= out")]
    ClockOfCore(WakeMethod),
    /// A pulse is a call of Linux.
    #[error("wake={0} would leave its core for every pulse, which Linux makes: leave pulse= out")]
    PulseOnCore(WakeMethod),
    /// More steps than activations.
    #[error("a step every {every} is more than one in each period of {period}: shorten the period")]
    StepsOfPeriod {
        /// Distance of the steps.
        every: Exact,
        /// The period.
        period: Exact,
    },
    /// A clock that the wake-up method cannot sleep on.
    #[error("wake={wake} does not sleep on that clock: leave clock={clock} out or use {}", clocks(*.wake))]
    NotOnClock {
        /// The wake-up method.
        wake: WakeMethod,
        /// The clock asked for.
        clock: SleepClock,
    },
    /// Nothing to compensate: it polls all the time.
    #[error("wake={wake} polls all the time: leave compensate={compensate} out")]
    PollsAnyway {
        /// The wake-up method.
        wake: WakeMethod,
        /// The compensation asked for.
        compensate: Compensation,
    },
    /// A compensation of due times that are not kept.
    #[error("compensate={0} needs a wake-up that does not drift: use wake=nanosleep")]
    Drifts(Compensation),
    /// A margin of the whole period.
    #[error(
        "its margin of {margin} is not shorter than its period of {period}, so it would poll all the time: shorten the margin, or use wake=spin"
    )]
    MarginOfPeriod {
        /// The margin.
        margin: Exact,
        /// The period.
        period: Exact,
    },
    /// Early wake-ups no closer than the period.
    #[error("waking every {every} leaves no early wake-ups within its period of {period}: shorten it")]
    RepeatOfPeriod {
        /// Distance of the early wake-ups.
        every: Exact,
        /// The period.
        period: Exact,
    },
    /// SCHED_DEADLINE ends the polling before the due time.
    #[error(
        "its runtime of {runtime} is used up by polling for its margin of {margin}: raise RUNTIME in policy=deadline:RUNTIME to the work and the margin together"
    )]
    MarginOfRuntime {
        /// The runtime.
        runtime: Exact,
        /// The margin.
        margin: Exact,
    },
}

/// The clocks that a wake-up method can sleep on, as they are asked for.
fn clocks(wake: WakeMethod) -> String {
    let clocks: Vec<_> = wake.traits().clocks.iter().map(|clock| format!("clock={clock}")).collect();
    clocks.join(" or ")
}

impl Contradiction {
    /// The first one in a description.
    pub(super) fn of(spec: &TaskSpec) -> Option<Self> {
        let TaskSpec { wake, clock, read, compensate, period_ns, policy, .. } = *spec;
        let period = Exact(period_ns);
        let WakeTraits { clocks, polls, drifts, deadline, core } = wake.traits();
        let deadline_policy = matches!(policy, Some(Policy::Deadline { .. }));
        if deadline && !deadline_policy {
            return Some(Contradiction::NeedsDeadline(wake));
        }
        if polls && deadline_policy {
            return Some(Contradiction::PollsUnderDeadline(wake));
        }
        if core {
            if let Some(policy @ (Policy::Batch | Policy::Idle | Policy::Deadline { .. })) = policy {
                return Some(Contradiction::NotOnCore { wake, policy });
            }
            if clock != SleepClock::Monotonic || read != ReadClock::Monotonic {
                return Some(Contradiction::ClockOfCore(wake));
            }
            if spec.pulse.is_some() {
                return Some(Contradiction::PulseOnCore(wake));
            }
        }
        let steps = spec.pulse.as_ref().and_then(|pulse| pulse.steps.as_ref());
        if let Some(steps) = steps.filter(|steps| steps.every_ns < period_ns) {
            return Some(Contradiction::StepsOfPeriod { every: Exact(steps.every_ns), period });
        }
        if !clocks.contains(&clock) {
            return Some(Contradiction::NotOnClock { wake, clock });
        }
        if polls && compensate != Compensation::None {
            return Some(Contradiction::PollsAnyway { wake, compensate });
        }
        if drifts && compensate != Compensation::None {
            return Some(Contradiction::Drifts(compensate));
        }
        match (compensate, policy) {
            (Compensation::Margin { margin_ns }, _) if margin_ns >= period_ns => {
                Some(Contradiction::MarginOfPeriod { margin: Exact(margin_ns), period })
            }
            (Compensation::Repeat { every_ns }, _) if every_ns >= period_ns => {
                Some(Contradiction::RepeatOfPeriod { every: Exact(every_ns), period })
            }
            (Compensation::Margin { margin_ns }, Some(Policy::Deadline { runtime_ns }))
                if runtime_ns <= margin_ns =>
            {
                Some(Contradiction::MarginOfRuntime { runtime: Exact(runtime_ns), margin: Exact(margin_ns) })
            }
            _ => None,
        }
    }
}
