//! ATmega48 to ATmega2560, ATmega16U4 and 32U4.

use jitterlab_model::firmware::Part;

use super::{EE_READY, Map, Unit, numbered, serial_bit};
use crate::avr::chips::Chip;
use crate::avr::sources::Bit;
use crate::avr::usart;

impl Map {
    /// Lays out the registers of these chips.
    pub(super) fn newer(&mut self, chip: &Chip) {
        self.core();
        for name in chip.ports.chars() {
            let first = match name {
                'A'..='G' => 0x20 + 3 * (name as u16 - 'A' as u16),
                'H' => 0x100,
                _ => 0x103 + 3 * (name as u16 - 'J' as u16),
            };
            self.port(name, first);
        }
        self.put(0x3b, Unit::Flags); // PCIFR
        self.put(0x3c, Unit::Flags); // EIFR
        self.put(0x3d, Unit::Enables); // EIMSK
        self.put(0x68, Unit::Enables); // PCICR
        self.put(0x69, Unit::Senses); // EICRA
        if ["INT4", "INT6"].iter().any(|name| chip.pin(name).is_some()) {
            self.put(0x6a, Unit::Senses); // EICRB
        }
        self.plain(&[0x6b, 0x6c, 0x6d]); // PCMSK0 to 2
        self.eeprom([0x3f, 0x40, 0x41, 0x42]);
        self.put(0x43, Unit::Prescaler); // GTCCR
        self.spi(0x4c);
        // GPIOR, ACSR, OCDR, SMCR, MCUSR, MCUCR, RAMPZ, EIND, OSCCAL
        self.plain(&[0x3e, 0x4a, 0x4b, 0x50, 0x51, 0x53, 0x54, 0x55, 0x5b, 0x5c, 0x66]);
        self.put(0x57, Unit::Missing(Part::WritingFlash));
        self.put(0x60, Unit::Watchdog);
        self.put(0x61, Unit::Divider);
        for (_, address, _) in chip.power_reduction {
            self.put(*address, Unit::PowerReduction);
        }
        // ADCL, ADCH, ADCSRB, ADMUX, DIDR2, 0, 1
        self.plain(&[0x78, 0x79, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f]);
        self.put(0x7a, Unit::Adc);
        for (index, number) in (0..).zip(chip.timers()) {
            self.put(0x35 + u16::from(number), Unit::Flags);
            self.put(0x6e + u16::from(number), Unit::Enables);
            match number {
                0 => self.narrow_timer(index, [0x44, 0x45, 0x46, 0x47, 0x48]),
                2 => {
                    self.narrow_timer(index, [0xb0, 0xb1, 0xb2, 0xb3, 0xb4]);
                    self.put(0xb6, Unit::Asynchronous);
                }
                _ => {
                    let first = [0x80, 0, 0x90, 0xa0, 0x120][usize::from(number) - 1];
                    let third = chip.vectors.iter().any(|(_, name)| *name == format!("TIMER{number}_COMPC"));
                    self.wide_timer(index, first, if third { 3 } else { 2 });
                }
            }
        }
        if chip.ports.contains('G') {
            self.put(0x74, Unit::Missing(Part::ExternalMemory));
            self.put(0x75, Unit::Missing(Part::ExternalMemory));
        }
        if chip.pin("PCINT24").is_some() {
            self.plain(&[0x73]); // PCMSK3
        }
        self.plain(&[0xb8, 0xb9, 0xba, 0xbb, 0xbd]); // TWBR, TWSR, TWAR, TWDR, TWAMR
        self.put(0xbc, Unit::Twi);
        for (index, number) in (0..).zip(chip.usarts()) {
            let first = [0xc0, 0xc8, 0xd0, 0x130][usize::from(number)];
            let regs = [
                (0, usart::Reg::Status),
                (1, usart::Reg::Enable),
                (2, usart::Reg::Format),
                (4, usart::Reg::Baud),
                (5, usart::Reg::BaudHigh),
                (6, usart::Reg::Data),
            ];
            regs.iter().for_each(|(offset, reg)| self.put(first + offset, Unit::Usart(index, *reg)));
        }
        if chip.has_usb {
            self.put(0x49, Unit::Pll);
            // TIFR2 and TIFR5 without these timers, PLLFRQ, RCCTRL, CLKSEL0, CLKSEL1, CLKSTA, UCSR1D
            self.plain(&[0x37, 0x3a, 0x52, 0x67, 0xc5, 0xc6, 0xc7, 0xcb]);
            for address in [0x39, 0x72, 0xbe, 0xbf].into_iter().chain(0xc0..=0xc4).chain(0xcf..=0xd4) {
                self.put(address, Unit::Missing(Part::FastTimer));
            }
            (0xd7..=0xf4).for_each(|address| self.put(address, Unit::Missing(Part::Usb)));
        }
    }
}

/// Returns the flag, the enable bit, and true if entering the handler clears the flag.
pub(super) fn bits(name: &str) -> Option<(Bit, Bit, bool)> {
    let bit = Bit::new;
    if let Some((n, rest)) = numbered(name, "TIMER") {
        let number = match rest {
            "_OVF" => 0,
            "_COMPA" => 1,
            "_COMPB" => 2,
            "_COMPC" => 3,
            "_CAPT" => 5,
            _ => return None,
        };
        return Some((bit(0x35 + u16::from(n), number), bit(0x6e + u16::from(n), number), true));
    }
    if let Some((n, rest)) = numbered(name, "USART") {
        let first = [0xc0, 0xc8, 0xd0, 0x130][usize::from(n)];
        let (number, cleared) = serial_bit(rest)?;
        return Some((bit(first, number), bit(first + 1, number), cleared));
    }
    if let Some((n, "")) = numbered(name, "PCINT") {
        return Some((bit(0x3b, n), bit(0x68, n), true));
    }
    if let Some((n, "")) = numbered(name, "INT") {
        return Some((bit(0x3c, n), bit(0x3d, n), true));
    }
    Some(match name {
        "WDT" => (bit(0x60, 7), bit(0x60, 6), true),
        "SPI_STC" => (bit(0x4d, 7), bit(0x4c, 7), true),
        "ADC" => (bit(0x7a, 4), bit(0x7a, 3), true),
        "EE_READY" => EE_READY,
        "ANALOG_COMP" => (bit(0x50, 4), bit(0x50, 3), true),
        "TWI" => (bit(0xbc, 7), bit(0xbc, 0), false),
        _ => return None,
    })
}
