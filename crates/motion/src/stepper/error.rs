//! Why a question about a motor could not be answered.

use jitterlab_model::units::{Exact, Human};

/// Errors in questions about a stepper motor. Every message says what to write instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepperError {
    /// A figure that the data sheet lacks and the question needs.
    #[error(
        "{motor} has no {what}, which {purpose} needs: add `{key} = \"{example}\"` to its file or give it as an option"
    )]
    Missing {
        motor: String,
        /// Name of the missing figure.
        what: &'static str,
        /// The key in the file.
        key: &'static str,
        /// A value that would be accepted.
        example: &'static str,
        /// Computation that needs it.
        purpose: &'static str,
    },
    /// No motor was named.
    #[error(
        "which motor? Name one of `jitterlab stepper --list` with --motor, or give --torque \"1.9 N m\" (and --frame 23)"
    )]
    NoMotor,
    /// A text that is no number of microsteps.
    #[error("{0:?} is not a number of microsteps: write 8 or 1/8")]
    NotMicrosteps(String),
    /// A text that is no speed.
    #[error(
        "{0:?} is not a speed: write a number above zero with rev/s, rpm, steps/s (full steps), Hz or kHz (step pulses), \
         mm/s or mm/min, such as 5rev/s"
    )]
    NotASpeed(String),
    /// A speed in millimetres on an axis of unknown travel.
    #[error("{0:?} needs the travel of a revolution: give --travel 10mm/rev")]
    NoTravel(String),
    /// A range of speeds that does not rise.
    #[error("{0:?} does not rise: write the lower speed first, such as 1rev/s..10rev/s")]
    FallingRange(String),
    /// No run and no assumed jitter.
    #[error("no timing to judge: name a run file, or assume a spread with --jitter 20us")]
    NoTiming,
    /// A base period that is a slip of the pen.
    #[error(
        "no computer makes step pulses on a base period of {given}: give --base-period at least {least}",
        given = Exact(*.0),
        least = Exact(*.1)
    )]
    ShortBasePeriod(i64, i64),
    /// A simulation too short to show anything.
    #[error(
        "{given} of simulation show nothing: give --simulate at least {least}",
        given = Exact(*.0),
        least = Exact(*.1)
    )]
    ShortSimulation(i64, i64),
    /// A speed at which the motor cannot carry its load.
    #[error(
        "at {steps_per_s:.0} full steps/s the motor has {torque_nm:.3} N m, less than the load of {load_nm} N m even with \
         ideal timing: lower the speed or the load, or raise the voltage"
    )]
    Overloaded {
        /// Full steps per second.
        steps_per_s: f64,
        /// Torque of the motor at that speed.
        torque_nm: f64,
        /// Torque of the load.
        load_nm: f64,
    },
    /// No speed that the base period and the motor make even with punctual steps.
    #[error(
        "none of the speeds can be made on a base period of {base} at {microsteps} microsteps, even by punctual steps; \
         name a slower one with --speed or a shorter --base-period",
        base = Human(*.base_period_ns as f64)
    )]
    NoPunctualSpeed {
        base_period_ns: i64,
        /// Microsteps of a full step.
        microsteps: u32,
    },
    /// A run too short for a step.
    #[error(
        "there are no step pulses: the run is too short for this speed; take a longer run or a higher speed"
    )]
    NoPulses,
    /// A run whose source does not report the largest lateness.
    #[error(
        "how late its latest tick was is not told by this run's source, and a motor is judged by that: take an output that \
         holds the largest latency, or measure with `jitterlab run`"
    )]
    NoLargest,
    /// A latency that no motor waits for.
    #[error("a tick came {} late, so the motor stood still for all that time", Human(*.0 as f64))]
    TooLate(i64),
    /// A load that the motor cannot hold at rest.
    #[error("{motor} does not hold {load_nm} N m at a stable angle: lower the load torque")]
    NotHeld {
        motor: String,
        /// Torque of the load.
        load_nm: f64,
    },
}
