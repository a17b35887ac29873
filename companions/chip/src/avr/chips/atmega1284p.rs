//! ATmega644P to 1284P. Source: data sheet DS40002070.

use super::{Chip, Family};

/// ATmega1284P.
#[rustfmt::skip]
pub const ATMEGA1284P: Chip = Chip {
    name: "atmega1284p",
    family: Family::Newer,
    flash: 128 << 10,
    ram_start: 0x100,
    ram: 16384,
    eeprom: 4096,
    ports: "ABCD",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "INT2"), (4, "PCINT0"), (5, "PCINT1"), (6, "PCINT2"), (7, "PCINT3"),
        (8, "WDT"), (9, "TIMER2_COMPA"), (10, "TIMER2_COMPB"), (11, "TIMER2_OVF"), (12, "TIMER1_CAPT"),
        (13, "TIMER1_COMPA"), (14, "TIMER1_COMPB"), (15, "TIMER1_OVF"), (16, "TIMER0_COMPA"),
        (17, "TIMER0_COMPB"), (18, "TIMER0_OVF"), (19, "SPI_STC"), (20, "USART0_RX"), (21, "USART0_UDRE"),
        (22, "USART0_TX"), (23, "ANALOG_COMP"), (24, "ADC"), (25, "EE_READY"), (26, "TWI"),
        (27, "SPM_READY"), (28, "USART1_RX"), (29, "USART1_UDRE"), (30, "USART1_TX"), (31, "TIMER3_CAPT"),
        (32, "TIMER3_COMPA"), (33, "TIMER3_COMPB"), (34, "TIMER3_OVF"),
    ],
    pins: &[
        ("OC0A", "B3"), ("OC0B", "B4"), ("OC1A", "D5"), ("OC1B", "D4"), ("OC2A", "D7"), ("OC2B", "D6"),
        ("OC3A", "B6"), ("OC3B", "B7"), ("ICP1", "D6"), ("ICP3", "B5"), ("T0", "B0"), ("T1", "B1"),
        ("T3", "D0"), ("INT0", "D2"), ("INT1", "D3"), ("INT2", "B2"), ("RXD0", "D0"), ("TXD0", "D1"),
        ("RXD1", "D2"), ("TXD1", "D3"), ("PCINT0", "A0"), ("PCINT1", "A1"), ("PCINT2", "A2"),
        ("PCINT3", "A3"), ("PCINT4", "A4"), ("PCINT5", "A5"), ("PCINT6", "A6"), ("PCINT7", "A7"),
        ("PCINT8", "B0"), ("PCINT9", "B1"), ("PCINT10", "B2"), ("PCINT11", "B3"), ("PCINT12", "B4"),
        ("PCINT13", "B5"), ("PCINT14", "B6"), ("PCINT15", "B7"), ("PCINT16", "C0"), ("PCINT17", "C1"),
        ("PCINT18", "C2"), ("PCINT19", "C3"), ("PCINT20", "C4"), ("PCINT21", "C5"), ("PCINT22", "C6"),
        ("PCINT23", "C7"), ("PCINT24", "D0"), ("PCINT25", "D1"), ("PCINT26", "D2"), ("PCINT27", "D3"),
        ("PCINT28", "D4"), ("PCINT29", "D5"), ("PCINT30", "D6"), ("PCINT31", "D7"),
    ],
    power_reduction: &[(2, 0x64, 6), (0, 0x64, 5), (1, 0x64, 3), (3, 0x65, 0)],
    has_usb: false,
};

/// ATmega1284.
pub const ATMEGA1284: Chip = Chip { name: "atmega1284", ..ATMEGA1284P };

/// ATmega644P: no timer 3.
pub const ATMEGA644P: Chip = Chip {
    name: "atmega644p",
    flash: 64 << 10,
    ram: 4096,
    eeprom: 2048,
    vectors: ATMEGA1284P.vectors.split_at(30).0,
    power_reduction: ATMEGA1284P.power_reduction.split_at(3).0,
    ..ATMEGA1284P
};
