//! Levels at a firmware's pins from outside: periodic pulses, or the levels of a recorded file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jitterlab_chip::{Pin, Stimulus};
use jitterlab_model::Error;
use jitterlab_model::units::parse_period_ns;
use vcd::{Command, IdCode, Parser, TimescaleUnit, Value};

/// A stimulus as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StimulusSpec {
    /// `D2:10ms`, or `D2:10ms:1ms`: a pulse every period, by default half of it long.
    Pulses { pin: Pin, period_ns: u64, high_ns: u64 },
    /// The signals of a value change dump, each named as its pin.
    File(PathBuf),
}

impl FromStr for StimulusSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let is_file = Path::new(text).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vcd"));
        if is_file {
            return Ok(StimulusSpec::File(text.into()));
        }
        let none = || {
            Error::bad_use(format!("{text:?} is no stimulus")).remedy(
                "give a value change dump (FILE.vcd), or PIN:PERIOD or PIN:PERIOD:HIGH, such as \
                 D2:10ms:1ms",
            )
        };
        let mut parts = text.split(':');
        let (pin, period, high) = (parts.next(), parts.next(), parts.next());
        let pin: Pin = pin.ok_or_else(none)?.parse().map_err(|_| none())?;
        let time = |text: &str| parse_period_ns(text).map(i64::unsigned_abs).map_err(|_| none());
        let period_ns = time(period.ok_or_else(none)?)?;
        let high_ns = high.map_or(Ok(period_ns / 2), time)?;
        if parts.next().is_some() || high_ns == 0 || high_ns >= period_ns {
            return Err(none());
        }
        Ok(StimulusSpec::Pulses { pin, period_ns, high_ns })
    }
}

impl StimulusSpec {
    pub fn read_stimuli(&self) -> Result<Vec<Stimulus>, Error> {
        match self {
            StimulusSpec::Pulses { pin, period_ns, high_ns } => {
                Ok(vec![Stimulus::from_pulse_train(*pin, *period_ns, *high_ns)])
            }
            StimulusSpec::File(path) => {
                let file = File::open(path).map_err(Error::file("read", path))?;
                stimuli_from_dump(Parser::new(BufReader::new(file))).map_err(|message| {
                    Error::bad_use(format!("{} is no stimulus: {message}", path.display()))
                })
            }
        }
    }
}

/// Lines of text received by a serial port: eight bits, no parity, one stop bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerialText {
    pub lines: Vec<String>,
    pub baud: u32,
    /// Time at which the first begins, in ns.
    pub begin_ns: u64,
}

impl SerialText {
    pub(super) fn to_stimulus(&self, pin: Pin) -> Stimulus {
        let bit_ns = |number: u64| self.begin_ns + number * 1_000_000_000 / u64::from(self.baud.max(1));
        let mut levels = vec![(0, true)];
        let bytes = self.lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
        for (frame, byte) in (0..).zip(bytes) {
            let bits = u16::from(byte) << 1 | 0x200;
            levels.extend((0..10u64).map(|bit| (bit_ns(frame * 10 + bit), bits >> bit & 1 != 0)));
        }
        levels.dedup_by_key(|(_, high)| *high);
        Stimulus::from_levels(pin, levels)
    }
}

/// Times in ns, with levels.
type Levels = Vec<(u64, bool)>;

/// Reads the stimuli of a value change dump, command by command: scopes may nest as deep as a file is long.
fn stimuli_from_dump<R: BufRead>(parser: Parser<R>) -> Result<Vec<Stimulus>, String> {
    let mut pins: Vec<(IdCode, Pin, Levels)> = Vec::new();
    let (mut unit_fs, mut now_ns) = (femtoseconds(TimescaleUnit::S), 0u64);
    for command in parser {
        match command.map_err(|error| error.to_string())? {
            Command::Timescale(count, unit) => unit_fs = u128::from(count) * femtoseconds(unit),
            Command::VarDef(_, _, code, name, _) => {
                let pin = name.parse().map_err(|error: Error| error.to_string())?;
                pins.push((code, pin, Vec::new()));
            }
            Command::Timestamp(time) => {
                let ns = u64::try_from(u128::from(time).saturating_mul(unit_fs) / 1_000_000);
                let ns = ns.map_err(|_| super::error::TOO_LONG.to_owned())?;
                if ns < now_ns {
                    return Err(super::error::BACKWARDS.to_owned());
                }
                now_ns = ns;
            }
            Command::ChangeScalar(signal, value) => {
                for (_, pin, levels) in pins.iter_mut().filter(|(code, ..)| *code == signal) {
                    match value {
                        Value::V0 | Value::V1 => levels.push((now_ns, value == Value::V1)),
                        // Undefined levels before the first driven one.
                        _ if levels.is_empty() => {}
                        _ => return Err(super::error::undefined_level(*pin, now_ns)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(pins.into_iter().map(|(_, pin, levels)| Stimulus::from_levels(pin, levels)).collect())
}

fn femtoseconds(unit: TimescaleUnit) -> u128 {
    match unit {
        TimescaleUnit::S => 1_000_000_000_000_000,
        TimescaleUnit::MS => 1_000_000_000_000,
        TimescaleUnit::US => 1_000_000_000,
        TimescaleUnit::NS => 1_000_000,
        TimescaleUnit::PS => 1_000,
        TimescaleUnit::FS => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_as_frames() {
        let pin: Pin = "D0".parse().unwrap();
        let text = SerialText { lines: vec!["U".to_owned()], baud: 1_000, begin_ns: 100_000_000 };
        let ms = |n: u64| 100_000_000 + n * 1_000_000;
        // 'U' alternates; of the line's end, 0x0a, bits 1 and 3 are set.
        let mut levels = vec![(0, true)];
        levels.extend((0..10).map(|bit| (ms(bit), bit % 2 == 1)));
        levels.extend(
            [(10, false), (12, true), (13, false), (14, true), (15, false), (19, true)]
                .map(|(n, high)| (ms(n), high)),
        );
        assert_eq!(text.to_stimulus(pin), Stimulus::from_levels(pin, levels));
    }

    const HEAD: &str = "$timescale 10 ns $end $scope module board $end $var wire 1 ! PD2 $end $upscope $end $enddefinitions $end\n";

    fn read(text: &str) -> Result<Vec<Stimulus>, String> {
        stimuli_from_dump(Parser::new(text.as_bytes()))
    }

    #[test]
    fn pulses_and_dumps_are_read() {
        let pin: Pin = "D2".parse().unwrap();
        let pulses = |period_ns, high_ns| StimulusSpec::Pulses { pin, period_ns, high_ns };
        assert_eq!("D2:10ms".parse::<StimulusSpec>().unwrap(), pulses(10_000_000, 5_000_000));
        assert_eq!("PD2:1kHz:1us".parse::<StimulusSpec>().unwrap(), pulses(1_000_000, 1_000));
        for wrong in ["", "D2", "D2:0ms", "D2:1ms:1ms", "D2:1ms:1us:4", "Z9:1ms", "D2:1"] {
            assert!(wrong.parse::<StimulusSpec>().is_err(), "{wrong}");
        }
        let text = format!("{HEAD}#0\nx!\n#5\n1!\n#7\n0!\n");
        assert_eq!(read(&text).unwrap(), [Stimulus::from_levels(pin, vec![(50, true), (70, false)])]);
        assert!(read(&format!("{text}#9\nz!\n")).unwrap_err().contains("D2"));
        assert!(read(&format!("{text}#2\n")).unwrap_err().contains("earlier"));
        assert!(read(&HEAD.replace("PD2", "clock")).unwrap_err().contains("clock"));
    }
}
