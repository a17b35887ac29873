//! The chips, by name.

use crate::arm::rp2040;
use crate::avr::Avr;
use crate::avr::chips;
use crate::{Log, Pin, Setup};

/// A simulated chip.
#[derive(Debug, Clone, Copy)]
pub enum Chip {
    Avr(&'static chips::Chip),
    /// The RP2040.
    Rp2040,
}

impl Chip {
    /// Returns the chip of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name == rp2040::NAME {
            true => Some(Chip::Rp2040),
            false => chips::Chip::named(name).map(Chip::Avr),
        }
    }

    /// Returns the names of all chips.
    pub fn names() -> impl Iterator<Item = &'static str> {
        chips::Chip::all().iter().map(|chip| chip.name.as_str()).chain([rp2040::NAME])
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Avr(chip) => &chip.name,
            Chip::Rp2040 => rp2040::NAME,
        }
    }

    /// Returns the size of its flash in bytes.
    pub fn flash(self) -> u32 {
        match self {
            Chip::Avr(chip) => chip.flash,
            Chip::Rp2040 => rp2040::FLASH,
        }
    }

    pub fn has(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => pin.port != Pin::GPIO && chip.has(pin),
            Chip::Rp2040 => rp2040::has(pin),
        }
    }

    /// Returns all its pins.
    pub fn pins(self) -> impl Iterator<Item = Pin> {
        let bits = if matches!(self, Chip::Rp2040) { 30 } else { 8 };
        let ports = (0..12).chain([Pin::GPIO]);
        ports
            .flat_map(move |port| (0..bits).map(move |bit| Pin { port, bit }))
            .filter(move |pin| self.has(*pin))
    }

    /// True if a serial port sends by this pin, on chips where that is simulated.
    pub fn sends_by(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => (0..4).any(|number| chip.pin(&format!("TXD{number}")) == Some(pin)),
            Chip::Rp2040 => false,
        }
    }

    /// Returns the receive pin of its first serial port, if that is simulated.
    pub fn receives_by(self) -> Option<Pin> {
        match self {
            Chip::Avr(chip) => (0..4).find_map(|number| chip.pin(&format!("RXD{number}"))),
            Chip::Rp2040 => None,
        }
    }

    /// Returns the name of an interrupt.
    pub fn vector_name(self, number: u8) -> Option<String> {
        match self {
            Chip::Avr(chip) => chip.vectors().find(|(n, _)| *n == number).map(|(_, name)| name.to_owned()),
            Chip::Rp2040 => rp2040::vector_name(number),
        }
    }

    /// Runs a firmware on it until something ends it, and returns the log.
    pub fn run(self, setup: &Setup) -> Log {
        match self {
            Chip::Avr(chip) => Avr::new(chip, setup).run(),
            Chip::Rp2040 => rp2040::run(setup),
        }
    }
}
