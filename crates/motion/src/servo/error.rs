//! Why a question about a control loop could not be answered.

use jitterlab_model::units::Human;

use super::{ExecutionFault, OverrunAction, PlantFault};
use crate::MotionError;

/// Errors in questions about a control loop. Every message says what to write instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ServoError {
    /// A plant, or a controller for it, that cannot be.
    #[error("{name}: {fault}")]
    Plant {
        /// The file, preset or option.
        name: String,
        /// Fault of the plant.
        fault: PlantFault,
    },
    /// A task that left its loop alone for longer than a loop is followed: the number of the activation, and the time in ns.
    #[error(
        "around activation {0} the task leaves its loop alone for {time}: what a loop does for so long without its controller is \
         not computed. See what happened with `jitterlab analyze`, and measure again",
        time = Human(*.1 as f64)
    )]
    Outage(u64, i64),
    /// The real-time task that closed a loop broke down.
    #[error("the task that closed the loop ended without a result")]
    LoopLost,
    /// A text that is no moment of sampling.
    #[error("{0:?} is not a moment of sampling: write start or due")]
    NotASampling(String),
    /// A text that is no moment of actuation.
    #[error("{0:?} is not a moment of actuation: write end, start, next-start or next-due")]
    NotAnActuation(String),
    /// A text that is no reference.
    #[error(
        "{0:?} is not a reference: write step:1, sine:1:0.5Hz, ramp:2 or move:1:200ms, in the output's unit"
    )]
    NotAReference(String),
    /// A text that is no controller.
    #[error("{0:?} is not a controller: write pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg")]
    NotAController(String),
    /// A controller for several loops without the name of its loop.
    #[error(
        "{text:?} does not say whose controller it is: write NAME=CONTROLLER, as x=pid:1.5:80ms:35ms, with one of {names}"
    )]
    WhoseController {
        /// The text as written.
        text: String,
        /// The tasks and loops there are.
        names: String,
    },
    /// A gain that is not a number.
    #[error("{text:?} is a gain that is not a number: write the controller like {example}")]
    NotAGain {
        /// The text as written.
        text: String,
        /// A controller that would be accepted.
        example: &'static str,
    },
    /// A controller with too few or too many values.
    #[error(
        "{text:?} has {found} values after the kind and this controller takes {wanted}: write it like {example}"
    )]
    ControllerValues {
        /// The text as written.
        text: String,
        /// Number of values given.
        found: usize,
        /// Number of values expected.
        wanted: usize,
        /// A controller that would be accepted.
        example: &'static str,
    },
    /// Execution times that cannot be read.
    #[error("--execution {text:?}: {fault}")]
    Execution {
        /// The text as written.
        text: String,
        /// Fault of the execution times.
        fault: ExecutionFault,
    },
    /// An overrun action there is not.
    #[error(
        "{0:?} is no overrun action: take skip, skip/zero, skip/predict, catch-up, re-phase, kill, kill/zero or kill/predict"
    )]
    NotAnOverrunAction(String),
    /// An overrun action that a live task does not support.
    #[error("a task that runs live cannot do {0}: take skip, catch-up or re-phase, or judge a run of it")]
    NotLive(OverrunAction),
    /// Not a number of misses.
    #[error(
        "{0:?} is no number of missed periods: write at most how many in how many in a row, such as 2/10"
    )]
    NotMisses(String),
    /// An output that is predicted without an estimator.
    #[error(
        "this controller has no estimator that could predict its output: take --controller lqg, or an action that holds the \
         output or sets it to zero"
    )]
    NoEstimator,
    /// Neither a run nor a period.
    #[error("no timing to judge: name a run file, or say --period 1ms to see what the loop stands")]
    NoPeriod,
    /// Several periods, and no run with several tasks.
    #[error(
        "--period is given {0} times, and one loop without a run has one: give it once; of several loops --execution TASK@PERIOD=TIMES \
         says whose it is"
    )]
    SeveralPeriods(usize),
    /// A period of days.
    #[error("a period of {0} days is none of a control loop: take one of at most a day")]
    LongPeriod(i64),
    /// A delay that no design of this period can take into account.
    #[error(
        "a controller for a period of {period_ns} ns cannot be designed for a delay of {delay_ns} ns: the delay has to be \
         from zero to one period; shorten the work or lengthen the period"
    )]
    DesignDelay {
        period_ns: i64,
        /// Delay of the design, in ns.
        delay_ns: i64,
    },
    /// A question that cannot be asked about several loops.
    #[error(
        "{0} is for one loop, and several are judged together: leave it out, or name one plant with one controller"
    )]
    NotOfSeveral(&'static str),
    /// Execution times of a task of several that cannot be read.
    #[error(
        "{0:?} gives no task its execution times: write TASK=TIMES for a loop of the plant's file, as position=0.2h, or \
         TASK@PERIOD=TIMES, as x@1ms=0.3h:0.9,0.8h:0.1"
    )]
    NotGivenTimes(String),
    /// Nothing that could be drawn.
    #[error(
        "there is no response to draw without a run, or the execution times of several loops: name a run file"
    )]
    NoResponse,
    /// Gains for a file of a kind that they do not fit into.
    #[error(
        "no redesign fits into a file .{0}: take .json (all of them), .toml (the best, as a plant's [controller]) or .hal (LinuxCNC's pid, \
         of a PD or PID)"
    )]
    NoSuchGains(String),
    /// A plant for each task, one of them without its task.
    #[error("several plants need their tasks: write --plant TASK={0}")]
    PlantWithoutTask(String),
    /// A loop that no task closes.
    #[error(
        "there is no task {name:?} to close {plant}: name one by --plant TASK=NAME, or of a plant with several loops by --loop LOOP=TASK; \
         there are {tasks}"
    )]
    LoopWithoutTask {
        plant: String,
        /// The task, or the loop of that name.
        name: String,
        /// The tasks there are.
        tasks: String,
    },
    /// A task of a loop that there is not.
    #[error("{text:?} names no loop and a task: write LOOP=TASK, with one of {loops}")]
    NotALoop {
        /// The text as written.
        text: String,
        /// The loops there are.
        loops: String,
    },
    /// Tasks that are never idle together.
    #[error(
        "the tasks are never idle together when all are due, or their periods have no common multiple within 4096 of the shortest: \
         their loops cannot be judged as one course; judge each by --task"
    )]
    NeverTogether,
    /// No solution of the Riccati equation.
    #[error(
        "no controller of this kind stabilises the plant: some unstable part of it is not reached by the input, not seen \
         by the output, or has no weight in the cost"
    )]
    NotStabilised,
    /// A loop that is unstable by its design.
    #[error(
        "{plant} is unstable with this controller at a period of {period_ns} ns even with ideal timing (spectral radius \
         {radius:.4}): take a shorter period, other gains, or another controller such as --controller lqg"
    )]
    Unstable {
        plant: String,
        period_ns: i64,
        /// Spectral radius of the loop's covariance over a period.
        radius: f64,
    },
    /// A run that shows too little of a loop.
    #[error(
        "the run has {0} activations of this task: a loop needs some hundred periods to show anything; make a longer run"
    )]
    TooFewActivations(usize),
    /// A live run that shows too little of a loop.
    #[error(
        "{given} are too few for a loop with a period of {period}: give --duration at least twenty periods",
        given = Human(*.duration_ns as f64),
        period = Human(*.period_ns as f64)
    )]
    ShortDuration {
        /// Requested duration, in ns.
        duration_ns: i64,
        period_ns: i64,
    },
}

impl PlantFault {
    /// The error of the file, preset or option called `name`.
    pub(crate) fn for_plant(self, name: &str) -> MotionError {
        ServoError::Plant { name: name.into(), fault: self }.into()
    }
}
