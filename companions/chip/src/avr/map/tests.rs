//! Comparison with the headers of avr-libc.

use super::*;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Returns the macros of avr-libc's header for a chip; `None` if it is not installed.
fn header_macros(mcu: &str) -> Option<BTreeMap<String, String>> {
    let arguments = [&format!("-mmcu={mcu}"), "-include", "avr/io.h", "-E", "-dM", "-xc", "-"];
    let output = Command::new("avr-gcc").args(arguments).stdin(Stdio::null()).output().ok();
    let output = output.filter(|o| o.status.success());
    let required =
        std::env::var("CI").is_ok_and(|v| v == "true") || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some();
    assert!(output.is_some() || !required, "gcc-avr or avr-libc is not installed");
    let text = String::from_utf8(output?.stdout).unwrap();
    let pairs = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    Some(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
}

/// `_SFR_IO8(0x05)` is data address 0x25.
fn data_address(text: &str) -> Option<u16> {
    let (kind, rest) = text.strip_prefix("_SFR_")?.split_once('(')?;
    let number = rest.strip_suffix(')')?.trim().to_lowercase();
    let number = number
        .strip_prefix("0x")
        .map_or_else(|| number.parse().ok(), |hex| u16::from_str_radix(hex, 16).ok())?;
    Some(number + if kind.starts_with("IO") { 0x20 } else { 0 })
}

/// Names of a unit's registers in avr-libc.
fn register_names(unit: RegisterRole, timers: &[u8], usarts: &[u8]) -> Vec<String> {
    let letter = |port: u8| char::from(b'A' + port);
    let unit_letter = |n: u8| ["A", "B", "C"][usize::from(n)];
    let both = |name: String| vec![name.clone() + "L", name];
    match unit {
        RegisterRole::Pin(port) => vec![format!("PIN{}", letter(port))],
        RegisterRole::Direction(port) => vec![format!("DDR{}", letter(port))],
        RegisterRole::Out(port) => vec![format!("PORT{}", letter(port))],
        RegisterRole::Timer(index, reg) => {
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
        RegisterRole::Usart(index, reg) => {
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
        RegisterRole::Eeprom(eeprom::Reg::Control) => vec!["EECR".into()],
        RegisterRole::Eeprom(eeprom::Reg::Data) => vec!["EEDR".into()],
        RegisterRole::Eeprom(eeprom::Reg::Address) => vec!["EEARL".into()],
        RegisterRole::Eeprom(eeprom::Reg::AddressHigh) => vec!["EEARH".into()],
        RegisterRole::Spi(spi::Reg::Control) => vec!["SPCR".into()],
        RegisterRole::Spi(spi::Reg::Status) => vec!["SPSR".into()],
        RegisterRole::Spi(spi::Reg::Data) => vec!["SPDR".into()],
        RegisterRole::Adc => vec!["ADCSRA".into()],
        RegisterRole::Twi => vec!["TWCR".into()],
        RegisterRole::Watchdog => vec!["WDTCSR".into(), "WDTCR".into()],
        RegisterRole::Prescaler => vec!["GTCCR".into(), "SFIOR".into()],
        RegisterRole::Asynchronous => vec!["ASSR".into()],
        RegisterRole::Divider => vec!["CLKPR".into()],
        RegisterRole::PowerReduction => vec!["PRR".into(), "PRR0".into(), "PRR1".into()],
        RegisterRole::Pll => vec!["PLLCSR".into()],
        RegisterRole::Status => vec!["SREG".into()],
        RegisterRole::StackLow => vec!["SPL".into(), "SP".into()],
        RegisterRole::StackHigh => vec!["SPH".into()],
        RegisterRole::Senses => vec!["EICRA".into(), "EICRB".into()],
        RegisterRole::Flags => vec!["TIFR".into(), "ETIFR".into(), "EIFR".into(), "PCIFR".into()],
        RegisterRole::Enables => vec!["TIMSK".into(), "ETIMSK".into(), "EIMSK".into(), "PCICR".into()],
        RegisterRole::Plain | RegisterRole::Missing(_) => Vec::new(),
    }
}

/// Every register of avr-libc's headers has the same address here, every vector has its number, and nothing is missing.
#[test]
fn registers_and_vectors_are_where_avr_libc_has_them() {
    for chip in Chip::all() {
        let Some(macros) = header_macros(&chip.name) else { return };
        let ChipLayout { roles, .. } = chip_layout(chip);
        let (timers, usarts): (Vec<u8>, Vec<u8>) =
            (chip.timer_numbers().collect(), chip.usart_numbers().collect());
        let at: BTreeMap<&str, u16> =
            macros.iter().filter_map(|(name, value)| Some((name.as_str(), data_address(value)?))).collect();
        let (mut found, mut left_out) = (0, Vec::new());
        for (name, address) in &at {
            let unit = roles[usize::from(*address)];
            left_out.extend((unit == NO_REGISTER).then(|| format!("{}: {name} at {address:#x}", chip.name)));
            // Some registers have several names.
            let names = register_names(unit, &timers, &usarts);
            let is = |other: &str| {
                names.iter().any(|n| other == n || other.trim_end_matches(char::is_numeric) == n)
            };
            let known = at.iter().any(|(other, a)| a == address && is(other));
            assert!(known || names.is_empty(), "{}: {name} at {address:#x} is {unit:?}", chip.name);
            found += usize::from(known);
        }
        assert!(left_out.is_empty(), "left out: {left_out:#?}");
        assert!(found > 60, "{}: only {found}", chip.name);
        for (address, unit) in (0x20u16..).zip(&roles[0x20..]) {
            let names = register_names(*unit, &timers, &usarts);
            let there = names.is_empty()
                || at.iter().any(|(name, a)| {
                    *a == address && names.iter().any(|n| n == name || name.starts_with(n.as_str()))
                });
            // TIFRn and the like of timers that lack an interrupt are named in no header.
            assert!(there, "{}: {unit:?} at {address:#x} is not in avr-libc", chip.name);
        }
        for (number, name) in chip.vectors() {
            let theirs = macros.get(&format!("{name}_vect_num"));
            assert!(theirs.is_none_or(|n| *n == number.to_string()), "{}: {name} is {theirs:?}", chip.name);
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

/// Each source's flag and enable are the bits that avr-libc names for it.
#[test]
fn flags_and_enables_are_the_bits_avr_libc_names() {
    for chip in Chip::all() {
        let Some(macros) = header_macros(&chip.name) else { return };
        for source in chip_layout(chip).sources {
            let bits: &[(&str, String, bool)] = &match split_at_number(source.name) {
                ("TIMER", Some(n), "_OVF") => {
                    [("TOV", format!("TOV{n}"), true), ("TOIE", format!("TOIE{n}"), false)]
                }
                ("TIMER", Some(n), "_CAPT") => {
                    [("ICF", format!("ICF{n}"), true), ("ICIE", format!("ICIE{n}"), false)]
                }
                ("TIMER", Some(n), comp) => {
                    let unit = comp.trim_start_matches("_COMP");
                    [("OCF", format!("OCF{n}{unit}"), true), ("OCIE", format!("OCIE{n}{unit}"), false)]
                }
                _ => continue,
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
