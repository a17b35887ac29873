//! A pin of a chip.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Error;

/// A pin: port and bit, such as `B0`, or of a chip without ports its number, such as `GP25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin {
    /// 0 for port A; [`Pin::GPIO`] on chips without ports.
    pub port: u8,
    /// 0 to 15, or 0 to 99.
    pub bit: u8,
}

impl Pin {
    /// The port of chips that have no ports.
    pub const GPIO: u8 = 15;
}

impl FromStr for Pin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let no_pin = || {
            Error::bad_use(format!("{text:?} is not a pin"))
                .remedy("write a port and a bit, such as B0, PB0 or D5, or a number, such as GP25")
        };
        let upper = text.to_ascii_uppercase();
        let mut name = upper.as_str();
        let number = name.strip_prefix("GPIO").or(name.strip_prefix("GP")).unwrap_or(name);
        if let ([b'0'..=b'9'] | [b'1'..=b'9', b'0'..=b'9'], Ok(bit)) = (number.as_bytes(), number.parse()) {
            return Ok(Pin { port: Pin::GPIO, bit });
        }
        // "P" alone is a port's name, too: PB0 is pin 0 of port B.
        if let Some(rest) =
            name.strip_prefix('P').filter(|r| r.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            name = rest;
        }
        let mut letters = name.chars();
        let port = letters.next().filter(|c| ('A'..='L').contains(c)).ok_or_else(no_pin)? as u8 - b'A';
        let digits = letters.as_str();
        let bit: u8 = match digits.as_bytes() {
            [b'0'..=b'9'] | [b'1', b'0'..=b'5'] => digits.parse().map_err(|_| no_pin())?,
            _ => return Err(no_pin()),
        };
        Ok(Pin { port, bit })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Pin::GPIO => write!(f, "GP{}", self.bit),
            port => write!(f, "{}{}", char::from(b'A' + port), self.bit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_as_people_write_them() {
        for text in ["B0", "b0", "PB0", "pb0"] {
            assert_eq!(text.parse::<Pin>().unwrap().to_string(), "B0");
        }
        for text in ["25", "GP25", "gp25", "GPIO25"] {
            assert_eq!(text.parse::<Pin>().unwrap().to_string(), "GP25");
        }
        assert_eq!("G2".parse::<Pin>().unwrap(), Pin { port: 6, bit: 2 });
        assert_eq!("PA15".parse::<Pin>().unwrap(), Pin { port: 0, bit: 15 });
        for text in ["", "B16", "M0", "0B", "B", "PB", "B-1", "B 0", "B01", "GP025", "025", "GP", "100"] {
            assert!(text.parse::<Pin>().is_err(), "{text}");
        }
    }
}
