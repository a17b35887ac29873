//! Why a microcontroller could not be simulated.

use std::fmt;
use std::io;
use std::path::PathBuf;

use jitterlab_chip::{NotAPin, Pin, log};
use jitterlab_model::Warning;
use jitterlab_model::firmware::Place;
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
    /// A file that is damaged, or firmware for another kind of chip.
    #[error("{} cannot be simulated: {message}", firmware.display())]
    NotFirmware {
        /// The file.
        firmware: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A file of another kind.
    #[error("{} is neither an ELF file, Intel HEX nor UF2: give what the linker wrote (.elf), or what is flashed (.hex, .uf2)", .0.display())]
    NeitherElfNorHex(PathBuf),
    /// A firmware that does not name its chip.
    #[error("{} does not name its chip: say it, such as --mcu atmega328p or --mcu rp2040", .0.display())]
    NoChip(PathBuf),
    /// A firmware that does not tell its clock.
    #[error("{} does not tell its clock's frequency: say it, such as --clock 16MHz", .0.display())]
    NoClock(PathBuf),
    /// A chip that is not simulated.
    #[error("the chip {mcu} is not simulated; these are: {known}")]
    UnknownChip {
        /// Its name.
        mcu: String,
        /// Those that are.
        known: String,
    },
    /// A measurement that there is for chips with an AVR alone.
    #[error(
        "this is measured on chips with an AVR only, such as atmega328p; on the {0}, `jitterlab mcu run` measures one alarm at a time"
    )]
    OnlyAvr(String),
    /// A pin that the chip has not.
    #[error("{mcu} has no pin {pin}")]
    NoSuchPin {
        /// The chip.
        mcu: String,
        /// The pin.
        pin: Pin,
    },
    /// A firmware that does not fit.
    #[error("the firmware does not fit: it takes {takes}, {mcu} has {there} bytes")]
    TooLarge {
        /// The chip.
        mcu: String,
        /// What the firmware takes, and of which memory.
        takes: Takes,
        /// Bytes that the chip has.
        there: u32,
    },
    /// The simulated processor did something that no processor can.
    #[error("the firmware crashed after {seconds:.6} s: at {at}, reached from {from}, {fault}")]
    Crashed {
        /// What.
        fault: Fault,
        /// Where.
        at: At,
        /// From which instruction it came there.
        from: At,
        /// When.
        seconds: f64,
    },
    /// The firmware ran and its pin showed too little.
    #[error(
        "pin {pin} changed {edges} times in {seconds:.3} s of simulated time: too little to measure; \
         is it the right pin, and is the time long enough? At the end the program was at {end}{}",
        asleep(*asleep_share)
    )]
    Silent {
        /// The watched pin.
        pin: String,
        /// Edges seen.
        edges: usize,
        /// Simulated time.
        seconds: f64,
        /// Where the program was at the end.
        end: At,
        /// How much of the time it slept, 0 to 1.
        asleep_share: f64,
        /// What else was seen, that may be the reason.
        warnings: Vec<Warning>,
    },
    /// An alarm that never came, on a board that cannot do it.
    #[error("an alarm of {period_us} us did not come within the simulated time")]
    NoEvent {
        /// Its period.
        period_us: u32,
    },
    /// A pin that is not written as one.
    #[error(transparent)]
    NotAPin(#[from] NotAPin),
    /// A period that no alarm can have.
    #[error("{0} is no period of an alarm: it must be whole microseconds, at most 4294 s")]
    NotAPeriod(Exact),
    /// A prescaler that timer 1 has not.
    #[error("{0:?} is not one of 1, 8, 64, 256, 1024")]
    NotAPrescaler(String),
    /// A prescaler for a chip whose timers have none.
    #[error("the timers of the {0} have no prescaler: leave --prescaler out")]
    NoPrescaler(&'static str),
    /// A need that is not written as one.
    #[error("{0:?} is not PERIOD:TOLERANCE: write it like 20ms:50us")]
    NotANeed(String),
    /// A stimulus that is not written as one.
    #[error(
        "{0:?} is no stimulus: give a value change dump (FILE.vcd), or PIN:PERIOD or PIN:PERIOD:HIGH, such as D2:10ms:1ms"
    )]
    NotAStimulus(String),
    /// A file that is no stimulus.
    #[error("{} is no stimulus: {message}", file.display())]
    BadStimulus {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Nothing to look at.
    #[error("no pin was given: say which one shows the activations, such as --pin B0")]
    NoPin,
    /// Periods that belong to no pin.
    #[error("{periods} periods for {pins} pins: give one for all of them, or one for each")]
    Periods {
        /// As many periods.
        periods: usize,
        /// As many pins.
        pins: usize,
    },
    /// A period of nothing.
    #[error("a period of {0} ns is none: it must be above 0")]
    NoPeriod(i64),
    /// No period that is needed.
    #[error("no period was given: say what is needed, such as 20ms:50us")]
    NoNeed,
    /// More alarms than one firmware is measured with.
    #[error("{asked} alarms are more than can be judged together: give the {most} that come most often")]
    TooMany {
        /// As many as can be.
        most: usize,
        /// As many as were asked for.
        asked: usize,
    },
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
    /// A file or process that could not be handled.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

/// What a firmware takes that its chip has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// So many bytes of flash.
    Flash(u32),
    /// More flash than there is: how much, the linker does not say.
    MoreFlash,
    /// So many bytes of memory for its variables, without the stack.
    Variables(u32),
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Takes::Flash(bytes) => write!(f, "{bytes} bytes of flash"),
            Takes::MoreFlash => f.write_str("more flash than there is"),
            Takes::Variables(bytes) => write!(f, "{bytes} bytes of memory for its variables"),
        }
    }
}

/// A place in a firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At(pub Box<Place>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {:#x}", self.0.address)?;
        match (&self.0.function, &self.0.line) {
            (Some(function), Some(line)) => write!(f, " ({function}, {line})"),
            (Some(one), None) | (None, Some(one)) => write!(f, " ({one})"),
            (None, None) => Ok(()),
        }
    }
}

/// What no processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault(pub log::Fault);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            log::Fault::NoCode => f.write_str("there is no code, but erased or missing flash"),
            log::Fault::NoInstruction(word) => {
                write!(f, "the word {word:#06x} is no instruction of this chip")
            }
            log::Fault::NoAccess(data) => {
                write!(f, "it reached memory at {data:#x} that cannot be accessed so")
            }
            log::Fault::NoThumb => {
                f.write_str("it branched to an even address, where no Thumb instruction is")
            }
            log::Fault::NoCall => f.write_str("a supervisor call (SVC) cannot interrupt what runs"),
            log::Fault::Reset => f.write_str("it resets itself, which is not followed"),
            log::Fault::Breakpoint => f.write_str("a breakpoint stops it, and no debugger is there"),
        }
    }
}

/// A program that mostly sleeps is no endless loop.
fn asleep(share: f64) -> String {
    format!(", and it had slept {:.0} % of the time", share * 100.0)
}

/// A file that ends too early.
pub(super) const CUT_OFF: &str = "it is cut off";
/// A file whose segments hold more than itself.
pub(super) const OVERLAPS: &str = "its segments overlap";
/// A recording that ends later than can be said.
pub(super) const TOO_LONG: &str = "its times are beyond what can be simulated";
/// A recording whose times go back.
pub(super) const BACKWARDS: &str = "a time in it is earlier than the one before";
/// A signal that is neither high nor low.
pub(super) fn no_level(pin: Pin, at_ns: u64) -> String {
    format!("{pin} is neither high nor low from {} on", Exact(at_ns.min(i64::MAX as u64) as i64))
}
/// A file without code.
pub(super) const NO_CODE: &str = "it holds no code";

/// A firmware whose addresses are not the chip's.
pub(super) fn elsewhere(mcu: &str) -> String {
    format!("it does not lie in the memories of the {mcu}, but is for another chip")
}
/// A firmware for an ARM that is none of those here.
pub(super) const OTHER_ARM: &str = "of the chips with an ARM the rp2040 is simulated, and it does not lie in its memories but is for another one";

/// A file for another processor, by the number in its header.
pub(super) fn other_processor(machine: u16) -> String {
    let kind = match machine {
        object::elf::EM_X86_64 | object::elf::EM_386 => "this computer's own processor",
        object::elf::EM_RISCV => "RISC-V",
        object::elf::EM_XTENSA => "Xtensa (ESP)",
        _ => "another processor",
    };
    format!("it is built for {kind}, not for an AVR or a Cortex-M0+")
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
                | E::NoPrescaler(_)
                | E::NoPeriod(_)
                | E::NoPin
                | E::NotAStimulus(_)
                | E::BadStimulus { .. }
                | E::Periods { .. }
                | E::NoNeed
                | E::TooMany { .. }
                | E::TooShort { .. }
                | E::NoChip(_)
                | E::NoClock(_)
                | E::UnknownChip { .. }
                | E::NoSuchPin { .. }
                | E::OnlyAvr(_)
        )
    }

    /// Whether it is only that something is not installed.
    pub fn is_missing(&self) -> bool {
        matches!(self, McuError::Missing { .. })
    }
}
