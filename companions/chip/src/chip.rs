//! The chips by their names.

use crate::arm::rp2040;
use crate::avr::Avr;
use crate::avr::chips::{self, CHIPS};
use crate::{Log, Pin, Setup};

/// A chip that is simulated.
#[derive(Debug, Clone, Copy)]
pub enum Chip {
    /// One with an AVR.
    Avr(&'static chips::Chip),
    /// The RP2040.
    Rp2040,
}

impl Chip {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        match name == rp2040::NAME {
            true => Some(Chip::Rp2040),
            false => chips::Chip::named(name).map(Chip::Avr),
        }
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CHIPS.iter().map(|chip| chip.name).chain([rp2040::NAME])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Avr(chip) => chip.name,
            Chip::Rp2040 => rp2040::NAME,
        }
    }

    /// Bytes of its flash.
    pub fn flash(self) -> u32 {
        match self {
            Chip::Avr(chip) => chip.flash,
            Chip::Rp2040 => rp2040::FLASH,
        }
    }

    /// Whether it has a pin.
    pub fn has(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => pin.port != Pin::GPIO && chip.has(pin),
            Chip::Rp2040 => rp2040::has(pin),
        }
    }

    /// All its pins.
    pub fn pins(self) -> impl Iterator<Item = Pin> {
        let bits = if matches!(self, Chip::Rp2040) { 30 } else { 8 };
        let ports = (0..12).chain([Pin::GPIO]);
        ports
            .flat_map(move |port| (0..bits).map(move |bit| Pin { port, bit }))
            .filter(move |pin| self.has(*pin))
    }

    /// Whether a serial port sends by a pin, where it does.
    pub fn sends_by(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => (0..4).any(|number| chip.pin(&format!("TXD{number}")) == Some(pin)),
            Chip::Rp2040 => false,
        }
    }

    /// The pin by which its first serial port receives, where that is simulated.
    pub fn receives_by(self) -> Option<Pin> {
        match self {
            Chip::Avr(chip) => (0..4).find_map(|number| chip.pin(&format!("RXD{number}"))),
            Chip::Rp2040 => None,
        }
    }

    /// The name of an interrupt.
    pub fn vector_name(self, number: u8) -> Option<String> {
        match self {
            Chip::Avr(chip) => {
                let named = chip.vectors.iter().find(|(n, _)| *n == number);
                named.map(|(_, name)| (*name).to_owned())
            }
            Chip::Rp2040 => rp2040::vector_name(number),
        }
    }

    /// Lets a firmware run on it until something ends it, and tells what happened.
    pub fn run(self, setup: &Setup) -> Log {
        match self {
            Chip::Avr(chip) => Avr::new(chip, setup).run(),
            Chip::Rp2040 => rp2040::run(setup),
        }
    }
}
