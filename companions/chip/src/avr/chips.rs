//! The chips of `data/avr.toml`: their memories, registers, interrupts and pins. A test compares all of it with avr-libc.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jitterlab_model::firmware::UnsimulatedPart;
use serde::Deserialize;

use crate::Pin;

/// Group of chips with their registers at the same addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// From the ATmega48 on.
    Newer,
    /// ATmega64 and 128.
    Atmega128,
}

#[derive(Debug, Deserialize)]
pub struct Chip {
    pub name: String,
    pub family: Family,
    pub flash: u32,
    /// The first address of its memory.
    pub ram_start: u16,
    pub ram: u16,
    pub eeprom: u32,
    pub ports: String,
    /// Names of its interrupt vectors from number 1 on, as avr-libc has them; `-` for none.
    vectors: String,
    /// Functions of its pins besides ports: `OC0A=D6`.
    pub(super) pins: String,
    /// Its timers' bits in PRR, or PRR0 and PRR1: timer, register's address, bit.
    #[serde(default)]
    pub(super) power_reduction: Vec<(u8, u16, u8)>,
    /// Registers besides those of its family.
    #[serde(default)]
    registers: Vec<String>,
    /// Addresses of registers without an effect here.
    #[serde(default)]
    pub(super) plain: Vec<u16>,
    /// First and last addresses of registers that are not simulated.
    #[serde(default)]
    pub(super) not_simulated: Vec<(UnsimulatedPart, u16, u16)>,
}

/// Registers and interrupts of a family.
#[derive(Debug, Default, Deserialize)]
struct FamilyLayout {
    registers: Vec<String>,
    interrupts: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
struct ChipData {
    family: BTreeMap<Family, FamilyLayout>,
    chip: Vec<toml::Table>,
}

static DATA: LazyLock<ChipData> =
    LazyLock::new(|| toml::from_str(include_str!("../../data/avr.toml")).unwrap_or_default());

static CHIPS: LazyLock<Vec<Chip>> = LazyLock::new(|| {
    let mut tables: BTreeMap<&str, toml::Table> = BTreeMap::new();
    for own in &DATA.chip {
        let text = |key: &str| own.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let mut whole = tables.get(text("like")).cloned().unwrap_or_default();
        whole.extend(own.clone());
        tables.insert(text("name"), whole);
    }
    tables.into_values().filter_map(|table| table.try_into().ok()).collect()
});

impl Chip {
    pub fn all() -> &'static [Chip] {
        &CHIPS
    }

    pub fn by_name(name: &str) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.name.eq_ignore_ascii_case(name))
    }

    /// True if the program counter takes three bytes on the stack.
    pub fn has_wide_pc(&self) -> bool {
        self.flash > 128 << 10
    }

    /// Returns the number and name of each interrupt vector.
    pub fn vectors(&self) -> impl Iterator<Item = (u8, &str)> {
        (1..).zip(self.vectors.split_whitespace()).filter(|(_, name)| *name != "-")
    }

    pub(super) fn has_vector(&self, name: &str) -> bool {
        self.vectors().any(|(_, known)| known == name)
    }

    /// Returns the pin of a function, such as OC1A.
    pub fn pin_of_function(&self, function: &str) -> Option<Pin> {
        let mut pins = self.pins.split_whitespace().filter_map(|pin| pin.split_once('='));
        pins.find(|(name, _)| *name == function).and_then(|(_, pin)| pin.parse().ok())
    }

    pub fn has_pin(&self, pin: Pin) -> bool {
        pin.bit < 8 && self.ports.contains(char::from(b'A' + pin.port))
    }

    pub fn timer_numbers(&self) -> impl Iterator<Item = u8> + '_ {
        let is_fast =
            |n: &u8| *n == 4 && self.not_simulated.iter().any(|of| of.0 == UnsimulatedPart::FastTimer);
        (0..6).filter(|n| self.has_vector(&format!("TIMER{n}_OVF"))).filter(move |n| !is_fast(n))
    }

    pub fn usart_numbers(&self) -> impl Iterator<Item = u8> + '_ {
        (0..4).filter(|n| self.has_vector(&format!("USART{n}_RX")) || *n == 0 && self.has_vector("USART_RX"))
    }

    /// Returns the address and name of each register, of its family and of its own.
    pub(super) fn registers(&self) -> impl Iterator<Item = (u16, &str)> {
        let of_family = DATA.family.get(&self.family).into_iter().flat_map(|layout| &layout.registers);
        of_family.chain(&self.registers).flat_map(|run| {
            let (first, names) = run.split_once(' ').unwrap_or_default();
            let first = u16::from_str_radix(first.trim_start_matches("0x"), 16).unwrap_or_default();
            (first..).zip(names.split(' '))
        })
    }

    /// Returns the address of a register; 0 if it has none of that name.
    pub(super) fn register_address(&self, register: &str) -> u16 {
        self.registers().find(|(_, name)| *name == register).map_or(0, |(address, _)| address)
    }

    /// Text of the data that names an interrupt's registers and bits; `None` if the family has no such one.
    pub(super) fn interrupt_bits(&self, name: &str) -> Option<String> {
        let interrupts = &DATA.family.get(&self.family)?.interrupts;
        let (kind, number, rest) = split_at_number(name);
        let number = number.map_or_else(String::new, |number| number.to_string());
        let line = interrupts.get(name).or_else(|| interrupts.get(&format!("{kind}*{rest}")))?;
        Some(line.replace('*', &number))
    }
}

/// Splits a name such as `TIMER1_OVF` into what is before its number, the number, and what is behind it.
pub(super) fn split_at_number(name: &str) -> (&str, Option<u8>, &str) {
    let is_digit = |c: char| c.is_ascii_digit();
    let begin = name.find(is_digit).unwrap_or(name.len());
    let end = name[begin..].find(|c| !is_digit(c)).map_or(name.len(), |length| begin + length);
    (&name[..begin], name[begin..end].parse().ok(), &name[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found_and_whole() {
        assert_eq!(Chip::by_name("ATmega328P").map(|c| c.name.as_str()), Some("atmega328p"));
        assert!(Chip::by_name("atmega9999").is_none());
        assert_eq!((Chip::all().len(), DATA.chip.len()), (17, 17));
        for chip in Chip::all() {
            for function in chip.pins.split_whitespace() {
                let (function, pin) = function.split_once('=').unwrap();
                let pin: Pin = pin.parse().unwrap();
                assert!(chip.has_pin(pin), "{} has no pin {pin} for {function}", chip.name);
            }
        }
        assert_eq!(Chip::by_name("atmega32u4").unwrap().timer_numbers().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(Chip::by_name("atmega328p").unwrap().usart_numbers().collect::<Vec<_>>(), [0]);
    }
}
