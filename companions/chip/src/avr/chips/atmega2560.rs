//! ATmega640 to 2561, of the Arduino Mega. Source: data sheet 2549.

use super::{Chip, Family};

/// ATmega2560.
#[rustfmt::skip]
pub const ATMEGA2560: Chip = Chip {
    name: "atmega2560",
    family: Family::Newer,
    flash: 256 << 10,
    ram_start: 0x200,
    ram: 8192,
    eeprom: 4096,
    ports: "ABCDEFGHJKL",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "INT2"), (4, "INT3"), (5, "INT4"), (6, "INT5"), (7, "INT6"),
        (8, "INT7"), (9, "PCINT0"), (10, "PCINT1"), (11, "PCINT2"), (12, "WDT"), (13, "TIMER2_COMPA"),
        (14, "TIMER2_COMPB"), (15, "TIMER2_OVF"), (16, "TIMER1_CAPT"), (17, "TIMER1_COMPA"),
        (18, "TIMER1_COMPB"), (19, "TIMER1_COMPC"), (20, "TIMER1_OVF"), (21, "TIMER0_COMPA"),
        (22, "TIMER0_COMPB"), (23, "TIMER0_OVF"), (24, "SPI_STC"), (25, "USART0_RX"), (26, "USART0_UDRE"),
        (27, "USART0_TX"), (28, "ANALOG_COMP"), (29, "ADC"), (30, "EE_READY"), (31, "TIMER3_CAPT"),
        (32, "TIMER3_COMPA"), (33, "TIMER3_COMPB"), (34, "TIMER3_COMPC"), (35, "TIMER3_OVF"),
        (36, "USART1_RX"), (37, "USART1_UDRE"), (38, "USART1_TX"), (39, "TWI"), (40, "SPM_READY"),
        (41, "TIMER4_CAPT"), (42, "TIMER4_COMPA"), (43, "TIMER4_COMPB"), (44, "TIMER4_COMPC"),
        (45, "TIMER4_OVF"), (46, "TIMER5_CAPT"), (47, "TIMER5_COMPA"), (48, "TIMER5_COMPB"),
        (49, "TIMER5_COMPC"), (50, "TIMER5_OVF"), (51, "USART2_RX"), (52, "USART2_UDRE"),
        (53, "USART2_TX"), (54, "USART3_RX"), (55, "USART3_UDRE"), (56, "USART3_TX"),
    ],
    pins: &[
        ("OC0A", "B7"), ("OC0B", "G5"), ("OC1A", "B5"), ("OC1B", "B6"), ("OC1C", "B7"), ("OC2A", "B4"),
        ("OC2B", "H6"), ("OC3A", "E3"), ("OC3B", "E4"), ("OC3C", "E5"), ("OC4A", "H3"), ("OC4B", "H4"),
        ("OC4C", "H5"), ("OC5A", "L3"), ("OC5B", "L4"), ("OC5C", "L5"), ("ICP1", "D4"), ("ICP3", "E7"),
        ("ICP4", "L0"), ("ICP5", "L1"), ("T0", "D7"), ("T1", "D6"), ("T3", "E6"), ("T4", "H7"),
        ("T5", "L2"), ("INT0", "D0"), ("INT1", "D1"), ("INT2", "D2"), ("INT3", "D3"), ("INT4", "E4"),
        ("INT5", "E5"), ("INT6", "E6"), ("INT7", "E7"), ("RXD0", "E0"), ("TXD0", "E1"), ("RXD1", "D2"),
        ("TXD1", "D3"), ("RXD2", "H0"), ("TXD2", "H1"), ("RXD3", "J0"), ("TXD3", "J1"), ("PCINT0", "B0"),
        ("PCINT1", "B1"), ("PCINT2", "B2"), ("PCINT3", "B3"), ("PCINT4", "B4"), ("PCINT5", "B5"),
        ("PCINT6", "B6"), ("PCINT7", "B7"), ("PCINT8", "E0"), ("PCINT9", "J0"), ("PCINT10", "J1"),
        ("PCINT11", "J2"), ("PCINT12", "J3"), ("PCINT13", "J4"), ("PCINT14", "J5"), ("PCINT15", "J6"),
        ("PCINT16", "K0"), ("PCINT17", "K1"), ("PCINT18", "K2"), ("PCINT19", "K3"), ("PCINT20", "K4"),
        ("PCINT21", "K5"), ("PCINT22", "K6"), ("PCINT23", "K7"),
    ],
    power_reduction: &[(2, 0x64, 6), (0, 0x64, 5), (1, 0x64, 3), (3, 0x65, 3), (4, 0x65, 4), (5, 0x65, 5)],
    has_usb: false,
};

/// ATmega1280.
pub const ATMEGA1280: Chip = Chip { name: "atmega1280", flash: 128 << 10, ..ATMEGA2560 };

/// ATmega640.
pub const ATMEGA640: Chip = Chip { name: "atmega640", flash: 64 << 10, ..ATMEGA2560 };

/// ATmega1281.
#[rustfmt::skip]
pub const ATMEGA1281: Chip = Chip {
    name: "atmega1281",
    family: Family::Newer,
    flash: 128 << 10,
    ram_start: 0x200,
    ram: 8192,
    eeprom: 4096,
    ports: "ABCDEFG",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "INT2"), (4, "INT3"), (5, "INT4"), (6, "INT5"), (7, "INT6"),
        (8, "INT7"), (9, "PCINT0"), (10, "PCINT1"), (12, "WDT"), (13, "TIMER2_COMPA"),
        (14, "TIMER2_COMPB"), (15, "TIMER2_OVF"), (16, "TIMER1_CAPT"), (17, "TIMER1_COMPA"),
        (18, "TIMER1_COMPB"), (19, "TIMER1_COMPC"), (20, "TIMER1_OVF"), (21, "TIMER0_COMPA"),
        (22, "TIMER0_COMPB"), (23, "TIMER0_OVF"), (24, "SPI_STC"), (25, "USART0_RX"), (26, "USART0_UDRE"),
        (27, "USART0_TX"), (28, "ANALOG_COMP"), (29, "ADC"), (30, "EE_READY"), (31, "TIMER3_CAPT"),
        (32, "TIMER3_COMPA"), (33, "TIMER3_COMPB"), (34, "TIMER3_COMPC"), (35, "TIMER3_OVF"),
        (36, "USART1_RX"), (37, "USART1_UDRE"), (38, "USART1_TX"), (39, "TWI"), (40, "SPM_READY"),
        (42, "TIMER4_COMPA"), (43, "TIMER4_COMPB"), (44, "TIMER4_COMPC"), (45, "TIMER4_OVF"),
        (47, "TIMER5_COMPA"), (48, "TIMER5_COMPB"), (49, "TIMER5_COMPC"), (50, "TIMER5_OVF"),
    ],
    pins: &[
        ("OC0A", "B7"), ("OC0B", "G5"), ("OC1A", "B5"), ("OC1B", "B6"), ("OC1C", "B7"), ("OC2A", "B4"),
        ("OC3A", "E3"), ("OC3B", "E4"), ("OC3C", "E5"), ("ICP1", "D4"), ("ICP3", "E7"), ("T0", "D7"),
        ("T1", "D6"), ("T3", "E6"), ("INT0", "D0"), ("INT1", "D1"), ("INT2", "D2"), ("INT3", "D3"),
        ("INT4", "E4"), ("INT5", "E5"), ("INT6", "E6"), ("INT7", "E7"), ("RXD0", "E0"), ("TXD0", "E1"),
        ("RXD1", "D2"), ("TXD1", "D3"), ("PCINT0", "B0"), ("PCINT1", "B1"), ("PCINT2", "B2"),
        ("PCINT3", "B3"), ("PCINT4", "B4"), ("PCINT5", "B5"), ("PCINT6", "B6"), ("PCINT7", "B7"),
        ("PCINT8", "E0"),
    ],
    power_reduction: &[(2, 0x64, 6), (0, 0x64, 5), (1, 0x64, 3), (3, 0x65, 3), (4, 0x65, 4), (5, 0x65, 5)],
    has_usb: false,
};

/// ATmega2561.
pub const ATMEGA2561: Chip = Chip { name: "atmega2561", flash: 256 << 10, ..ATMEGA1281 };
