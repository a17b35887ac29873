//! ATmega64 and 128, of the paper and many older boards. Source: data sheet 2467.

use super::{Chip, Family};

/// ATmega128.
#[rustfmt::skip]
pub const ATMEGA128: Chip = Chip {
    name: "atmega128",
    family: Family::Atmega128,
    flash: 128 << 10,
    ram_start: 0x100,
    ram: 4096,
    eeprom: 4096,
    ports: "ABCDEFG",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "INT2"), (4, "INT3"), (5, "INT4"), (6, "INT5"), (7, "INT6"),
        (8, "INT7"), (9, "TIMER2_COMP"), (10, "TIMER2_OVF"), (11, "TIMER1_CAPT"), (12, "TIMER1_COMPA"),
        (13, "TIMER1_COMPB"), (14, "TIMER1_OVF"), (15, "TIMER0_COMP"), (16, "TIMER0_OVF"), (17, "SPI_STC"),
        (18, "USART0_RX"), (19, "USART0_UDRE"), (20, "USART0_TX"), (21, "ADC"), (22, "EE_READY"),
        (23, "ANALOG_COMP"), (24, "TIMER1_COMPC"), (25, "TIMER3_CAPT"), (26, "TIMER3_COMPA"),
        (27, "TIMER3_COMPB"), (28, "TIMER3_COMPC"), (29, "TIMER3_OVF"), (30, "USART1_RX"),
        (31, "USART1_UDRE"), (32, "USART1_TX"), (33, "TWI"), (34, "SPM_READY"),
    ],
    pins: &[
        ("OC0", "B4"), ("OC1A", "B5"), ("OC1B", "B6"), ("OC1C", "B7"), ("OC2", "B7"), ("OC3A", "E3"),
        ("OC3B", "E4"), ("OC3C", "E5"), ("ICP1", "D4"), ("ICP3", "E7"), ("T1", "D6"), ("T2", "D7"),
        ("T3", "E6"), ("INT0", "D0"), ("INT1", "D1"), ("INT2", "D2"), ("INT3", "D3"), ("INT4", "E4"),
        ("INT5", "E5"), ("INT6", "E6"), ("INT7", "E7"), ("RXD0", "E0"), ("TXD0", "E1"), ("RXD1", "D2"),
        ("TXD1", "D3"),
    ],
    power_reduction: &[],
    has_usb: false,
};

/// ATmega128A.
pub const ATMEGA128A: Chip = Chip { name: "atmega128a", ..ATMEGA128 };

/// ATmega64.
pub const ATMEGA64: Chip = Chip { name: "atmega64", flash: 64 << 10, eeprom: 2048, ..ATMEGA128 };
