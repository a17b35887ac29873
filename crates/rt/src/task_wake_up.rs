//! Wake-up of a task as described: a wake-up method with the clock and the compensation around it.

use jitterlab_model::{Compensation, Error, SleepClock, TaskSpec};

use crate::compensate;
use crate::system::System;
use crate::wake::{OnCivilTime, WakeUp, wake_up_by_method};

/// The wake-up that a task's description asks for, made on the thread that will use it. Choosing a margin from
/// data measures for up to some seconds (see [`compensate::CALIBRATION_NS`]).
///
/// # Errors
/// The system's refusal.
pub fn wake_up_of_task<S: System>(system: &S, spec: &TaskSpec) -> Result<Box<dyn WakeUp<S>>, Error> {
    // The way of the NIST paper is a task of its own, shorter period.
    let interval_ns = match spec.compensate {
        Compensation::Repeat { every_ns } => every_ns,
        _ => spec.period_ns,
    };
    let mut wake = wake_up_by_method(system, spec.wake, spec.clock, interval_ns)?;
    if spec.clock != SleepClock::Monotonic && !spec.wake.traits().drifts {
        wake = Box::new(OnCivilTime::new(wake, spec.clock, system)?);
    }
    Ok(compensate::with_compensation(wake, system, spec.compensate, spec.period_ns)?)
}
