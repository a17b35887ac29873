//! Errors of simulating a microcontroller.

use std::fmt;

use jitterlab_chip::{Pin, log};
use jitterlab_model::firmware::CodeLocation;
use jitterlab_model::units::Exact;
use jitterlab_model::{Error, Warning};

/// Cases of failure that callers distinguish ([`Error::case_of`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCase {
    Missing,
    NotCompiled(String),
    /// The pin showed too little; further findings, which may be the reason.
    Silent(Vec<Warning>),
    Crashed,
}

/// True if the error is only that something is not installed.
pub fn is_missing(error: &Error) -> bool {
    error.is(FailureCase::Missing)
}

/// Memory that a firmware needs and its chip does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryNeed {
    Flash(u32),
    /// More flash than the chip has; the linker does not report the amount.
    MoreFlash,
    /// Bytes of memory for its variables, without the stack.
    Variables(u32),
}

impl fmt::Display for MemoryNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryNeed::Flash(bytes) => write!(f, "{bytes} bytes of flash"),
            MemoryNeed::MoreFlash => f.write_str("more flash than there is"),
            MemoryNeed::Variables(bytes) => write!(f, "{bytes} bytes of memory for its variables"),
        }
    }
}

/// A location in a firmware, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationText(pub Box<CodeLocation>);

impl fmt::Display for LocationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {:#x}", self.0.address)?;
        match (&self.0.function, &self.0.line) {
            (Some(function), Some(line)) => write!(f, " ({function}, {line})"),
            (Some(one), None) | (None, Some(one)) => write!(f, " ({one})"),
            (None, None) => Ok(()),
        }
    }
}

/// Reason why a processor cannot continue, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultText(pub log::Fault);

impl fmt::Display for FaultText {
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

/// Hint that a program slept for this fraction of the time.
pub(super) fn sleeping_hint(share: f64) -> String {
    format!(", and it had slept {:.0} % of the time", share * 100.0)
}

pub(super) const CUT_OFF: &str = "it is cut off";
/// A file whose segments together exceed its size.
pub(super) const OVERLAPS: &str = "its segments overlap";
/// A recording that ends later than a time can represent.
pub(super) const TOO_LONG: &str = "its times are beyond what can be simulated";
/// A recording with times that go back.
pub(super) const BACKWARDS: &str = "a time in it is earlier than the one before";
/// Reason for a signal that is neither high nor low.
pub(super) fn undefined_level(pin: Pin, at_ns: u64) -> String {
    format!("{pin} is neither high nor low from {} on", Exact(at_ns.min(i64::MAX as u64) as i64))
}
pub(super) const NO_CODE: &str = "it holds no code";

/// Reason for a firmware with addresses outside the chip's memories.
pub(super) fn outside_memories(mcu: &str) -> String {
    format!("it does not lie in the memories of the {mcu}, but is for another chip")
}
/// A firmware for an ARM chip that is not simulated.
pub(super) const OTHER_ARM: &str = "of the chips with an ARM the rp2040 is simulated, and it does not lie in its memories but is for another one";

/// Reason for a file for another processor, by the number in its header.
pub(super) fn other_processor(machine: u16) -> String {
    let kind = match machine {
        object::elf::EM_X86_64 | object::elf::EM_386 => "this computer's own processor",
        object::elf::EM_RISCV => "RISC-V",
        object::elf::EM_XTENSA => "Xtensa (ESP)",
        _ => "another processor",
    };
    format!("it is built for {kind}, not for an AVR or a Cortex-M0+")
}
