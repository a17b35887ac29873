//! Why a microcontroller could not be simulated.

use std::io;
use std::path::PathBuf;

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
    /// A request that cannot be met.
    #[error("{0}")]
    Impossible(String),
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

    /// Whether it is only that something is not installed.
    pub fn is_missing(&self) -> bool {
        matches!(self, McuError::Missing { .. })
    }
}
