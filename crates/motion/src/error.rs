//! Why a question about a motor or a loop could not be answered. Every message says what to write instead.

use crate::quantity::QuantityError;

/// Everything that can be wrong with a data sheet, a plant or a question.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MotionError {
    /// A file that is not TOML or not of the wanted layout.
    #[error("{name} is not a valid {kind} file: {reason}{hint}")]
    Layout {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// The file or preset.
        name: String,
        /// What the parser said, in one line.
        reason: String,
        /// What to write instead, where that is known.
        hint: Hint,
    },
    /// A quantity that could not be read.
    #[error("{name}: {error}")]
    Quantity {
        /// The file or preset.
        name: String,
        /// What is wrong.
        error: QuantityError,
    },
    /// A value outside the range in which it means something.
    #[error("{what} is {value}: {bound}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// Its value with unit.
        value: String,
        /// What it has to be.
        bound: Bound,
    },
    /// A figure that the data sheet lacks and the question needs.
    #[error(
        "{motor} has no {what}, which {purpose} needs: add `{key} = \"{example}\"` to its file or give it as an option"
    )]
    Missing {
        /// The motor's name.
        motor: String,
        /// The quantity.
        what: &'static str,
        /// The key in the file.
        key: &'static str,
        /// A value that would be accepted.
        example: &'static str,
        /// What it is needed for.
        purpose: &'static str,
    },
    /// A name that is neither a preset, nor one of the user's, nor a file.
    #[error("no {kind} is called {name:?}: use one of {known}, or the path of a TOML file")]
    Unknown {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A file that could not be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A plant, or a controller for it, that cannot be.
    #[error("{name}: {fault}")]
    Plant {
        /// The file, preset or option.
        name: String,
        /// What is wrong.
        fault: PlantFault,
    },

    /// A task that left its loop alone for longer than a loop is followed: the number of the activation, and the time in ns.
    #[error(
        "around activation {0} the task leaves its loop alone for {time}: what a loop does for so long without its controller is \
         not computed. See what happened with `jitterlab analyze`, and measure again",
        time = jitterlab_model::units::Human(*.1 as f64)
    )]
    Outage(u64, i64),
    /// The real-time task that closed a loop broke down.
    #[error("the task that closed the loop ended without a result")]
    LoopLost,
    /// A task of no run.
    #[error("--task cannot be used without a run: name a run file")]
    TaskWithoutRun,
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
    /// A speed in millimetres on an axis whose travel is not known.
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
        given = jitterlab_model::units::Exact(*.0),
        least = jitterlab_model::units::Exact(*.1)
    )]
    ShortBasePeriod(i64, i64),
    /// A simulation too short to show anything.
    #[error(
        "{given} of simulation show nothing: give --simulate at least {least}",
        given = jitterlab_model::units::Exact(*.0),
        least = jitterlab_model::units::Exact(*.1)
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
        base = jitterlab_model::units::Human(*.base_period_ns as f64)
    )]
    NoPunctualSpeed {
        /// The base period.
        base_period_ns: i64,
        /// Microsteps of a full step.
        microsteps: u32,
    },
    /// A run too short for a step.
    #[error(
        "there are no step pulses: the run is too short for this speed; take a longer run or a higher speed"
    )]
    NoPulses,
    /// A run whose source does not tell how late its latest activation was.
    #[error(
        "how late its latest tick was is not told by this run's source, and a motor is judged by that: take an output that \
         holds the largest latency, or measure with `jitterlab run`"
    )]
    NoLargest,
    /// A latency that no motor waits for.
    #[error("a tick came {} late, so the motor stood still for all that time", jitterlab_model::units::Human(*.0 as f64))]
    TooLate(i64),
    /// A load that the motor cannot hold at rest.
    #[error("{motor} does not hold {load_nm} N m at a stable angle: lower the load torque")]
    NotHeld {
        /// The motor's name.
        motor: String,
        /// Torque of the load.
        load_nm: f64,
    },

    /// A text that is no moment of sampling.
    #[error("{0:?} is not a moment of sampling: write start or due")]
    NotASampling(String),
    /// A text that is no moment of actuation.
    #[error("{0:?} is not a moment of actuation: write end, start, next-start or next-due")]
    NotAnActuation(String),
    /// A text that is no reference.
    #[error("{0:?} is not a reference: write step:1, sine:1:0.5Hz or ramp:2, in the output's unit")]
    NotAReference(String),
    /// A text that is no controller.
    #[error("{0:?} is not a controller: write pd:GAIN:TD, pid:GAIN:TI:TD, state-feedback or lqg")]
    NotAController(String),
    /// A gain that is not a number.
    #[error("{text:?} is a gain that is not a number: write the controller like {example}")]
    NotAGain {
        /// What was written.
        text: String,
        /// A controller that would be accepted.
        example: &'static str,
    },
    /// A controller with too few or too many values.
    #[error(
        "{text:?} has {found} values after the kind and this controller takes {wanted}: write it like {example}"
    )]
    ControllerValues {
        /// What was written.
        text: String,
        /// Values in it.
        found: usize,
        /// Values it takes.
        wanted: usize,
        /// A controller that would be accepted.
        example: &'static str,
    },
    /// Execution times that cannot be read.
    #[error("--execution {text:?}: {fault}")]
    Execution {
        /// What was written.
        text: String,
        /// What is wrong with it.
        fault: crate::servo::ExecutionFault,
    },
    /// An overrun action there is not.
    #[error(
        "{0:?} is no overrun action: take skip, skip/zero, skip/predict, catch-up, re-phase, kill, kill/zero or kill/predict"
    )]
    NotAnOverrunAction(String),
    /// What no task that runs here does.
    #[error("a task that runs live cannot do {0}: take skip, catch-up or re-phase, or judge a run of it")]
    NotLive(crate::servo::OverrunAction),
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
    /// A period of days.
    #[error("a period of {0} days is none of a control loop: take one of at most a day")]
    LongPeriod(i64),
    /// A delay that no design of this period can take into account.
    #[error(
        "a controller for a period of {period_ns} ns cannot be designed for a delay of {delay_ns} ns: the delay has to be \
         from zero to one period; shorten the work or lengthen the period"
    )]
    DesignDelay {
        /// The period.
        period_ns: i64,
        /// The delay.
        delay_ns: i64,
    },
    /// What cannot be asked of several loops.
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
        /// The plant.
        plant: String,
        /// The task, or the loop of that name.
        name: String,
        /// The tasks there are.
        tasks: String,
    },
    /// A task of a loop that there is not.
    #[error("{text:?} names no loop and a task: write LOOP=TASK, with one of {loops}")]
    NotALoop {
        /// What was written.
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
        /// The plant's name.
        plant: String,
        /// The period.
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
        given = jitterlab_model::units::Human(*.duration_ns as f64),
        period = jitterlab_model::units::Human(*.period_ns as f64)
    )]
    ShortDuration {
        /// How long it was to run.
        duration_ns: i64,
        /// The loop's period.
        period_ns: i64,
    },
}

/// What a value has to be.
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
    /// What drives make.
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
    /// What a drive's inputs need.
    #[error("a drive's times are from 1 ns to 1 s (0 for direction)")]
    DriveTime,
}

/// What to write in a file instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Hint {
    /// Nothing to add to what the parser said.
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

/// What is wrong with a plant or its controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlantFault {
    /// Not one value for each channel.
    #[error("{what} has {values} values for {channels} channels: give one for all or one for each")]
    Channels {
        /// The key.
        what: String,
        /// Values given.
        values: usize,
        /// Inputs or outputs.
        channels: usize,
    },
    /// A matrix on more or fewer states than there are.
    #[error("{what} is for {given} states and the plant has {states}")]
    States {
        /// The key.
        what: &'static str,
        /// States of the matrix.
        given: usize,
        /// States of the plant.
        states: usize,
    },
    /// A weight or an intensity that is none.
    #[error("{0} has to be symmetric, of numbers, without a negative direction (positive semidefinite)")]
    NotSemidefinite(&'static str),
    /// No description, or several.
    #[error(
        "a plant is described once: by a table [transfer_function], [zpk] or [state_space], or by file = \"NAME.json\" that another \
         program wrote"
    )]
    DescribedOnce,
    /// A matrix through of another size.
    #[error(
        "D is {}x{}: it has a row for each output and a column for each input, {}x{}, all zero; it can be left out",
        .given.0, .given.1, .wanted.0, .wanted.1
    )]
    Through {
        /// Rows and columns given.
        given: (usize, usize),
        /// Outputs and inputs.
        wanted: (usize, usize),
    },
    /// An output that follows the input at once.
    #[error(
        "D is not zero: an output that follows its input at once cannot be sampled and written in turn; leave that part to the \
         controller, or add the fast pole the real machine has"
    )]
    DirectThrough,
    /// A sampled description of no continuous plant.
    #[error(
        "no continuous plant of this order, with its input held, has these samples: it has a pole at zero or on the negative real \
         axis of z, such as a delay of whole periods; give the plant without the delay, or in continuous time"
    )]
    NotSampled,
    /// A discrete system whose period nobody named.
    #[error(
        "it is discrete, and its period is not told (dt is True, Ts is -1): write the sampling period in seconds, such as \
         \"dt\": 0.001"
    )]
    NoSamplePeriod,
    /// What is no JSON.
    #[error("this is no JSON of a system: {0}")]
    NotJson(String),
    /// A file without a system.
    #[error(
        "no system is in it: a JSON file holds A, B, C (and D), or num and den, or z, p and k, with dt for a discrete one; as \
         python-control: json.dump({{\"A\": sys.A.tolist(), ... \"dt\": sys.dt}}, file)"
    )]
    NothingExported,
    /// Something that is not numbers.
    #[error("{0} is not made of numbers: write a list of rows such as [[0, 1], [0, -1]]")]
    NotNumbers(String),
    /// A line that is not of numbers.
    #[error(
        "line {line} is not of numbers with commas between: write the matrix alone, without a head, one row a line"
    )]
    NotATable {
        /// The line, from one on.
        line: usize,
    },
    /// A directory without one of its files.
    #[error(
        "there is no {0} in this directory: it holds A.csv, B.csv and C.csv, and where wanted D.csv and dt.csv"
    )]
    NoMatrixFile(String),
    /// Weights of states that the user cannot know.
    #[error("noise.state and cost.state need states with a meaning: describe the plant by [state_space]")]
    NamelessStates,
    /// A weight or intensity below zero.
    #[error("{0} has a value that is negative or not a number: intensities and weights are at least zero")]
    Negative(&'static str),
    /// No controller in the file.
    #[error(
        "no controller is named: take --controller, such as pd:1.5:35ms, or add a table [controller] with its kind, such as kind = \
         \"lqg\", or kind = \"pd\" with gain = 1.5 and derivative_time = \"35 ms\""
    )]
    NoController,
    /// A zero or pole that is no number.
    #[error("zeros and poles are numbers such as -1 or texts such as \"-1+2i\"")]
    Roots,
    /// A complex root without its conjugate.
    #[error("complex zeros and poles come in conjugate pairs: give both -1+2i and -1-2i")]
    Unpaired,
    /// Rows of different lengths.
    #[error("{0} has to be a list of rows of the same length, such as [[0, 1], [0, -1]]")]
    Ragged(String),
    /// Infinite or no number.
    #[error("a coefficient is not a number")]
    NotANumber,
    /// A, B and C of different sizes.
    #[error(
        "the matrices do not fit: A is {}x{}, B {}x{}, C {}x{}; A has to be square, with as many rows as B and as many \
         columns as C",
        .a.0, .a.1, .b.0, .b.1, .c.0, .c.1
    )]
    Misfit {
        /// Rows and columns of A.
        a: (usize, usize),
        /// Rows and columns of B.
        b: (usize, usize),
        /// Rows and columns of C.
        c: (usize, usize),
    },
    /// More states than can be handled.
    #[error("{states} states are too many: at most {most} can be handled")]
    TooManyStates {
        /// States of the plant.
        states: usize,
        /// Most there may be.
        most: usize,
    },
    /// Not one name for each output.
    #[error("{names} names are given for {outputs} outputs")]
    OutputNames {
        /// Names given.
        names: usize,
        /// Outputs of the plant.
        outputs: usize,
    },
    /// A cost of nothing.
    #[error("the cost weighs nothing: give cost.output, cost.state or cost.input a value above zero")]
    NoWeight,
    /// No numerator or no power of s.
    #[error(
        "a transfer function needs a numerator that is not zero and a denominator with at least one power of s, such as \
         numerator = [1000], denominator = [1, 1, 0] for 1000/(s^2 + s)"
    )]
    NoTransferFunction,
    /// A plant that would answer a step at once.
    #[error(
        "the transfer function is improper (numerator of degree {numerator}, denominator of degree {denominator}): a \
         plant's numerator has to be of lower degree; leave the derivative to the controller, or add the fast pole the \
         real machine has"
    )]
    Improper {
        /// Degree of the numerator.
        numerator: usize,
        /// Degree of the denominator.
        denominator: usize,
    },
    /// A given feedback of another size.
    #[error(
        "controller.gain is {}x{}: for this plant it has a row for each of its inputs ({inputs}) and a column for each of \
         its states ({states}), or also for the inputs held before ({})",
        .gain.0, .gain.1, .states + .inputs
    )]
    GivenGain {
        /// Rows and columns given.
        gain: (usize, usize),
        /// Inputs of the plant.
        inputs: usize,
        /// States of the plant.
        states: usize,
    },
    /// A transfer function as controller of a plant with several channels.
    #[error(
        "a controller given as a transfer function is for one input and one output: write one for more by kind = \
         \"state-space\" with a, b, c and d"
    )]
    OneChannel,
    /// A controller's matrices of different sizes.
    #[error(
        "the controller's matrices do not fit: with {states} states a has to be {states}x{states}, b {states}x{outputs}, \
         c {inputs}x{states} and d {inputs}x{outputs}"
    )]
    ControllerMisfit {
        /// States of the controller.
        states: usize,
        /// Inputs of the plant.
        inputs: usize,
        /// Outputs of the plant.
        outputs: usize,
    },
    /// A gain that is infinite or no number.
    #[error("a gain is not a finite number: write one such as 1.5")]
    InfiniteGain,
    /// A controller that would need the future.
    #[error(
        "the controller's transfer function cannot be computed in time: in powers of z, the numerator must not be zero \
         nor of higher degree than the denominator, such as numerator = [10, -9], denominator = [1, 0] for (10 z - 9)/z"
    )]
    NotCausal,
    /// Not as many outputs as inputs.
    #[error(
        "a controller needs as many outputs as inputs, and the plant has {outputs} and {inputs}: keep the rows of c that \
         are to follow the reference, and weigh other states by cost.state"
    )]
    NotSquare {
        /// Inputs of the plant.
        inputs: usize,
        /// Outputs of the plant.
        outputs: usize,
    },
    /// A design delay for a controller that is not designed.
    #[error(
        "its controller is given by its numbers, which no design for a delay of {0} ns changes: leave the delay out, or \
         take a controller that is designed, such as lqg"
    )]
    GivenByNumbers(i64),
    /// Numbers that overflow within a period.
    #[error(
        "within a period of {} s its numbers grow beyond what can be computed with: check the plant's coefficients and \
         their units, or take a shorter period",
        *.0 as f64 * 1e-9
    )]
    Overflow(i64),
    /// One controller, and several.
    #[error("it has a [controller] and loops of its own: keep one of both")]
    TwiceControlled,
    /// Two loops of one name.
    #[error("two loops are called {0:?}: give each a name of its own")]
    TwiceNamed(String),
    /// What two loops write.
    #[error("two loops write {0:?}: each input and each reference has one loop that writes it")]
    TwiceWritten(String),
    /// An output that there is not.
    #[error("a loop reads {text:?}, which is no output: take one of {known}")]
    NoSuchOutput {
        /// What was written.
        text: String,
        /// The outputs.
        known: String,
    },
    /// Neither an input nor another loop.
    #[error(
        "a loop writes {text:?}: write \"input\" (of {inputs}, else \"input 2\"), or the name of another loop whose reference it makes"
    )]
    NoSuchSignal {
        /// What was written.
        text: String,
        /// Inputs of the plant.
        inputs: usize,
    },
    /// A loop's period of nothing.
    #[error("a loop has the period {0}: it has to be a time above zero")]
    NoLoopPeriod(String),
    /// A loop whose controller needs all of the plant.
    #[error("a loop of several is a pd, pid, transfer-function or state-space controller of one output")]
    LoopOfStates,
    /// Loops that write each other.
    #[error(
        "the loops write each other's references in a circle: the outermost has a reference from outside"
    )]
    Circle,
    /// A Kalman filter without measurement noise.
    #[error("a Kalman filter needs measurement noise above zero on every output: set noise.measurement")]
    NoMeasurementNoise,
    /// A Kalman filter without a gain.
    #[error("the Kalman filter has no gain")]
    NoKalmanGain,
}

impl PlantFault {
    /// The error of the file, preset or option called `name`.
    pub(crate) fn of(self, name: &str) -> MotionError {
        MotionError::Plant { name: name.into(), fault: self }
    }
}

impl MotionError {
    /// A value out of range.
    pub(crate) fn range(what: &'static str, value: &dyn std::fmt::Display, bound: Bound) -> Self {
        MotionError::Range { what, value: value.to_string(), bound }
    }
}
