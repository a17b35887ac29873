//! Faults of a plant or its controller.

/// Fault of a plant or its controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlantFault {
    /// Not one value for each channel.
    #[error("{what} has {values} values for {channels} channels: give one for all or one for each")]
    Channels {
        /// Key in the file.
        what: String,
        /// Number of values given.
        values: usize,
        /// Number of inputs or outputs.
        channels: usize,
    },
    /// A matrix on more or fewer states than there are.
    #[error("{what} is for {given} states and the plant has {states}")]
    States {
        /// Key in the file.
        what: &'static str,
        /// States of the matrix.
        given: usize,
        /// States of the plant.
        states: usize,
    },
    /// A weight or an intensity that is not positive semidefinite.
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
        /// Expected numbers of outputs and inputs.
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
    /// A discrete system with an unknown period.
    #[error(
        "it is discrete, and its period is not told (dt is True, Ts is -1): write the sampling period in seconds, such as \
         \"dt\": 0.001"
    )]
    NoSamplePeriod,
    /// Content that is not JSON.
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
        /// Number of names given.
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
    /// A signal that two loops write.
    #[error("two loops write {0:?}: each input and each reference has one loop that writes it")]
    TwiceWritten(String),
    /// An output that there is not.
    #[error("a loop reads {text:?}, which is no output: take one of {known}")]
    NoSuchOutput {
        /// The text as written.
        text: String,
        /// Names of the outputs.
        known: String,
    },
    /// Neither an input nor another loop.
    #[error(
        "a loop writes {text:?}: write \"input\" (of {inputs}, else \"input 2\"), or the name of another loop whose reference it makes"
    )]
    NoSuchSignal {
        /// The text as written.
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
