//! ATmega168 to 328P, of the Arduino Uno and Nano. Source: data sheet DS40002061.

use super::{Chip, Family};

/// ATmega328P.
#[rustfmt::skip]
pub const ATMEGA328P: Chip = Chip {
    name: "atmega328p",
    family: Family::Newer,
    flash: 32 << 10,
    ram_start: 0x100,
    ram: 2048,
    eeprom: 1024,
    ports: "BCD",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "PCINT0"), (4, "PCINT1"), (5, "PCINT2"), (6, "WDT"),
        (7, "TIMER2_COMPA"), (8, "TIMER2_COMPB"), (9, "TIMER2_OVF"), (10, "TIMER1_CAPT"),
        (11, "TIMER1_COMPA"), (12, "TIMER1_COMPB"), (13, "TIMER1_OVF"), (14, "TIMER0_COMPA"),
        (15, "TIMER0_COMPB"), (16, "TIMER0_OVF"), (17, "SPI_STC"), (18, "USART_RX"), (19, "USART_UDRE"),
        (20, "USART_TX"), (21, "ADC"), (22, "EE_READY"), (23, "ANALOG_COMP"), (24, "TWI"),
        (25, "SPM_READY"),
    ],
    pins: &[
        ("OC0A", "D6"), ("OC0B", "D5"), ("OC1A", "B1"), ("OC1B", "B2"), ("OC2A", "B3"), ("OC2B", "D3"),
        ("ICP1", "B0"), ("T0", "D4"), ("T1", "D5"), ("INT0", "D2"), ("INT1", "D3"), ("RXD0", "D0"),
        ("TXD0", "D1"), ("PCINT0", "B0"), ("PCINT1", "B1"), ("PCINT2", "B2"), ("PCINT3", "B3"),
        ("PCINT4", "B4"), ("PCINT5", "B5"), ("PCINT6", "B6"), ("PCINT7", "B7"), ("PCINT8", "C0"),
        ("PCINT9", "C1"), ("PCINT10", "C2"), ("PCINT11", "C3"), ("PCINT12", "C4"), ("PCINT13", "C5"),
        ("PCINT14", "C6"), ("PCINT16", "D0"), ("PCINT17", "D1"), ("PCINT18", "D2"), ("PCINT19", "D3"),
        ("PCINT20", "D4"), ("PCINT21", "D5"), ("PCINT22", "D6"), ("PCINT23", "D7"),
    ],
    power_reduction: &[(2, 0x64, 6), (0, 0x64, 5), (1, 0x64, 3)],
    has_usb: false,
};

/// ATmega328.
pub const ATMEGA328: Chip = Chip { name: "atmega328", ..ATMEGA328P };

/// ATmega168P.
pub const ATMEGA168P: Chip =
    Chip { name: "atmega168p", flash: 16 << 10, ram: 1024, eeprom: 512, ..ATMEGA328P };

/// ATmega168.
pub const ATMEGA168: Chip = Chip { name: "atmega168", ..ATMEGA168P };
