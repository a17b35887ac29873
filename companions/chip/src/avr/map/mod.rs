//! Layout of the registers by address, and the parts of a chip with their interrupts and pins.

use jitterlab_model::firmware::UnsimulatedPart;

use super::chips::{Chip, Family, split_at_number};
use super::external::{ExternalInterrupt, ExternalInterrupts, PinChangeInterrupt};
use super::io::Io;
use super::sources::{Bit, Source, SourceId, Sources};
use super::{eeprom, spi, timer, usart};
use crate::Pin;

/// Role of the register at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterRole {
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
    Enables,
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
    Missing(UnsimulatedPart),
}

/// Registers and interrupt sources of a chip.
pub struct ChipLayout {
    /// Roles of the registers, by address.
    pub roles: Vec<RegisterRole>,
    pub sources: Vec<Source>,
}

const NO_REGISTER: RegisterRole = RegisterRole::Missing(UnsimulatedPart::Reserved);

pub fn chip_layout(chip: &'static Chip) -> ChipLayout {
    let mut roles = vec![NO_REGISTER; usize::from(chip.ram_start)];
    let mut put = |address: u16, role: RegisterRole| roles[usize::from(address)] = role;
    let (timers, usarts): (Vec<u8>, Vec<u8>) =
        (chip.timer_numbers().collect(), chip.usart_numbers().collect());
    for (address, name) in chip.registers() {
        register_role(chip, &timers, &usarts, name).into_iter().for_each(|role| put(address, role));
    }
    chip.power_reduction.iter().for_each(|(_, address, _)| put(*address, RegisterRole::PowerReduction));
    chip.plain.iter().for_each(|address| put(*address, RegisterRole::Plain));
    for (part, first, last) in &chip.not_simulated {
        (*first..=*last).for_each(|address| put(address, RegisterRole::Missing(*part)));
    }
    // Timers that are not simulated do not interrupt.
    let is_simulated = |(_, name): &(u8, &str)| {
        let (kind, number, _) = split_at_number(name);
        kind != "TIMER" || number.is_some_and(|number| timers.contains(&number))
    };
    let sources = chip.vectors().filter(is_simulated);
    ChipLayout {
        roles,
        sources: sources.filter_map(|(vector, name)| interrupt_source(chip, vector, name)).collect(),
    }
}

/// Role of a register by its name; `None` if it is of a part that the chip lacks.
fn register_role(chip: &Chip, timers: &[u8], usarts: &[u8], name: &str) -> Option<RegisterRole> {
    let (kind, number, rest) = split_at_number(name);
    let index = |all: &[u8]| all.iter().position(|n| Some(*n) == number).map(|index| index as u8);
    let timer = |reg| Some(RegisterRole::Timer(index(timers)?, reg));
    let usart = |reg| Some(RegisterRole::Usart(index(usarts)?, reg));
    match (kind, rest.as_bytes()) {
        ("TCCR", []) => timer(timer::Reg::Control),
        ("TCCR", b"A") => timer(timer::Reg::ControlA),
        ("TCCR", b"B") => timer(timer::Reg::ControlB),
        ("TCCR", b"C") => timer(timer::Reg::ControlC),
        ("TCNT", b"H") => timer(timer::Reg::CountHigh),
        ("TCNT", _) => timer(timer::Reg::Count),
        ("ICR", b"H") => timer(timer::Reg::CaptureHigh),
        ("ICR", _) => timer(timer::Reg::Capture),
        ("OCR", []) => timer(timer::Reg::Compare(0)),
        ("OCR", [b'C', ..]) if !chip.has_vector(&format!("TIMER{}_COMPC", number?)) => None,
        ("OCR", [unit, b'H']) => timer(timer::Reg::CompareHigh(unit - b'A')),
        ("OCR", [unit, ..]) => timer(timer::Reg::Compare(unit - b'A')),
        ("TIFR" | "TIMSK", _) if number.is_some() && index(timers).is_none() => None,
        ("TIFR" | "ETIFR" | "EIFR" | "PCIFR", _) => Some(RegisterRole::Flags),
        ("TIMSK" | "ETIMSK" | "EIMSK" | "PCICR", _) => Some(RegisterRole::Enables),
        ("EICRA" | "EICRB", _) => Some(RegisterRole::Senses),
        ("UCSR", b"A") => usart(usart::Reg::Status),
        ("UCSR", b"B") => usart(usart::Reg::Enable),
        ("UCSR", b"C") => usart(usart::Reg::Format),
        ("UBRR", b"H") => usart(usart::Reg::BaudHigh),
        ("UBRR", _) => usart(usart::Reg::Baud),
        ("UDR", _) => usart(usart::Reg::Data),
        ("EECR", _) => Some(RegisterRole::Eeprom(eeprom::Reg::Control)),
        ("EEDR", _) => Some(RegisterRole::Eeprom(eeprom::Reg::Data)),
        ("EEARL", _) => Some(RegisterRole::Eeprom(eeprom::Reg::Address)),
        ("EEARH", _) => Some(RegisterRole::Eeprom(eeprom::Reg::AddressHigh)),
        ("SPCR", _) => Some(RegisterRole::Spi(spi::Reg::Control)),
        ("SPSR", _) => Some(RegisterRole::Spi(spi::Reg::Status)),
        ("SPDR", _) => Some(RegisterRole::Spi(spi::Reg::Data)),
        ("ADCSRA", _) => Some(RegisterRole::Adc),
        ("TWCR", _) => Some(RegisterRole::Twi),
        ("WDTCSR" | "WDTCR", _) => Some(RegisterRole::Watchdog),
        ("GTCCR" | "SFIOR", _) => Some(RegisterRole::Prescaler),
        ("ASSR", _) => Some(RegisterRole::Asynchronous),
        ("CLKPR", _) => Some(RegisterRole::Divider),
        ("PLLCSR", _) => Some(RegisterRole::Pll),
        ("SREG", _) => Some(RegisterRole::Status),
        ("SPL", _) => Some(RegisterRole::StackLow),
        ("SPH", _) => Some(RegisterRole::StackHigh),
        ("SPMCSR", _) => Some(RegisterRole::Missing(UnsimulatedPart::WritingFlash)),
        ("XMCRA" | "XMCRB", _) => Some(RegisterRole::Missing(UnsimulatedPart::ExternalMemory)),
        ("XDIV", _) => Some(RegisterRole::Missing(UnsimulatedPart::ClockDivision)),
        _ => port_role(chip, kind),
    }
}

/// Role of a port's register, `None` if the chip lacks the port; `Plain` for any other register.
fn port_role(chip: &Chip, name: &str) -> Option<RegisterRole> {
    type Kind = (&'static str, fn(u8) -> RegisterRole);
    let kinds: [Kind; 3] =
        [("PIN", RegisterRole::Pin), ("DDR", RegisterRole::Direction), ("PORT", RegisterRole::Out)];
    let of_port = |(kind, unit): &Kind| {
        let letter = *name.strip_prefix(kind)?.as_bytes().first()?;
        Some(chip.ports.contains(char::from(letter)).then(|| unit(letter - b'A')))
    };
    kinds.iter().find_map(of_port).unwrap_or(Some(RegisterRole::Plain))
}

/// Source of an interrupt by its vector's name; `None` if it is not simulated.
fn interrupt_source(chip: &Chip, vector: u8, name: &'static str) -> Option<Source> {
    // The flag in its register is inverted, so both bits are kept at unused addresses (see `eeprom.rs`).
    if name == "EE_READY" {
        return Some(Source {
            name,
            vector,
            flag: Bit::new(0, 0),
            enable: Bit::new(1, 3),
            cleared_on_entry: false,
        });
    }
    let line = chip.interrupt_bits(name)?;
    let words: Vec<&str> = line.split(' ').collect();
    let [flag, enable, bits @ ..] = &words[..] else { return None };
    let flag_bit = bits.first()?.parse().ok()?;
    let enable_bit = bits.get(1).and_then(|bit| bit.parse().ok()).unwrap_or(flag_bit);
    let (flag, enable) = (
        Bit::new(chip.register_address(flag), flag_bit),
        Bit::new(chip.register_address(enable), enable_bit),
    );
    Some(Source { name, vector, flag, enable, cleared_on_entry: !bits.contains(&"lasts") })
}

/// Description of a timer of the chip, by its number.
pub fn timer_spec(chip: &Chip, number: u8, sources: &Sources) -> timer::Spec {
    let id = |what: &str| sources.by_name(&format!("TIMER{number}_{what}"));
    let pin = |text: String| chip.pin_of_function(&text);
    let old = chip.family == Family::Atmega128;
    let wide = !matches!(number, 0 | 2);
    let single = old && !wide;
    let matches = if single {
        [id("COMP"), SourceId::NONE, SourceId::NONE]
    } else {
        ["COMPA", "COMPB", "COMPC"].map(id)
    };
    let outputs = match single {
        true => [pin(format!("OC{number}")), None, None],
        false => ['A', 'B', 'C'].map(|unit| pin(format!("OC{number}{unit}"))),
    };
    timer::Spec {
        number,
        wide,
        fine: number == if old { 0 } else { 2 },
        overflow: id("OVF"),
        units: matches.iter().filter(|m| **m != SourceId::NONE).count(),
        matches,
        capture: id("CAPT"),
        outputs,
        counted: pin(format!("T{number}")),
        captured: pin(format!("ICP{number}")),
    }
}

/// Description of a serial port of the chip, by its number.
pub fn usart_spec(chip: &Chip, number: u8, io: &Io) -> usart::Spec {
    let name = if chip.has_vector("USART_RX") { "USART".into() } else { format!("USART{number}") };
    let id = |what: &str| io.sources.by_name(&format!("{name}_{what}"));
    let pin =
        |what: &str| chip.pin_of_function(&format!("{what}{number}")).unwrap_or(Pin { port: 4, bit: 0 });
    usart::Spec {
        status: chip.register_address(&format!("UCSR{number}A")),
        enable: chip.register_address(&format!("UCSR{number}B")),
        received: id("RX"),
        empty: id("UDRE"),
        sent: id("TX"),
        receive_pin: pin("RXD"),
        output: pin("TXD"),
    }
}

pub fn external_interrupts(chip: &Chip, sources: &Sources) -> ExternalInterrupts {
    let newer = chip.family == Family::Newer;
    let ints = (0..8).filter_map(|n| {
        let pin = chip.pin_of_function(&format!("INT{n}"))?;
        let name = format!("INT{n}");
        let register = match (newer, n < 4) {
            (true, true) => 0x69,
            (false, false) => 0x5a,
            _ => 0x6a,
        };
        // On chips with more than three, INT3 to 0 do (ATmega2560, section 15.1; ATmega128, "External Interrupts").
        let asynchronous = n < 4 && chip.pin_of_function("INT3").is_some();
        Some(ExternalInterrupt {
            id: sources.by_name(&name),
            pin,
            asynchronous,
            sense: (register, n % 4 * 2),
        })
    });
    let changes = (0u8..4).filter_map(|group| {
        let id = sources.by_name(&format!("PCINT{group}"));
        let pins = std::array::from_fn(|bit| {
            chip.pin_of_function(&format!("PCINT{}", usize::from(group) * 8 + bit))
        });
        let mask = if group == 3 { 0x73 } else { 0x6b + u16::from(group) };
        (id != SourceId::NONE).then_some(PinChangeInterrupt { id, pins, mask })
    });
    ExternalInterrupts { ints: ints.collect(), changes: changes.collect(), pending_flags: Vec::new() }
}

#[cfg(test)]
mod tests;
