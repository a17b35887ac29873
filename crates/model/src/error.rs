//! Why a text could not be understood, with what to write instead.

/// Why a time could not be understood. The message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// Nothing, or something that does not start with a number.
    #[error("{0:?} is not a time: write a number with a unit, such as 250us, 1.5ms or 1kHz")]
    NotANumber(String),
    /// A number without a unit.
    #[error("{0:?} has no unit (ns, us, ms, s, m, h or d): did you mean {0}us?")]
    NoUnit(String),
    /// A unit that is not known here.
    #[error("{unit:?} in {text:?} is not a known unit: use {known}")]
    UnknownUnit {
        /// What was written.
        text: String,
        /// The unit found in it.
        unit: String,
        /// The units that are accepted here.
        known: &'static str,
    },
    /// More than 292 years, or more digits than fit.
    #[error("{0:?} is too large: times are below 292 years")]
    TooLarge(String),
    /// A period of nothing, or a frequency whose period rounds to nothing.
    #[error("{0:?} gives a period of 0 ns: a period must be at least 1 ns")]
    Zero(String),
    /// Digits below a hertz.
    #[error("{0:?} is not a whole number of hertz")]
    FractionOfHertz(String),
    /// A frequency of more than 32 bits.
    #[error("{0:?} is too large: frequencies are below 4.29 GHz")]
    FrequencyTooLarge(String),
    /// Digits below a nanosecond.
    #[error("{0:?} is finer than a nanosecond: times are whole nanoseconds")]
    TooFine(String),
}

/// Why the value of a property could not be understood. The message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A value that its property does not take.
    #[error("{value:?} is not a {what}: use {known}")]
    Unknown {
        /// What the value should have been.
        what: &'static str,
        /// What was written.
        value: String,
        /// What is accepted.
        known: &'static str,
    },
    /// A policy that needs a priority, without one.
    #[error("{0:?} lacks its priority, 1 to 99: did you mean {0}:80?")]
    NoPriority(String),
    /// A time that could not be read.
    #[error("{key}: {error}")]
    Time {
        /// The property whose value it is.
        key: &'static str,
        /// What is wrong with it.
        error: UnitError,
    },
}

pub(crate) const TIME_UNITS: &str = "ns, us, ms, s, m (minutes), h or d";
pub(crate) const PERIOD_UNITS: &str = "ns, us, ms, s, m, h, d, Hz, kHz or MHz";
pub(crate) const FREQUENCY_UNITS: &str = "Hz, kHz or MHz";
pub(crate) const KEEPS: &str = "all, spikes, or spikes:TIME such as spikes:100us";
pub(crate) const PULSES: &str = "a line such as gpiochip0:17, parport0:D0, ttyS0:rts, ttyS0:dtr or file:PATH, with @start, @end or ,step=RATE behind it";
pub(crate) const POLICIES: &str =
    "other, batch, idle, fifo:1..99, rr:1..99 or deadline:RUNTIME such as deadline:200us";
pub(crate) const WORKS: &str = "none, spin:TIME such as spin:50us, or twente:DIVISIONS such as twente:10000";
pub(crate) const COMPENSATIONS: &str = "none, repeat:TIME such as repeat:50us, margin:TIME such as margin:20us, late:P such as late:1e-4, cost:RATIO such as cost:100, or adaptive:P";
