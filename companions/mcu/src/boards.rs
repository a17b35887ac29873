//! Pins of Arduino boards by their numbers.
//!
//! Source: `pins_arduino.h` of the Arduino core for AVR 1.8.6, variants standard, mega and leonardo.

use jitterlab_chip::{Chip, Pin};

pub struct ArduinoBoard {
    name: &'static str,
    chips: &'static [&'static str],
    /// The pins of its chip in the order of the board's numbers.
    pins: &'static str,
    first_analog: u8,
}

const BOARDS: [ArduinoBoard; 3] = [
    ArduinoBoard {
        name: "Uno",
        chips: &["atmega328p", "atmega328", "atmega168p", "atmega168"],
        pins: "D0 D1 D2 D3 D4 D5 D6 D7 B0 B1 B2 B3 B4 B5 C0 C1 C2 C3 C4 C5",
        first_analog: 14,
    },
    ArduinoBoard {
        name: "Mega",
        chips: &["atmega2560", "atmega1280"],
        pins: "E0 E1 E4 E5 G5 E3 H3 H4 H5 H6 B4 B5 B6 B7 J1 J0 H1 H0 D3 D2 D1 D0 A0 A1 A2 A3 A4 A5 A6 A7 C7 C6 C5 C4 C3 C2 \
               C1 C0 D7 G2 G1 G0 L7 L6 L5 L4 L3 L2 L1 L0 B3 B2 B1 B0 F0 F1 F2 F3 F4 F5 F6 F7 K0 K1 K2 K3 K4 K5 K6 K7",
        first_analog: 54,
    },
    ArduinoBoard {
        name: "Leonardo",
        chips: &["atmega32u4"],
        pins: "D2 D3 D1 D0 D4 C6 D7 E6 B4 B5 B6 B7 D6 C7 B3 B1 B2 B0 F7 F6 F5 F4 F1 F0",
        first_analog: 18,
    },
];

/// Clock of all of them, in Hz.
pub const CLOCK_HZ: u32 = 16_000_000;

/// The board with this chip; `None` for a chip of none.
pub fn arduino_board(chip: Chip) -> Option<&'static ArduinoBoard> {
    BOARDS.iter().find(|board| board.chips.contains(&chip.name()))
}

impl ArduinoBoard {
    /// The chip's pin for a number on the board, or for A0 and on if the chip has no port A.
    pub fn chip_pin(&self, chip: Chip, board_pin: Pin) -> Option<Pin> {
        let number = match board_pin.port {
            Pin::GPIO => board_pin.bit,
            0 if !chip.has_pin(board_pin) => self.first_analog.checked_add(board_pin.bit)?,
            _ => return None,
        };
        self.pins.split(' ').nth(usize::from(number))?.parse().ok()
    }

    /// Label of a pin, such as `pin 13 of an Arduino Uno`; `None` if the board has no number for it.
    pub fn pin_label(&self, pin: Pin) -> Option<String> {
        let name = pin.to_string();
        let number = self.pins.split(' ').position(|of| of == name)?;
        Some(format!("pin {number} of an Arduino {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(chip: &str, pin: &str) -> Option<String> {
        let chip = Chip::by_name(chip).unwrap();
        arduino_board(chip)?.chip_pin(chip, pin.parse().unwrap()).map(|pin| pin.to_string())
    }

    #[test]
    fn a_number_is_that_of_the_board_with_the_chip() {
        let thirteen = ["atmega328p", "atmega2560", "atmega32u4"].map(|chip| on(chip, "13").unwrap());
        assert_eq!(thirteen, ["B5", "B7", "C7"]);
        assert_eq!(on("atmega328p", "A0").as_deref(), Some("C0"));
        assert_eq!(on("atmega32u4", "A5").as_deref(), Some("F0"));
        assert_eq!(
            (on("atmega2560", "A0"), on("atmega328p", "20"), on("atmega128", "13")),
            (None, None, None)
        );
        let uno = Chip::by_name("atmega328p").unwrap();
        assert_eq!(
            arduino_board(uno).unwrap().pin_label("B5".parse().unwrap()).unwrap(),
            "pin 13 of an Arduino Uno"
        );
    }

    /// The tables equal those of the core, if it is installed.
    #[test]
    fn the_pins_are_those_of_the_core() {
        for (board, variant) in BOARDS.iter().zip(["standard", "mega", "leonardo"]) {
            let path = format!("/usr/share/arduino/hardware/arduino/avr/variants/{variant}/pins_arduino.h");
            let Ok(header) = std::fs::read_to_string(path) else { continue };
            let table = |name: &str, row: &str| -> Vec<String> {
                let rows = header.lines().skip_while(|line| !line.contains(&format!("{name}[]"))).skip(1);
                let rows = rows.take_while(|line| !line.contains("};"));
                let rows = rows.map(|line| line.split("//").next().unwrap().trim().to_owned());
                rows.filter(|of| of.starts_with(row)).collect()
            };
            let ports = table("digital_pin_to_port_PGM", "P");
            let bits = table("digital_pin_to_bit_mask_PGM", "_BV");
            let pins: Vec<String> = ports
                .iter()
                .zip(&bits)
                .map(|(port, bit)| port[1..2].to_owned() + &bit.replace(char::is_whitespace, "")[4..5])
                .collect();
            let ours: Vec<&str> = board.pins.split(' ').collect();
            assert_eq!(pins[..ours.len()], ours, "{}", board.name);
        }
    }
}
