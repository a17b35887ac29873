//! What lies at each address of the registers, and the parts of a chip with their interrupts and pins.

use jitterlab_model::firmware::Part;

use super::chips::{Chip, Family};
use super::external::{External, Int, PinChange};
use super::io::Io;
use super::sources::{Bit, Id, Source, Sources};
use super::{eeprom, spi, timer, usart};
use crate::Pin;

/// What lies at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A byte that keeps what is written, and does nothing else here.
    Plain,
    Pin(u8),
    Direction(u8),
    Out(u8),
    /// The index of the timer among the chip's.
    Timer(u8, timer::Reg),
    Usart(u8, usart::Reg),
    Eeprom(eeprom::Reg),
    Spi(spi::Reg),
    Adc,
    Twi,
    Watchdog,
    /// Flags that are cleared by writing ones.
    Flags,
    /// Enables of interrupts.
    Enables,
    /// How pins interrupt.
    Senses,
    Prescaler,
    Asynchronous,
    Divider,
    PowerReduction,
    Pll,
    Status,
    StackLow,
    StackHigh,
    /// The chip has something there that is not simulated.
    Missing(Part),
}

/// What a chip is made of.
pub struct Parts {
    /// By address.
    pub units: Vec<Unit>,
    /// All interrupts.
    pub sources: Vec<Source>,
}

const NO_REGISTER: Unit = Unit::Missing(Part::Reserved);

/// Lays out the registers and the interrupts of a chip.
pub fn parts(chip: &Chip) -> Parts {
    let mut map = Map { units: vec![NO_REGISTER; usize::from(chip.ram_start)] };
    match chip.family {
        Family::Newer => map.newer(chip),
        Family::Atmega128 => map.atmega128(chip),
    }
    let sources = chip
        .vectors
        .iter()
        .filter(|(_, name)| !(chip.has_usb && name.starts_with("TIMER4")))
        .filter_map(|&(vector, name)| {
            let (flag, enable, cleared) = match chip.family {
                Family::Newer => newer_bits(name)?,
                Family::Atmega128 => atmega128_bits(name)?,
            };
            Some(Source { name, vector, flag, enable, cleared })
        })
        .collect();
    Parts { units: map.units, sources }
}

struct Map {
    units: Vec<Unit>,
}

impl Map {
    fn put(&mut self, address: u16, unit: Unit) {
        self.units[usize::from(address)] = unit;
    }

    fn plain(&mut self, addresses: &[u16]) {
        addresses.iter().for_each(|address| self.put(*address, Unit::Plain));
    }

    fn port(&mut self, name: char, first: u16) {
        let port = name as u8 - b'A';
        self.put(first, Unit::Pin(port));
        self.put(first + 1, Unit::Direction(port));
        self.put(first + 2, Unit::Out(port));
    }

    fn core(&mut self) {
        self.put(0x5d, Unit::StackLow);
        self.put(0x5e, Unit::StackHigh);
        self.put(0x5f, Unit::Status);
    }

    fn eeprom(&mut self, [control, data, low, high]: [u16; 4]) {
        self.put(control, Unit::Eeprom(eeprom::Reg::Control));
        self.put(data, Unit::Eeprom(eeprom::Reg::Data));
        self.put(low, Unit::Eeprom(eeprom::Reg::Address));
        self.put(high, Unit::Eeprom(eeprom::Reg::AddressHigh));
    }

    fn spi(&mut self, first: u16) {
        for (address, reg) in (first..).zip([spi::Reg::Control, spi::Reg::Status, spi::Reg::Data]) {
            self.put(address, Unit::Spi(reg));
        }
    }

    /// ATmega48 to ATmega2560, ATmega16U4 and 32U4: whatever of this they have lies here.
    fn newer(&mut self, chip: &Chip) {
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

    /// TCCRnA, TCCRnB, TCNTn, OCRnA, OCRnB.
    fn narrow_timer(&mut self, index: u8, addresses: [u16; 5]) {
        let regs = [
            timer::Reg::ControlA,
            timer::Reg::ControlB,
            timer::Reg::Count,
            timer::Reg::Compare(0),
            timer::Reg::Compare(1),
        ];
        addresses.iter().zip(regs).for_each(|(address, reg)| self.put(*address, Unit::Timer(index, reg)));
    }

    fn wide_timer(&mut self, index: u8, first: u16, units: u8) {
        let regs = [
            (0x0, timer::Reg::ControlA),
            (0x1, timer::Reg::ControlB),
            (0x2, timer::Reg::ControlC),
            (0x4, timer::Reg::Count),
            (0x5, timer::Reg::CountHigh),
            (0x6, timer::Reg::Capture),
            (0x7, timer::Reg::CaptureHigh),
        ];
        regs.iter().for_each(|(offset, reg)| self.put(first + offset, Unit::Timer(index, *reg)));
        for unit in 0..units {
            let at = first + 8 + 2 * u16::from(unit);
            self.put(at, Unit::Timer(index, timer::Reg::Compare(unit)));
            self.put(at + 1, Unit::Timer(index, timer::Reg::CompareHigh(unit)));
        }
    }

    /// The ATmega64 and 128.
    fn atmega128(&mut self, chip: &Chip) {
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

/// The number in a name such as `TIMER1_OVF`, and what follows it.
fn numbered<'a>(name: &'a str, prefix: &str) -> Option<(u8, &'a str)> {
    let rest = name.strip_prefix(prefix)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((rest[..digits].parse().unwrap_or(0), &rest[digits..]))
}

/// Flag, enable, and whether entering the handler clears the flag.
fn newer_bits(name: &str) -> Option<(Bit, Bit, bool)> {
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

/// Its register's flag is upside down, so both bits are kept where nobody looks (see `eeprom.rs`).
const EE_READY: (Bit, Bit, bool) = (Bit::new(0, 0), Bit::new(1, 3), false);

fn serial_bit(name: &str) -> Option<(u8, bool)> {
    match name {
        "_RX" => Some((7, false)),
        "_UDRE" => Some((5, false)),
        "_TX" => Some((6, true)),
        _ => None,
    }
}

fn atmega128_bits(name: &str) -> Option<(Bit, Bit, bool)> {
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

/// A timer of the chip, by its number.
pub fn timer(chip: &Chip, number: u8, sources: &Sources) -> timer::Spec {
    let id = |what: &str| sources.named(&format!("TIMER{number}_{what}"));
    let pin = |text: String| chip.pin(&text);
    let old = chip.family == Family::Atmega128;
    let wide = !matches!(number, 0 | 2);
    let single = old && !wide;
    let matches = if single { [id("COMP"), Id::NONE, Id::NONE] } else { ["COMPA", "COMPB", "COMPC"].map(id) };
    let outputs = match single {
        true => [pin(format!("OC{number}")), None, None],
        false => ['A', 'B', 'C'].map(|unit| pin(format!("OC{number}{unit}"))),
    };
    timer::Spec {
        wide,
        fine: number == if old { 0 } else { 2 },
        overflow: id("OVF"),
        units: matches.iter().filter(|m| **m != Id::NONE).count(),
        matches,
        capture: id("CAPT"),
        outputs,
        counted: pin(format!("T{number}")),
        captured: pin(format!("ICP{number}")),
    }
}

/// A serial port of the chip, by its number.
pub fn usart(chip: &Chip, number: u8, io: &Io) -> usart::Spec {
    let name = if chip.vectors.iter().any(|(_, n)| *n == "USART_RX") {
        "USART".into()
    } else {
        format!("USART{number}")
    };
    let id = |what: &str| io.sources.named(&format!("{name}_{what}"));
    let pin = |what: &str| chip.pin(&format!("{what}{number}")).unwrap_or(Pin { port: 4, bit: 0 });
    let (status, enable) = match (chip.family, number) {
        (Family::Newer, n) => {
            let first = [0xc0, 0xc8, 0xd0, 0x130][usize::from(n)];
            (first, first + 1)
        }
        (Family::Atmega128, 0) => (0x2b, 0x2a),
        (Family::Atmega128, _) => (0x9b, 0x9a),
    };
    usart::Spec {
        status,
        enable,
        received: id("RX"),
        empty: id("UDRE"),
        sent: id("TX"),
        input: pin("RXD"),
        output: pin("TXD"),
    }
}

/// The interrupts of pins.
pub fn external(chip: &Chip, sources: &Sources) -> External {
    let newer = chip.family == Family::Newer;
    let ints = (0..8).filter_map(|n| {
        let pin = chip.pin(&format!("INT{n}"))?;
        let name = format!("INT{n}");
        let register = match (newer, n < 4) {
            (true, true) => 0x69,
            (false, false) => 0x5a,
            _ => 0x6a,
        };
        // Of the chips with more than three, INT3 to 0 do (ATmega2560, section 15.1; ATmega128, "External Interrupts").
        let asynchronous = n < 4 && chip.pin("INT3").is_some();
        Some(Int { id: sources.named(&name), pin, asynchronous, sense: (register, n % 4 * 2) })
    });
    let changes = (0u8..4).filter_map(|group| {
        let id = sources.named(&format!("PCINT{group}"));
        let pins = std::array::from_fn(|bit| chip.pin(&format!("PCINT{}", usize::from(group) * 8 + bit)));
        let mask = if group == 3 { 0x73 } else { 0x6b + u16::from(group) };
        (id != Id::NONE).then_some(PinChange { id, pins, mask })
    });
    External { ints: ints.collect(), changes: changes.collect() }
}

#[cfg(test)]
mod tests {
    use super::super::chips::CHIPS;
    use super::*;
    use std::collections::BTreeMap;
    use std::process::{Command, Stdio};

    /// The macros of avr-libc's header for a chip; `None` where it is not installed.
    fn macros(mcu: &str) -> Option<BTreeMap<String, String>> {
        let arguments = [&format!("-mmcu={mcu}"), "-include", "avr/io.h", "-E", "-dM", "-xc", "-"];
        let output = Command::new("avr-gcc").args(arguments).stdin(Stdio::null()).output().ok();
        let output = output.filter(|o| o.status.success());
        let required = std::env::var("CI").is_ok_and(|v| v == "true")
            || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some();
        assert!(output.is_some() || !required, "gcc-avr or avr-libc is not installed");
        let text = String::from_utf8(output?.stdout).unwrap();
        let pairs = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
        Some(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    /// `_SFR_IO8(0x05)` is data address 0x25.
    fn address(text: &str) -> Option<u16> {
        let (kind, rest) = text.strip_prefix("_SFR_")?.split_once('(')?;
        let number = rest.strip_suffix(')')?.trim().to_lowercase();
        let number = number
            .strip_prefix("0x")
            .map_or_else(|| number.parse().ok(), |hex| u16::from_str_radix(hex, 16).ok())?;
        Some(number + if kind.starts_with("IO") { 0x20 } else { 0 })
    }

    /// What avr-libc calls the registers of a unit.
    fn names(unit: Unit, timers: &[u8], usarts: &[u8]) -> Vec<String> {
        let letter = |port: u8| char::from(b'A' + port);
        let unit_letter = |n: u8| ["A", "B", "C"][usize::from(n)];
        let both = |name: String| vec![name.clone() + "L", name];
        match unit {
            Unit::Pin(port) => vec![format!("PIN{}", letter(port))],
            Unit::Direction(port) => vec![format!("DDR{}", letter(port))],
            Unit::Out(port) => vec![format!("PORT{}", letter(port))],
            Unit::Timer(index, reg) => {
                let n = timers[usize::from(index)];
                match reg {
                    timer::Reg::ControlA => vec![format!("TCCR{n}A")],
                    timer::Reg::ControlB => vec![format!("TCCR{n}B")],
                    timer::Reg::ControlC => vec![format!("TCCR{n}C")],
                    timer::Reg::Control => vec![format!("TCCR{n}")],
                    timer::Reg::Count => both(format!("TCNT{n}")),
                    timer::Reg::CountHigh => vec![format!("TCNT{n}H")],
                    timer::Reg::Compare(u) => {
                        [both(format!("OCR{n}{}", unit_letter(u))), vec![format!("OCR{n}")]].concat()
                    }
                    timer::Reg::CompareHigh(u) => vec![format!("OCR{n}{}H", unit_letter(u))],
                    timer::Reg::Capture => both(format!("ICR{n}")),
                    timer::Reg::CaptureHigh => vec![format!("ICR{n}H")],
                }
            }
            Unit::Usart(index, reg) => {
                let n = usarts[usize::from(index)];
                vec![match reg {
                    usart::Reg::Data => format!("UDR{n}"),
                    usart::Reg::Status => format!("UCSR{n}A"),
                    usart::Reg::Enable => format!("UCSR{n}B"),
                    usart::Reg::Format => format!("UCSR{n}C"),
                    usart::Reg::Baud => format!("UBRR{n}L"),
                    usart::Reg::BaudHigh => format!("UBRR{n}H"),
                }]
            }
            Unit::Eeprom(eeprom::Reg::Control) => vec!["EECR".into()],
            Unit::Eeprom(eeprom::Reg::Data) => vec!["EEDR".into()],
            Unit::Eeprom(eeprom::Reg::Address) => vec!["EEARL".into()],
            Unit::Eeprom(eeprom::Reg::AddressHigh) => vec!["EEARH".into()],
            Unit::Spi(spi::Reg::Control) => vec!["SPCR".into()],
            Unit::Spi(spi::Reg::Status) => vec!["SPSR".into()],
            Unit::Spi(spi::Reg::Data) => vec!["SPDR".into()],
            Unit::Adc => vec!["ADCSRA".into()],
            Unit::Twi => vec!["TWCR".into()],
            Unit::Watchdog => vec!["WDTCSR".into(), "WDTCR".into()],
            Unit::Prescaler => vec!["GTCCR".into(), "SFIOR".into()],
            Unit::Asynchronous => vec!["ASSR".into()],
            Unit::Divider => vec!["CLKPR".into()],
            Unit::PowerReduction => vec!["PRR".into(), "PRR0".into(), "PRR1".into()],
            Unit::Pll => vec!["PLLCSR".into()],
            Unit::Status => vec!["SREG".into()],
            Unit::StackLow => vec!["SPL".into(), "SP".into()],
            Unit::StackHigh => vec!["SPH".into()],
            Unit::Senses => vec!["EICRA".into(), "EICRB".into()],
            Unit::Flags => vec!["TIFR".into(), "ETIFR".into(), "EIFR".into(), "PCIFR".into()],
            Unit::Enables => vec!["TIMSK".into(), "ETIMSK".into(), "EIMSK".into(), "PCICR".into()],
            Unit::Plain | Unit::Missing(_) => Vec::new(),
        }
    }

    /// Every register of avr-libc's headers lies where it is here, every vector has its number, and nothing is left out.
    #[test]
    fn registers_and_vectors_are_where_avr_libc_has_them() {
        for chip in CHIPS {
            let Some(macros) = macros(chip.name) else { return };
            let Parts { units, .. } = parts(chip);
            let (timers, usarts): (Vec<u8>, Vec<u8>) = (chip.timers().collect(), chip.usarts().collect());
            let at: BTreeMap<&str, u16> =
                macros.iter().filter_map(|(name, value)| Some((name.as_str(), address(value)?))).collect();
            let (mut found, mut left_out) = (0, Vec::new());
            for (name, address) in &at {
                let unit = units[usize::from(*address)];
                left_out
                    .extend((unit == NO_REGISTER).then(|| format!("{}: {name} at {address:#x}", chip.name)));
                // Some registers have several names.
                let names = names(unit, &timers, &usarts);
                let is = |other: &str| {
                    names.iter().any(|n| other == n || other.trim_end_matches(char::is_numeric) == n)
                };
                let known = at.iter().any(|(other, a)| a == address && is(other));
                assert!(known || names.is_empty(), "{}: {name} at {address:#x} is {unit:?}", chip.name);
                found += usize::from(known);
            }
            assert!(left_out.is_empty(), "left out: {left_out:#?}");
            assert!(found > 60, "{}: only {found}", chip.name);
            for (address, unit) in (0x20u16..).zip(&units[0x20..]) {
                let names = names(*unit, &timers, &usarts);
                let there = names.is_empty()
                    || at.iter().any(|(name, a)| {
                        *a == address && names.iter().any(|n| n == name || name.starts_with(n.as_str()))
                    });
                // TIFRn and the like of timers that lack an interrupt are named in no header.
                assert!(there, "{}: {unit:?} at {address:#x} is not in avr-libc", chip.name);
            }
            for (number, name) in chip.vectors {
                let theirs = macros.get(&format!("{name}_vect_num"));
                assert!(
                    theirs.is_none_or(|n| n == &number.to_string()),
                    "{}: {name} is {theirs:?}",
                    chip.name
                );
                let vector = macros.get(&format!("{name}_vect"));
                assert_eq!(
                    vector.map(String::as_str),
                    Some(format!("_VECTOR({number})").as_str()),
                    "{}: {name}",
                    chip.name
                );
            }
            for (name, value) in [
                ("RAMEND", u32::from(chip.ram_start + chip.ram - 1)),
                ("FLASHEND", chip.flash - 1),
                ("E2END", chip.eeprom - 1),
            ] {
                let text = macros[name].trim_matches(|c| "()".contains(c)).to_lowercase().replace("0x", "");
                let Ok(number) = u32::from_str_radix(text.trim_end_matches('u'), 16) else { continue };
                assert_eq!(number, value, "{}: {name}", chip.name);
            }
        }
    }

    /// Each source's flag and enable are bits of the names that avr-libc gives them.
    #[test]
    fn flags_and_enables_are_the_bits_avr_libc_names() {
        for chip in CHIPS {
            let Some(macros) = macros(chip.name) else { return };
            for source in parts(chip).sources {
                let bits: &[(&str, String, bool)] = &match numbered(source.name, "TIMER") {
                    Some((n, "_OVF")) => {
                        [("TOV", format!("TOV{n}"), true), ("TOIE", format!("TOIE{n}"), false)]
                    }
                    Some((n, "_CAPT")) => {
                        [("ICF", format!("ICF{n}"), true), ("ICIE", format!("ICIE{n}"), false)]
                    }
                    Some((n, comp)) => {
                        let unit = comp.trim_start_matches("_COMP");
                        [("OCF", format!("OCF{n}{unit}"), true), ("OCIE", format!("OCIE{n}{unit}"), false)]
                    }
                    None => continue,
                };
                for (_, name, is_flag) in bits {
                    let bit = if *is_flag { source.flag } else { source.enable };
                    let number = macros.get(name).or_else(|| macros.get(&name.replace("ICIE", "TICIE")));
                    let Some(number) = number.and_then(|n| n.parse::<u8>().ok()) else {
                        panic!("{}: no {name}", chip.name)
                    };
                    assert_eq!(bit.mask, 1 << number, "{}: {name}", chip.name);
                }
            }
        }
    }
}
