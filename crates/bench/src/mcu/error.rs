//! Why a microcontroller could not be simulated.

use std::io;
use std::path::PathBuf;

use jitterlab_model::units::Exact;

/// Why a microcontroller could not be simulated. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum McuError {
    /// A program or library that is not installed.
    #[error("{what} is not installed: on Debian and Ubuntu it comes with `apt install {packages}`")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// The packages that bring it.
        packages: &'static str,
    },
    /// A compiler refused a program.
    #[error("{compiler} could not compile {what}:\n{message}")]
    Compile {
        /// The compiler's name.
        compiler: &'static str,
        /// What it was given.
        what: String,
        /// What it said.
        message: String,
    },
    /// The simulator refused the firmware or its options.
    #[error("simavr cannot run {}: {message}", firmware.display())]
    Refused {
        /// The firmware.
        firmware: PathBuf,
        /// What was wrong with it.
        message: String,
    },
    /// The simulated processor did something that no processor can.
    #[error("the firmware crashed after {cycles} cycles: {message}")]
    Crashed {
        /// When.
        cycles: u64,
        /// What simavr said.
        message: String,
    },
    /// The simulator wrote something that cannot be understood.
    #[error("the simulator's line {0:?} cannot be understood: this is a bug in jitterlab")]
    Protocol(String),
    /// The firmware ran and its pin showed too little.
    #[error(
        "pin {pin} changed {edges} times in {seconds:.3} s of simulated time: too little to measure; \
         is it the right pin, and is the time long enough?"
    )]
    Silent {
        /// The watched pin.
        pin: String,
        /// Edges seen.
        edges: usize,
        /// Simulated time.
        seconds: f64,
    },
    /// A pin that is not written as one.
    #[error("{0:?} is not a pin: write a port and a bit, such as B0 or D5")]
    NotAPin(String),
    /// A period that no alarm can have.
    #[error("{0} is no period of an alarm: it must be whole microseconds, at most 4294 s")]
    NotAPeriod(Exact),
    /// A prescaler that timer 1 has not.
    #[error("{0:?} is not one of 1, 8, 64, 256, 1024")]
    NotAPrescaler(String),
    /// A need that is not written as one.
    #[error("{0:?} is not PERIOD:TOLERANCE: write it like 20ms:50us")]
    NotANeed(String),
    /// A period of nothing.
    #[error("a period of {0} ns is none: it must be above 0")]
    NoPeriod(i64),
    /// No period that is needed.
    #[error("no period was given: say what is needed, such as 20ms:50us")]
    NoNeed,
    /// A period that is too short for the timer.
    #[error(
        "no prescaler of timer 1 at {clock_hz} Hz can time {shortest_us} us: it is below one count of all of them"
    )]
    TooShort {
        /// The chip's clock.
        clock_hz: u32,
        /// The shortest period that is needed.
        shortest_us: u32,
    },
    /// Edges that are not written as such.
    #[error("{0:?} is not an edge: use rising, falling or both")]
    NotAnEdge(String),
    /// A file or process that could not be handled.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl McuError {
    /// For `map_err`: names what was tried.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> McuError {
        let what = what.into();
        move |error| McuError::Io { what, error }
    }

    /// Whether the request itself is at fault, rather than what is installed here.
    pub fn is_bad_use(&self) -> bool {
        use McuError as E;
        matches!(
            self,
            E::NotAPin(_)
                | E::NotAPeriod(_)
                | E::NotAPrescaler(_)
                | E::NotANeed(_)
                | E::NoPeriod(_)
                | E::NoNeed
                | E::TooShort { .. }
                | E::NotAnEdge(_)
        )
    }

    /// Whether it is only that something is not installed.
    pub fn is_missing(&self) -> bool {
        matches!(self, McuError::Missing { .. })
    }
}
