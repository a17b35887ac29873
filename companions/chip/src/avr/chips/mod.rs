//! The chips, one file each. The layout of their registers is in `map`; a test compares all of it with avr-libc.

mod atmega128;
mod atmega1284p;
mod atmega2560;
mod atmega328p;
mod atmega32u4;

use crate::Pin;

/// Group of chips with their registers at the same addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// From the ATmega48 on.
    Newer,
    /// ATmega64 and 128.
    Atmega128,
}

#[derive(Debug, Clone, Copy)]
pub struct Chip {
    /// Its name, as avr-gcc has it.
    pub name: &'static str,
    /// Layout of its registers.
    pub family: Family,
    /// Bytes of flash.
    pub flash: u32,
    /// The first address of its memory.
    pub ram_start: u16,
    /// Bytes of memory.
    pub ram: u16,
    /// Bytes of EEPROM.
    pub eeprom: u32,
    /// Its ports' letters.
    pub ports: &'static str,
    /// Numbers and names of its interrupt vectors, as avr-libc has them.
    pub vectors: &'static [(u8, &'static str)],
    /// Functions of its pins besides ports.
    pub pins: &'static [(&'static str, &'static str)],
    /// Its timers' bits in PRR, or PRR0 and PRR1: timer, register's address, bit.
    pub power_reduction: &'static [(u8, u16, u8)],
    /// True if it has USB, and with it a different timer 4.
    pub has_usb: bool,
}

pub const CHIPS: [&Chip; 17] = [
    &atmega128::ATMEGA128,
    &atmega128::ATMEGA128A,
    &atmega128::ATMEGA64,
    &atmega1284p::ATMEGA1284,
    &atmega1284p::ATMEGA1284P,
    &atmega1284p::ATMEGA644P,
    &atmega2560::ATMEGA1280,
    &atmega2560::ATMEGA1281,
    &atmega2560::ATMEGA2560,
    &atmega2560::ATMEGA2561,
    &atmega2560::ATMEGA640,
    &atmega328p::ATMEGA168,
    &atmega328p::ATMEGA168P,
    &atmega328p::ATMEGA328,
    &atmega328p::ATMEGA328P,
    &atmega32u4::ATMEGA16U4,
    &atmega32u4::ATMEGA32U4,
];

impl Chip {
    /// Returns the chip of that name.
    pub fn named(name: &str) -> Option<&'static Chip> {
        CHIPS.into_iter().find(|chip| chip.name.eq_ignore_ascii_case(name))
    }

    /// True if addresses of code take three bytes.
    pub fn wide_pc(&self) -> bool {
        self.flash > 128 << 10
    }

    /// Returns the pin of a function, such as OC1A.
    pub fn pin(&self, function: &str) -> Option<Pin> {
        self.pins.iter().find(|(name, _)| *name == function).and_then(|(_, pin)| pin.parse().ok())
    }

    pub fn has(&self, pin: Pin) -> bool {
        pin.bit < 8 && self.ports.contains(char::from(b'A' + pin.port))
    }

    /// Returns the numbers of its timers.
    pub fn timers(&self) -> impl Iterator<Item = u8> + '_ {
        let known = |n: &u8| self.vectors.iter().any(|(_, name)| *name == format!("TIMER{n}_OVF"));
        (0..6).filter(known).filter(|n| !(self.has_usb && *n == 4))
    }

    /// Returns the numbers of its serial ports.
    pub fn usarts(&self) -> impl Iterator<Item = u8> + '_ {
        let named = |n: &u8| format!("USART{n}_RX");
        (0..4).filter(move |n| {
            self.vectors.iter().any(|(_, name)| *name == named(n) || *n == 0 && *name == "USART_RX")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found_and_whole() {
        assert_eq!(Chip::named("ATmega328P").map(|c| c.name), Some("atmega328p"));
        assert!(Chip::named("atmega9999").is_none());
        for chip in CHIPS {
            for (function, pin) in chip.pins {
                let pin: Pin = pin.parse().unwrap();
                assert!(chip.has(pin), "{} has no pin {pin} for {function}", chip.name);
            }
            assert!(chip.vectors.windows(2).all(|w| w[0].0 < w[1].0), "{}", chip.name);
        }
        assert_eq!(Chip::named("atmega32u4").unwrap().timers().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(Chip::named("atmega328p").unwrap().usarts().collect::<Vec<_>>(), [0]);
    }
}
