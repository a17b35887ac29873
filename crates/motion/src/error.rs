//! Sentences of errors that several places make: each says what to write instead.

use std::fmt::Display;
use std::io;
use std::path::Path;

use jitterlab_model::Error;

pub(crate) const POSITIVE: &str = "it has to be above zero";
pub(crate) const NOT_NEGATIVE: &str = "it cannot be below zero";
pub(crate) const POSITIVE_TIME: &str = "it has to be a time above zero";
pub(crate) const FRAME: &str = "stepper motors are NEMA 6, 8, 11, 14, 16, 17, 23, 24, 34 or 42";
pub(crate) const MICROSTEPS: &str = "drives make 1 to 256 of a full step";
pub(crate) const BELOW_HOLDING: &str =
    "it has to be below the motor's holding torque: take a smaller load or a larger motor";
pub(crate) const DETENT: &str = "it has to be from zero to below the holding torque";
pub(crate) const BELOW_TORQUE: &str =
    "the load torque has to be from zero to below the torque the motor has at that speed";
pub(crate) const WHOLE_STEPS: &str =
    "90 degrees have to be a whole number of steps, as with 1.8, 0.9, 3.75, 7.5 or 15 degrees";
pub(crate) const DRIVE_TIME: &str = "a drive's times are from 1 ns to 1 s (0 for direction)";

pub(crate) const QUOTED: &str = ": write it in quotes with its unit, such as \"1.2 N m\" or \"5 us\"";
pub(crate) const PER_CHANNEL: &str = ": write a number such as 1.5, or a time as a text with its unit such as \"10 ms\"; a list has one \
                                      for each input or output";
pub(crate) const PER_STATE: &str = ": write one number for each state such as [1.0, 0.1], or the rows of a symmetric matrix such as \
                                    [[1.0, 0.0], [0.0, 0.1]]";

pub(crate) fn out_of_range(what: &str, value: impl Display, bound: &str) -> Error {
    Error::bad_use(format!("{what} is {value}: {bound}"))
}

/// A device's file that is not TOML or has not the expected layout, with a hint on what to write.
pub(crate) fn invalid_file(kind: &str, name: &str, reason: &str, hint: &str) -> Error {
    Error::bad_use(format!("{name} is not a valid {kind} file: {reason}{hint}"))
}

pub(crate) fn unreadable(path: &Path, cause: &io::Error) -> Error {
    Error::bad_use(format!("cannot read {}: {cause}", path.display()))
}

pub fn no_stepper_timing() -> Error {
    Error::bad_use("no timing to judge: name a run file, or assume a spread with --jitter 20us")
}

pub fn no_period() -> Error {
    Error::bad_use("no timing to judge: name a run file, or say --period 1ms to see what the loop tolerates")
}

pub fn not_a_controller(text: &str) -> Error {
    Error::bad_use(format!(
        "{text:?} is not a controller: write pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg"
    ))
}

/// Error for a request to draw responses where no run or schedule gives any.
pub fn nothing_to_draw() -> Error {
    Error::bad_use(
        "there is no response to draw without a run, or the execution times of several loops: name a run file",
    )
}

/// Error for a file name whose extension no format of redesigned controllers has.
pub fn unsupported_gains_file(extension: &str) -> Error {
    Error::bad_use(format!(
        "no redesign fits into a file .{extension}: take .json (all of them), .toml (the best, as a plant's [controller]) or \
         .hal (LinuxCNC's pid, of a PD or PID)"
    ))
}

pub fn invalid_given_times(text: &str) -> Error {
    Error::bad_use(format!(
        "{text:?} gives no task its execution times: write TASK=TIMES for a loop of the plant's file, as position=0.2h, or \
         TASK@PERIOD=TIMES, as x@1ms=0.3h:0.9,0.8h:0.1"
    ))
}

pub(crate) fn never_idle_together() -> Error {
    Error::bad_use(
        "the tasks are never idle together when all are due, or their periods have no common multiple within 4096 of the shortest: \
         their loops cannot be judged as one course; judge each by --task",
    )
}

/// Error for a loop that is unstable with ideal timing; `radius` is the spectral radius of its covariance map.
pub(crate) fn unstable(plant: &str, period_ns: i64, radius: f64) -> Error {
    Error::bad_use(format!(
        "{plant} is unstable with this controller at a period of {period_ns} ns even with ideal timing (spectral radius \
         {radius:.4}): take a shorter period, other gains, or another controller such as --controller lqg"
    ))
}

pub(crate) fn too_few_activations(count: u64) -> Error {
    Error::not_measured(format!(
        "the run has {count} activations of this task: a loop needs some hundred periods to show anything; make a longer run"
    ))
}

pub(crate) fn several_descriptions(name: &str) -> Error {
    Error::bad_use(
        "a plant is described once: by a table [transfer_function], [zpk] or [state_space], or by file = \"NAME.json\" that another \
         program wrote",
    )
    .within(name)
}

pub(crate) fn invalid_roots(name: &str) -> Error {
    Error::bad_use("zeros and poles are numbers such as -1 or texts such as \"-1+2i\"").within(name)
}

pub(crate) fn not_a_number(name: &str) -> Error {
    Error::bad_use("a coefficient is not a number").within(name)
}

pub(crate) fn not_a_loop_controller(name: &str) -> Error {
    Error::bad_use(
        "a loop of several is a pd, pid, transfer-function or state-space controller of one output",
    )
    .within(name)
}
