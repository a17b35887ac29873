//! How a task waits, as its description asks: the one place that knows all wake-up methods.

use jitterlab_model::{Compensation, SleepClock, TaskSpec, WakeMethod};

use crate::compensate;
use crate::error::WakeError;
use crate::system::{System, TimerKind};
use crate::wake::{Deadline, Nanosleep, NanosleepRelative, OnClock, PeriodicTimer, Spin, WakeUp, Xenomai};
use crate::xenomai::Core;

/// The wake-up that a task's description asks for, made on the thread that will use it. Choosing a margin from
/// data measures for up to some seconds (see [`compensate::CALIBRATION_NS`]).
///
/// # Errors
/// What the system refused.
pub fn of_task<S: System>(system: &S, spec: &TaskSpec) -> Result<Box<dyn WakeUp<S>>, WakeError> {
    // The way of the NIST paper is a task of its own, shorter period.
    let interval_ns = match spec.compensate {
        Compensation::Repeat { every_ns } => every_ns,
        _ => spec.period_ns,
    };
    let mut wake = of_method(system, spec.wake, spec.clock, interval_ns)?;
    if spec.clock != SleepClock::Monotonic && !spec.wake.traits().drifts {
        wake = Box::new(OnClock::new(wake, spec.clock, system)?);
    }
    Ok(compensate::around(wake, system, spec.compensate, spec.period_ns)?)
}

/// The bare method. Its due times are times of `clock`; it is asked for a due time every `interval_ns`.
fn of_method<S: System>(
    system: &S,
    method: WakeMethod,
    clock: SleepClock,
    interval_ns: i64,
) -> Result<Box<dyn WakeUp<S>>, WakeError> {
    if method.traits().core && system.report().core.is_none() {
        return Err(WakeError::NotOnCore(method));
    }
    Ok(match method {
        WakeMethod::Nanosleep => Box::new(Nanosleep::on(clock)),
        WakeMethod::NanosleepRelative => Box::new(NanosleepRelative::new(clock, interval_ns)),
        WakeMethod::TimerSignal => {
            Box::new(PeriodicTimer::new(system, TimerKind::Signal, clock, interval_ns)?)
        }
        WakeMethod::Timerfd => Box::new(PeriodicTimer::new(system, TimerKind::File, clock, interval_ns)?),
        WakeMethod::Deadline => Box::new(Deadline::new(system)?),
        WakeMethod::Spin => Box::new(Spin::default()),
        WakeMethod::Cobalt => Box::new(Xenomai::new(Core::Cobalt)),
        WakeMethod::Evl => Box::new(Xenomai::new(Core::Evl)),
        other => return Err(WakeError::NotMade(other)),
    })
}
