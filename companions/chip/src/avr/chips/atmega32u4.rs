//! ATmega16U4 and 32U4, of the Arduino Leonardo and Micro. Source: data sheet 7766.

use super::{Chip, Family};

/// ATmega32U4.
#[rustfmt::skip]
pub const ATMEGA32U4: Chip = Chip {
    name: "atmega32u4",
    family: Family::Newer,
    flash: 32 << 10,
    ram_start: 0x100,
    ram: 2560,
    eeprom: 1024,
    ports: "BCDEF",
    vectors: &[
        (1, "INT0"), (2, "INT1"), (3, "INT2"), (4, "INT3"), (7, "INT6"), (9, "PCINT0"), (10, "USB_GEN"),
        (11, "USB_COM"), (12, "WDT"), (16, "TIMER1_CAPT"), (17, "TIMER1_COMPA"), (18, "TIMER1_COMPB"),
        (19, "TIMER1_COMPC"), (20, "TIMER1_OVF"), (21, "TIMER0_COMPA"), (22, "TIMER0_COMPB"),
        (23, "TIMER0_OVF"), (24, "SPI_STC"), (25, "USART1_RX"), (26, "USART1_UDRE"), (27, "USART1_TX"),
        (28, "ANALOG_COMP"), (29, "ADC"), (30, "EE_READY"), (31, "TIMER3_CAPT"), (32, "TIMER3_COMPA"),
        (33, "TIMER3_COMPB"), (34, "TIMER3_COMPC"), (35, "TIMER3_OVF"), (36, "TWI"), (37, "SPM_READY"),
        (38, "TIMER4_COMPA"), (39, "TIMER4_COMPB"), (40, "TIMER4_COMPD"), (41, "TIMER4_OVF"),
        (42, "TIMER4_FPF"),
    ],
    pins: &[
        ("OC0A", "B7"), ("OC0B", "D0"), ("OC1A", "B5"), ("OC1B", "B6"), ("OC1C", "B7"), ("OC3A", "C6"),
        ("ICP1", "D4"), ("ICP3", "C7"), ("T0", "D7"), ("T1", "D6"), ("INT0", "D0"), ("INT1", "D1"),
        ("INT2", "D2"), ("INT3", "D3"), ("INT6", "E6"), ("RXD1", "D2"), ("TXD1", "D3"), ("PCINT0", "B0"),
        ("PCINT1", "B1"), ("PCINT2", "B2"), ("PCINT3", "B3"), ("PCINT4", "B4"), ("PCINT5", "B5"),
        ("PCINT6", "B6"), ("PCINT7", "B7"),
    ],
    power_reduction: &[(0, 0x64, 5), (1, 0x64, 3), (3, 0x65, 3)],
    has_usb: true,
};

/// ATmega16U4.
pub const ATMEGA16U4: Chip =
    Chip { name: "atmega16u4", flash: 16 << 10, ram: 1280, eeprom: 512, ..ATMEGA32U4 };
