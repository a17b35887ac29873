//! Errors in questions about a motor or a loop. Every message says what to write instead.

use jitterlab_model::Error;

use crate::quantity::QuantityError;
use crate::servo::ServoError;
use crate::stepper::StepperError;

/// Everything that can be wrong with a data sheet, a plant or a question.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MotionError {
    /// A question about a stepper motor.
    #[error(transparent)]
    Stepper(#[from] StepperError),
    /// A question about a control loop.
    #[error(transparent)]
    Servo(#[from] ServoError),
    /// A run that could not be read.
    #[error(transparent)]
    Run(#[from] Error),
    /// A file that is not TOML or has not the expected layout.
    #[error("{name} is not a valid {kind} file: {reason}{hint}")]
    Layout {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// The file or preset.
        name: String,
        /// Message of the parser, in one line.
        reason: String,
        /// Hint on what to write instead, if there is one.
        hint: Hint,
    },
    /// A quantity that could not be read.
    #[error("{name}: {error}")]
    Quantity {
        /// The file or preset.
        name: String,
        /// Error in the quantity.
        error: QuantityError,
    },
    /// A value outside its sensible range.
    #[error("{what} is {value}: {bound}")]
    Range {
        /// Name of the quantity.
        what: &'static str,
        /// Its value with unit.
        value: String,
        /// Allowed range.
        bound: Bound,
    },
    /// A name that is neither a preset, nor one of the user's, nor a file.
    #[error("no {kind} is called {name:?}: use one of {known}, or the path of a TOML file")]
    Unknown {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// Name that was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A file that could not be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// Message of the system.
        reason: String,
    },
    /// A task of no run.
    #[error("--task cannot be used without a run: name a run file")]
    TaskWithoutRun,
}

/// Allowed range of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Bound {
    /// Above zero.
    #[error("it has to be above zero")]
    Positive,
    /// Zero or above.
    #[error("it cannot be below zero")]
    NotNegative,
    /// Above zero, a time.
    #[error("it has to be a time above zero")]
    PositiveTime,
    /// A NEMA frame size that motors are made in.
    #[error("stepper motors are NEMA 6, 8, 11, 14, 16, 17, 23, 24, 34 or 42")]
    Frame,
    /// A number of microsteps that drives offer.
    #[error("drives make 1 to 256 of a full step")]
    Microsteps,
    /// Below the holding torque, a load.
    #[error("it has to be below the motor's holding torque: take a smaller load or a larger motor")]
    BelowHolding,
    /// Below the holding torque, the motor's own.
    #[error("it has to be from zero to below the holding torque")]
    Detent,
    /// Below the torque at a speed.
    #[error("the load torque has to be from zero to below the torque the motor has at that speed")]
    BelowTorque,
    /// A whole number of steps in a quarter turn.
    #[error("90 degrees have to be a whole number of steps, as with 1.8, 0.9, 3.75, 7.5 or 15 degrees")]
    WholeSteps,
    /// A time that a drive's inputs may need.
    #[error("a drive's times are from 1 ns to 1 s (0 for direction)")]
    DriveTime,
}

/// Hint on what to write in a file instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Hint {
    /// Nothing to add to the parser's message.
    #[error("")]
    None,
    /// A quantity as a bare number.
    #[error(": write it in quotes with its unit, such as \"1.2 N m\" or \"5 us\"")]
    Quoted,
    /// A value of each channel.
    #[error(
        ": write a number such as 1.5, or a time as a text with its unit such as \"10 ms\"; a list has one for each input \
         or output"
    )]
    PerChannel,
    /// A value of each state.
    #[error(
        ": write one number for each state such as [1.0, 0.1], or the rows of a symmetric matrix such as [[1.0, 0.0], \
         [0.0, 0.1]]"
    )]
    PerState,
}

impl From<MotionError> for Error {
    fn from(error: MotionError) -> Self {
        match error {
            MotionError::Run(error) => error,
            MotionError::Servo(error) => error.into(),
            MotionError::Stepper(error) => error.into(),
            other => Error::bad_use(other.to_string()),
        }
    }
}

impl From<ServoError> for Error {
    fn from(error: ServoError) -> Self {
        use ServoError as E;
        match error {
            E::Outage(..) | E::LoopLost | E::TooFewActivations(_) => Error::not_measured(error.to_string()),
            _ => Error::bad_use(error.to_string()),
        }
    }
}

impl From<StepperError> for Error {
    fn from(error: StepperError) -> Self {
        use StepperError as E;
        match error {
            E::NoPulses | E::NoLargest | E::TooLate(_) => Error::not_measured(error.to_string()),
            _ => Error::bad_use(error.to_string()),
        }
    }
}

impl MotionError {
    /// A value out of range.
    pub(crate) fn range(what: &'static str, value: &dyn std::fmt::Display, bound: Bound) -> Self {
        MotionError::Range { what, value: value.to_string(), bound }
    }
}
