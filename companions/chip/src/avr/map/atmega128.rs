//! The ATmega64 and 128.

use jitterlab_model::firmware::Part;

use super::{EE_READY, Map, Unit, numbered, serial_bit};
use crate::avr::chips::Chip;
use crate::avr::sources::Bit;
use crate::avr::{timer, usart};

impl Map {
    /// Lays out the registers of these chips.
    pub(super) fn atmega128(&mut self, chip: &Chip) {
        self.core();
        for (name, first) in [('E', 0x21), ('D', 0x30), ('C', 0x33), ('B', 0x36), ('A', 0x39), ('G', 0x63)] {
            self.port(name, first);
        }
        self.put(0x20, Unit::Pin(5));
        self.put(0x61, Unit::Direction(5));
        self.put(0x62, Unit::Out(5));
        self.put(0x58, Unit::Flags); // EIFR
        self.put(0x59, Unit::Enables); // EIMSK
        self.put(0x5a, Unit::Senses); // EICRB
        self.put(0x6a, Unit::Senses); // EICRA
        self.eeprom([0x3c, 0x3d, 0x3e, 0x3f]);
        self.put(0x40, Unit::Prescaler); // SFIOR
        self.put(0x41, Unit::Watchdog); // WDTCR
        self.put(0x50, Unit::Asynchronous); // ASSR
        self.spi(0x2d);
        // ADCL, ADCH, ADMUX, ACSR, OCDR, MCUCSR, MCUCR, RAMPZ, OSCCAL
        self.plain(&[0x24, 0x25, 0x27, 0x28, 0x42, 0x54, 0x55, 0x5b, 0x6f]);
        self.plain(&[0x8e]); // ADCSRB of the ATmega64
        self.put(0x26, Unit::Adc); // ADCSRA
        self.put(0x5c, Unit::Missing(Part::ClockDivision));
        self.put(0x68, Unit::Missing(Part::WritingFlash));
        self.put(0x6d, Unit::Missing(Part::ExternalMemory));
        self.put(0x6c, Unit::Missing(Part::ExternalMemory));
        self.put(0x56, Unit::Flags); // TIFR
        self.put(0x57, Unit::Enables); // TIMSK
        self.put(0x7c, Unit::Flags); // ETIFR
        self.put(0x7d, Unit::Enables); // ETIMSK
        for (index, number) in (0..).zip(chip.timers()) {
            let reg = |reg| Unit::Timer(index, reg);
            let (low, high) = (timer::Reg::Compare as fn(u8) -> _, timer::Reg::CompareHigh as fn(u8) -> _);
            match number {
                0 | 2 => {
                    let first = if number == 0 { 0x51 } else { 0x43 };
                    self.put(first, reg(low(0)));
                    self.put(first + 1, reg(timer::Reg::Count));
                    self.put(first + 2, reg(timer::Reg::Control));
                }
                _ => {
                    let (a, b, c) = if number == 1 { (0x4f, 0x4e, 0x7a) } else { (0x8b, 0x8a, 0x8c) };
                    self.put(a, reg(timer::Reg::ControlA));
                    self.put(b, reg(timer::Reg::ControlB));
                    self.put(c, reg(timer::Reg::ControlC));
                    let words = if number == 1 {
                        [0x4c, 0x4a, 0x48, 0x78, 0x46]
                    } else {
                        [0x88, 0x86, 0x84, 0x82, 0x80]
                    };
                    self.put(words[0], reg(timer::Reg::Count));
                    self.put(words[0] + 1, reg(timer::Reg::CountHigh));
                    for unit in 0..3 {
                        self.put(words[1 + usize::from(unit)], reg(low(unit)));
                        self.put(words[1 + usize::from(unit)] + 1, reg(high(unit)));
                    }
                    self.put(words[4], reg(timer::Reg::Capture));
                    self.put(words[4] + 1, reg(timer::Reg::CaptureHigh));
                }
            }
        }
        self.plain(&[0x70, 0x71, 0x72, 0x73]); // TWBR, TWSR, TWAR, TWDR
        self.put(0x74, Unit::Twi);
        for (index, addresses) in
            (0..).zip([[0x2b, 0x2a, 0x95, 0x29, 0x90, 0x2c], [0x9b, 0x9a, 0x9d, 0x99, 0x98, 0x9c]])
        {
            let regs = [
                usart::Reg::Status,
                usart::Reg::Enable,
                usart::Reg::Format,
                usart::Reg::Baud,
                usart::Reg::BaudHigh,
                usart::Reg::Data,
            ];
            addresses.iter().zip(regs).for_each(|(address, reg)| self.put(*address, Unit::Usart(index, reg)));
        }
    }
}

/// Returns the flag, the enable bit, and true if entering the handler clears the flag.
pub(super) fn bits(name: &str) -> Option<(Bit, Bit, bool)> {
    let bit = Bit::new;
    if let Some((n, rest)) = numbered(name, "USART") {
        let (status, enable) = if n == 0 { (0x2b, 0x2a) } else { (0x9b, 0x9a) };
        let (number, cleared) = serial_bit(rest)?;
        return Some((bit(status, number), bit(enable, number), cleared));
    }
    if let Some((n, "")) = numbered(name, "INT") {
        return Some((bit(0x58, n), bit(0x59, n), true));
    }
    let timer = |number| (bit(0x56, number), bit(0x57, number), true);
    let extended = |number| (bit(0x7c, number), bit(0x7d, number), true);
    Some(match name {
        "TIMER0_OVF" => timer(0),
        "TIMER0_COMP" => timer(1),
        "TIMER1_OVF" => timer(2),
        "TIMER1_COMPB" => timer(3),
        "TIMER1_COMPA" => timer(4),
        "TIMER1_CAPT" => timer(5),
        "TIMER2_OVF" => timer(6),
        "TIMER2_COMP" => timer(7),
        "TIMER1_COMPC" => extended(0),
        "TIMER3_COMPC" => extended(1),
        "TIMER3_OVF" => extended(2),
        "TIMER3_COMPB" => extended(3),
        "TIMER3_COMPA" => extended(4),
        "TIMER3_CAPT" => extended(5),
        "SPI_STC" => (bit(0x2e, 7), bit(0x2d, 7), true),
        "ADC" => (bit(0x26, 4), bit(0x26, 3), true),
        "EE_READY" => EE_READY,
        "ANALOG_COMP" => (bit(0x28, 4), bit(0x28, 3), true),
        "TWI" => (bit(0x74, 7), bit(0x74, 0), false),
        _ => return None,
    })
}
