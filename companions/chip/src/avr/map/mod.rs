//! Layout of the registers by address, and the parts of a chip with their interrupts and pins.

mod atmega128;
mod newer;

use jitterlab_model::firmware::Part;

use super::chips::{Chip, Family};
use super::external::{External, Int, PinChange};
use super::io::Io;
use super::sources::{Bit, Id, Source, Sources};
use super::{eeprom, spi, timer, usart};
use crate::Pin;

/// Function of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A byte that stores the written value, and has no effect here.
    Plain,
    Pin(u8),
    Direction(u8),
    Out(u8),
    /// Index of the timer among the chip's.
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
    /// Sense bits of pin interrupts.
    Senses,
    Prescaler,
    Asynchronous,
    Divider,
    PowerReduction,
    Pll,
    Status,
    StackLow,
    StackHigh,
    /// A register of the chip that is not simulated.
    Missing(Part),
}

/// Registers and interrupts of a chip.
pub struct Parts {
    /// Registers, by address.
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
                Family::Newer => newer::bits(name)?,
                Family::Atmega128 => atmega128::bits(name)?,
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

    /// Takes the addresses of TCCRnA, TCCRnB, TCNTn, OCRnA, OCRnB.
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
}

/// Returns the number in a name such as `TIMER1_OVF`, and the rest of the name.
fn numbered<'a>(name: &'a str, prefix: &str) -> Option<(u8, &'a str)> {
    let rest = name.strip_prefix(prefix)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((rest[..digits].parse().unwrap_or(0), &rest[digits..]))
}

/// The flag in its register is inverted, so both bits are kept at unused addresses (see `eeprom.rs`).
const EE_READY: (Bit, Bit, bool) = (Bit::new(0, 0), Bit::new(1, 3), false);

fn serial_bit(name: &str) -> Option<(u8, bool)> {
    match name {
        "_RX" => Some((7, false)),
        "_UDRE" => Some((5, false)),
        "_TX" => Some((6, true)),
        _ => None,
    }
}

/// Returns a timer of the chip, by its number.
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
        number,
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

/// Returns a serial port of the chip, by its number.
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

/// Returns the interrupts of pins.
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
        // On chips with more than three, INT3 to 0 do (ATmega2560, section 15.1; ATmega128, "External Interrupts").
        let asynchronous = n < 4 && chip.pin("INT3").is_some();
        Some(Int { id: sources.named(&name), pin, asynchronous, sense: (register, n % 4 * 2) })
    });
    let changes = (0u8..4).filter_map(|group| {
        let id = sources.named(&format!("PCINT{group}"));
        let pins = std::array::from_fn(|bit| chip.pin(&format!("PCINT{}", usize::from(group) * 8 + bit)));
        let mask = if group == 3 { 0x73 } else { 0x6b + u16::from(group) };
        (id != Id::NONE).then_some(PinChange { id, pins, mask })
    });
    External { ints: ints.collect(), changes: changes.collect(), coming: Vec::new() }
}

#[cfg(test)]
mod tests;
