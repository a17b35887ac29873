//! A pulse that each activation of a task gives on a pin, for a witness outside the computer.
//! As text: `gpiochip0:17`, `parport0:D0`, `ttyS0:rts`, `file:PATH`, with `@start` or `@end` behind it, or with the steps of a
//! move at constant speed: `parport0:D0,step=8kHz,dir=parport0:D1`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, PULSES, invalid_value};
use crate::units::{Exact, parse_period_ns};

/// The pin, and which edges an activation makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct Pulse {
    /// The pin.
    pub pin: PulsePin,
    /// Moment of an activation at which the pin moves.
    pub at: PulseAt,
    /// The steps of a move, if it is not moved by each activation.
    pub steps: Option<Steps>,
}

/// Steps of a motor that moves at constant speed: an activation moves the pin only if a step is due by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Distance of the steps, above 0.
    pub every_ns: i64,
    /// The direction pin: high from before the first step until the end.
    pub direction: Option<PulsePin>,
}

/// A pin of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PulsePin {
    /// A line of a GPIO chip: `/dev/gpiochip0`, line 17.
    Gpio {
        /// The chip's name below `/dev`.
        chip: String,
        /// Its line.
        line: u32,
    },
    /// A data pin of a parallel port: `/dev/parport0`, D0 to D7.
    Parallel {
        /// The port's name below `/dev`.
        port: String,
        /// The data bit, 0 to 7.
        bit: u8,
    },
    /// A control line of a serial port: `/dev/ttyS0`.
    Serial {
        /// The port's name below `/dev`.
        port: String,
        /// The line.
        line: SerialLine,
    },
    /// No pin: a value change dump by the task's own clock, to try it.
    File(String),
}

/// A control line of a serial port that the computer drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialLine {
    /// Request to send.
    Rts,
    /// Data terminal ready.
    Dtr,
}

/// Moment of an activation at which its pin moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PulseAt {
    /// High as the first thing it does, low as the last: the pulse is as wide as its work.
    #[default]
    Both,
    /// Changed once, as the first thing it does.
    Start,
    /// Changed once, as the last thing it does.
    End,
}

impl PulseAt {
    const NAMES: [(PulseAt, &str); 3] =
        [(PulseAt::Both, ""), (PulseAt::Start, "@start"), (PulseAt::End, "@end")];
}

fn invalid_pulse_error(text: &str) -> Error {
    invalid_value("pin for pulses", text, PULSES)
}

impl FromStr for Pulse {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some((pin, steps)) = text.rsplit_once(",step=") {
            return Ok(Pulse { pin: pin.parse()?, at: PulseAt::Both, steps: Some(steps.parse()?) });
        }
        let named = PulseAt::NAMES.iter().rev().find_map(|(at, name)| Some((*at, text.strip_suffix(name)?)));
        let (at, pin) = named.ok_or_else(|| invalid_pulse_error(text))?;
        Ok(Pulse { pin: pin.parse()?, at, steps: None })
    }
}

impl FromStr for Steps {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (every, direction) =
            text.split_once(",dir=").map_or((text, None), |(every, pin)| (every, Some(pin)));
        let every_ns = parse_period_ns(every).map_err(|error| error.within("step"))?;
        let direction = direction.map(str::parse).transpose()?;
        match direction {
            // A level that never changes is nothing to look at in a file.
            Some(PulsePin::File(_)) => Err(invalid_pulse_error(text)),
            direction => Ok(Steps { every_ns, direction }),
        }
    }
}

impl FromStr for PulsePin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = || invalid_pulse_error(text);
        let (device, line) = text.split_once(':').filter(|(_, line)| !line.is_empty()).ok_or_else(invalid)?;
        let is_device = device.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| invalid());
        Ok(match line {
            path if device == "file" => PulsePin::File(path.into()),
            _ if !is_device => return Err(invalid()),
            line if device.starts_with("gpiochip") => {
                PulsePin::Gpio { chip: device.into(), line: number(line)? }
            }
            line if device.starts_with("parport") => {
                let bit = number(line.strip_prefix('D').ok_or_else(invalid)?)?;
                let bit = u8::try_from(bit).ok().filter(|bit| *bit < 8).ok_or_else(invalid)?;
                PulsePin::Parallel { port: device.into(), bit }
            }
            "rts" if device.starts_with("tty") => {
                PulsePin::Serial { port: device.into(), line: SerialLine::Rts }
            }
            "dtr" if device.starts_with("tty") => {
                PulsePin::Serial { port: device.into(), line: SerialLine::Dtr }
            }
            _ => return Err(invalid()),
        })
    }
}

impl fmt::Display for PulsePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PulsePin::Gpio { chip, line } => write!(f, "{chip}:{line}"),
            PulsePin::Parallel { port, bit } => write!(f, "{port}:D{bit}"),
            PulsePin::Serial { port, line: SerialLine::Rts } => write!(f, "{port}:rts"),
            PulsePin::Serial { port, line: SerialLine::Dtr } => write!(f, "{port}:dtr"),
            PulsePin::File(path) => write!(f, "file:{path}"),
        }
    }
}

impl fmt::Display for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pin)?;
        f.write_str(PulseAt::NAMES.iter().find(|(at, _)| *at == self.at).map_or("", |(_, name)| name))?;
        let Some(Steps { every_ns, direction }) = &self.steps else { return Ok(()) };
        write!(f, ",step={}", Exact(*every_ns))?;
        direction.as_ref().map_or(Ok(()), |pin| write!(f, ",dir={pin}"))
    }
}

crate::as_text!(Pulse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_as_written() {
        for text in [
            "gpiochip0:17",
            "gpiochip12:0@end",
            "parport0:D7",
            "ttyS0:rts@start",
            "ttyUSB1:dtr",
            "file:/tmp/a b:c@d.vcd",
            "file:p.vcd@start",
            "parport0:D0,step=125us",
            "parport0:D0,step=125us,dir=parport0:D1",
            "file:a,b.vcd,step=1ms",
        ] {
            assert_eq!(text.parse::<Pulse>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "gpiochip0",
            "gpiochip0:",
            "gpiochip0:x",
            "parport0:D8",
            "parport0:3",
            "ttyS0:cts",
            "sda:1",
            "gpiochip../x:1",
            "file:",
            "@start",
            "parport0:D0@start,step=125us",
            "parport0:D0,step=125us,dir=file:d.vcd",
        ] {
            assert!(text.parse::<Pulse>().unwrap_err().to_string().contains("gpiochip0:17"), "{text}");
        }
    }
}
