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
    pub fn by_name(name: &str) -> Option<Self> {
        match name == rp2040::NAME {
            true => Some(Chip::Rp2040),
            false => chips::Chip::by_name(name).map(Chip::Avr),
        }
    }

    /// Returns the names of all chips.
    pub fn names() -> impl Iterator<Item = &'static str> {
        chips::Chip::all().iter().map(|chip| chip.name.as_str()).chain([rp2040::NAME])
    }

    pub fn name(self) -> &'static str {
        match self {
            Chip::Avr(chip) => &chip.name,
            Chip::Rp2040 => rp2040::NAME,
        }
    }

    pub fn flash_bytes(self) -> u32 {
        match self {
            Chip::Avr(chip) => chip.flash,
            Chip::Rp2040 => rp2040::FLASH,
        }
    }

    pub fn has_pin(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => pin.port != Pin::GPIO && chip.has_pin(pin),
            Chip::Rp2040 => rp2040::has_pin(pin),
        }
    }

    pub fn pins(self) -> impl Iterator<Item = Pin> {
        let bits = if matches!(self, Chip::Rp2040) { 30 } else { 8 };
        let ports = (0..12).chain([Pin::GPIO]);
        ports
            .flat_map(move |port| (0..bits).map(move |bit| Pin { port, bit }))
            .filter(move |pin| self.has_pin(*pin))
    }

    /// True if a serial port sends by this pin, on chips where that is simulated.
    pub fn is_transmit_pin(self, pin: Pin) -> bool {
        match self {
            Chip::Avr(chip) => {
                (0..4).any(|number| chip.pin_of_function(&format!("TXD{number}")) == Some(pin))
            }
            Chip::Rp2040 => false,
        }
    }

    /// Returns the receive pin of its first serial port, if that is simulated.
    pub fn receive_pin(self) -> Option<Pin> {
        match self {
            Chip::Avr(chip) => (0..4).find_map(|number| chip.pin_of_function(&format!("RXD{number}"))),
            Chip::Rp2040 => None,
        }
    }

    /// Returns the name of the interrupt with this vector number.
    pub fn vector_name(self, number: u8) -> Option<String> {
        match self {
            Chip::Avr(chip) => chip.vectors().find(|(n, _)| *n == number).map(|(_, name)| name.to_owned()),
            Chip::Rp2040 => rp2040::vector_name(number),
        }
    }

    /// Simulates a firmware on this chip until something ends it, and returns the log.
    pub fn run(self, setup: &Setup) -> Log {
        match self {
            Chip::Avr(chip) => Avr::new(chip, setup).run(),
            Chip::Rp2040 => rp2040::run(setup),
        }
    }
}
